// The plan of a session, for `qualify --plan`: what it would run, how long it would take, what it would change. Planning
// changes nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/run/session.h"
#include "harness/run/timings.h"

namespace pathproof::run {

struct Plan {
    struct Row {
        std::string scenario;
        std::size_t cells = 0;  // that would be run; 0: it runs whole
        std::string lacks;      // why its lab cannot run it; empty: it can
        std::optional<double> seconds;
    };
    std::string lab;
    std::vector<Row> rows;
    std::vector<std::string> changes;  // a sentence each
    std::string limits, requirements;  // what the results are held against; empty: nothing

    // The time of what can be told.
    double seconds() const;
    std::size_t untold() const;
};

Plan plan_of(const SessionOptions& options, const Timings& timings);
std::string plan_text(const Plan& plan);
nlohmann::json plan_json(const Plan& plan);

}  // namespace pathproof::run
