// Named network namespaces as ip-netns(8) keeps them: a file below /run/netns on which the
// namespace is mounted.
#pragma once

#include <optional>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::lab {

// Makes a namespace and its name. All of it happens in this process: nothing can be made any more
// once we are killed, as a child of ours still could.
Status create_netns(const std::string& name);

// Ends (SIGKILL) the processes that are in the named network namespace, then removes its name.
// Gives what it did, or nothing when there is no such namespace.
Result<std::optional<std::string>> delete_netns(const std::string& name);

// The first namespace makes /run/netns a mount point of its own, which stays behind. This notes in
// `directory` that it was not one yet, and puts that back once it is empty.
Status note_netns_mount(const std::string& directory);
std::optional<std::string> undo_netns_mount(const std::string& directory);

}  // namespace pathproof::lab
