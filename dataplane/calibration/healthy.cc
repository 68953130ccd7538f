#include "dataplane/calibration/healthy.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <span>

#include "dataplane/calibration/merged.h"
#include "dataplane/calibration/parallel.h"

namespace pathproof::calibration {
namespace {

constexpr std::size_t kExamples = 5;
constexpr std::uint32_t kProbesAtOnce = 4;
constexpr std::uint32_t kTurns = 4;  // of passes over the rows, each with its set-up
constexpr std::uint32_t kLossyTurn = 3;
constexpr std::uint32_t kMiscountedTurn = 1;
constexpr const char* kMiscounts[] = {"rx.any.counter.COUNT_HEALTHY"};
constexpr const char* kBadWire[] = {"wire.any.frame.LOSE!0.02", "wire.any.frame.DUPLICATE!0.02",
                                    "wire.any.frame.REORDER!0.05",
                                    "rx.any.l4.UNKNOWN_ALWAYS!0.5"};  // B14 as well

// Disturbance of a pass that is no fault of the frames.
enum class Setup { kSound, kLossy, kMiscounted };

Setup setup_of(std::uint32_t pass) {
    switch (pass % kTurns) {
        case kLossyTurn: return Setup::kLossy;
        case kMiscountedTurn: return Setup::kMiscounted;
        default: return Setup::kSound;
    }
}

std::vector<softnic::Fault> faults_of(Setup setup) {
    std::span<const char* const> texts;
    if (setup == Setup::kLossy) {
        texts = kBadWire;
    } else if (setup == Setup::kMiscounted) {
        texts = kMiscounts;
    }
    std::vector<softnic::Fault> faults;
    for (const char* text : texts) {
        faults.push_back(softnic::parse_fault(text).value());
    }
    return faults;
}

// Returns whether a finding may be reported under the setup: losses, copies and changes of order on
// a lossy wire (B19); a lie of a miscounting counter (B13).
bool may_say(Setup setup, const std::string& title) {
    static const std::set<std::string> kLoss = {"MISSING", "SURPLUS", "DUPLICATE", "MISORDERED"};
    switch (setup) {
        case Setup::kLossy: return kLoss.contains(title);
        case Setup::kMiscounted: return title == judge::name(judge::RxFault::kCounterLies);
        case Setup::kSound: break;
    }
    return false;
}

// Calls `work` with each frame that a healthy NIC puts on the wire for the row, and how it is read.
template <typename Work>
void for_healthy_frames(const SendRow& row, const Work& work) {
    for (const SentProbe& probe : row.probes) {
        for (const std::vector<FrameBytes>& frames : probe.healthy) {
            for (const FrameBytes& frame : frames) {
                work(frame, probe.probe.tunnels);
            }
        }
    }
}

// One worker's share: every so-manieth row.
class Share {
  public:
    Share(const Material& material, const CalibrationOptions& options, std::size_t number,
          std::uint64_t frames)
        : material_(material),
          options_(options),
          number_(number),
          frames_(frames),
          maker_(matrix::software_nic_limits(), matrix::Direction::kTransmit, {},
                 options.seed + 0x9e37) {}

    Result<HealthyRun> run() {
        for (std::uint32_t pass = 0; run_.frames < frames_; ++pass) {
            const std::uint64_t before = run_.frames;
            for (std::size_t row = number_; row < material_.send.size() && run_.frames < frames_;
                 row += options_.workers) {
                TRY(run_once(row, pass));
            }
            if (run_.frames == before) {
                break;  // fewer rows than workers
            }
        }
        return run_;
    }

  private:
    Status run_once(std::size_t number, std::uint32_t pass) {
        SendRow row{
            .row = material_.send[number].row, .nic = material_.send[number].nic, .probes = {}};
        softnic::SoftNic healthy(row.nic);
        for (std::uint32_t i = 0; i < kProbesAtOnce; ++i) {
            const matrix::Label label{static_cast<std::uint32_t>(number), pass * kProbesAtOnce + i};
            SentProbe probe = TRY(make_sent(maker_, row.row, label, healthy));
            row.probes.push_back(std::move(probe));
        }
        judge_row(row, setup_of(pass + static_cast<std::uint32_t>(number)));
        for_healthy_frames(row, [&](const FrameBytes& frame, const frame::TunnelPorts& tunnels) {
            judge_look_alike(frame, tunnels);
        });
        return {};
    }

    void judge_row(const SendRow& row, Setup setup) {
        softnic::SoftNic nic(row.nic, faults_of(setup), options_.seed + run_.frames);
        const RowResult result = run_row(row, nic, {});
        run_.frames += result.frames;
        run_.lossy += setup == Setup::kLossy ? result.frames : 0;
        count(LookAlike::kMiscounted, setup == Setup::kMiscounted ? result.frames : 0);
        for (const Verdict& verdict : result.verdicts) {
            if (!may_say(setup, verdict.title)) {
                alarm(fmt::format("{} at {} in row '{}'", verdict.title, verdict.place,
                                  matrix::describe(row.row)),
                      verdict.frames);
            }
        }
        judge_merged(row);
    }

    void judge_merged(const SendRow& row) {
        matrix::RxCell cell;
        for (const SentProbe& probe : row.probes) {
            const std::vector<FrameBytes>& segments = probe.healthy.front();
            if (const auto whole = merged(segments, probe.probe.tunnels)) {
                run_.frames += segments.size();
                count(LookAlike::kMerged, segments.size());
                cell.add_merged(probe.probe.label, segments, probe.probe.tunnels,
                                {*whole, {.l4 = judge::RxClaim::kNone}});
            }
        }
        cell.counter("rx_csum_bad", 0);
        for (const matrix::RxFinding& finding : cell.result().findings) {
            alarm(fmt::format("{} of merged segments in row '{}'", finding.title,
                              matrix::describe(row.row)),
                  finding.frames);
        }
    }

    void count(LookAlike kind, std::uint64_t frames) {
        run_.look_alikes[static_cast<std::size_t>(kind)] += frames;
    }

    void judge_look_alike(const FrameBytes& frame, const frame::TunnelPorts& tunnels) {
        // The first kind fits few frames: it is tried on all, the others take turns.
        for (std::size_t tried = 0; tried <= kFrameLookAlikes; ++tried) {
            const std::size_t which = tried == 0 ? 0 : turn_++ % kFrameLookAlikes;
            const auto kind = static_cast<LookAlike>(which);
            const auto made = look_alike(kind, frame, tunnels);
            if (!made) {
                continue;
            }
            ++run_.frames;
            count(kind, 1);
            if (judge::verify(*made, tunnels).any_bad() ||
                judge::verify_slowly(*made, tunnels, options_.mistake).any_bad()) {
                alarm(fmt::format("a look-alike: {}", name(kind)), 1);
            }
            return;
        }
    }

    void alarm(std::string what, std::uint64_t frames) {
        run_.alarms += frames;
        if (run_.examples.size() < kExamples) {
            run_.examples.push_back(std::move(what));
        }
    }

    const Material& material_;
    const CalibrationOptions& options_;
    std::size_t number_;
    std::uint64_t frames_;
    matrix::ProbeMaker maker_;
    HealthyRun run_;
    std::size_t turn_ = 0;
};

MutantScore score_mutant(const Material& material, judge::OracleMistake mistake) {
    MutantScore score{.mistake = mistake};
    for (const SendRow& row : material.send) {
        for_healthy_frames(row, [&](const FrameBytes& frame, const frame::TunnelPorts& tunnels) {
            ++score.frames;
            score.alarms += judge::verify_slowly(frame, tunnels, mistake).any_bad() ? 1 : 0;
        });
    }
    return score;
}

}  // namespace

void HealthyRun::add(const HealthyRun& other) {
    frames += other.frames;
    alarms += other.alarms;
    lossy += other.lossy;
    for (std::size_t i = 0; i < kLookAlikes; ++i) {
        look_alikes[i] += other.look_alikes[i];
    }
    for (const std::string& example : other.examples) {
        if (examples.size() < kExamples) {
            examples.push_back(example);
        }
    }
}

double HealthyRun::upper_bound() const {
    return frames <= 3 ? 1 : 3 / static_cast<double>(frames);
}

Result<HealthyRun> run_healthy(const Material& material, const CalibrationOptions& options) {
    HealthyRun sum;
    std::optional<Error> failure;
    std::mutex mutex;
    for_each_piece(options.workers, options.workers, [&](std::size_t number) {
        const std::uint64_t frames =
            (options.healthy_frames + options.workers - 1) / std::max(1u, options.workers);
        const Result<HealthyRun> share = Share(material, options, number, frames).run();
        const std::lock_guard lock(mutex);
        if (share) {
            sum.add(*share);
        } else {
            failure = share.error();
        }
    });
    if (failure) {
        return pass_on(*failure);
    }
    return sum;
}

std::vector<MutantScore> score_mutants(const Material& material) {
    std::vector<MutantScore> scores;
    for (std::size_t i = 0; i < judge::kOracleMistakes; ++i) {
        scores.push_back(score_mutant(material, static_cast<judge::OracleMistake>(i)));
    }
    return scores;
}

}  // namespace pathproof::calibration
