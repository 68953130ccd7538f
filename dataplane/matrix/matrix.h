// The rows to run: a covering array over the feasible part of the matrix, and the rows that a known
// defect needs although no pair or triple asks for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/matrix/covering.h"
#include "dataplane/matrix/dimensions.h"
#include "dataplane/matrix/feasibility.h"

namespace pathproof::matrix {

struct Matrix {
    Direction direction = Direction::kTransmit;
    Strength strength = Strength::kTriples;
    DutLimits limits;
    std::vector<Row> rows;              // the directed ones first
    std::uint64_t feasible_tuples = 0;  // pairs or triples: all are in some row
    // Directed rows that this device cannot take, each with the reason.
    std::vector<std::string> left_out;
};

// Takes well under a second. The same arguments give the same rows.
Matrix make_matrix(const DutLimits& limits, Direction direction, Strength strength,
                   std::uint64_t seed);

struct DirectedRow {
    const char* why;  // the defect that needs it
    Row row;
};
// Returns the rows for the direction, whatever the device.
std::vector<DirectedRow> directed_rows(Direction direction);

}  // namespace pathproof::matrix
