// The words of the catalogue: signatures, layers, conditions.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "dataplane/base/contains.h"
#include "dataplane/base/join_each.h"
#include "dataplane/base/number.h"
#include "harness/profile/errata.h"

namespace pathproof::profile {
namespace {

// Wrong checksums, wrong headers, wrong verdicts and wrong paths, as the judge names them.
constexpr auto kChecksumNames = std::to_array<std::string_view>({"BITS",
                                                                 "CARRY",
                                                                 "COMPLETE_WRONG",
                                                                 "CONSTANT",
                                                                 "COUNTER_LIES",
                                                                 "CUT",
                                                                 "DISABLED",
                                                                 "DOUBLE",
                                                                 "DOUBLED",
                                                                 "DROP",
                                                                 "EXTHDR_PSEUDO",
                                                                 "EXTHDR_START",
                                                                 "FIELD_KEEP",
                                                                 "FIELD_ZERO",
                                                                 "FIRST_SEG_ONLY",
                                                                 "FRAG_L4",
                                                                 "FRAME_BEFORE",
                                                                 "IPOPT_START",
                                                                 "IPV4_FFFF",
                                                                 "LACKS",
                                                                 "LAST_SEG_ONLY",
                                                                 "MISORDERED",
                                                                 "NAT0",
                                                                 "NAT_LCO",
                                                                 "ODD_LAST_DROPPED",
                                                                 "ODD_LAST_LANE",
                                                                 "OFFSET",
                                                                 "OUTER_BEFORE_INNER",
                                                                 "PADDED",
                                                                 "PAD_DATA",
                                                                 "PAD_LEN",
                                                                 "PAYLOAD",
                                                                 "PORT_SPECIAL",
                                                                 "PORT_UNPARSED",
                                                                 "PSEUDO",
                                                                 "PSEUDO_INV",
                                                                 "PSEUDO_NOLEN",
                                                                 "RX_BAD_ON_GOOD",
                                                                 "RX_DROP_BAD",
                                                                 "RX_GOOD_ON_BAD",
                                                                 "RX_HEALED",
                                                                 "RX_LAYER_SWAP",
                                                                 "RX_UNKNOWN_ALWAYS",
                                                                 "SEG_HDR",
                                                                 "SHIFTED",
                                                                 "SLOW",
                                                                 "STALE",
                                                                 "STALL",
                                                                 "SUPERPKT",
                                                                 "SWAP",
                                                                 "TWICE",
                                                                 "UNFINISHED",
                                                                 "UNKNOWN",
                                                                 "VLAN_LOST",
                                                                 "VLAN_START",
                                                                 "WRONG_FIELD",
                                                                 "ZERO_NOT_MANGLED"});
constexpr auto kDepths =
    std::to_array<std::string_view>({"any", "inner", "innermost", "outer", "outermost", "plain"});
constexpr auto kProtocols = std::to_array<std::string_view>(
    {"counter", "frame", "icmp", "icmpv6", "ip", "ipv4", "ipv6", "l4", "payload", "sctp", "seg",
     "tcp", "udp", "gre", "udplite"});

struct Condition {
    std::string_view key;
    std::string_view values;  // separated by spaces; empty: a whole number
};
constexpr auto kConditions = std::to_array<Condition>({
    {"nat", "outer inner plain none"},
    {"outer_checksum", "0 on"},
    {"encapsulation", "any none vxlan vxlan-gpe geneve gre ipip"},
    {"outer_family", "4 6"},
    {"inner_family", "4 6"},
    {"families", "mixed same"},
    {"l4", "udp tcp sctp icmp other"},
    {"padding", "zero nonzero none"},
    {"vlan", "none single double inner inserted"},
    {"fragment", "yes no"},
    {"segmented", "tso uso no"},
    {"options", "ip extension geneve none"},
    {"checksum", "0 nonzero"},
    {"length", "odd even short"},  // or bytes of the frame without FCS, or a range: see Lengths
    {"buffers", "one many"},
    {"df", "0 1"},
    {"received", "coalesced single"},
});

// "STALE(sport)": the name and its argument.
std::pair<std::string, std::string> split_name(const std::string& name) {
    const std::size_t open = name.find('(');
    if (open == std::string::npos || name.back() != ')') {
        return {name, ""};
    }
    return {name.substr(0, open), name.substr(open + 1, name.size() - open - 2)};
}

std::pair<std::string, std::string> split_layer(const std::string& layer) {
    const std::size_t dot = layer.find('.');
    if (dot == std::string::npos) {
        return {"plain", layer};
    }
    return {layer.substr(0, dot), layer.substr(dot + 1)};
}

bool depth_covers(std::string_view general, std::string_view special) {
    return general == special || general == "any" ||
           (general == "innermost" && (special == "inner" || special == "plain")) ||
           (general == "outermost" && (special == "outer" || special == "plain"));
}

bool protocol_covers(std::string_view general, std::string_view special) {
    constexpr auto kL4 =
        std::to_array<std::string_view>({"udp", "tcp", "sctp", "icmp", "icmpv6", "udplite"});
    constexpr auto kIp = std::to_array<std::string_view>({"ipv4", "ipv6"});
    return general == special || (general == "l4" && contains(kL4, special)) ||
           (general == "ip" && contains(kIp, special));
}

Status check_layer(const std::string& layer) {
    const auto [depth, protocol] = split_layer(layer);
    if (contains(kDepths, depth) && contains(kProtocols, protocol)) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "'{}' is no layer; write one of {} and, behind a dot, one of {}", layer,
                fmt::join(kDepths, ", "), fmt::join(kProtocols, ", "));
}

// "1499", "1499-9000".
std::optional<Lengths> numbers_of(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto low = whole_number<std::uint32_t>(text.substr(0, dash));
    const auto high =
        dash == std::string_view::npos ? low : whole_number<std::uint32_t>(text.substr(dash + 1));
    if (!low || !high || *low > *high) {
        return std::nullopt;
    }
    return Lengths{.low = *low, .high = *high};
}

std::optional<Direction> direction_named(std::string_view word) {
    for (const Direction direction :
         {Direction::kTransmit, Direction::kReceive, Direction::kPath}) {
        if (word == name(direction)) {
            return direction;
        }
    }
    return std::nullopt;
}

}  // namespace

const char* name(Direction direction) {
    switch (direction) {
        case Direction::kTransmit: return "tx";
        case Direction::kReceive: return "rx";
        case Direction::kPath: return "path";
    }
    return "path";
}

const char* name(Evidence evidence) {
    switch (evidence) {
        case Evidence::kSource: return "source";
        case Evidence::kThread: return "thread";
        case Evidence::kChangelog: return "changelog";
    }
    return "changelog";
}

const char* name(Certainty certainty) {
    switch (certainty) {
        case Certainty::kDriverAndRange: return "driver and version";
        case Certainty::kDriver: return "driver";
        case Certainty::kSignature: return "signature only";
    }
    return "signature only";
}

Result<Signature> parse_signature(const std::string& text) {
    const std::size_t argument = text.find('(');
    const std::size_t last = text.rfind('.', argument);
    const std::size_t first = text.find('.');
    if (first == std::string::npos || first == last) {
        return fail(ErrorCode::kBadInput,
                    "'{}' is no signature; write direction.depth.protocol.NAME, as "
                    "tx.outer.udp.NAT0",
                    text);
    }
    const auto direction = direction_named(text.substr(0, first));
    if (!direction) {
        return fail(ErrorCode::kBadInput, "'{}' begins with no direction: tx, rx or path", text);
    }
    const Signature signature{*direction, text.substr(first + 1, last - first - 1),
                              text.substr(last + 1)};
    TRY(check_layer(signature.layer));
    if (!contains(kChecksumNames, split_name(signature.name).first)) {
        return fail(ErrorCode::kBadInput, "'{}' is no name of a defect; there are: {}",
                    signature.name, fmt::join(kChecksumNames, ", "));
    }
    return signature;
}

std::string to_text(const Signature& signature) {
    return fmt::format("{}.{}.{}", name(signature.direction), signature.layer, signature.name);
}

Status check_condition(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const auto* condition = std::ranges::find(kConditions, key, &Condition::key);
    if (condition == kConditions.end() || equals == std::string::npos) {
        return fail(ErrorCode::kBadInput, "'{}' is no condition; write key=value with one of {}",
                    word, join_each(kConditions, &Condition::key));
    }
    const std::string value = fmt::format(" {} ", word.substr(equals + 1));
    const bool listed =
        value != "  " && fmt::format(" {} ", condition->values).find(value) != std::string::npos;
    if (key == "length" && (listed || lengths_of(word))) {
        return {};
    }
    if (!listed) {
        return fail(
            ErrorCode::kBadInput, "'{}' may be one of: {}{}", key, condition->values,
            key == "length" ? ", a number of bytes (1500) or a range of them (1499-9000)" : "");
    }
    return {};
}

std::optional<Lengths> lengths_of(const std::string& condition) {
    constexpr std::string_view kKey = "length=";
    constexpr std::uint32_t kShortest = 60;  // IEEE 802.3, without FCS: shorter ones are padded
    if (!condition.starts_with(kKey)) {
        return std::nullopt;
    }
    const std::string_view value = std::string_view(condition).substr(kKey.size());
    if (value == "short") {
        return Lengths{.low = 0, .high = kShortest};
    }
    if (value == "odd" || value == "even") {
        return Lengths{.parity = value == "odd" ? Lengths::Parity::kOdd : Lengths::Parity::kEven};
    }
    return numbers_of(value);
}

bool may_be_both(const Lengths& a, const Lengths& b) {
    const std::uint32_t low = std::max(a.low, b.low);
    const std::uint32_t high = std::min(a.high, b.high);
    if (low > high) {
        return false;
    }
    const auto allows = [](const Lengths& lengths, std::uint32_t bytes) {
        return lengths.parity == Lengths::Parity::kAny ||
               (lengths.parity == Lengths::Parity::kOdd) == (bytes % 2 != 0);
    };
    // Two neighbours are of both parities.
    return (allows(a, low) && allows(b, low)) ||
           (high > low && allows(a, low + 1) && allows(b, low + 1));
}

bool layer_covers(const std::string& general, const std::string& special) {
    const auto [depth, protocol] = split_layer(general);
    const auto [seen_depth, seen_protocol] = split_layer(special);
    return depth_covers(depth, seen_depth) && protocol_covers(protocol, seen_protocol);
}

bool same_name(const std::string& a, const std::string& b) {
    const auto [name, argument] = split_name(a);
    const auto [other_name, other_argument] = split_name(b);
    return name == other_name &&
           (argument.empty() || other_argument.empty() || argument == other_argument);
}

}  // namespace pathproof::profile
