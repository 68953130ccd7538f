#include "harness/netfilter/names.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>

#include "dataplane/base/number.h"
#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {
namespace {

struct ProtocolWord {
    std::uint8_t number;
    std::string_view word;
};

// The words of libnetfilter_conntrack's snprintf.
constexpr std::array kProtocols{
    ProtocolWord{IPPROTO_TCP, "tcp"},         ProtocolWord{IPPROTO_UDP, "udp"},
    ProtocolWord{IPPROTO_UDPLITE, "udplite"}, ProtocolWord{IPPROTO_ICMP, "icmp"},
    ProtocolWord{IPPROTO_ICMPV6, "icmpv6"},   ProtocolWord{IPPROTO_SCTP, "sctp"},
    ProtocolWord{IPPROTO_GRE, "gre"},         ProtocolWord{IPPROTO_DCCP, "dccp"},
};

using States = std::array<std::string_view, 10>;

// enum tcp_conntrack; SYN_SENT2 took the place of LISTEN.
constexpr States kTcpStates{"NONE",       "SYN_SENT", "SYN_RECV",  "ESTABLISHED", "FIN_WAIT",
                            "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE",       "SYN_SENT2"};
// enum sctp_conntrack.
constexpr States kSctpStates{
    "NONE",          "CLOSED",        "COOKIE_WAIT",       "COOKIE_ECHOED",  "ESTABLISHED",
    "SHUTDOWN_SENT", "SHUTDOWN_RECD", "SHUTDOWN_ACK_SENT", "HEARTBEAT_SENT", "HEARTBEAT_ACKED"};
// enum ct_dccp_states.
constexpr States kDccpStates{"NONE",     "REQUEST", "RESPOND",  "PARTOPEN", "OPEN",
                             "CLOSEREQ", "CLOSING", "TIMEWAIT", "IGNORE",   "INVALID"};

// enum ip_conntrack_status.
constexpr std::array<std::string_view, 16> kStatusBits{
    "EXPECTED",   "SEEN_REPLY",   "ASSURED",      "CONFIRMED", "SRC_NAT",       "DST_NAT",
    "SEQ_ADJUST", "SRC_NAT_DONE", "DST_NAT_DONE", "DYING",     "FIXED_TIMEOUT", "TEMPLATE",
    "NAT_CLASH",  "HELPER",       "OFFLOAD",      "HW_OFFLOAD"};

const States& states_of(std::uint8_t protocol) {
    switch (protocol) {
        case IPPROTO_TCP: return kTcpStates;
        case IPPROTO_SCTP: return kSctpStates;
        default: return kDccpStates;
    }
}

std::string canonical(std::string_view word) {
    std::string upper = boost::to_upper_copy(std::string(word));
    std::ranges::replace(upper, '-', '_');
    return upper;
}

}  // namespace

std::string_view protocol_name(std::uint8_t protocol) {
    const auto* known = std::ranges::find(kProtocols, protocol, &ProtocolWord::number);
    return known == kProtocols.end() ? "unknown" : known->word;
}

bool has_ports(std::uint8_t protocol) {
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE ||
           protocol == IPPROTO_SCTP || protocol == IPPROTO_DCCP;
}

std::optional<std::uint8_t> protocol_number(std::string_view word) {
    const auto* known = std::ranges::find(kProtocols, word, &ProtocolWord::word);
    return known != kProtocols.end() ? known->number : whole_number<std::uint8_t>(word);
}

std::vector<std::string_view> protocol_names() {
    std::vector<std::string_view> words;
    std::ranges::transform(kProtocols, std::back_inserter(words), &ProtocolWord::word);
    return words;
}

std::string_view state_name(std::uint8_t protocol, std::uint8_t state) {
    const States& names = states_of(protocol);
    return state < names.size() ? names[state] : names[0];
}

std::vector<std::string_view> protocol_state_names() {
    std::vector<std::string_view> names;
    for (const auto* states : {&kTcpStates, &kSctpStates, &kDccpStates}) {
        for (const std::string_view state : *states) {
            if (std::ranges::find(names, state) == names.end()) {
                names.push_back(state);
            }
        }
    }
    return names;
}

std::optional<std::string_view> protocol_state_name(std::string_view word) {
    const auto names = protocol_state_names();
    const auto found = std::ranges::find(names, canonical(word));
    return found == names.end() ? std::nullopt : std::optional(*found);
}

std::span<const std::string_view> status_bits() {
    return kStatusBits;
}

std::vector<std::string> status_names(std::uint32_t status) {
    std::vector<std::string> names;
    for (unsigned position = 0; position < 32; ++position) {
        if ((status >> position & 1) == 0) {
            continue;
        }
        names.push_back(position < kStatusBits.size() ? std::string(kStatusBits[position])
                                                      : fmt::format("BIT_{}", position));
    }
    return names;
}

std::optional<std::uint32_t> status_bit(std::string_view word) {
    const auto* known = std::ranges::find(kStatusBits, canonical(word));
    return known == kStatusBits.end() ? std::nullopt
                                      : std::optional(1u << (known - kStatusBits.begin()));
}

std::string_view name(ZoneDirection direction) {
    switch (direction) {
        case ZoneDirection::kBoth: return "both";
        case ZoneDirection::kOriginal: return "original";
        case ZoneDirection::kReply: return "reply";
    }
    return "both";
}

}  // namespace pathproof::netfilter
