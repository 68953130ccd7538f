// The end of one packet, out of its record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/fate/record.h"
#include "harness/fate/summary.h"

namespace pathproof::fate {

// The words behind the numbers of records.
struct Names {
    // "nf_hook_slow" of a code address; empty where it is not known.
    std::function<std::string(std::uint64_t address)> function;
    std::function<std::string(std::uint32_t reason)> reason;  // "NETFILTER_DROP"
    std::function<std::string(std::uint32_t inode)> netns;    // "dut", or "netns 4026531840"
    std::function<std::string(std::uint32_t inode, std::uint32_t index)> device;
};

// Each function that the kernel was in when the packet ended, the innermost first: without those of the
// programs and of tracing.
std::vector<std::string> functions_of(const fate_record& record, const Names& names);

End end_of(const fate_record& record, const Names& names);
// "taken in by d0 of dut", a text a step.
std::vector<std::string> way_of(const fate_record& record, const Names& names);
Direction direction_of(const fate_record& record);

}  // namespace pathproof::fate
