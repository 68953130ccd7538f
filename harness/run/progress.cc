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

// On a terminal in place of the bar.
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
    say(fmt::format("pathproof: {:5.1f} s  {}: begins\n", seconds, scenario));
}

void StderrProgress::step(const std::string& what) {
    measured_.step(what);
    ++done_;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    if (!terminal_) {
        say(fmt::format("pathproof: {:5.1f} s  {} {}/{}  {}\n", seconds, scenario_, done_, steps_,
                        what));
        return;
    }
    const std::size_t full = std::min(kBarWidth, kBarWidth * (done_ - 1) / steps_);
    say(fmt::format("{} [{:=<{}}{: <{}}] {}/{}  {}", scenario_, "", full, "", kBarWidth - full,
                    done_, steps_, what.substr(0, 44)));
}

void StderrProgress::leave_out(std::size_t steps) {
    steps_ = std::max<std::size_t>(steps_ - std::min(steps, steps_), 1);
}

}  // namespace pathproof::run
