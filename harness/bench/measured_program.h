// Running a program and measuring what it costs: wall, user and system time, memory, and how long
// it had to wait for a CPU.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"
#include "harness/bench/output_file.h"

namespace pathproof::bench {

struct ProgramToMeasure {
    std::vector<std::string> argv;  // found through PATH and the sbin folders
    std::string netns;              // entered before the clock starts; empty: the caller's
    std::vector<int> cpus;          // that it may run on; empty: all of the caller's
    // Kind of its standard input. Programs that receive commands while they run get a socket.
    enum class Input : std::uint8_t { kNothing, kTold } input = Input::kNothing;
};

struct Cost {
    double wall_s = 0;  // from exec to the end of the process
    double user_s = 0;  // all its threads; some tenths of a millisecond before exec are in it
    double system_s = 0;
    std::uint64_t peak_rss_bytes = 0;  // VmHWM, looked at every few milliseconds
    // Times of the thread that ran most, from schedstat; `waited_s` is the time that it was ready
    // to run and did not. Other threads of a process share its CPUs by design.
    double ran_s = 0;
    double waited_s = 0;

    double waiting_share() const { return ran_s > 0 ? waited_s / (ran_s + waited_s) : 0; }
};

struct MeasuredRun {
    int exit_status = 0;  // 128 + signal number when a signal ended it
    Cost cost;
    OutputFile out;
    OutputFile err;
};

// Adds two costs, one after the other: times add up, memory is the larger one.
Cost sum(const Cost& first, const Cost& second);

// A program that runs. It does not outlive the thread that started it; nor this object.
class MeasuredProgram {
  public:
    static Result<MeasuredProgram> start(const ProgramToMeasure& program);
    MeasuredProgram(MeasuredProgram&& other) noexcept;
    MeasuredProgram& operator=(MeasuredProgram&&) = delete;
    MeasuredProgram(const MeasuredProgram&) = delete;
    ~MeasuredProgram();  // kills it

    pid_t pid() const { return pid_; }
    void signal(int number) const;
    // Signals the program and the processes that it has started.
    void signal_all(int number) const;
    // Writes to its standard input (Input::kTold). kUnavailable once it has ended.
    Status tell(const std::string& text) const;
    // Returns its standard output so far, and its standard error; up to 64 KiB.
    std::string said() const { return out_.text(); }
    std::string warned() const { return err_.text(); }
    // False once it has ended. Also keeps the figures of memory and waiting up to date, which a
    // process takes with it when it ends.
    bool runs_after(std::chrono::milliseconds wait);
    // Waits for its end, at most this long (kUnavailable then, and it is killed).
    Result<MeasuredRun> finish(std::chrono::seconds limit);

  private:
    MeasuredProgram(pid_t pid, Fd handle, Fd input, std::string name, OutputFile out,
                    OutputFile err);
    void sample();

    struct ThreadTimes {
        double ran_s = 0;
        double waited_s = 0;
    };

    pid_t pid_ = -1;
    Fd handle_;  // pidfd
    Fd input_;   // our end of its standard input
    std::string name_;
    OutputFile out_;
    OutputFile err_;
    double started_ = 0;  // CLOCK_MONOTONIC
    double ended_ = 0;    // the last look at it
    std::uint64_t peak_rss_bytes_ = 0;
    std::map<std::string, ThreadTimes> threads_;
};

// start() and finish(), and an error when its exit status is not 0: with what it said.
Result<MeasuredRun> measure(const ProgramToMeasure& program, std::chrono::seconds limit);

}  // namespace pathproof::bench
