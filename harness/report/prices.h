// The price of cures in words.
#pragma once

#include <string>

#include "harness/verdict/prices.h"

namespace pathproof::report {

// A paragraph a cure: what it cures, breaks and does not touch, what it costs. Ends with a line end.
std::string prices_text(const verdict::PriceTable& table);

}  // namespace pathproof::report
