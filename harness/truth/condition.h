// Kinds of frames, the columns of every truth table: which there are, and which one a row of the
// matrix belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/matrix/dimensions.h"

namespace pathproof::truth {

// The most special kinds come first: a row belongs to the first of a table's columns that fits it.
// A tunnel comes before fragments: the matrix fragments the innermost packet, and whoever is asked
// for the outer checksum sums one whole datagram, of which the fragment is payload.
enum class Condition : std::uint8_t {
    kTcpSegmentation,
    kUdpSegmentation,
    kSegmentation,  // of either
    kSoftware,      // a virtio_net_hdr leaves nothing to the device: the control
    kVxlanHome,     // on port 4789
    kVxlanElsewhere,
    kGeneveGpe,
    kOverIp,  // GRE, IP in IP
    kTunnelOuter,
    kTunnelInner,
    kFragments,
    kPadded,
    kVlan,
    kOptions,
    kTcp,
    kUdp,
    kPlain,
};

struct Column {
    Condition condition = Condition::kPlain;
    const char* name;  // "VXLAN on 4789": the column's head
    const char* word;  // "vxlan-on-4789": in ids of cells
};

// The columns of one table, in the order in which they are shown.
class Columns {
  public:
    constexpr explicit Columns(std::span<const Column> columns) : columns_(columns) {}

    // Position of the column that a row belongs to. Each of the two sets below has one for every
    // row of its matrix.
    std::size_t index_of(const matrix::Row& row) const;
    const Column& of(const matrix::Row& row) const { return columns_[index_of(row)]; }
    bool is_in(const Column& column, const matrix::Row& row) const {
        return of(row).condition == column.condition;
    }

    std::size_t size() const { return columns_.size(); }
    const Column& operator[](std::size_t index) const { return columns_[index]; }
    auto begin() const { return columns_.begin(); }
    auto end() const { return columns_.end(); }

  private:
    std::span<const Column> columns_;
};

// Sorts by a frame's shape on the wire: all that a DPDK port sends, and all that is received.
const Columns& columns_by_shape();
// Sorts by the work that a virtio_net_hdr leaves to a kernel device that sends.
const Columns& columns_by_request();

// Returns whether a virtio_net_hdr can ask for the checksum that the row leaves to the device.
bool asks_for_checksum(const matrix::Row& row);

}  // namespace pathproof::truth
