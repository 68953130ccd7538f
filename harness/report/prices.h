// The price of cures on a terminal and on the page.
#pragma once

#include <string>

#include "harness/verdict/prices.h"

namespace pathproof::report {

// A paragraph a cure: what it cures, breaks and does not touch, what it costs. Ends with a line end.
std::string prices_text(const verdict::PriceTable& table);

// A section of the page: cure x probe, each cell with what was seen, and the costs.
std::string prices_html(const verdict::PriceTable& table);

}  // namespace pathproof::report
