// report.json: the run as JSON, and back. report.schema.json says what it looks like.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "dataplane/base/result.h"
#include "harness/verdict/prices.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

// The document, keys in the order in which people read them.
nlohmann::ordered_json to_json(const verdict::RunResult& run);

// A calibration alone, as the document has it.
nlohmann::ordered_json to_json(const verdict::Calibration& calibration);

// A table of prices alone, as the document has it, and back. Anything else is kBadInput with the path
// of what is wrong.
nlohmann::ordered_json to_json(const verdict::PriceTable& table);
Result<verdict::PriceTable> price_table(const nlohmann::ordered_json& table);

// Returns the document as text: indented, valid UTF-8 whatever the strings hold (bytes that are
// none become U+FFFD).
std::string json_text(const verdict::RunResult& run);
// Returns the document on one line.
std::string json_line(const verdict::RunResult& run);

// Reads a document that the schema allows; anything else is kBadInput with the path of what is
// wrong.
Result<verdict::RunResult> from_json(const std::string& text);

// Checks the text against the schema. The error names the path of the first thing that is wrong.
Status validate(const std::string& text);
Status validate_price_table(const nlohmann::ordered_json& table);

// Checks that the document can hold the run without loss, and says nothing wrong: no two toggles,
// measures or cells of one name, no value outside its own interval, no number that is none.
// kFailed, with the cell.
Status check_consistency(const verdict::RunResult& run);
Status check_prices(const verdict::PriceTable& table);

}  // namespace pathproof::report
