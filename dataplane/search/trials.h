// The trials of one search, one after the other: repeated where they cannot be relied on, logged
// without exception, and ended by the budget or by the user.
#pragma once

#include <atomic>
#include <deque>
#include <functional>

#include "dataplane/search/trial.h"

namespace pathproof::search {

struct Budget {
    Nanoseconds time = std::chrono::minutes(20);
    // Largest number of repetitions of a trial that has an objection, or that a disturbance of the
    // tester may have made worse. If the last is no better it is used after all, and what rests on
    // it is marked.
    unsigned repeats = 2;
    const std::atomic<bool>* stop = nullptr;  // true: the user wants an end
    std::function<Nanoseconds()> now = [] {
        return Nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
    };
};

// Reason why no more trials are run.
enum class Ending : std::uint8_t {
    kNone,       // none was refused: the search came to its own end
    kStopped,    // by the user
    kCutShort,   // a trial could not go on: see why_cut_short()
    kOutOfTime,  // the next trial would have passed the budget
};
const char* name(Ending ending);

// Time that trials cost beyond sending and listening.
struct Overhead {
    double min_seconds = 0;
    double median_seconds = 0;
    double max_seconds = 0;
};

// The part of a trial's outcome that is used.
enum class Use : std::uint8_t { kLoss, kTimes };

class Trials {
  public:
    using Observer = std::function<void(const TrialOutput&)>;

    // `observer` sees every trial as it ends, those run again too.
    explicit Trials(Measurer& measurer, Budget budget = {}, Observer observer = {});

    // The outcome of the trial, which lives as long as this object; nullptr when there are no more
    // trials to be had: see ending(). Errors: those of the measurer.
    Result<const TrialOutput*> run(const TrialInput& input, Use use = Use::kLoss);

    Ending ending() const { return ending_; }
    // Returns the measurer's objection to the trial that it cut short by itself: a link that went
    // down.
    const std::string& why_cut_short() const { return why_cut_short_; }
    const std::deque<TrialOutput>& log() const { return log_; }
    Overhead overhead() const;
    Nanoseconds spent() const { return budget_.now() - began_; }

  private:
    bool may_run(const TrialInput& input);
    Result<const TrialOutput*> once(const TrialInput& input);
    bool stopped_by_user() const {
        return budget_.stop != nullptr && budget_.stop->load(std::memory_order_relaxed);
    }
    void end_at(const TrialOutput& partial);

    Measurer& measurer_;
    Budget budget_;
    Observer observer_;
    std::deque<TrialOutput> log_;
    Ending ending_ = Ending::kNone;
    std::string why_cut_short_;
    Nanoseconds began_;
};

}  // namespace pathproof::search
