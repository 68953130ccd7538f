// Tells which sizes of a name's answer come through, from queries with several EDNS sizes and one over TCP.
#pragma once

#include <string>
#include <vector>

#include "harness/agent/dns_sizes.h"

namespace pathproof::kubernetes {

struct AnswerSizes {
    std::vector<agent::SizeTrial>
        trials;  // over UDP, smallest size first; the last one is over TCP
};

// Queries without EDNS and with each of these sizes, and one over TCP.
Result<AnswerSizes> try_sizes(const agent::SizeQuestion& question,
                              const std::vector<std::uint16_t>& sizes);

// Sizes that resolvers ask with: no EDNS, that of DNS Flag Day 2020, and one that many still have.
inline const std::vector<std::uint16_t> kUsualSizes{0, 1232, 4096};
// Sizes on either side of what Ethernet, VXLAN and tunnels carry in one packet.
inline const std::vector<std::uint16_t> kAllSizes{0, 512, 1232, 1400, 1452, 1472, 2048, 4096};

// A size that resolvers ask with gets no answer, though the name has one.
bool fails(const AnswerSizes& sizes);
// A table, and what it says in the last line, without its end.
std::string text_of(const AnswerSizes& sizes);

}  // namespace pathproof::kubernetes
