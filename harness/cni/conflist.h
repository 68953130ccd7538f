// A CNI network configuration list as its file has it, checked before anything is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/cni/answer.h"

namespace pathproof::cni {

struct Plugin {
    std::string type;
    std::string config;  // its JSON object
    std::vector<std::string> capabilities;
    bool can(std::string_view capability) const;
};

struct Conflist {
    std::string source;  // the file, or "built-in bridge"
    std::string name;
    std::string version;
    bool disable_check = false;
    bool disable_gc = false;
    std::vector<Plugin> plugins;
    std::vector<std::string> subnets;  // that host-local gives addresses of

    bool has(std::string_view type) const;
};

// Parses a network's configuration. "{{node}}" in the text becomes the node's number, so that each
// node gives out addresses of its own. `data_dir` replaces host-local's own. kBadInput names the
// file and the key, kNotSupported a plug-in that needs a daemon of its own.
Result<Conflist> parse_conflist(std::string_view text, const std::string& source, unsigned node,
                                const std::string& data_dir);

// Empty, or why an address cannot be a pod's: nothing in the lab leads to it, or it is another's.
std::string outside_plan(const frame::IpAddress& address);

}  // namespace pathproof::cni
