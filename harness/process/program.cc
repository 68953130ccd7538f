#include "harness/process/program.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "dataplane/base/file.h"
#include "harness/process/children.h"
#include "harness/process/programs.h"
#include "harness/process/stop.h"

namespace pathproof::process {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{256} << 20;

struct Pipe {
    Fd read_end;
    Fd write_end;

    Pipe() {
        std::array<int, 2> ends{-1, -1};
        if (pipe2(ends.data(), O_CLOEXEC) == 0) {
            read_end = Fd(ends[0]);
            write_end = Fd(ends[1]);
        }
    }
    bool valid() const { return static_cast<bool>(read_end); }
};

// Feeds `input` and collects both outputs until the program closes them or the deadline passes.
bool exchange(const std::string& input, Pipe& in, Pipe& out, Pipe& err, Clock::time_point deadline,
              ProgramOutput& output) {
    std::size_t fed = 0;
    if (input.empty()) {
        in.write_end.reset();
    }
    while (out.read_end || err.read_end) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0 || output.out.size() + output.err.size() > kMostOutput) {
            return false;
        }
        std::array<pollfd, 3> ends{{{out.read_end.get(), POLLIN, 0},
                                    {err.read_end.get(), POLLIN, 0},
                                    {in.write_end.get(), POLLOUT, 0}}};
        if (poll(ends.data(), ends.size(), static_cast<int>(left)) < 0 && errno != EINTR) {
            return false;
        }
        if (ends[2].revents != 0 && in.write_end) {
            const ssize_t put = write(in.write_end.get(), input.data() + fed, input.size() - fed);
            fed += put > 0 ? static_cast<std::size_t>(put) : 0;
            if (put < 0 || fed == input.size()) {
                in.write_end.reset();
            }
        }
        std::array<char, 16384> chunk;
        for (auto [end, text, events] : {std::tuple{&out.read_end, &output.out, ends[0].revents},
                                         std::tuple{&err.read_end, &output.err, ends[1].revents}}) {
            if (events == 0 || !*end) {
                continue;
            }
            const ssize_t got = read(end->get(), chunk.data(), chunk.size());
            if (got > 0) {
                text->append(chunk.data(), static_cast<std::size_t>(got));
            } else {
                end->reset();
            }
        }
    }
    return true;
}

}  // namespace

Result<ProgramOutput> run_program(const std::vector<std::string>& argv,
                                  const ProgramOptions& options) {
    TRY(check_known(argv.front()));
    Pipe in;
    Pipe out;
    Pipe err;
    if (!in.valid() || !out.valid() || !err.valid()) {
        return fail(ErrorCode::kFailed, "run {}: no pipe: {}", argv.front(), std::strerror(errno));
    }
    // A program that ends without reading its input must not end us: writes then fail with EPIPE.
    ignore_closed_pipes();
    const pid_t child = fork_child(options.starts);
    if (child < 0) {
        return fail(ErrorCode::kFailed, "run {}: {}", argv.front(), std::strerror(errno));
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in.read_end.get(), STDIN_FILENO);
        dup2(out.write_end.get(), STDOUT_FILENO);
        dup2(err.write_end.get(), STDERR_FILENO);
        setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
        become(argv, options.netns);
    }
    in.read_end.reset();
    out.write_end.reset();
    err.write_end.reset();
    fcntl(in.write_end.get(), F_SETFL, O_NONBLOCK);
    ProgramOutput output;
    const bool ended =
        exchange(options.input, in, out, err, Clock::now() + options.timeout, output);
    if (!ended) {
        kill(child, SIGKILL);
    }
    const int state = reap(child);
    if (!ended) {
        return fail(
            ErrorCode::kUnavailable, "'{}' did not end within {} ms{}", fmt::join(argv, " "),
            options.timeout.count(),
            output.out.size() + output.err.size() > kMostOutput ? ": it says too much" : "");
    }
    output.exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (output.exit_status == 127 && output.out.empty()) {
        return fail(ErrorCode::kNotFound,
                    "program '{}' cannot be run ({}); is its package installed?{}", argv.front(),
                    output.err.substr(0, output.err.find('\n')), package_hint(argv.front()));
    }
    return output;
}

Result<std::string> run_checked(const std::vector<std::string>& argv,
                                const ProgramOptions& options) {
    auto output = TRY(run_program(argv, options));
    if (output.exit_status != 0) {
        const std::string where = options.netns.empty() ? "" : " in namespace " + options.netns;
        return fail(ErrorCode::kFailed, "'{}'{} failed with status {}: {}", fmt::join(argv, " "),
                    where, output.exit_status, output.err.empty() ? output.out : output.err);
    }
    return std::move(output.out);
}

}  // namespace pathproof::process
