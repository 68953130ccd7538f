// Changes that a path may make to frames on their way, where the user says so.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pathproof::follow {

enum class Transformation : std::uint8_t {
    kRouter,  // MAC addresses, a lower hop limit, frames of the link that are not forwarded
    kNat,     // addresses, ports and identifiers, one mapping a flow
    kVlan,    // tags put on, taken off or changed
    kVxlan,   // and VXLAN-GPE
    kGeneve,
    kGre,
    kIpip,       // any family in any
    kGso,        // a super-frame cut into segments: TSO, GSO, USO
    kGro,        // segments merged: GRO, LRO
    kFragments,  // IP fragments made or put together
    kReorder,    // frames of one flow that overtake each other
};
inline constexpr std::size_t kTransformations = 11;

using Transformations = std::bitset<kTransformations>;
constexpr std::size_t bit(Transformation transformation) {
    return static_cast<std::size_t>(transformation);
}
const char* name(Transformation transformation);  // "router", "nat", ...: the words of --allow
std::optional<Transformation> transformation(std::string_view name);

}  // namespace pathproof::follow
