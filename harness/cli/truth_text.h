// A truth table and a proof as text for a terminal.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::cli {

// One line an offload, one column a condition, lettered, with the letters' meaning below. Ends with
// a line end.
std::string truth_text(const verdict::TruthTable& table);
std::string proof_text(const verdict::Proof& proof);

}  // namespace pathproof::cli
