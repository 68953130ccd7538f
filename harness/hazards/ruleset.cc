#include "harness/hazards/ruleset.h"

#include "dataplane/base/number.h"

namespace pathproof::hazards {

const char* name(Origin origin) {
    switch (origin) {
        case Origin::kIptablesNft: return "iptables (nf_tables)";
        case Origin::kIptablesLegacy: return "iptables (legacy)";
        case Origin::kNftables: return "nftables";
    }
    return "";
}

Result<AddressRange> prefix_range(const frame::IpAddress& address, unsigned length) {
    if (length > address.size() * 8) {
        return fail(ErrorCode::kBadInput, "{}/{}: no such prefix", to_string(address), length);
    }
    AddressRange range{address, address};
    for (unsigned bit = length; bit < address.size() * 8; ++bit) {
        const auto one = static_cast<std::uint8_t>(0x80U >> (bit % 8));
        range.first.bytes[bit / 8] &= static_cast<std::uint8_t>(~one);
        range.last.bytes[bit / 8] |= one;
    }
    return range;
}

Result<AddressRange> parse_range(std::string_view text) {
    if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
        const auto first = TRY(frame::parse_ip(text.substr(0, dash)));
        const auto last = TRY(frame::parse_ip(text.substr(dash + 1)));
        return AddressRange{first, last};
    }
    const std::size_t slash = text.find('/');
    const auto address = TRY(frame::parse_ip(text.substr(0, slash)));
    if (slash == std::string_view::npos) {
        return AddressRange{address, address};
    }
    const auto length = whole_number<unsigned>(text.substr(slash + 1));
    if (!length) {
        return fail(ErrorCode::kBadInput, "'{}' is no network", text);
    }
    return prefix_range(address, *length);
}

}  // namespace pathproof::hazards
