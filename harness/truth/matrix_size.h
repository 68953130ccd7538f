// Share of the qualification matrix that a truth table takes.
#pragma once

namespace pathproof::truth {

// All pairs of the matrix's dimensions, or all triples and each feature on alone as well.
enum class MatrixSize { kQuick, kFull };

}  // namespace pathproof::truth
