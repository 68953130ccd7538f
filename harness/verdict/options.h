// The options of a run: its repeat command is made of them, report.json holds them, and
// `pathproof rerun` reads them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/verdict/lab_request.h"

namespace pathproof::verdict {

// The value of one option: a number, a text, or neither (a flag).
struct OptionValue {
    std::optional<std::uint64_t> number = std::nullopt;
    std::string text = {};  // empty: it takes none

    OptionValue() = default;
    OptionValue(std::nullopt_t) {}
    OptionValue(std::optional<std::uint64_t> of_number) : number(of_number) {}
    OptionValue(std::uint64_t of_number) : number(of_number) {}
    OptionValue(std::string of_text) : text(std::move(of_text)) {}
    bool is_flag() const { return !number && text.empty(); }
    bool operator==(const OptionValue&) const = default;
};
// Options by name, such as `pairs`. Each belongs to a scenario, which declares it.
using ScenarioOptions = std::map<std::string, OptionValue>;

struct RunOptions {
    std::string command;  // "qualify", "repro", "offload check"; empty: it was not kept
    LabRequest lab = {};
    std::string profile = {};
    std::vector<std::string> scenarios = {};  // ids; empty: all
    std::vector<std::string> cells = {};      // patterns of cells; empty: all
    ScenarioOptions of_scenarios = {};        // those that were given
    std::uint32_t repeat = 1;                 // how often each scenario is run
    bool no_hugepages = false;
    bool serials = false;  // serial numbers in the report
    bool prices = false;   // what cures do besides, measured after the scenarios
    // Performance is measured; nothing: on hardware alone.
    std::optional<bool> performance = std::nullopt;
    std::string limits = {};        // file of acceptance limits; empty: those of the profile
    std::string requirements = {};  // file that maps a plan's clauses to cells
    // Options of `offload check DEV`. No device: DPDK ports.
    std::string device = {};
    std::string netns = {};
    std::string tester = {};
    std::string tester_netns = {};
    std::string path_proven_by = {};  // another device on the same path
    bool quick = false;
};

// The command line that asks for it, without the seed.
std::string repeat_command(const RunOptions& options);

}  // namespace pathproof::verdict
