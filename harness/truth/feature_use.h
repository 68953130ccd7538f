// The offload features of a kernel device that a row's frames need, and those that no frame of this
// table can make use of.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "dataplane/matrix/dimensions.h"
#include "harness/agent/offload_features.h"

namespace pathproof::truth {

// Rows that every user asks for first, each with all of the inputs: the covering array may give
// them to no row of its own.
std::vector<matrix::Row> plain_rows(matrix::Row row, std::initializer_list<matrix::RxInput> inputs);

// The device's features (`ethtool -k`) that a row's frames make use of: the kernel does the work in
// their stead when they are off.
std::vector<std::string> features_used(const matrix::Row& row,
                                       const std::vector<agent::Feature>& features);

// Features that decide over checksums and segmentation and that no frame of a packet socket can
// make use of, each with the reason.
struct Untestable {
    const char* feature;
    const char* reason;
};
const std::vector<Untestable>& untestable_features();

}  // namespace pathproof::truth
