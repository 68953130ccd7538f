// Runs the binary as a user would, and looks at what it left behind.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/process/program.h"

// The binary under test, from the environment variable PATHPROOF.
std::string binary();

// Runs it to its end; the run must have been possible.
pathproof::process::ProgramOutput pathproof_run(std::vector<std::string> arguments);

// State that a run could leave behind: namespaces, journals, sysctls, hugepages.
struct MachineState {
    std::set<std::string> namespaces;
    std::string list_receive;  // net.core.gro_normal_batch
    std::string hugepages;
    bool run_folder = false;
    bool operator==(const MachineState&) const = default;

    static MachineState read();
};
std::ostream& operator<<(std::ostream& out, const MachineState& state);

// A scenario of a report, its cells and controls by id, and the value of a measure.
const nlohmann::json& scenario_named(const nlohmann::json& report, const std::string& id);
const nlohmann::json& cell_named(const nlohmann::json& scenario, const std::string& id);
double measure(const nlohmann::json& cell, const std::string& name);

// A scratch folder, removed in the end.
class Scratch {
  public:
    Scratch();
    ~Scratch();
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};
