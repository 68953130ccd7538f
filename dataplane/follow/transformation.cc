#include "dataplane/follow/transformation.h"

namespace pathproof::follow {
namespace {

constexpr const char* kNames[kTransformations] = {"router", "nat",       "vlan",   "vxlan",
                                                  "geneve", "gre",       "ipip",   "gso",
                                                  "gro",    "fragments", "reorder"};

}  // namespace

const char* name(Transformation transformation) {
    return kNames[bit(transformation)];
}

std::optional<Transformation> transformation(std::string_view name) {
    for (std::size_t i = 0; i < kTransformations; ++i) {
        if (name == kNames[i]) {
            return static_cast<Transformation>(i);
        }
    }
    return std::nullopt;
}

}  // namespace pathproof::follow
