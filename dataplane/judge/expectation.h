// The answer that a server was told to give, in the form in which a message is compared with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/frame/dns.h"

namespace pathproof::judge {

// The answer to questions of class IN for names under `suffix`, of one type or of all types (0).
struct Expectation {
    frame::DnsName suffix;  // the root: all names
    std::uint16_t qtype = 0;
    frame::Rcode rcode = frame::Rcode::kNoError;
    std::optional<frame::DnsName> cname;
    std::vector<frame::IpAddress> addresses;  // of both families; a question's own type counts
    bool truncated = false;                   // TC and no records

    bool fits(const frame::DnsQuestion& question) const noexcept {
        return question.query_class == frame::kDnsClassIn &&
               (qtype == 0 || qtype == question.type) && question.name.is_under(suffix);
    }
};

// The place of the first rule that fits, or nothing.
std::optional<std::size_t> first_fit(std::span<const Expectation> rules,
                                     const frame::DnsQuestion& question) noexcept;

// Reads the records behind the question of an answer and compares: rcode, TC, the CNAME and the set
// of addresses. `expected` empty: the server had no rule, so REFUSED without records.
bool as_expected(frame::DnsReader& answer, const frame::DnsQuestion& question,
                 const Expectation* expected) noexcept;

}  // namespace pathproof::judge
