// Locates a defect: the values of the matrix's dimensions that tell the rows that fail from those
// that do not.
#pragma once

#include <span>
#include <string>

#include "dataplane/matrix/dimensions.h"

namespace pathproof::truth {

// Names as few dimensions as set the failing rows apart, greedily, with the values seen in failing
// rows: "tunnel port other than 4789", "VLAN one, encapsulation vxlan-v4 or vxlan-v6". "everywhere"
// if no row passes. Where other dimensions tell the same rows apart it names them too, and where
// rows of the same values pass as well it says how many.
std::string locate(std::span<const matrix::Row> failing, std::span<const matrix::Row> passing);

}  // namespace pathproof::truth
