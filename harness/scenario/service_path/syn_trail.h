// Follows the SYNs of many short connections through a NAT: when each left the client, whether and
// as which 4-tuple it reached the server, what TIME_WAIT it met there, and what its connection
// waited for. Plain values in, plain values out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/agent/connects.h"
#include "harness/agent/offload_frames.h"
#include "harness/netfilter/entry.h"

namespace pathproof::scenario {

// A connect or its answer that takes longer was waited for: TCP sends a SYN again after 1 s
// (RFC 6298, section 2.1).
inline constexpr double kSlowConnectMs = 500;

// A TCP segment from the client that opens, ends or resets a connection.
struct Segment {
    std::int64_t time_ns = 0;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint32_t sequence = 0;
    std::uint32_t next = 0;  // sequence number behind it
    bool syn = false;
    bool fin = false;
    bool rst = false;
    std::optional<std::uint32_t> timestamp;  // TSval (RFC 7323)
};

// Returns nothing unless the frame is such a segment over IPv4.
std::optional<Segment> read_segment(const agent::CapturedFrame& frame);
// Returns the capture's segments to that port.
std::vector<Segment> segments_to(const agent::Capture& capture, std::uint16_t port);

struct SynRecord {
    std::vector<agent::Connect> connects;
    std::vector<Segment> before_nat;       // as the DUT received them from the client
    std::vector<Segment> after_nat;        // as the server received them
    std::vector<netfilter::Event> births;  // conntrack's NEW, of the DUT
    bool server_closes = true;             // so that the TIME_WAITs are the server's
    // Number of ports from which the NAT draws with equal chances; 0: it does not draw.
    std::uint32_t drawn_from = 0;
};

// Fate of a SYN.
enum class SynFate : std::uint8_t {
    kAccepted,
    // Refused by the TIME_WAIT of its 4-tuple, which another port before NAT had left: its TSval is
    // below the last one there (PAWS), and the client answered the server's ACK with a RST.
    kTimestamp,
    kSequence,    // the same by its sequence number, for it has no (later) timestamp
    kLost,        // it left the client and did not reach the server
    kUnanswered,  // it reached the server, and another one or nothing followed
};
inline constexpr std::size_t kSynFates = 5;

// A SYN that was refused, beside what it met.
struct RefusedSyn {
    SynFate fate = SynFate::kTimestamp;
    std::uint16_t port = 0;             // after NAT
    std::uint16_t port_before_nat = 0;  // its own
    std::uint16_t left_by = 0;          // port before NAT of the connection that left the TIME_WAIT
    std::uint32_t last = 0, own = 0;    // TSval, or sequence number
    bool named = false;                 // conntrack has an entry with both of its ports
};

struct SynFindings {
    std::uint64_t connects = 0;
    std::uint64_t failed = 0;  // not connected at all
    std::uint64_t slow = 0;    // connected after more than kSlowConnectMs
    double slowest_ms = 0;
    // Connects that failed or were slow, by what became of the SYN that they waited on.
    std::array<std::uint64_t, kSynFates> harmed{};
    std::uint64_t unexplained = 0;                // harmed, and no SYN was waited on
    std::array<std::uint64_t, kSynFates> syns{};  // that left the client
    std::uint64_t met = 0;                        // SYNs that met a TIME_WAIT of their 4-tuple
    std::uint64_t refused_named = 0;  // refused, and conntrack names their port before NAT
    std::uint64_t late_resets = 0;    // RSTs of a 4-tuple that was closed (segments out of order)
    std::uint64_t strangers = 0;      // SYNs at the server that nobody saw leave
    std::uint64_t entries = 0;        // of conntrack
    std::uint64_t changed_ports = 0;  // of them, with another source port after NAT
    // Number of SYNs that would meet a TIME_WAIT by chance, as mean and variance. Each draw of a
    // port adds the share of ports whose 4-tuple is in TIME_WAIT among those that conntrack may
    // give.
    double expected_met = 0, expected_variance = 0;
    std::uint64_t drawn_met = 0;  // of these draws, those that did
    std::vector<RefusedSyn> refused;

    std::uint64_t all_harmed() const { return failed + slow; }
    std::uint64_t harmed_by(SynFate fate) const { return harmed[static_cast<std::size_t>(fate)]; }
    std::uint64_t count(SynFate fate) const { return syns[static_cast<std::size_t>(fate)]; }
};

SynFindings follow_syns(const SynRecord& record);

}  // namespace pathproof::scenario
