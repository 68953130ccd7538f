// What is wrong with a port, over all rows of the matrix: each wrong value once, with its name, the
// rows that show it and where they differ from those that do not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/profile/errata.h"
#include "harness/truth/rows.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

// Frames of one defect that are kept as evidence.
inline constexpr std::size_t kEvidenceFrames = 8;

struct Defect {
    profile::Direction direction = profile::Direction::kTransmit;
    std::string place;  // "inner.tcp", "outer.udp.length"; on receipt the layer: "inner.udp"
    std::string title;  // "PSEUDO", "RX_GOOD_ON_BAD", "UNKNOWN"
    std::string layer;  // on receipt: of the claim, "l4", "outer.ip"
    std::string where;  // see locate()
    std::uint64_t frames = 0;
    std::vector<std::size_t> rows;  // that fail, by index into the run's
    // Of one frame that shows it: in numbers if it is a field, and whole.
    std::uint32_t wire_value = 0;
    std::uint32_t right_value = 0;
    matrix::Specimen specimen;
    std::vector<matrix::Specimen> more;  // of other rows, kEvidenceFrames with the first at most
    std::string note;                    // of a counter: a sentence
    std::vector<verdict::KnownErratum> errata;

    // "tx.inner.tcp.PSEUDO"
    std::string signature() const;
};

// A frame that the driver would not take: said, and no defect.
struct Refusal {
    std::string reason;
    std::vector<std::size_t> rows;
};

struct Findings {
    std::vector<Defect> defects;  // those of most frames first
    std::vector<Refusal> refusals;
};

// A counter of the port and how far it went up while the rows were received.
struct CounterDelta {
    std::string name;
    std::uint64_t delta = 0;
};

Findings find_defects(const RowsRun& run, const port::PortInfo& device,
                      const std::vector<CounterDelta>& counters);

// Which of a row's findings are causes, as places and titles; the others follow from them.
bool is_cause(const matrix::TxCellResult& result, const matrix::TxFinding& finding);

// A layer of an Rx claim as the errata name it: "l4" of a UDP packet in a tunnel is "inner.udp", or
// "outer.udp" if the receiver does not read that tunnel.
std::string place_of(const matrix::Row& row, const std::string& layer, const RowsRun& run);

// Takes RX_UNKNOWN_ALWAYS out of what was found. The kernel checks by itself what its device vouches
// for in no way (CHECKSUM_NONE): that costs CPU, and is no defect of a kernel device.
std::vector<Defect> take_silences(Findings& findings);

// The promised receive offload that judges a layer of that protocol: "UDP_CKSUM"; empty if none
// does.
std::string rx_offload_for(judge::RxLayer layer, judge::Protocol protocol);

// So many are told of a defect, or of a row of a truth table.
inline constexpr std::size_t kMostErrata = 3;
// As reports word it: all commands of the workaround, or the advice where there are none; of the
// first source the address, or what it is called where it has none.
verdict::KnownErratum known_erratum(const profile::ErratumMatch& match);

// Fills in what the catalogue knows of each defect, the surest of it.
void explain_by_errata(Findings& findings, const RowsRun& run,
                       const std::vector<profile::Erratum>& errata, const port::PortInfo& device,
                       const std::string& dpdk_version);

}  // namespace pathproof::truth
