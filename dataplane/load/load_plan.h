// The plan of a run at line rate: the frames to send, their rate and place of departure, and the
// treatment of the frames that come back. Plain values, checked as a whole before anything is sent.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/frame_spec.h"
#include "dataplane/frame/stamp.h"

namespace pathproof::load {

using Nanoseconds = std::chrono::nanoseconds;

// A share of the frames: weights 8 and 2 make 80 % and 20 %, spread evenly.
struct MixPart {
    frame::TrafficClass traffic = frame::TrafficClass::kDnsA;
    std::uint32_t weight = 1;
    // Length of the frame without FCS (64 on the wire is 60 here): padding is put in the payload
    // (DNS: an EDNS0 padding option, RFC 7830; UDP, ICMP, TCP: payload). 0: as short as it can be.
    std::uint16_t frame_bytes = 0;
};

// Flow n of `flows` leaves from source port first + n % ports, source address first + n / ports.
struct FlowPlan {
    std::uint64_t flows = 1'000;  // distinct 5-tuples a class goes through in turn
    std::uint16_t first_port = 10'000;
    std::uint16_t ports = 1'000;
};

// Description of the frames that one sending lcore makes.
struct SourcePlan {
    // Addresses, destination port, MACs, tags, envelope, checksum modes; no payload. The transport
    // is the class's. ICMP under checksum mode 'offload' is summed in software: no NIC offers it.
    frame::FrameSpec spec;
    std::vector<MixPart> mix = {{}};
    // Checksum modes of classes over TCP and ICMP, if not the specification's.
    std::optional<frame::ChecksumMode> tcp_checksum;
    std::optional<frame::ChecksumMode> icmp_checksum;
    // A and AAAA of one pair have one 5-tuple and follow each other; the mix then names kDnsA only
    // and stands for the pair.
    enum class Pairing : std::uint8_t { kSingle, kPairs } pairing = Pairing::kSingle;
    FlowPlan flow;
    // Source ports of the envelope, used in turn; none: the specification's.
    std::vector<std::uint16_t> outer_source_ports;
    std::string suffix = "pathproof.test";
    // Destination port of UDP background traffic (echo, RFC 862); DNS and TCP go to the
    // specification's destination port.
    std::uint16_t background_port = 7;
    std::uint64_t seed = 1;
    std::uint8_t stream = 0;  // of this lcore
    // Lcores of one run share the flows out: this one uses flows first_flow, first_flow +
    // flow_step...
    std::uint64_t first_flow = 0;
    std::uint64_t flow_step = 1;
};

// Counts by TrafficClass.
using ClassCounts = std::array<std::uint64_t, frame::kTrafficClasses>;

}  // namespace pathproof::load
