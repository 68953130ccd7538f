// A flow as a person asks for it: some of its source may be any.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/netfilter/entry.h"

namespace pathproof::cli::inspect {

struct AskedFlow {
    netfilter::Tuple tuple;
    bool any_source = false, any_port = false;
};

// "udp 10.0.0.5:40000 10.96.0.10:53", in which '*' may stand for the source or its port.
Result<AskedFlow> parse_asked_flow(const std::vector<std::string>& words);

}  // namespace pathproof::cli::inspect
