#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "harness/netfilter/filter.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/text.h"

namespace pathproof::netfilter {
namespace {

using frame::Family;

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) {
        text.remove_prefix(2);
    }
    Number number{};
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
    if (problem != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
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

Status read_range(std::string_view word, std::string_view text, std::optional<AddressRange>& out) {
    out = TRY(parse_range(word, text));
    return {};
}

template <typename Number>
Status read_number(std::string_view word, std::string_view text, std::optional<Number>& out) {
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
    std::string words;
    for (const StatusBit& known : status_bits()) {
        words += words.empty() ? "" : ", ";
        for (const char letter : known.name) {
            words +=
                letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        }
    }
    return words;
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

std::string allowed_protocols() {
    std::string words;
    for (const std::string_view word : protocol_names()) {
        words += words.empty() ? "" : ", ";
        words += word;
    }
    return words;
}

Status read_protocol(std::string_view word, std::string_view text, Filter& filter) {
    filter.protocol = protocol_number(text);
    if (!filter.protocol) {
        return fail(ErrorCode::kBadInput,
                    "filter '{}': unknown protocol '{}'; allowed are {} and numbers 0 to 255", word,
                    text, allowed_protocols());
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

Status read_text(std::string_view word, std::string_view text, std::string& out) {
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
        const auto names = LabelNames::load();
        if (!names) {
            return fail(names.error(), "filter '{}'", word);
        }
        bit = names->bit(std::string(text));
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

Status read_nat(std::string_view word, std::string_view text, NatFilter::Kind kind,
                Filter& filter) {
    filter.nat = NatFilter{kind, std::nullopt};
    return text.empty() ? Status() : read_range(word, text, filter.nat->to);
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
     [](auto word, auto text, Filter& filter) {
         return read_range(word, text, filter.original.source);
     }},
    {"dst", "ADDRESS[/PREFIX]", "destination of the original direction",
     [](auto word, auto text, Filter& filter) {
         return read_range(word, text, filter.original.destination);
     }},
    {"sport", "PORT", "source port of the original direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.original.source_port);
     }},
    {"dport", "PORT", "destination port of the original direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.original.destination_port);
     }},
    {"reply-src", "ADDRESS[/PREFIX]", "source of the reply direction: the backend after DNAT",
     [](auto word, auto text, Filter& filter) {
         return read_range(word, text, filter.reply.source);
     }},
    {"reply-dst", "ADDRESS[/PREFIX]", "destination of the reply direction",
     [](auto word, auto text, Filter& filter) {
         return read_range(word, text, filter.reply.destination);
     }},
    {"reply-sport", "PORT", "source port of the reply direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.reply.source_port);
     }},
    {"reply-dport", "PORT", "destination port of the reply direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.reply.destination_port);
     }},
    {"addr", "ADDRESS[/PREFIX]", "any of the four addresses",
     [](auto word, auto text, Filter& filter) {
         return read_range(word, text, filter.any_address);
     }},
    {"port", "PORT", "any of the four ports",
     [](auto word, auto text, Filter& filter) { return read_number(word, text, filter.any_port); }},
    {"icmp-type", "NUMBER", "ICMP or ICMPv6 type of the original direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.original.icmp_type);
     }},
    {"icmp-code", "NUMBER", "ICMP or ICMPv6 code of the original direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.original.icmp_code);
     }},
    {"icmp-id", "NUMBER", "ICMP or ICMPv6 identifier of the original direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.original.icmp_id);
     }},
    {"reply-icmp-type", "NUMBER", "the same of the reply direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.reply.icmp_type);
     }},
    {"reply-icmp-code", "NUMBER", "the same of the reply direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.reply.icmp_code);
     }},
    {"reply-icmp-id", "NUMBER", "the same of the reply direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.reply.icmp_id);
     }},
    {"src-nat", "ADDRESS[/PREFIX]", "source translated to it; as a bare word: to any address",
     [](auto word, auto text, Filter& filter) {
         return read_nat(word, text, NatFilter::Kind::kSource, filter);
     }},
    {"dst-nat", "ADDRESS[/PREFIX]", "destination translated to it; as a bare word: to any address",
     [](auto word, auto text, Filter& filter) {
         return read_nat(word, text, NatFilter::Kind::kDestination, filter);
     }},
    {"any-nat", "ADDRESS[/PREFIX]", "either of the two",
     [](auto word, auto text, Filter& filter) {
         return read_nat(word, text, NatFilter::Kind::kAny, filter);
     }},
    {"orig-zone", "NUMBER", "zone that holds for the original direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.original.zone);
     }},
    {"reply-zone", "NUMBER", "zone that holds for the reply direction",
     [](auto word, auto text, Filter& filter) {
         return read_number(word, text, filter.reply.zone);
     }},
    {"zone", "NUMBER", "conntrack zone, whichever direction it holds for",
     [](auto word, auto text, Filter& filter) { return read_number(word, text, filter.zone); }},
    {"mark", "VALUE[/MASK]", "connection mark", read_mark},
    {"status", "[!]NAME,...",
     "status bits set or (with !) not set: assured, !seen_reply, nat_clash, ...", read_status},
    {"state", "NAME", "of TCP, SCTP or DCCP: ESTABLISHED, SYN_SENT, ...", read_state},
    {"helper", "NAME", "its helper: ftp, sip, ...",
     [](auto word, auto text, Filter& filter) { return read_text(word, text, filter.helper); }},
    {"label", "BIT|NAME", "a connection label that is set; may be given again for more",
     read_label},
    {"secctx", "TEXT", "security context",
     [](auto word, auto text, Filter& filter) {
         return read_text(word, text, filter.security_context);
     }},
    {"id", "NUMBER", "CTA_ID",
     [](auto word, auto text, Filter& filter) { return read_number(word, text, filter.id); }},
};

std::string allowed_words() {
    std::string words;
    for (const Word& known : kWords) {
        words += fmt::format("{}{}=", words.empty() ? "" : ", ", known.name);
    }
    return words + " and the bare words ipv4, ipv6, src-nat, dst-nat, any-nat, " +
           allowed_protocols();
}

Status read_bare_word(std::string_view word, Filter& filter) {
    if (word == "ipv4" || word == "ipv6") {
        return read_family(word, word, filter);
    }
    if (word == "src-nat" || word == "dst-nat" || word == "any-nat") {
        return read_nat(word, {},
                        word[0] == 's'   ? NatFilter::Kind::kSource
                        : word[0] == 'd' ? NatFilter::Kind::kDestination
                                         : NatFilter::Kind::kAny,
                        filter);
    }
    const auto protocols = protocol_names();
    if (std::find(protocols.begin(), protocols.end(), word) != protocols.end()) {
        return read_protocol(word, word, filter);
    }
    return fail(ErrorCode::kBadInput, "unknown filter word '{}'; allowed are {}", word,
                allowed_words());
}

Status read_word(std::string_view word, Filter& filter) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
        return read_bare_word(word, filter);
    }
    const std::string_view key = word.substr(0, equals);
    const auto* known = std::find_if(std::begin(kWords), std::end(kWords),
                                     [&](const Word& candidate) { return candidate.name == key; });
    if (known == std::end(kWords)) {
        return fail(ErrorCode::kBadInput, "unknown filter word '{}'; allowed are {}", word,
                    allowed_words());
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
