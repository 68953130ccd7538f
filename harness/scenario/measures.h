// Making measures and evidence files, the same way in every scenario.
#pragma once

#include <string>
#include <vector>

#include "harness/agent/counter_set.h"
#include "harness/netfilter/entry.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

verdict::Measure count_of(const std::string& name, const std::string& label, std::uint64_t value,
                          const std::string& unit = "");
// count_of() of values that have this unit.
inline auto counts_in(const char* unit) {
    return [unit](const std::string& name, const std::string& label, std::uint64_t value) {
        return count_of(name, label, value, unit);
    };
}
verdict::Measure words_of(const std::string& name, const std::string& label,
                          const std::string& value);
verdict::Measure milliseconds_of(const std::string& name, const std::string& label, double value);
// hits / trials as "99.95 %"; for headlines. As a measure it is verdict::share().
std::string percent(std::uint64_t hits, std::uint64_t trials);

// Writes evidence/NAME below `out_dir` and adds its entry; an empty `out_dir` or content keeps nothing.
void keep_evidence(const std::string& out_dir, const std::string& name,
                   const std::string& description, const std::string& content,
                   std::vector<verdict::EvidenceFile>& files);
// evidence/NAME below `out_dir`; empty for an empty out_dir.
std::string evidence_path(const std::string& out_dir, const std::string& name);

// 0 where it is not there.
std::uint64_t value_in(const agent::CounterSet& counters, const std::string& name);
std::string counters_text(const agent::CounterSet& counters);
std::string stats_text(const std::vector<netfilter::CpuStats>& stats);

}  // namespace pathproof::scenario
