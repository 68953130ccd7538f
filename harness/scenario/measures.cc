#include "harness/scenario/measures.h"

#include "dataplane/base/new_file.h"

namespace pathproof::scenario {

using verdict::Measure;

Measure count_of(const std::string& name, const std::string& label, std::uint64_t value,
                 const std::string& unit) {
    return {.name = name, .label = label, .value = value, .unit = unit};
}

Measure words_of(const std::string& name, const std::string& label, const std::string& value) {
    return {.name = name, .label = label, .value = value};
}

Measure milliseconds_of(const std::string& name, const std::string& label, double value) {
    return {.name = name, .label = label, .value = value, .unit = "ms"};
}

std::string percent(std::uint64_t hits, std::uint64_t trials) {
    if (trials == 0) {
        return "not measured";
    }
    const double share = 100.0 * static_cast<double>(hits) / static_cast<double>(trials);
    return hits != 0 && hits != trials && (share < 1 || share > 99)
               ? fmt::format("{:.2f} %", share)
               : fmt::format("{:.1f} %", share);
}

std::string evidence_path(const std::string& out_dir, const std::string& name) {
    return out_dir.empty() ? "" : out_dir + "/evidence/" + name;
}

void keep_evidence(const std::string& out_dir, const std::string& name,
                   const std::string& description, const std::string& content,
                   std::vector<verdict::EvidenceFile>& files) {
    if (out_dir.empty() || content.empty()) {
        return;
    }
    // A failed write is reported with the report, when the file is found missing.
    static_cast<void>(replace_file(evidence_path(out_dir, name), content));
    files.push_back({"evidence/" + name, description});
}

std::uint64_t value_in(const agent::CounterSet& counters, const std::string& name) {
    const auto found = counters.find(name);
    return found == counters.end() ? 0 : found->second;
}

std::string counters_text(const agent::CounterSet& counters) {
    std::string text;
    for (const auto& [name, value] : counters) {
        text += fmt::format("{} {}\n", name, value);
    }
    return text;
}

std::string stats_text(const std::vector<netfilter::CpuStats>& stats) {
    std::string text;
    for (const netfilter::CpuStats& cpu : stats) {
        text += fmt::format("cpu={}", cpu.cpu);
        for (const auto& [name, value] : cpu.counters) {
            text += fmt::format(" {}={}", name, value);
        }
        text += "\n";
    }
    return text;
}

}  // namespace pathproof::scenario
