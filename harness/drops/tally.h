// Adding up dropped packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "harness/drops/event_format.h"
#include "harness/drops/packet_program.h"
#include "harness/drops/summary.h"
#include "harness/drops/symbols.h"

namespace pathproof::drops {

// "ip/udp", "ip6/tcp"; "ip" when the protocol above is not known; "arp"; "ethertype 0x88cc"; "none"
// for a packet whose kind nobody had set.
std::string protocol_word(std::uint16_t ethertype, std::optional<std::uint8_t> ip_protocol);

// From the packet's conntrack status.
FlowState flow_state(const PacketFacts& facts);

class Tally {
  public:
    // With kNamespace, packets that tell no namespace are not among those counted.
    Tally(DropEvent event, Scope scope);

    // `time_ns` is CLOCK_REALTIME.
    void add(const PacketFacts& facts, std::int64_t time_ns);

    // Counts and last drops with their names; the summary's other members are left at their
    // defaults, but for the scope.
    DropSummary summary(KernelSymbols& symbols) const;

  private:
    struct Kind {
        std::uint32_t reason;
        std::uint64_t location;
        std::uint16_t ethertype;
        std::optional<std::uint8_t> ip_protocol;
        FlowState flow;
        auto operator<=>(const Kind&) const = default;
    };
    struct Last {
        std::int64_t time_ns;
        Kind kind;
    };
    // Bounds on what is kept: it does not grow with the number of packets.
    static constexpr std::size_t kMostKinds = 4096;
    static constexpr std::size_t kMostLast = 32;

    DropCount named(const Kind& kind, std::uint64_t packets, const KernelSymbols& symbols) const;

    const DropEvent event_;
    const Scope scope_;
    // Packets that go to a socket have lost their conntrack entry on the way (nf_reset_ct): what it
    // was is told for this reason only.
    std::optional<std::uint32_t> netfilter_drop_;
    std::map<Kind, std::uint64_t> kinds_;
    std::deque<Last> last_;  // newest first
    std::uint64_t drops_ = 0;
    std::uint64_t unspecified_ = 0;
    std::uint64_t nowhere_ = 0;
    std::uint64_t other_kinds_ = 0;
};

}  // namespace pathproof::drops
