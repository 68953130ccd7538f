#include "dataplane/calibration/healthy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include "dataplane/calibration/parallel.h"

namespace pathproof::calibration {
namespace {

constexpr std::size_t kExamples = 5;
constexpr std::uint32_t kProbesAtOnce = 4;
constexpr std::uint32_t kLossyPass = 4;  // every so many passes over the rows
constexpr const char* kBadWire[] = {"wire.any.frame.LOSE!0.02", "wire.any.frame.DUPLICATE!0.02",
                                    "wire.any.frame.REORDER!0.05",
                                    "rx.any.l4.UNKNOWN_ALWAYS!0.5"};  // B14 as well

std::vector<softnic::Fault> bad_wire() {
    std::vector<softnic::Fault> faults;
    for (const char* text : kBadWire) {
        faults.push_back(softnic::parse_fault(text).value());
    }
    return faults;
}

// What may be said of a wire that loses, repeats and reorders (B19).
bool is_loss(const std::string& title) {
    static const std::set<std::string> kTitles = {"MISSING", "SURPLUS", "DUPLICATE", "MISORDERED"};
    return kTitles.contains(title);
}

// One worker's share: every so-manieth row.
class Share {
  public:
    Share(const Material& material, const HealthyOptions& options, std::size_t number,
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
                if (Status done = run_once(row, pass); !done) {
                    return pass_on(done.error());
                }
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
            Result<SentProbe> probe = make_sent(maker_, row.row, label, healthy);
            if (!probe) {
                return pass_on(probe.error());
            }
            row.probes.push_back(std::move(*probe));
        }
        judge_row(row, pass % kLossyPass == kLossyPass - 1);
        for (const SentProbe& probe : row.probes) {
            for (const std::vector<FrameBytes>& frames : probe.healthy) {
                for (const FrameBytes& frame : frames) {
                    judge_look_alike(frame, probe.probe.tunnels);
                }
            }
        }
        return {};
    }

    void judge_row(const SendRow& row, bool lossy) {
        softnic::SoftNic nic(row.nic, lossy ? bad_wire() : std::vector<softnic::Fault>{},
                             options_.seed + run_.frames);
        const RowResult result = run_row(row, nic, {});
        run_.frames += result.frames;
        run_.lossy += lossy ? result.frames : 0;
        for (const Verdict& verdict : result.verdicts) {
            if (!lossy || !is_loss(verdict.title)) {
                alarm(fmt::format("{} at {} in row '{}'", verdict.title, verdict.place,
                                  matrix::describe(row.row)),
                      verdict.frames);
            }
        }
    }

    void judge_look_alike(const FrameBytes& frame, const frame::TunnelPorts& tunnels) {
        // The first kind fits few frames: it is tried on all, the others take turns.
        for (std::size_t tried = 0; tried <= kLookAlikes; ++tried) {
            const std::size_t which = tried == 0 ? 0 : turn_++ % kLookAlikes;
            const auto kind = static_cast<LookAlike>(which);
            const auto made = look_alike(kind, frame, tunnels);
            if (!made) {
                continue;
            }
            ++run_.frames;
            ++run_.look_alikes[which];
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
    const HealthyOptions& options_;
    std::size_t number_;
    std::uint64_t frames_;
    matrix::ProbeMaker maker_;
    HealthyRun run_;
    std::size_t turn_ = 0;
};

void count_alarms(MutantScore& score, const FrameBytes& frame, const frame::TunnelPorts& tunnels) {
    ++score.frames;
    score.alarms += judge::verify_slowly(frame, tunnels, score.mistake).any_bad() ? 1 : 0;
}

MutantScore score_mutant(const Material& material, judge::OracleMistake mistake) {
    MutantScore score{.mistake = mistake};
    for (const SendRow& row : material.send) {
        for (const SentProbe& probe : row.probes) {
            for (const std::vector<FrameBytes>& frames : probe.healthy) {
                for (const FrameBytes& frame : frames) {
                    count_alarms(score, frame, probe.probe.tunnels);
                }
            }
        }
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

Result<HealthyRun> run_healthy(const Material& material, const HealthyOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    HealthyRun sum;
    std::optional<Error> failure;
    std::mutex mutex;
    for_each_piece(options.workers, options.workers, [&](std::size_t number) {
        const std::uint64_t frames =
            (options.frames + options.workers - 1) / std::max(1u, options.workers);
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
    sum.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
