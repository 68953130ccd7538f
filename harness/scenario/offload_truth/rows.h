// What the rows of the matrix are about: the columns of the truth table, and the offload features
// that each row's frames need.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "dataplane/matrix/dimensions.h"
#include "harness/agent/client.h"

namespace pathproof::scenario {

// The columns; each row of the matrix belongs to the first that fits it, in this order.
enum class Condition : std::uint8_t {
    kTcpSegmentation,
    kUdpSegmentation,
    kSoftware,  // nothing is left to the device: the control
    kFragments,
    kTunnelOuter,
    kTunnelInner,
    kVlan,
    kOptions,
    kUdp,
    kTcp,
};
inline constexpr std::size_t kConditions = 10;
const char* name(Condition condition);  // "TSO", "tunnel outer"
const char* word(Condition condition);  // "tso", "tunnel-outer": in ids of cells
Condition condition_of(const matrix::Row& row);

// What every user asks first, each with all of the inputs; the covering array may give it to no row
// of its own.
std::vector<matrix::Row> plain_rows(matrix::Row row, std::initializer_list<matrix::RxInput> inputs);

// The features of `ethtool -k` that a row's frames make use of, of those that the device has: the
// kernel does the work in their stead when they are off.
std::vector<std::string> features_used(const matrix::Row& row,
                                       const std::vector<agent::Feature>& features);

// Features that decide over checksums and segmentation and that no frame of a packet socket can
// make use of, each with the reason.
struct Untestable {
    const char* feature;
    const char* reason;
};
const std::vector<Untestable>& untestable_features();

}  // namespace pathproof::scenario
