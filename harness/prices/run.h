// Measuring the whole table: every cure on every probe whose path has what it changes, and its costs.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/scenario.h"
#include "harness/verdict/prices.h"

namespace pathproof::prices {

// Name of the prices in patterns of cells: "prices/bridge-nf/*", "prices/*/asymmetric-route".
inline constexpr const char* kPrices = "prices";

// Returns the key of this machine as it is.
verdict::PriceKey key_here(const std::string& version);

// Patterns (fnmatch) of "CURE/PROBE" and "CURE/LOAD" among those of a run.
std::vector<std::string> price_patterns(const std::vector<std::string>& cells);
// kBadInput unless each of them names a cell of the table.
Status check_price_patterns(const std::vector<std::string>& patterns);

// Measures prices. The table names also what could not be measured, with the reason. `patterns`:
// empty: all of it.
verdict::PriceTable measure_prices(scenario::Context& context, const verdict::PriceKey& key,
                                   const std::string& now,
                                   const std::vector<std::string>& patterns);

// Adds to each cure of these scenarios what it does besides, by this table of this run or of an
// earlier one of the same kernel and programs, or that this was not measured (null).
enum class Source { kThisRun, kKept };
void tell_prices(std::vector<verdict::ScenarioResult>& scenarios, const verdict::PriceTable* table,
                 Source source);

}  // namespace pathproof::prices
