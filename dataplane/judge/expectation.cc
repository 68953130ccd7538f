#include "dataplane/judge/expectation.h"

#include <algorithm>

namespace pathproof::judge {
namespace {

using frame::DnsRecord;
using frame::IpAddress;

// A server sends few records; more than these cannot all be told apart by one bit each.
constexpr std::size_t kMostAddresses = 64;

bool of_type(const IpAddress& address, std::uint16_t qtype) noexcept {
    return frame::address_type(address.family) == qtype;
}

// Marks each expected address that an answer contained, one bit each.
struct AddressCheck {
    std::span<const IpAddress> expected;
    std::uint16_t qtype;
    std::uint64_t met = 0;

    bool take(const IpAddress& address) noexcept {
        for (std::size_t i = 0; i < std::min(expected.size(), kMostAddresses); ++i) {
            const std::uint64_t bit = std::uint64_t{1} << i;
            if ((met & bit) == 0 && expected[i] == address && of_type(address, qtype)) {
                met |= bit;
                return true;
            }
        }
        return false;
    }
    bool complete() const noexcept {
        for (std::size_t i = 0; i < std::min(expected.size(), kMostAddresses); ++i) {
            if (of_type(expected[i], qtype) && (met >> i & 1) == 0) {
                return false;
            }
        }
        return true;
    }
};

bool is_cname_to(frame::DnsReader& answer, const DnsRecord& record, const frame::DnsName& target) {
    const auto name = answer.name_at(record.data_offset);
    return name && *name == target;
}

bool records_fit(frame::DnsReader& answer, std::uint16_t qtype, const Expectation& expected) {
    AddressCheck addresses{expected.addresses, qtype};
    bool cname_met = false;
    while (const auto record = answer.next_record()) {
        if (record->section != frame::DnsSection::kAnswer) {
            continue;
        }
        if (record->type == frame::kDnsTypeCname) {
            if (cname_met || !expected.cname || !is_cname_to(answer, *record, *expected.cname)) {
                return false;
            }
            cname_met = true;
            continue;
        }
        const auto address = record->address();
        if (!address || record->type != qtype || !addresses.take(*address)) {
            return false;
        }
    }
    return answer.defect() == frame::DnsDefect::kNone && addresses.complete() &&
           cname_met == expected.cname.has_value();
}

}  // namespace

std::optional<std::size_t> first_fit(std::span<const Expectation> rules,
                                     const frame::DnsQuestion& question) noexcept {
    const auto rule = std::ranges::find_if(
        rules, [&](const Expectation& candidate) { return candidate.fits(question); });
    if (rule == rules.end()) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(rule - rules.begin());
}

bool as_expected(frame::DnsReader& answer, const frame::DnsQuestion& question,
                 const Expectation* expected) noexcept {
    const frame::DnsHeader& header = answer.header();
    const frame::Rcode rcode = expected != nullptr ? expected->rcode : frame::Rcode::kRefused;
    const bool truncated = expected != nullptr && expected->truncated;
    if (header.rcode != static_cast<std::uint8_t>(rcode) || header.truncated != truncated) {
        return false;
    }
    if (expected == nullptr || truncated) {
        return header.answers == 0;
    }
    return records_fit(answer, question.type, *expected);
}

}  // namespace pathproof::judge
