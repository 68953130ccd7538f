#include "harness/netfilter/filter.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>

#include "harness/netfilter/names.h"

namespace pathproof::netfilter {
namespace {

using frame::Family;
using frame::IpAddress;

bool matches_tuple(const TupleFilter& filter, const Tuple& tuple) {
    return (!filter.source || filter.source->contains(tuple.source.address)) &&
           (!filter.destination || filter.destination->contains(tuple.destination.address)) &&
           (!filter.source_port || *filter.source_port == tuple.source.port) &&
           (!filter.destination_port || *filter.destination_port == tuple.destination.port);
}

bool any_address_in(const AddressRange& range, const Entry& entry) {
    return range.contains(entry.original.source.address) ||
           range.contains(entry.original.destination.address) ||
           range.contains(entry.reply.source.address) ||
           range.contains(entry.reply.destination.address);
}

bool any_port_is(std::uint16_t port, const Entry& entry) {
    return entry.original.source.port == port || entry.original.destination.port == port ||
           entry.reply.source.port == port || entry.reply.destination.port == port;
}

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
    const auto range = parse_range(word, text);
    if (!range) {
        return pass_on(range.error());
    }
    out = *range;
    return {};
}

Status read_16_bits(std::string_view word, std::string_view text,
                    std::optional<std::uint16_t>& out) {
    out = parse_number<std::uint16_t>(text);
    if (!out) {
        return fail(ErrorCode::kBadInput, "filter '{}': '{}' is not a number from 0 to 65535", word,
                    text);
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
        if (auto read = read_status_bit(word, text.substr(0, comma), filter); !read) {
            return read;
        }
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
         return read_16_bits(word, text, filter.original.source_port);
     }},
    {"dport", "PORT", "destination port of the original direction",
     [](auto word, auto text, Filter& filter) {
         return read_16_bits(word, text, filter.original.destination_port);
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
         return read_16_bits(word, text, filter.reply.source_port);
     }},
    {"reply-dport", "PORT", "destination port of the reply direction",
     [](auto word, auto text, Filter& filter) {
         return read_16_bits(word, text, filter.reply.destination_port);
     }},
    {"addr", "ADDRESS[/PREFIX]", "any of the four addresses",
     [](auto word, auto text, Filter& filter) {
         return read_range(word, text, filter.any_address);
     }},
    {"port", "PORT", "any of the four ports",
     [](auto word, auto text, Filter& filter) {
         return read_16_bits(word, text, filter.any_port);
     }},
    {"zone", "NUMBER", "conntrack zone, whichever direction it holds for",
     [](auto word, auto text, Filter& filter) { return read_16_bits(word, text, filter.zone); }},
    {"mark", "VALUE[/MASK]", "connection mark", read_mark},
    {"status", "[!]NAME,...",
     "status bits set or (with !) not set: assured, !seen_reply, nat_clash, ...", read_status},
};

std::string allowed_words() {
    std::string words;
    for (const Word& known : kWords) {
        words += fmt::format("{}{}=", words.empty() ? "" : ", ", known.name);
    }
    return words + " and the bare words ipv4, ipv6, " + allowed_protocols();
}

Status read_bare_word(std::string_view word, Filter& filter) {
    if (word == "ipv4" || word == "ipv6") {
        return read_family(word, word, filter);
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
    return known->read(word, word.substr(equals + 1), filter);
}

}  // namespace

bool AddressRange::contains(const IpAddress& other) const {
    if (address.family != other.family) {
        return false;
    }
    const std::size_t whole = prefix_bits / 8;
    if (!std::equal(address.bytes.begin(), address.bytes.begin() + whole, other.bytes.begin())) {
        return false;
    }
    const unsigned rest = prefix_bits % 8;
    return rest == 0 || (address.bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0;
}

bool matches(const Filter& filter, const Entry& entry) {
    return (!filter.family || *filter.family == entry.original.source.address.family) &&
           (!filter.protocol || *filter.protocol == entry.original.protocol) &&
           matches_tuple(filter.original, entry.original) &&
           matches_tuple(filter.reply, entry.reply) &&
           (!filter.any_address || any_address_in(*filter.any_address, entry)) &&
           (!filter.any_port || any_port_is(*filter.any_port, entry)) &&
           (!filter.zone || *filter.zone == entry.zone) &&
           (!filter.mark || (entry.mark & filter.mark->mask) == filter.mark->value) &&
           (entry.status & filter.status_set) == filter.status_set &&
           (entry.status & filter.status_clear) == 0;
}

Filter stable_part(const Filter& filter) {
    Filter stable = filter;
    stable.mark.reset();
    stable.status_set = 0;
    stable.status_clear = 0;
    return stable;
}

Result<Filter> parse_filter(const std::vector<std::string>& words) {
    Filter filter;
    for (const std::string& word : words) {
        if (auto read = read_word(word, filter); !read) {
            return pass_on(read.error());
        }
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
