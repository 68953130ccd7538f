// The flow that is followed, as a person or a scenario names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/fate/record.h"
#include "harness/message/fields.h"

namespace pathproof::fate {

// Any packet whose parts are these, and the answers to it. A part that is missing, or 0, is any.
struct Flow {
    std::uint8_t protocol = 0;
    std::optional<frame::IpAddress> source;
    std::uint16_t source_port = 0;
    std::optional<frame::IpAddress> destination;
    std::uint16_t destination_port = 0;
    std::uint8_t tcp_flags = 0;  // of TCP those packets alone that have one of these flags
    bool operator==(const Flow&) const = default;
};
FIELDS(Flow, protocol, source, source_port, destination, destination_port, tcp_flags)

struct FollowOptions {
    std::vector<Flow> flows;  // at most FATE_MOST_FILTERS; a Flow{} is all packets
    // Packets are looked at where they are dropped, and not before: their way and conntrack's part in it
    // are not told, and all others cost nothing.
    bool only_drops = false;
    // Packets that are given one by one, and all that were dropped; the others are counted by their ends.
    std::uint64_t most_packets = 50'000;
};
FIELDS(FollowOptions, flows, only_drops, most_packets)

// {"udp", "10.0.0.5:40000", "10.96.0.10:53"}, one word or several; "*" is any address, "10.0.0.5" any port
// of it, "*:53" this port of any, "any" any protocol.
Result<Flow> parse_flow(const std::vector<std::string>& words);
// "udp 10.0.0.5:40000 > 10.96.0.10:53"
std::string to_string(const Flow& flow);

// The flow as the programs in the kernel compare it.
fate_filter to_filter(const Flow& flow);

}  // namespace pathproof::fate
