// The tester's calibration: what its ports do when they are cabled to each other, with no device between them.
// It is kept with its date, and each report of a run on the same lab has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/load_run.h"
#include "harness/lab/lab_file.h"
#include "harness/tester/client.h"
#include "harness/verdict/result.h"

namespace pathproof::preflight {

// One port sends, the other receives.
struct CalibratedWay {
    std::string from, to;    // names of the lab file
    double highest_pps = 0;  // frames of 64 bytes, that the tester sent in all
    double carried_pps = 0;  // the load of the trial for loss
    std::uint64_t sent = 0, lost = 0, bad_checksums = 0;
    double p50_us = 0, p99_us = 0, max_us = 0;  // at a tenth of that
    load::OwnBias bias;
    std::optional<double> clock_ppm;  // ahead of the host's clock
    std::string tester_limit;         // of the trial for loss; empty: none
};

struct TesterCalibration {
    std::string lab;
    std::string date;  // ISO 8601, UTC
    std::string version, kernel;
    struct Port {
        std::string name, device, driver, mac;
    };
    std::vector<Port> ports;
    std::vector<CalibratedWay> ways;
};

// Returns why this calibration does not hold for the tester of the lab, a sentence: it is of other ports, or none
// was kept. Empty: it holds.
std::string why_not_of(const std::optional<TesterCalibration>& kept, const lab::LabFile& file);
// Seconds since; nothing: its date cannot be read.
std::optional<double> age_of(const TesterCalibration& calibration, std::int64_t now_unix_s);

// As the report's environment has it, with its age.
verdict::FactGroup facts_of(const TesterCalibration& calibration, std::int64_t now_unix_s);
std::string text_of(const TesterCalibration& calibration);

// Sends both ways between two ports of an open tester. `first`, `second`: their places among its ports. Errors:
// frames that do not arrive (kFailed), which says that the ports are not cabled to each other.
Result<std::vector<CalibratedWay>> calibrate(tester::Client& tester, const lab::LabFile& file,
                                             std::size_t first, std::size_t second,
                                             std::chrono::milliseconds trial);

// One for each lab, in the user's state folder. A file that cannot be read is an error (kBadInput) that names it.
std::string calibrations_file();
Result<std::vector<TesterCalibration>> parse_calibrations(const std::string& text);
std::string calibrations_text(const std::vector<TesterCalibration>& all);
Result<std::optional<TesterCalibration>> find_calibration(const std::string& file,
                                                          const std::string& lab);
Status keep_calibration(const std::string& file, const TesterCalibration& calibration);

}  // namespace pathproof::preflight
