#include "dataplane/matrix/dimensions.h"

#include <tuple>
#include <type_traits>

namespace pathproof::matrix {
namespace {

using Names = std::span<const char* const>;

constexpr const char* kEncaps[] = {"none",       "vxlan-v4", "vxlan-v6", "geneve",   "geneve-40",
                                   "geneve-124", "ip-in-ip", "gre",      "vxlan-gpe"};
constexpr const char* kOuterChecksums[] = {"none", "disabled", "computed"};
constexpr const char* kTunnelPorts[] = {"none",          "4789",         "8472", "4790",
                                        "6081",          "8223",         "two",  "plain-to-4789",
                                        "plain-to-4790", "plain-to-6081"};
constexpr const char* kNats[] = {"none", "source-port", "source"};
constexpr const char* kVlans[] = {"none", "one", "one-inserted", "two", "inner"};
constexpr const char* kNetworks[] = {
    "ipv4", "ipv4-options", "ipv6", "ipv6-hop-by-hop", "ipv6-destination", "ipv6-routing"};
constexpr const char* kTransports[] = {"udp",  "udp-zero", "tcp",    "tcp-options",
                                       "sctp", "icmp",     "unknown"};
constexpr const char* kLengths[] = {"0", "1", "2", "17", "18", "171", "256", "mtu", "2501", "9000"};
constexpr const char* kTrailers[] = {"none", "zero", "non-zero", "inner-zero", "inner-non-zero"};
constexpr const char* kPayloads[] = {"random", "sums-to-zero", "all-zero", "all-ones",
                                     "tunnel-like"};
constexpr const char* kFragmentations[] = {"none", "three"};
constexpr const char* kSegmentations[] = {
    "none", "tcp-two", "tcp-exact", "tcp-odd-rest", "tcp-one-byte", "tcp-mangleid", "udp"};
constexpr const char* kBuffers[] = {"one", "header-split", "odd-boundary", "many"};
constexpr const char* kHandovers[] = {"software", "inner", "outer", "both"};
constexpr const char* kRxInputs[] = {"good",           "bad-inner-l4", "bad-inner-ip",
                                     "bad-inner-both", "bad-outer-l4", "bad-outer-ip",
                                     "bad-both-l4"};
constexpr const char* kRxMistakes[] = {"none", "complement", "plus-one", "zero", "pseudo"};

struct Info {
    const char* name;
    Names values;
};
constexpr std::array<Info, kDimensions> kInfo = {{
    {"encapsulation", kEncaps},
    {"outer checksum", kOuterChecksums},
    {"tunnel port", kTunnelPorts},
    {"outer NAT", kNats},
    {"VLAN", kVlans},
    {"network", kNetworks},
    {"transport", kTransports},
    {"length", kLengths},
    {"trailer", kTrailers},
    {"payload", kPayloads},
    {"fragments", kFragmentations},
    {"segmentation", kSegmentations},
    {"buffers", kBuffers},
    {"offloaded", kHandovers},
    {"received", kRxInputs},
    {"mistake", kRxMistakes},
}};

// Members in the order of Dimension.
template <typename AnyRow>
auto members_of(AnyRow& row) {
    return std::tie(row.encap, row.outer_checksum, row.tunnel_port, row.nat, row.vlan, row.network,
                    row.transport, row.length, row.trailer, row.values, row.fragmentation,
                    row.segmentation, row.buffers, row.handover, row.rx_input, row.rx_mistake);
}

}  // namespace

const char* name(Dimension dimension) {
    return kInfo[index_of(dimension)].name;
}

std::span<const char* const> value_names(Dimension dimension) {
    return kInfo[index_of(dimension)].values;
}

std::array<std::uint8_t, kDimensions> values_of(const Row& row) {
    return std::apply([](auto... value) { return std::array{static_cast<std::uint8_t>(value)...}; },
                      members_of(row));
}

Row row_of(std::span<const std::uint8_t, kDimensions> values) {
    Row row;
    const auto* next = values.data();
    const auto take = [&](auto& member) { member = std::decay_t<decltype(member)>{*next++}; };
    std::apply([&](auto&... member) { (take(member), ...); }, members_of(row));
    return row;
}

std::string describe(const Row& row) {
    const auto plain = values_of(Row{});
    const auto values = values_of(row);
    std::string text;
    for (std::size_t i = 0; i < kDimensions; ++i) {
        if (values[i] != plain[i]) {
            text += text.empty() ? "" : ", ";
            text += std::string(kInfo[i].name) + " " + kInfo[i].values[values[i]];
        }
    }
    return text.empty() ? "plain UDP" : text;
}

}  // namespace pathproof::matrix
