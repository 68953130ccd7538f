#include "harness/agent/host_change.h"

#include <nlohmann/json.hpp>

namespace pathproof::agent {

using nlohmann::json;
using Kind = HostChange::Kind;
using Allowed = HostChange::Allowed;

NLOHMANN_JSON_SERIALIZE_ENUM(Kind, {{Kind::kIp, "ip"},
                                    {Kind::kSysctl, "sysctl"},
                                    {Kind::kRules, "rules"},
                                    {Kind::kFeature, "feature"},
                                    {Kind::kSteering, "steering"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Allowed, {{Allowed::kNothing, "nothing"},
                                       {Allowed::kIsThere, "there"},
                                       {Allowed::kIsMissing, "missing"}})

void to_json(json& out, const HostChange& change) {
    out = {{"kind", change.kind},   {"device", change.device}, {"name", change.name},
           {"value", change.value}, {"undo", change.undo},     {"allowed", change.allowed}};
}

void from_json(const json& in, HostChange& change) {
    in.at("kind").get_to(change.kind);
    in.at("device").get_to(change.device);
    in.at("name").get_to(change.name);
    in.at("value").get_to(change.value);
    in.at("undo").get_to(change.undo);
    in.at("allowed").get_to(change.allowed);
}

}  // namespace pathproof::agent
