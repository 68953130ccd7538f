// A run as the Open Compute Project's Test and Validation output, version 2.0: JSON lines, written while it
// goes on (https://github.com/opencomputeproject/ocp-diag-core, json_spec). A scenario is a test step, a figure
// a measurement, a cell a diagnosis.
//
// A cell that passed, or was skipped, is diagnosed in its step. What becomes of one that failed follows from the
// whole run (a cure that was shown, a baseline, --strict): its step has it as a log line, and the last step,
// "verdict", as a diagnosis, by the one reading that all views have (outcome.h): FAIL for a failure, UNKNOWN for
// what is skipped or accepted; what came to no verdict is an error artifact.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

class OcpStream {
  public:
    // Takes a line with its end.
    using Sink = std::function<Status(std::string_view)>;
    explicit OcpStream(Sink sink) : sink_(std::move(sink)) {}

    // These may be called from any thread, in this order; after interrupt() or end() nothing is
    // written.
    void begin(const verdict::RunResult& head);
    void begin_scenario(const std::string& id);
    void end_scenario(const verdict::ScenarioResult& scenario);
    void interrupt(const std::string& sentence);
    void end(const verdict::RunResult& run, int exit_code);

    // The sink's first error.
    Status status() const;

  private:
    struct Line;
    void write(const Line& line);
    void open_step(const std::string& name);
    void close_step(const char* status);
    void write_measures(const verdict::ScenarioResult& scenario);
    void write_settled(const verdict::ScenarioResult& scenario);
    void write_open(const verdict::ScenarioResult& scenario, int exit_code);
    void finish_scenario(const verdict::ScenarioResult& scenario);

    mutable std::mutex mutex_;
    Sink sink_;
    Status status_;
    std::uint64_t sequence_ = 0;
    std::uint64_t steps_ = 0;
    std::string step_;                 // the id of the open one; empty: none is open
    std::set<std::string> scenarios_;  // that have their step
    bool begun_ = false;
    bool ended_ = false;
};

}  // namespace pathproof::report
