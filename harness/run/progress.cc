#include "harness/run/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace pathproof::run {
namespace {

constexpr std::size_t kBarWidth = 24;

}  // namespace

StderrProgress::StderrProgress(scenario::Measured& measured)
    : measured_(measured), terminal_(isatty(STDERR_FILENO) == 1) {}

StderrProgress::~StderrProgress() {
    say("");
}

void StderrProgress::silence() {
    silent_ = true;
    if (saying_.try_lock_for(std::chrono::milliseconds(200))) {
        saying_.unlock();
    }
}

// Prints a sentence; on a terminal it replaces the bar.
void StderrProgress::say(const std::string& text) {
    const std::lock_guard lock(saying_);
    if (!silent_) {
        fmt::print(stderr, "{}{}", terminal_ ? "\r\x1b[K" : "", text);
        std::fflush(stderr);
    }
}

void StderrProgress::begin(const std::string& scenario, std::size_t steps) {
    scenario_ = scenario;
    steps_ = std::max<std::size_t>(steps, 1);
    done_ = 0;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    const std::string where = place(0);
    say(fmt::format("pathproof: {:5.1f} s  {}: begins{}\n", seconds, scenario,
                    where.empty() ? "" : " (" + where + ")"));
}

std::string StderrProgress::place(std::size_t steps_done) const {
    const auto now = std::ranges::find(expected_, scenario_, &ExpectedTime::scenario);
    if (now == expected_.end()) {
        return "";
    }
    const double done =
        std::min(1.0, static_cast<double>(steps_done) / static_cast<double>(steps_));
    double left = now->seconds.value_or(0) * (1 - done);
    bool is_known = now->seconds.has_value();
    for (auto later = now + 1; later != expected_.end(); ++later) {
        left += later->seconds.value_or(0);
        is_known = is_known && later->seconds.has_value();
    }
    return fmt::format("scenario {} of {}{}", now - expected_.begin() + 1, expected_.size(),
                       left <= 0 ? ""
                                 : fmt::format(", {} {} left", is_known ? "about" : "more than",
                                               duration_text(left)));
}

void StderrProgress::step(const std::string& what) {
    measured_.step(what);
    ++done_;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    const std::string where = place(done_ - 1);
    if (!terminal_) {
        say(fmt::format("pathproof: {:5.1f} s  {} {}/{}  {}{}\n", seconds, scenario_, done_, steps_,
                        what, where.empty() ? "" : " (" + where + ")"));
        return;
    }
    const std::size_t full = std::min(kBarWidth, kBarWidth * (done_ - 1) / steps_);
    say(fmt::format("{} [{:=<{}}{: <{}}] {}/{}  {:<28}  {}", scenario_, "", full, "",
                    kBarWidth - full, done_, steps_, what.substr(0, 28), where));
}

void StderrProgress::leave_out(std::size_t steps) {
    steps_ = std::max<std::size_t>(steps_ - std::min(steps, steps_), 1);
}

}  // namespace pathproof::run
