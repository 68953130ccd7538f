// The offload truth table - what a profile expects, what the driver says, what the wire showed -
// and the calibration that says which defects the instrument would have caught.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pathproof::verdict {

// Observation of one offload under one condition.
enum class Observed {
    kRight,      // every checksum and header right
    kWrong,      // at least one was not
    kByDesign,   // left unfinished, as the profile says of this kind of device
    kRefused,    // the device would not take the frame or the setting
    kNoClaim,    // of received frames: the driver says nothing of them, good or bad
    kNotTested,  // `note` says why
};
const char* name(Observed observed);  // "right", "wrong", "by design", "no claim", ...

struct Observation {
    Observed observed = Observed::kNotTested;
    std::uint64_t frames = 0;  // judged
    std::uint64_t wrong = 0;   // of them
    // Names of the wrong values ("PSEUDO", "UNKNOWN"), most frequent first; for received frames
    // that are right, the driver's claims about them.
    std::vector<std::string> names;
    std::string cell;  // id of the cell that holds the details; empty when there is none
    std::string note;
};

// A documented defect that explains a finding.
struct KnownErratum {
    std::string id;
    std::string title;
    std::string workaround;
    std::string source;
    std::string certainty;  // "driver and version match", "only the signature matches"
};

struct TruthRow {
    std::string offload;     // as `ethtool -k` or rte_eth_dev_tx_offload_name() gives it
    std::string direction;   // "Tx", "Rx"
    std::string expected;    // "required", "optional", "absent", "broken"; empty: no profile says
    std::string advertised;  // "on", "off", "on [fixed]", "off [fixed]", "not there"
    std::vector<Observation> observed;  // one for each condition of the table
    std::string finding;  // one sentence; empty when expected, advertised and observed agree
    std::vector<KnownErratum> errata;
};

struct TruthTable {
    std::string title;
    std::string device;                   // "eth0 (veth) in node A", "software NIC"
    std::vector<std::string> conditions;  // column heads: "plain UDP", "VXLAN outer"
    std::vector<TruthRow> rows;
    std::string excluded;  // what rate of wrong frames these counts can exclude, in words
};

// A planted defect, and whether the instrument saw it.
struct CalibrationRow {
    enum class Score { kYes, kNo, kNotApplicable };
    std::string id;     // "F02"
    std::string fault;  // dir.layer.field.MECH@predicate!rate
    Score detected = Score::kNo;
    Score named = Score::kNo;    // with exactly its name
    Score located = Score::kNo;  // in exactly the cells that it can show in
    std::string given_name;      // what the judge called it
    std::uint64_t changed = 0;   // frames that the fault made different
    std::uint64_t caught = 0;    // frames that the judge objected to
    std::string note;
};
const char* name(CalibrationRow::Score score);  // "yes", "no", "n/a"

struct Calibration {
    std::string instrument;  // what stood in for hardware
    std::uint64_t seed = 0;
    std::vector<CalibrationRow> faults;
    // Defects that no name is known for: must come out UNKNOWN.
    std::vector<CalibrationRow> open_world;
    // The judge itself broken: must turn the healthy run red.
    std::vector<CalibrationRow> judge_mutants;
    std::uint64_t healthy_frames = 0;
    std::uint64_t false_alarms = 0;
    // Pairs of one Tx and one Rx fault that are planted together.
    std::uint64_t pairs = 0;
    std::uint64_t pairs_both_named = 0;
    std::uint64_t pairs_masked = 0;  // one hides the other, and that was said
    std::uint64_t pairs_missed = 0;
    struct Confusion {
        std::string planted;
        std::string given;
        std::uint64_t count = 0;
    };
    std::vector<Confusion> confusion;  // planted mechanism -> name given, counts above zero
};

}  // namespace pathproof::verdict
