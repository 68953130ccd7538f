#include "harness/process/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "harness/process/children.h"
#include "harness/process/programs.h"

namespace pathproof::process {
namespace {

[[noreturn]] void become_child(const std::vector<std::string>& argv, const ChildOptions& options,
                               int socket, int errors, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, options.at_our_death);
    if (getppid() != parent) {
        _exit(125);  // the parent died between fork and prctl
    }
    // Ctrl-C reaches the whole foreground group: the controller decides when its children end.
    setpgid(0, 0);
    dup2(socket, STDIN_FILENO);
    dup2(socket, STDOUT_FILENO);
    if (errors >= 0) {
        dup2(errors, STDERR_FILENO);
    }
    become(argv, options.netns);
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& argv, const ChildOptions& options) {
    TRY(check_known(argv.front()));
    std::array<int, 2> pair{-1, -1};
    std::array<int, 2> errors{-1, -1};
    const bool made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0 &&
                      (!options.keep_errors || pipe2(errors.data(), O_CLOEXEC) == 0);
    Fd ours(pair[0]), its(pair[1]), read_end(errors[0]), write_end(errors[1]);
    if (!made) {
        return fail(ErrorCode::kFailed, "socket pair for {}: {}", argv.front(),
                    std::strerror(errno));
    }
    const pid_t parent = getpid();
    const pid_t pid = fork_child();
    if (pid < 0) {
        return fail(ErrorCode::kFailed, "start {}: {}", argv.front(), std::strerror(errno));
    }
    if (pid == 0) {
        become_child(argv, options, its.get(), write_end.get(), parent);
    }
    return Child(pid, std::move(ours), std::move(read_end));
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      errors_(std::move(other.errors_)) {}

Child& Child::operator=(Child&& other) noexcept {
    if (this != &other) {
        stop();
        pid_ = std::exchange(other.pid_, -1);
        socket_ = std::move(other.socket_);
        errors_ = std::move(other.errors_);
    }
    return *this;
}

Child::~Child() {
    stop();
}

std::string Child::stop() {
    if (socket_) {
        // shutdown, not only close: a thread of ours may still be blocked reading it.
        shutdown(socket_.get(), SHUT_RDWR);
        socket_.reset();
    }
    if (pid_ < 0) {
        return "not running";
    }
    if (!wait_for_end(pid_, std::chrono::seconds(2))) {
        kill(pid_, SIGKILL);
    }
    const int state = reap(pid_);
    pid_ = -1;
    errors_.reset();  // not before: whoever still writes there would be killed by it
    if (WIFSIGNALED(state)) {
        return fmt::format("signal {} ({})", WTERMSIG(state), strsignal(WTERMSIG(state)));
    }
    return fmt::format("exit status {}", WEXITSTATUS(state));
}

std::string own_binary() {
    std::array<char, PATH_MAX> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (length <= 0) {
        return "pathproof";
    }
    // Replaced or deleted since it was started: the link still leads to it.
    return access(path.data(), X_OK) == 0
               ? std::string(path.data(), static_cast<std::size_t>(length))
               : "/proc/self/exe";
}

}  // namespace pathproof::process
