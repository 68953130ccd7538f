// Traps: the same symptom by another cause, planted on the real kernel while a scenario runs, and a
// checker that reads the report: no verdict may be false, no sentence may say what a value of that
// run contradicts.
//
// How to use it (vxlan_traps_test.cc is the example):
//
//   const Sprung run = spring({.arguments = {"repro", "dns-race", "--cells", "late-answer.*"},
//                              .plant = [](Planter& lab) {
//                                  lab.wait_for_namespace("dut");         // of this run: pp-RUN-dut
//                                  lab.in("dut", "iptables -t mangle -A PREROUTING ... -j DROP");
//                                  lab.wait_for_step("late-answer.900ms");  // the progress line of a cell
//                                  while (lab.going_on()) { ... }           // until the run ends
//                              }});
//   run.exit_status, run.report (report.json; null if there is none), run.log (stderr)
//   run.scenario("dns-race"): its part of the report
//   contradictions(run.scenario("dns-race"), claims): the sentences that a value contradicts; must be empty
//
// A claim is a phrase (a regular expression) and what must hold where a text of the report has it;
// common_claims() holds of every scenario ("N of M" has N <= M, PASS has nothing unexplained,
// "every probe works" has every probe), a scenario's own come on top. The plan of a trap must run
// under a lock of the machine: it makes namespaces.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenario/background.h"

class Planter {
  public:
    Planter(const Background& run, std::string folder) : run_(run), folder_(std::move(folder)) {}

    // Waits for a namespace of the run by its role ("node-a", "dut") and, if one is named, for a
    // device in it.
    void wait_for_namespace(const std::string& role, const std::string& device = "");
    // Waits until the run's progress names that step, or the run is over.
    void wait_for_step(const std::string& step) const {
        while (going_on() && !run_.comes("  " + step, std::chrono::milliseconds(100))) {
        }
    }
    // Runs a shell command in that namespace; if it fails the trap was not planted (`troubles`).
    void in(const std::string& role, const std::string& command);
    // As in(), for a loop that lasts as long as the run: the last command may come too late, so a
    // failure is only returned.
    bool try_in(const std::string& role, const std::string& command);
    // Compiles a BPF program (C text, section "prog") for tc or XDP; gives the path of the object.
    std::string bpf_object(const std::string& text);
    bool going_on() const { return kill(run_.pid(), 0) == 0 && !ended; }
    std::string name_of(const std::string& role) const;  // "pp-1a2b-node-a"; empty: not there
    const Background& run() const { return run_; }

    std::vector<std::string> troubles;  // what could not be planted
    std::atomic<bool> ended = false;

  private:
    const Background& run_;
    std::string folder_;
    std::string trouble_;
};

// A shell command that starts a server on a port, UDP and TCP: its answers have the query's id, and break
// off in their question. In a namespace of a run it ends with that.
std::string rubbish_server(int port);

struct Trap {
    std::vector<std::string> arguments;
    std::function<void(Planter&)> plant;
};

struct Sprung {
    int exit_status = -1;
    nlohmann::json report;
    std::string log;
    std::vector<std::string> troubles;
    double seconds = 0;
    const nlohmann::json& scenario(const std::string& id) const {
        return scenario_named(report, id);
    }
};

// Runs the binary with --out and the trap beside it, to its end.
Sprung spring(const Trap& trap);

// One text of a report and where it stands: `cell` is null for the scenario's own sentences.
struct Said {
    const nlohmann::json& scenario;
    const nlohmann::json* cell;
    std::vector<std::string> groups;  // of the phrase, and before them all of its match

    // The sum of a measure over the cell, or over all cells of the scenario.
    double total(const std::string& measure_name) const;
    double number(std::size_t group) const { return std::stod(groups[group]); }
};

struct Claim {
    std::string phrase;
    std::function<bool(const Said&)> holds;
};

std::vector<Claim> common_claims();
// Finds texts that do not hold: a phrase in headline, cause, cure, explanation, proof or a cell's
// reason whose claim is false. Checks also what every scenario owes: a cell that passes has nothing
// unexplained, a cure that is shown has its cell.
std::vector<std::string> contradictions(const nlohmann::json& scenario, std::vector<Claim> claims);
