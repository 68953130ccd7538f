#include "tests/screen/pseudo_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace pathproof::screen {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 10s;

[[noreturn]] void become(const std::vector<std::string>& argv, int terminal,
                         const std::string& kind) {
    if (login_tty(terminal) != 0) {
        _exit(98);
    }
    setenv("TERM", kind.c_str(), 1);
    std::vector<char*> words;
    for (const std::string& word : argv) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    std::signal(SIGHUP, SIG_DFL);  // one that a test started with nohup ignores
    execv(words[0], words.data());
    _exit(99);
}

}  // namespace

PseudoTerminal::PseudoTerminal(const std::vector<std::string>& argv, unsigned columns,
                               unsigned rows, const std::string& kind) {
    BOOST_REQUIRE(openpty(&keyboard_, &terminal_, nullptr, nullptr, nullptr) == 0);
    fcntl(keyboard_, F_SETFD, FD_CLOEXEC);
    resize(columns, rows);
    BOOST_REQUIRE(tcgetattr(terminal_, &before_) == 0);
    pid_ = fork();
    BOOST_REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
        become(argv, terminal_, kind);
    }
}

PseudoTerminal::~PseudoTerminal() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    close(keyboard_);
    close(terminal_);
}

void PseudoTerminal::type(const std::string& keys) {
    BOOST_REQUIRE(write(keyboard_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
}

void PseudoTerminal::resize(unsigned columns, unsigned rows) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    BOOST_REQUIRE(ioctl(keyboard_, TIOCSWINSZ, &size) == 0);
    if (pid_ > 0) {
        kill(pid_, SIGWINCH);
    }
}

bool PseudoTerminal::read_some(std::chrono::milliseconds wait) {
    pollfd end{.fd = keyboard_, .events = POLLIN, .revents = 0};
    if (poll(&end, 1, static_cast<int>(wait.count())) <= 0) {
        return false;
    }
    std::array<char, 4096> chunk;
    const ssize_t got = read(keyboard_, chunk.data(), chunk.size());
    if (got > 0) {
        output_.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return got > 0;
}

bool PseudoTerminal::shows(const std::string& text) {
    const auto deadline = Clock::now() + kPatience;
    while (output_.find(text) == std::string::npos && Clock::now() < deadline) {
        read_some(50ms);
    }
    return output_.find(text) != std::string::npos;
}

int PseudoTerminal::wait() {
    const auto deadline = Clock::now() + kPatience;
    int state = 0;
    while (waitpid(pid_, &state, WNOHANG) == 0) {
        if (Clock::now() >= deadline) {
            return -1;
        }
        read_some(20ms);  // it must not wait for room on its terminal
    }
    while (read_some(0ms)) {
    }
    pid_ = -1;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

termios PseudoTerminal::now() const {
    termios current{};
    BOOST_REQUIRE(tcgetattr(terminal_, &current) == 0);
    return current;
}

}  // namespace pathproof::screen
