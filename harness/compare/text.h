// A comparison for people, for scripts and as a page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/compare/compare.h"
#include "harness/compare/read.h"

namespace pathproof::compare {

// One run against the one that all are compared with.
struct Compared {
    const Report* report;
    Comparison comparison;
};

// "no worse", "2 new failures": what a title says.
std::string verdict_text(const Comparison& comparison);

// "difference +0.3 ms [+0.2 to +0.4], p 0.0012": of a figure whose trials were tested; p is the adjusted one.
std::string shift_text(const Figure& figure);

// Lines of at most 100 columns, ends with a line end.
std::string text(const Report& before, const Compared& now);

nlohmann::ordered_json to_json(const Report& before, const std::vector<Compared>& all);

// One file that needs no network, no script and no other file; well-formed as XML too.
std::string page(const Report& before, const std::vector<Compared>& all);

}  // namespace pathproof::compare
