// pathproof with standard streams that are closed, full, or read by nobody.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <string>

namespace pathproof::on_streams {

enum class Sink {
    kKept,  // all that is written can be read later on
    kClosed,
    kFull,    // /dev/full: ENOSPC
    kNobody,  // a pipe whose reader has gone: EPIPE
};

inline const char* name(Sink sink) {
    constexpr std::array kNames{"kept", "closed", "full", "read by nobody"};
    return kNames[static_cast<std::size_t>(sink)];
}

struct Streams {
    Sink in = Sink::kKept;  // kept: /dev/null
    Sink out = Sink::kKept;
    Sink err = Sink::kKept;
};

enum class Hangup { kDefault, kIgnored };

struct Ran {
    int status = 0;  // exit status, or 128 + the signal that ended it
    std::string out;
    std::string err;
};

inline std::string read_all(int file) {
    std::string text;
    std::array<char, 4096> chunk{};
    for (ssize_t got = 0; (got = read(file, chunk.data(), chunk.size())) > 0;) {
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return text;
}

inline std::string text_of(int file) {
    std::string text;
    std::array<char, 4096> chunk{};
    for (ssize_t got = 0;
         (got = pread(file, chunk.data(), chunk.size(), static_cast<off_t>(text.size()))) > 0;) {
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return text;
}

// `words` are a shell's; SIGALRM (status 142) ends what does not end within a minute.
class Process {
  public:
    Process(const std::string& words, const Streams& streams, Hangup hangup = Hangup::kDefault,
            int out_file = -1)
        : out_(memfd_create("out", MFD_CLOEXEC)), err_(memfd_create("err", MFD_CLOEXEC)) {
        const char* binary = std::getenv("PATHPROOF");
        BOOST_REQUIRE_MESSAGE(binary != nullptr, "PATHPROOF must name the binary");
        const std::string line = "exec " + std::string(binary) + " " + words;
        pid_ = fork();
        if (pid_ == 0) {
            alarm(60);
            std::signal(SIGPIPE, SIG_DFL);
            std::signal(SIGHUP, hangup == Hangup::kIgnored ? SIG_IGN : SIG_DFL);
            put(STDIN_FILENO, streams.in, open("/dev/null", O_RDONLY | O_CLOEXEC));
            put(STDERR_FILENO, streams.err, err_);
            put(STDOUT_FILENO, streams.out, out_file < 0 ? out_ : out_file);
            execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
            _exit(99);
        }
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        close(out_);
        close(err_);
    }

    pid_t pid() const { return pid_; }
    void signal(int number) { BOOST_TEST(kill(pid_, number) == 0); }
    // Waits until the process has written to standard error, at most 20 s.
    void await_err() {
        for (int waited_ms = 0; waited_ms < 20'000 && text_of(err_).empty(); waited_ms += 5) {
            usleep(5000);
        }
    }
    Ran wait() {
        int state = 0;
        waitpid(pid_, &state, 0);
        pid_ = -1;
        return {WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state), text_of(out_),
                text_of(err_)};
    }

  private:
    static void put(int descriptor, Sink sink, int kept) {
        std::array<int, 2> ends{-1, -1};
        switch (sink) {
            case Sink::kKept: dup2(kept, descriptor); break;
            case Sink::kClosed: close(descriptor); break;
            case Sink::kFull: dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), descriptor); break;
            case Sink::kNobody:
                if (pipe2(ends.data(), O_CLOEXEC) == 0) {
                    close(ends[0]);
                    dup2(ends[1], descriptor);
                }
                break;
        }
    }

    int out_;
    int err_;
    pid_t pid_ = -1;
};

inline Ran run(const std::string& words, const Streams& streams) {
    return Process(words, streams).wait();
}

}  // namespace pathproof::on_streams
