#include "harness/bench/measured_program.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "harness/process/children.h"
#include "harness/process/netns.h"
#include "harness/process/stop.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;

// Time between two looks at a running process: each look costs some ten microseconds.
constexpr auto kSampleEvery = 15ms;

double monotonic_seconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// The child's report before it becomes the program: when it did, or why it could not.
struct Report {
    double started = 0;
    int error_number = 0;
    std::array<char, 160> doing{};
};

void say(int pipe, const Report& report) {
    if (write(pipe, &report, sizeof report) != sizeof report) {
        _exit(126);
    }
}

[[noreturn]] void give_up(int pipe, int error_number, const std::string& doing) {
    Report report{.error_number = error_number};
    doing.copy(report.doing.data(), report.doing.size() - 1);
    say(pipe, report);
    _exit(126);
}

void pin(const std::vector<int>& cpus) {
    if (cpus.empty()) {
        return;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) {
        CPU_SET(cpu, &set);
    }
    sched_setaffinity(0, sizeof set, &set);
}

// The files of a program; `input` is -1 for one that is told nothing.
struct Files {
    int input = -1;
    int out = -1;
    int err = -1;
};

[[noreturn]] void become(const ProgramToMeasure& program, const Files& files, int pipe,
                         pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(125);
    }
    setpgid(0, 0);  // Ctrl-C is ours to pass on
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(files.input < 0 ? nothing : files.input, STDIN_FILENO);
    dup2(files.out, STDOUT_FILENO);
    dup2(files.err, STDERR_FILENO);
    process::give_signals_back();
    pin(program.cpus);
    // Only the network namespace: what the others of a program's view are does not matter here, and
    // mounting costs.
    const Status entered = process::enter_netns(program.netns, process::SysfsView::kKeep);
    if (!entered) {
        give_up(pipe, 0, entered.error().message);
    }
    const std::vector<char*> words = process::pointers_to(program.argv);
    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
    say(pipe, {.started = monotonic_seconds()});
    execvp(words[0], words.data());
    give_up(pipe, errno, program.argv.front());
}

// Reads the child's reports until exec closes the pipe; gives the time of the start.
Result<double> await_exec(int pipe) {
    double started = 0;
    Report report;
    while (::read(pipe, &report, sizeof report) == sizeof report) {
        if (report.doing[0] != '\0') {
            return fail(report.error_number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFailed,
                        "{}{}{}", report.doing.data(), report.error_number == 0 ? "" : ": ",
                        report.error_number == 0 ? "" : std::strerror(report.error_number));
        }
        started = report.started;
    }
    return started;
}

std::uint64_t read_peak_rss(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("VmHWM:")) {
            return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
        }
    }
    return 0;
}

void reap(pid_t pid) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace

Cost sum(const Cost& first, const Cost& second) {
    return {.wall_s = first.wall_s + second.wall_s,
            .user_s = first.user_s + second.user_s,
            .system_s = first.system_s + second.system_s,
            .peak_rss_bytes = std::max(first.peak_rss_bytes, second.peak_rss_bytes),
            .ran_s = first.ran_s + second.ran_s,
            .waited_s = first.waited_s + second.waited_s};
}

MeasuredProgram::MeasuredProgram(pid_t pid, Fd handle, Fd input, std::string name, OutputFile out,
                                 OutputFile err)
    : pid_(pid),
      handle_(std::move(handle)),
      input_(std::move(input)),
      name_(std::move(name)),
      out_(std::move(out)),
      err_(std::move(err)) {}

MeasuredProgram::MeasuredProgram(MeasuredProgram&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      handle_(std::move(other.handle_)),
      input_(std::move(other.input_)),
      name_(std::move(other.name_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      started_(other.started_),
      ended_(other.ended_),
      peak_rss_bytes_(other.peak_rss_bytes_),
      threads_(std::move(other.threads_)) {}

MeasuredProgram::~MeasuredProgram() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        signal_all(SIGKILL);
        reap(pid_);
    }
}

Result<MeasuredProgram> MeasuredProgram::start(const ProgramToMeasure& program) {
    auto out = OutputFile::make();
    auto err = OutputFile::make();
    std::array<int, 2> ends{-1, -1};
    std::array<int, 2> talk{-1, -1};
    const bool told = program.input == ProgramToMeasure::Input::kTold;
    if (told && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk.data()) != 0) {
        return fail(ErrorCode::kFailed, "no socket for {}: {}", program.argv.front(),
                    std::strerror(errno));
    }
    Fd ours(talk[0]);
    Fd theirs(talk[1]);
    if (!out || !err || pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(ErrorCode::kFailed, "no file or pipe for {}: {}", program.argv.front(),
                    std::strerror(errno));
    }
    const Fd from_child(ends[0]);
    Fd to_us(ends[1]);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        become(program, {.input = theirs.get(), .out = out->fd(), .err = err->fd()}, to_us.get(),
               parent);
    }
    const int reason = errno;
    to_us.reset();
    theirs.reset();
    if (pid < 0) {
        return fail(ErrorCode::kFailed, "start {}: {}", program.argv.front(),
                    std::strerror(reason));
    }
    Fd handle(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    MeasuredProgram running(pid, std::move(handle), std::move(ours),
                            fmt::format("{}", fmt::join(program.argv, " ")), std::move(*out),
                            std::move(*err));
    running.started_ = TRY(await_exec(from_child.get()));
    if (!running.handle_) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel has no pidfd_open (Linux 5.3): the benchmark cannot run");
    }
    return running;
}

void MeasuredProgram::signal(int number) const {
    kill(pid_, number);
}

// The child makes a process group of its own before it becomes the program.
void MeasuredProgram::signal_all(int number) const {
    kill(-pid_, number);
}

Status MeasuredProgram::tell(const std::string& text) const {
    const ssize_t sent = send(input_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(text.size())) {
        return fail(ErrorCode::kUnavailable, "'{}' takes no more input", name_);
    }
    return {};
}

void MeasuredProgram::sample() {
    peak_rss_bytes_ = std::max(peak_rss_bytes_, read_peak_rss(pid_));
    std::error_code gone;
    const std::string folder = fmt::format("/proc/{}/task", pid_);
    for (const auto& task : std::filesystem::directory_iterator(folder, gone)) {
        std::ifstream file(task.path() / "schedstat");
        double ran_ns = 0;
        double waited_ns = 0;
        if (file >> ran_ns >> waited_ns) {
            threads_[task.path().filename()] = {ran_ns * 1e-9, waited_ns * 1e-9};
        }
    }
}

bool MeasuredProgram::runs_after(std::chrono::milliseconds wait) {
    pollfd end{.fd = handle_.get(), .events = POLLIN, .revents = 0};
    const bool ended = poll(&end, 1, static_cast<int>(wait.count())) > 0;
    ended_ = monotonic_seconds();
    sample();  // a process that has ended but was not waited for still has its main thread's times
    return !ended;
}

Result<MeasuredRun> MeasuredProgram::finish(std::chrono::seconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (runs_after(kSampleEvery)) {
        if (std::chrono::steady_clock::now() >= deadline) {
            return fail(ErrorCode::kUnavailable, "'{}' did not end within {} s", name_,
                        limit.count());
        }
    }
    int state = 0;
    rusage used{};
    while (wait4(pid_, &state, 0, &used) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    Cost cost{.wall_s = ended_ - started_,
              .user_s = seconds(used.ru_utime),
              .system_s = seconds(used.ru_stime),
              .peak_rss_bytes = peak_rss_bytes_};
    for (const auto& [id, times] : threads_) {
        if (times.ran_s > cost.ran_s) {
            cost.ran_s = times.ran_s;
            cost.waited_s = times.waited_s;
        }
    }
    return MeasuredRun{.exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state),
                       .cost = cost,
                       .out = std::move(out_),
                       .err = std::move(err_)};
}

Result<MeasuredRun> measure(const ProgramToMeasure& program, std::chrono::seconds limit) {
    auto running = TRY(MeasuredProgram::start(program));
    auto run = running.finish(limit);
    if (run && run->exit_status != 0) {
        return fail(ErrorCode::kFailed, "'{}' failed with status {}: {}",
                    fmt::join(program.argv, " "), run->exit_status, run->err.text());
    }
    return run;
}

}  // namespace pathproof::bench
