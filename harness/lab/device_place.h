// Identifies the device that a journal means, whatever its name and its namespace's name are when
// something of it is put back. Another device that got its name since is not touched.
#pragma once

#include <functional>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::lab {

// Returns the identity of a device in the calling thread's namespace: "INODE:COOKIE:INDEX", which
// is the namespace's identity (netns_identity.h) and the device's index in it, which is not given
// twice; then " MAC" with its permanent address if it has one. kNotFound: there is no such device.
Result<std::string> place_of(const std::string& device);

// Runs `work` inside the device's namespace with the name that the device has now. False: the
// device or its namespace is gone, and `work` was not run.
Result<bool> at_device(const std::string& place,
                       const std::function<Status(const std::string& device)>& work);

}  // namespace pathproof::lab
