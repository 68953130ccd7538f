#include "harness/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace pathproof::cli {
namespace {

constexpr std::size_t kBarWidth = 24;

}  // namespace

StderrProgress::StderrProgress() : terminal_(isatty(STDERR_FILENO) == 1) {}

StderrProgress::~StderrProgress() { clear_line(); }

void StderrProgress::clear_line() {
    if (terminal_) {
        fmt::print(stderr, "\r\x1b[K");
    }
}

void StderrProgress::begin(const std::string& scenario, std::size_t steps) {
    clear_line();
    scenario_ = scenario;
    steps_ = std::max<std::size_t>(steps, 1);
    done_ = 0;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    fmt::print(stderr, "pathproof: {:5.1f} s  {}: begins\n", seconds, scenario);
}

void StderrProgress::step(const std::string& what) {
    ++done_;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    if (!terminal_) {
        fmt::print(stderr, "pathproof: {:5.1f} s  {} {}/{}  {}\n", seconds, scenario_, done_, steps_, what);
        return;
    }
    const std::size_t full = std::min(kBarWidth, kBarWidth * (done_ - 1) / steps_);
    fmt::print(stderr, "\r\x1b[K{} [{:=<{}}{: <{}}] {}/{}  {}", scenario_, "", full, "", kBarWidth - full, done_,
               steps_, what.substr(0, 44));
    std::fflush(stderr);
}

}  // namespace pathproof::cli
