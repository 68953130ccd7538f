// Everything that is wrong with a device or port, over all rows of the matrix: each wrong value
// once, with its name, the rows that show it and where they differ from those that do not.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
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
    // One frame that shows it: in numbers if it is a field, and whole.
    std::uint32_t wire_value = 0;
    std::uint32_t right_value = 0;
    matrix::Specimen specimen;
    std::vector<matrix::Specimen> more;  // of other rows, kEvidenceFrames with the first at most
    std::string note;                    // of a counter: a sentence
    std::vector<verdict::KnownErratum> errata;
    std::string name;  // of what was sent: see name_of()
    judge::ChecksumName checksum = judge::ChecksumName::kUnknown;  // of what was sent
    std::uint64_t observations = 1;                                // separate ones that showed it
    std::set<std::uint16_t> tunnel_ports;  // of its rows, see tunnel_port_of()
    std::vector<std::string> conditions;   // that all of its rows meet, as errata have them

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

// A row of the matrix as it was sent.
struct SentRow {
    std::size_t number = 0;
    const matrix::Row* row = nullptr;
    std::span<const matrix::TxFinding> findings;
    std::uint64_t observations = 1;  // separate ones that showed them
};

std::vector<SentRow> sent_rows(const RowsRun& run);

// Names that some rows give to wrong checksums, by place; where none does, the one name that fits the
// frames of all.
using NamesByPlace = std::map<std::string, std::set<std::string>>;
NamesByPlace names_by_place(std::span<const SentRow> rows);

// The causes among the findings of a row: what follows from another finding is left out, a title
// that too few frames bear out is UNKNOWN, and a checksum whose few frames fit several names gets
// the one that other rows give it at the same place.
std::vector<matrix::TxFinding> causes_of(std::span<const matrix::TxFinding> findings,
                                         const NamesByPlace& names);

// Causes of all rows, each once and in the order in which they appear first, without `where`.
std::vector<Defect> gather_sent(std::span<const SentRow> rows, const NamesByPlace& names);

// "PSEUDO", or "SEG_HDR(plain.tcp.flags)" where the place says more than the title; "CUT(4)",
// "PADDED(2)" or "SHIFTED(4)" of a frame that is shorter or longer by so many bytes, "DOUBLED" of one
// that came twice.
std::string name_of(const matrix::TxFinding& finding);

// Returns the conditions that all rows share, in the errata's words: "vlan=single", "l4=tcp".
std::vector<std::string> conditions_of(std::span<const matrix::Row> rows);

// "outer.udp" of "outer.udp.length".
std::string layer_part(const std::string& place);

// The destination port of the row's tunnel; 0 where it has none, or two that take turns.
std::uint16_t tunnel_port_of(const matrix::Row& row);

// A layer of an Rx claim as the errata name it: "l4" of a UDP packet in a tunnel is "inner.udp", or
// "outer.udp" if the receiver does not read that tunnel.
std::string place_of(const matrix::Row& row, const std::string& layer, const RowsRun& run);

// Takes RX_UNKNOWN_ALWAYS out of the findings. The kernel checks by itself what its device vouches
// for in no way (CHECKSUM_NONE): that costs CPU, and is no defect of a kernel device.
std::vector<Defect> take_silences(Findings& findings);

// The promised receive offload that judges a layer of that protocol: "UDP_CKSUM"; empty if none
// does.
std::string rx_offload_for(judge::RxLayer layer, judge::Protocol protocol);

}  // namespace pathproof::truth
