#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <limits>
#include <string_view>

#include "dataplane/base/join_each.h"
#include "dataplane/base/number.h"
#include "harness/netfilter/filter.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/text.h"

namespace pathproof::netfilter {
namespace {

using frame::Family;

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    return hex ? whole_number<Number>(text.substr(2), 16) : whole_number<Number>(text);
}

Result<AddressRange> parse_range(std::string_view word, std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto address = frame::parse_ip(text.substr(0, slash));
    if (!address) {
        return fail(ErrorCode::kBadInput, "filter '{}': {}", word, address.error().message);
    }
    const unsigned longest = static_cast<unsigned>(address->size() * 8);
    const auto bits = slash == std::string_view::npos
                          ? std::optional(longest)
                          : parse_number<unsigned>(text.substr(slash + 1));
    if (!bits || *bits > longest) {
        return fail(ErrorCode::kBadInput, "filter '{}': the prefix length must be 0 to {}", word,
                    longest);
    }
    return AddressRange{*address, static_cast<std::uint8_t>(*bits)};
}

Status read_value(std::string_view word, std::string_view text, std::optional<AddressRange>& out) {
    out = TRY(parse_range(word, text));
    return {};
}

template <typename Number>
Status read_value(std::string_view word, std::string_view text, std::optional<Number>& out) {
    out = parse_number<Number>(text);
    if (!out) {
        return fail(ErrorCode::kBadInput, "filter '{}': '{}' is not a number from 0 to {}", word,
                    text, std::numeric_limits<Number>::max());
    }
    return {};
}

Status read_mark(std::string_view word, std::string_view text, Filter& filter) {
    const std::size_t slash = text.find('/');
    const auto value = parse_number<std::uint32_t>(text.substr(0, slash));
    const auto mask = slash == std::string_view::npos
                          ? std::optional<std::uint32_t>(0xffffffff)
                          : parse_number<std::uint32_t>(text.substr(slash + 1));
    if (!value || !mask) {
        return fail(ErrorCode::kBadInput,
                    "filter '{}': write mark=VALUE or mark=VALUE/MASK with decimal or 0x numbers "
                    "of 32 bits",
                    word);
    }
    if ((*value & ~*mask) != 0) {
        return fail(ErrorCode::kBadInput,
                    "filter '{}': the value has bits outside the mask, nothing can match", word);
    }
    filter.mark = MarkFilter{*value, *mask};
    return {};
}

std::string allowed_status_words() {
    return boost::to_lower_copy(fmt::format("{}", fmt::join(status_bits(), ", ")));
}

Status read_status_bit(std::string_view word, std::string_view text, Filter& filter) {
    const bool negated = text.starts_with('!');
    const std::string_view bit_name = negated ? text.substr(1) : text;
    if (bit_name == "unreplied") {
        (negated ? filter.status_set : filter.status_clear) |= status::kSeenReply;
        return {};
    }
    const auto bit = status_bit(bit_name);
    if (!bit) {
        return fail(ErrorCode::kBadInput,
                    "filter '{}': unknown status '{}'; allowed are {}, unreplied, each with ! "
                    "before it for its absence",
                    word, bit_name, allowed_status_words());
    }
    (negated ? filter.status_clear : filter.status_set) |= *bit;
    return {};
}

Status read_status(std::string_view word, std::string_view text, Filter& filter) {
    while (true) {
        const std::size_t comma = text.find(',');
        TRY(read_status_bit(word, text.substr(0, comma), filter));
        if (comma == std::string_view::npos) {
            break;
        }
        text.remove_prefix(comma + 1);
    }
    if (filter.status_set & filter.status_clear) {
        return fail(ErrorCode::kBadInput, "filter '{}': a status cannot be set and absent at once",
                    word);
    }
    return {};
}

Status read_protocol(std::string_view word, std::string_view text, Filter& filter) {
    filter.protocol = protocol_number(text);
    if (!filter.protocol) {
        return fail(ErrorCode::kBadInput,
                    "filter '{}': unknown protocol '{}'; allowed are {} and numbers 0 to 255", word,
                    text, fmt::join(protocol_names(), ", "));
    }
    return {};
}

Status read_family(std::string_view word, std::string_view text, Filter& filter) {
    if (text != "ipv4" && text != "ipv6") {
        return fail(ErrorCode::kBadInput, "filter '{}': the family is ipv4 or ipv6", word);
    }
    filter.family = text == "ipv4" ? Family::kIpv4 : Family::kIpv6;
    return {};
}

Status read_state(std::string_view word, std::string_view text, Filter& filter) {
    const auto known = protocol_state_name(text);
    if (!known) {
        return fail(ErrorCode::kBadInput, "filter '{}': unknown state '{}'; allowed are {}", word,
                    text, fmt::join(protocol_state_names(), ", "));
    }
    filter.state = *known;
    return {};
}

Status read_value(std::string_view word, std::string_view text, std::string& out) {
    if (text.empty()) {
        return fail(ErrorCode::kBadInput, "filter '{}': there is no name behind the '='", word);
    }
    out = text;
    return {};
}

// A bit by its number, or by its name in connlabel.conf.
Status read_label(std::string_view word, std::string_view text, Filter& filter) {
    constexpr unsigned kBits = 128;  // NF_CT_LABELS_MAX_SIZE
    auto bit = parse_number<unsigned>(text);
    if (!bit && !text.empty()) {
        const auto names = TRY(doing(LabelNames::load(), "filter '{}'", word));
        bit = names.bit(std::string(text));
    }
    if (!bit || *bit >= kBits) {
        return fail(ErrorCode::kBadInput,
                    "filter '{}': write label=BIT with a number from 0 to {}, or label=NAME with a "
                    "name of connlabel.conf",
                    word, kBits - 1);
    }
    filter.labels.push_back(*bit);
    return {};
}

template <NatFilter::Kind kind>
Status read_nat(std::string_view word, std::string_view text, Filter& filter) {
    filter.nat = NatFilter{kind, std::nullopt};
    return text.empty() ? Status() : read_value(word, text, filter.nat->to);
}

// Reads the value of a word into a member of the filter, or of one that it has.
template <auto... path>
Status read_into(std::string_view word, std::string_view text, Filter& filter) {
    return read_value(word, text, (filter.*....*path));
}

// One kind of word: NAME=..., and how its value gets into the filter.
struct Word {
    std::string_view name;
    std::string_view value;
    std::string_view help;
    Status (*read)(std::string_view word, std::string_view text, Filter& filter);
};

constexpr Word kWords[] = {
    {"family", "ipv4|ipv6", "address family; also as the bare word ipv4 or ipv6", read_family},
    {"proto", "NAME|NUMBER", "protocol; also as a bare word: udp, tcp, icmp, sctp, gre, ...",
     read_protocol},
    {"src", "ADDRESS[/PREFIX]", "source of the original direction",
     read_into<&Filter::original, &TupleFilter::source>},
    {"dst", "ADDRESS[/PREFIX]", "destination of the original direction",
     read_into<&Filter::original, &TupleFilter::destination>},
    {"sport", "PORT", "source port of the original direction",
     read_into<&Filter::original, &TupleFilter::source_port>},
    {"dport", "PORT", "destination port of the original direction",
     read_into<&Filter::original, &TupleFilter::destination_port>},
    {"reply-src", "ADDRESS[/PREFIX]", "source of the reply direction: the backend after DNAT",
     read_into<&Filter::reply, &TupleFilter::source>},
    {"reply-dst", "ADDRESS[/PREFIX]", "destination of the reply direction",
     read_into<&Filter::reply, &TupleFilter::destination>},
    {"reply-sport", "PORT", "source port of the reply direction",
     read_into<&Filter::reply, &TupleFilter::source_port>},
    {"reply-dport", "PORT", "destination port of the reply direction",
     read_into<&Filter::reply, &TupleFilter::destination_port>},
    {"addr", "ADDRESS[/PREFIX]", "any of the four addresses", read_into<&Filter::any_address>},
    {"port", "PORT", "any of the four ports", read_into<&Filter::any_port>},
    {"icmp-type", "NUMBER", "ICMP or ICMPv6 type of the original direction",
     read_into<&Filter::original, &TupleFilter::icmp_type>},
    {"icmp-code", "NUMBER", "ICMP or ICMPv6 code of the original direction",
     read_into<&Filter::original, &TupleFilter::icmp_code>},
    {"icmp-id", "NUMBER", "ICMP or ICMPv6 identifier of the original direction",
     read_into<&Filter::original, &TupleFilter::icmp_id>},
    {"reply-icmp-type", "NUMBER", "the same of the reply direction",
     read_into<&Filter::reply, &TupleFilter::icmp_type>},
    {"reply-icmp-code", "NUMBER", "the same of the reply direction",
     read_into<&Filter::reply, &TupleFilter::icmp_code>},
    {"reply-icmp-id", "NUMBER", "the same of the reply direction",
     read_into<&Filter::reply, &TupleFilter::icmp_id>},
    {"src-nat", "ADDRESS[/PREFIX]", "source translated to it; as a bare word: to any address",
     read_nat<NatFilter::Kind::kSource>},
    {"dst-nat", "ADDRESS[/PREFIX]", "destination translated to it; as a bare word: to any address",
     read_nat<NatFilter::Kind::kDestination>},
    {"any-nat", "ADDRESS[/PREFIX]", "either of the two", read_nat<NatFilter::Kind::kAny>},
    {"orig-zone", "NUMBER", "zone that holds for the original direction",
     read_into<&Filter::original, &TupleFilter::zone>},
    {"reply-zone", "NUMBER", "zone that holds for the reply direction",
     read_into<&Filter::reply, &TupleFilter::zone>},
    {"zone", "NUMBER", "conntrack zone, whichever direction it holds for",
     read_into<&Filter::zone>},
    {"mark", "VALUE[/MASK]", "connection mark", read_mark},
    {"status", "[!]NAME,...",
     "status bits set or (with !) not set: assured, !seen_reply, nat_clash, ...", read_status},
    {"state", "NAME", "of TCP, SCTP or DCCP: ESTABLISHED, SYN_SENT, ...", read_state},
    {"helper", "NAME", "its helper: ftp, sip, ...", read_into<&Filter::helper>},
    {"label", "BIT|NAME", "a connection label that is set; may be given again for more",
     read_label},
    {"secctx", "TEXT", "security context", read_into<&Filter::security_context>},
    {"id", "NUMBER", "CTA_ID", read_into<&Filter::id>},
};

const Word* find_word(std::string_view name) {
    const auto* found = std::ranges::find(kWords, name, &Word::name);
    return found == std::end(kWords) ? nullptr : found;
}

Failure unknown_word(std::string_view word) {
    return fail(ErrorCode::kBadInput,
                "unknown filter word '{}'; allowed are {}= and the bare words ipv4, ipv6, src-nat, "
                "dst-nat, any-nat, {}",
                word, join_each(kWords, &Word::name, "=, "), fmt::join(protocol_names(), ", "));
}

Status read_bare_word(std::string_view word, Filter& filter) {
    if (word == "ipv4" || word == "ipv6") {
        return read_family(word, word, filter);
    }
    if (const Word* known = find_word(word); known != nullptr && word.ends_with("-nat")) {
        return known->read(word, {}, filter);
    }
    const auto protocols = protocol_names();
    if (std::ranges::find(protocols, word) != protocols.end()) {
        return read_protocol(word, word, filter);
    }
    return unknown_word(word);
}

Status read_word(std::string_view word, Filter& filter) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
        return read_bare_word(word, filter);
    }
    const std::string_view key = word.substr(0, equals);
    const Word* known = find_word(key);
    if (known == nullptr) {
        return unknown_word(word);
    }
    const std::string_view value = word.substr(equals + 1);
    if (value.empty() && key.ends_with("-nat")) {
        return fail(ErrorCode::kBadInput, "filter '{}': there is no address behind the '='", word);
    }
    return known->read(word, value, filter);
}

}  // namespace

Result<Filter> parse_filter(const std::vector<std::string>& words) {
    Filter filter;
    for (const std::string& word : words) {
        TRY(read_word(word, filter));
    }
    return filter;
}

std::string filter_help() {
    std::string help = "Filter words; an entry must match all of them:\n";
    for (const Word& known : kWords) {
        help +=
            fmt::format("  {:<30} {}\n", fmt::format("{}={}", known.name, known.value), known.help);
    }
    return help;
}

}  // namespace pathproof::netfilter
