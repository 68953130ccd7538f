// The last duration of each scenario on each lab, from which --plan and the progress tell the time left.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/run/session.h"
#include "harness/verdict/result.h"

namespace pathproof::run {

class Timings {
  public:
    // Reads timings.json in the user's state folder; empty if there is none, or it cannot be read.
    static Timings read();
    static Timings of(const std::string& text);
    std::string text() const;

    std::optional<double> seconds(const std::string& lab, const std::string& scenario) const;
    // Takes over the whole scenarios of a run: those of which all cells were asked for, once.
    void note(const verdict::RunResult& run);
    Status keep() const;

  private:
    std::map<std::string, double> seconds_;  // by "LAB/SCENARIO"
};

// A scenario of a session and how long it is expected to take; nothing: it was never measured here.
struct ExpectedTime {
    std::string scenario;
    std::optional<double> seconds;
};
std::vector<ExpectedTime> expected_times(const SessionOptions& options, const Timings& timings);

// "12 s", "4 min", "2 h 10 min".
std::string duration_text(double seconds);

}  // namespace pathproof::run
