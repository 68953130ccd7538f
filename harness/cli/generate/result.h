// The result of a run of `pathproof generate`, for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/load/load_run.h"
#include "dataplane/port/port.h"
#include "harness/cli/generate/followed_replay.h"

namespace pathproof::cli {

// The kept frames whose checksum of one layer is wrong.
struct SumName {
    std::string layer;         // "plain.udp"
    std::uint64_t frames = 0;  // that were kept, not all that came
    std::string name;          // "STALE_DADDR", "OFFSET(+0x1234)", "UNKNOWN"
    std::string meaning;       // in words; empty: none
    std::uint32_t wire = 0;    // of the last of them
    std::uint32_t right = 0;
};

struct GenerateResult {
    load::TrialReport report;
    port::PortInfo sending;
    port::PortInfo receiving;
    // Frames that come back can be recognized: false for a capture file, whose frames carry no
    // number.
    bool tracked = true;
    std::optional<ReplayJudgement> judged;   // of a capture whose frames were followed
    std::optional<ReplayJudgement> studied;  // of made frames that were sent again one by one
    load::IntakePlan::Expects expects = load::IntakePlan::Expects::kAnswers;
    double timeout_s = 5;
    load::Allowance allowed;
    std::vector<load::WrongFrame> wrong_frames;    // the first
    std::vector<load::WrongFrame> damaged_frames;  // the first that cannot be read to their end
    std::vector<judge::KeptFrame> bad_frames;      // the first with a wrong checksum
    std::vector<SumName> sums;                     // what their checksums are instead
    bool wrong_on_purpose = false;                 // frames left with wrong checksums (--checksum)
    std::string repeat;                            // the command that repeats the run

    // The figures can be relied on: the run went to its end and nothing is held against it.
    bool conclusive() const { return !report.partial && report.objections.empty(); }
    // Returns whether every frame came as it must, and of frames that a DUT forwards none is
    // missing, late or doubled. Answers may be missing: their number is what is measured. A capture
    // that was not followed is not judged, since its frames are not tracked: true.
    bool all_right() const;
    // Frames that came wrong, damaged or, of those that a DUT forwards, twice, and wrong quotes of ICMP
    // errors: they are so whatever the tester lacked.
    std::uint64_t certain_harm() const;
    // Returns whether the only objections to the run are a lack of CPU, or frames of its own that
    // the tester lost.
    bool only_disturbed() const;
    // 0: all right; 1: not, or certain harm was done though the tester was disturbed; 3: the figures
    // cannot be relied on.
    int exit_code() const;
    // Returns advice on figures that cannot be relied on.
    std::vector<std::string> remedies() const;
    // Returns remarks on figures that can be relied on: frames that nobody waited for, or that were
    // held back.
    std::vector<std::string> remarks() const;
};

// One line: COMPLETE, NOT AS SENT (answers: WRONG ANSWERS), PARTIAL or INCONCLUSIVE, and what it comes
// down to.
std::string verdict_line(const GenerateResult& result);
std::string result_text(const GenerateResult& result);

// {"type": "result", "port", "driver", "evidence", "receive_port", "verdict", "partial",
//  "planned", "sent", "refused", "late", "worst_late_us", "seconds", "queries_per_second",
//  "frames_per_second", "bits_per_second", "answers": {"answered", "late", "wrong", "none",
//  "damaged", "further", "reordered"}, "classes": {"dns-a": {"sent", "as_sent", "late", "wrong", "damaged",
//  "missing", "unique", "duplicates", "reordered", "latency_us": {...}}}, "reordering": {...}, "latency_us":
//  {"min", "p50", "p90", "p99", "p99_9", "max"}, "own_bias_us": {...}, "departures": {...},
//  "icmp_errors": [{"port", "family", "type", "code", "mtu", "text", "frames", "ours",
//  "wrong_quotes", "wrong_fields": {...}, "example"}], "followed": (of --replay --expect frames) as
//  verify's, "studied" (likewise, of made frames that were sent again), "compared": {"allowed", "fields": {"ip.tos": 3}, "first": [...], "damaged": [...]}, "remarks", "received", "checksums", "rx_flags", "workers": [...], "tester_limit", "objections", "remedies",
//  "repeat"}
nlohmann::json result_json(const GenerateResult& result);

}  // namespace pathproof::cli
