// The output of a CNI plug-in: results, error objects and versions, as plain values. Plug-ins are
// other people's programs: whatever they print is read, or refused with a sentence.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::cni {

struct PodAddress {
    frame::IpAddress address;
    unsigned prefix = 0;  // length
    std::optional<frame::IpAddress> gateway;
    bool operator==(const PodAddress&) const = default;
};

// An interface that the plug-in made or used. One without a sandbox is in the node's own namespace.
struct Interface {
    std::string name;
    std::string mac;
    std::string sandbox;
    bool operator==(const Interface&) const = default;
};

// The result of ADD (CNI specification, "Success"). `json` is the plug-in's own: what the next one of
// the chain is given as prevResult.
struct Added {
    std::string version;
    std::vector<PodAddress> addresses;
    std::vector<Interface> interfaces;
    std::string json;
};

// The error object (CNI specification, "Error").
struct ErrorObject {
    int code = 0;
    std::string message;
    std::string details;
};
// "code 7, \"failed to ...\" (details)"
std::string to_string(const ErrorObject& error);

// Parses an ADD result of CNI 0.3.0 or later. kBadInput says what is wrong with it.
Result<Added> parse_added(std::string_view text);
// Parses an error object. Nothing: the text is none.
std::optional<ErrorObject> parse_error(std::string_view text);
// The supportedVersions that VERSION gave.
Result<std::vector<std::string>> parse_versions(std::string_view text);

// An address with the length of its network, as "10.244.1.2/24" has it.
Result<PodAddress> parse_pod_address(std::string_view text);

}  // namespace pathproof::cni
