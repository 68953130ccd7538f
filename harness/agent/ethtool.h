// Offload features and facts of a network device, through the SIOCETHTOOL ioctls of
// linux/ethtool.h. Each function speaks of the network namespace of the calling thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/device_info.h"
#include "harness/agent/offload_features.h"

namespace pathproof::agent {

const char* on_or_off(bool on);
// As `ethtool -k` writes it: "on", "off [requested on]", "on [fixed]".
std::string state_of(const Feature& feature);

// Null: it is none of them.
const Feature* feature_named(const std::vector<Feature>& features, const std::string& name);

// Every feature that the kernel has a name for, in the order of its bits. An unknown device is
// kNotFound, with close matches.
Result<std::vector<Feature>> read_features(const std::string& device);

// Does what `ethtool -K` does for single names and group words, all in one request, and says what
// changed, the features that the kernel changed along included. A feature asked for by its name
// that is [fixed] or that the kernel refuses is kNotSupported, with its name, and the device is
// left as it was. Of a group word as many members change as can; when none can, that is the same
// error.
Result<std::vector<FeatureChange>> change_features(
    const std::string& device, const std::vector<std::pair<std::string, bool>>& wanted);

// Sets what is requested of features by their single names, whether or not the device can have them
// so at present ("off [requested on]"): for putting a device back. Those that are [fixed] or that
// the kernel does not know are left out.
Status request_features(const std::string& device,
                        const std::vector<std::pair<std::string, bool>>& wanted);

// The address that the hardware came with; a virtual device has none.
std::optional<frame::MacAddress> read_permanent_address(const std::string& device);

// Driver, addresses, MTU, link and statistics. What a driver does not tell stays empty.
Result<DeviceInfo> read_device(const std::string& device);

}  // namespace pathproof::agent
