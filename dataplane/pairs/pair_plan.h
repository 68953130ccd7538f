// The experiment that the data plane runs: A/AAAA query pairs leave one or two ports at chosen
// instants, a responder answers at the far side, and every query is followed to its end.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/frame/address.h"

namespace pathproof::pairs {

using Nanoseconds = std::chrono::nanoseconds;

// The VXLAN envelope of one member's packets.
struct VxlanCarrier {
    std::uint32_t vni = 0;
    frame::MacAddress source_mac;
    frame::MacAddress destination_mac;
    frame::Endpoint source;       // outer; the port is what RSS and RPS see
    frame::Endpoint destination;  // the VTEP, port 4789 as a rule
    bool udp_checksum = true;     // false: outer UDP checksum 0
    bool operator==(const VxlanCarrier&) const = default;
};

// One half of every pair: its port, addresses and query type.
struct PairMember {
    std::size_t port = 0;  // index into the ports that the tester opened
    frame::MacAddress source_mac;
    frame::MacAddress destination_mac;
    frame::IpAddress first_client;  // source address of pair 0
    // Not 0: a socket of its own for this half, as the resolver option single-request-reopen has
    // it.
    std::uint16_t source_port_offset = 0;
    std::uint16_t qtype = 1;  // 1: A, 28: AAAA
    std::optional<VxlanCarrier> carrier;
    bool operator==(const PairMember&) const = default;
};

enum class Departure : std::uint8_t {
    kTwoPorts,  // each member from its own port and lcore, both waiting for the same TSC deadline
    kOneBurst,  // both in one tx_burst of one lcore
    kInTurn,    // one lcore: the second `skew` after the first
};

struct PairPlan {
    std::uint64_t pairs = 0;
    double pairs_per_second = 0;
    Departure departure = Departure::kTwoPorts;
    // The second member leaves this much after the first; with kTwoPorts it may be negative.
    Nanoseconds skew{0};
    std::array<PairMember, 2> members;
    frame::Endpoint service;  // where queries go
    // kTwoPorts: shortly before each pair, both members' ways are made warm by a frame that the DUT
    // drops (see warm_up.h). On a busy machine pairs that left together otherwise reach conntrack
    // up to 20 us apart.
    bool warm_up = true;
    // Frames that an lcore reads and answers at one look, whatever is due. A pair makes four: at rates at which it
    // is always time for the next pair, one a look leaves queues to run over. More sets a pair's queries further apart.
    std::uint16_t least_read = 1;
    // Query n = 2 * pair + member asks for qNNNNNNNN.SUFFIX, n in hexadecimal, so that NAT cannot
    // hide which one it was.
    std::string suffix = "pathproof.test";
    // Pair i leaves from port first_source_port + i % source_ports, address
    // first_client + i / source_ports: both members share the port, and share the address as well
    // if their first_client is the same.
    std::uint16_t first_source_port = 10'000;
    std::uint16_t source_ports = 50'000;
    // Later answers are late; the default is glibc's.
    Nanoseconds answer_timeout = std::chrono::seconds(5);
    // Listened on after the last query left and the longest answer delay passed; less once each query
    // has had its answer.
    Nanoseconds drain = std::chrono::milliseconds(300);
    // A run in which a larger share of the queries left late is no result. Below 1 it watches the
    // rate; what is measured pair by pair, such as a race, holds at any rate.
    double late_share_allowed = 0.10;
    std::uint64_t seed = 1;
    std::uint32_t keep_bad_frames = 64;

    frame::Endpoint client(std::uint64_t pair, std::size_t member) const {
        return {members[member].first_client.plus(static_cast<std::uint32_t>(pair / source_ports)),
                static_cast<std::uint16_t>(first_source_port + members[member].source_port_offset +
                                           pair % source_ports)};
    }
    bool operator==(const PairPlan&) const = default;
};

}  // namespace pathproof::pairs
