// Rules for the answers of the tester's DNS server: plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::traffic {

// The server's answer for names that end in `suffix` (empty: all), for one type or all (qtype 0).
// The first rule that fits counts. A query that no rule fits, or of another class than IN, is
// answered REFUSED.
struct AnswerRule {
    std::string suffix;
    std::uint16_t qtype = 0;
    std::uint8_t rcode = 0;                   // 0 NOERROR, 3 NXDOMAIN
    std::vector<frame::IpAddress> addresses;  // for A and AAAA; other types have no data (NODATA)
    std::string cname;                        // not empty: a CNAME record before the addresses
    Nanoseconds delay{0};                     // 0 to 10 s
    double loss = 0;                          // share of queries not answered, drawn from the seed
    bool truncated = false;                   // answers TC and no records
    bool operator==(const AnswerRule&) const = default;
};

struct ResponderPlan {
    std::size_t port = 0;
    std::vector<AnswerRule> rules;
    std::uint64_t seed = 1;

    Nanoseconds longest_delay() const {
        Nanoseconds longest{0};
        for (const AnswerRule& rule : rules) {
            longest = std::max(longest, rule.delay);
        }
        return longest;
    }
    bool operator==(const ResponderPlan&) const = default;
};

}  // namespace pathproof::traffic
