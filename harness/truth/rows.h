// Rows of the qualification matrix along a path: what the device under test sends of them, and what
// it says of those that it receives.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dataplane/matrix/matrix.h"
#include "dataplane/matrix/rx_cell.h"
#include "dataplane/matrix/tx_cell.h"
#include "harness/profile/errata.h"
#include "harness/truth/batch.h"

namespace pathproof::truth {

enum class Directions : std::uint8_t { kBoth, kSent, kReceived };  // as the device under test does

struct RowSettings {
    Directions directions = Directions::kBoth;
    matrix::Strength strength = matrix::Strength::kTriples;
    std::uint64_t seed = 1;
    std::uint32_t probes = 8;  // of each row, with different payloads
    std::uint32_t mtu = 1500;
    std::vector<matrix::Row> also_received;  // beside those of the covering array
    bool only_also = false;                  // in place of them
    // Frames that leave nothing to the port, and good ones alone: what proves the path.
    bool plain = false;
    // After the last frame of a batch was sent to a kernel device: so long the others may take.
    std::chrono::milliseconds patience{50};
};

struct TxRow {
    matrix::Row row;
    std::vector<std::string> offloads;  // asked of the port, as rte_eth_dev_tx_offload_name()
    std::vector<std::string> asked;     // checksums that it was to make: "inner.tcp", "outer.udp"
    std::vector<std::string> lacking;   // offloads that the port has not, or what the far port
                                        // cannot do: the row was not run
    matrix::TxCellResult result;
};

// Frames in which a layer has a checksum that can be judged, by what judges it.
struct ClaimCount {
    std::uint64_t verifiable = 0;
    std::uint64_t claimed = 0;  // called good or bad
};
struct RxRow {
    matrix::Row row;
    matrix::RxCellResult result;
    std::array<std::array<ClaimCount, judge::kProtocolCount>, judge::kRxLayers> claims{};
};

struct RowsRun {
    std::vector<TxRow> sent;
    std::vector<RxRow> received;
    std::uint64_t called_bad = 0;  // received frames of which some layer was called bad
    std::uint64_t seen_bad = 0;    // received frames with a bad checksum where the port looks
    frame::TunnelPorts tunnels{frame::IpTunnels::kIgnored};  // that the port reads on receipt
    // Reasons why a missing frame may be the tester's own loss; a batch is tried three times.
    std::vector<std::string> objections;

    std::uint64_t frames() const;  // judged
    // A row that the port under test sent or received.
    const matrix::Row& row(profile::Direction direction, std::size_t number) const {
        return direction == profile::Direction::kTransmit ? sent.at(number).row
                                                          : received.at(number).row;
    }
};

// Callback after each batch with the numbers of rows done and of all rows.
using RowProgress = std::function<void(std::size_t, std::size_t)>;

// Returns the tunnels that a port reads on receipt. A port with an outer checksum offload reads the
// well-known ones; any other reads none, and its claims are about the outer packet. The kernel's
// claim is about the first transport checksum of a frame (skbuff.h, CHECKSUM_UNNECESSARY): that is
// the inner one behind GRE and IP in IP, which have none of their own.
frame::TunnelPorts tunnels_read_by(const port::PortInfo& port);

// Errors: those of the exchange.
Result<RowsRun> run_rows(const Path& path, const RowSettings& settings,
                         const RowProgress& progress);

}  // namespace pathproof::truth
