#include "harness/process/streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "dataplane/base/exit_code.h"
#include "harness/process/stop.h"

namespace pathproof::process {
namespace {

struct Stream {
    const int descriptor;
    std::atomic<int> problem = 0;  // errno of a write that failed
};

// They live as long as stdout and stderr: to the end of the process.
Stream standard_output{.descriptor = STDOUT_FILENO};
Stream standard_error{.descriptor = STDERR_FILENO};

// Says it once; asks for a stop each time, as nobody may have listened the time before.
void note_loss(Stream& stream, int reason) {
    if (stream.problem.exchange(reason) == 0 && &stream == &standard_output) {
        const std::string sentence =
            fmt::format("pathproof: standard output cannot be written ({}): output was lost\n",
                        std::strerror(reason));
        write_whole(standard_error.descriptor, sentence);
    }
    if (&stream == &standard_output || reason == EPIPE) {
        sigqueue(getpid(), SIGPIPE, {});
    }
}

// Takes all of it, written or not: stdio's error flag would be an exception in the middle of
// whatever prints (fmt::print). Behind a hole no more output follows; a message stands for itself.
ssize_t take(void* cookie, const char* data, std::size_t size) {
    Stream& stream = *static_cast<Stream*>(cookie);
    const int ended = &stream == &standard_output ? stream.problem.load() : 0;
    if (ended != 0 || !write_whole(stream.descriptor, {data, size})) {
        note_loss(stream, ended != 0 ? ended : errno);
    }
    return static_cast<ssize_t>(size);
}

// Buffered as stdio does it: `mode` is one of setvbuf(3).
void put_on(Stream& stream, int mode, FILE*& standard) {
    cookie_io_functions_t functions{};
    functions.write = take;
    if (FILE* const made = fopencookie(&stream, "w", functions); made != nullptr) {
        setvbuf(made, nullptr, mode, BUFSIZ);
        standard = made;
    }
}

}  // namespace

bool write_whole(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(descriptor, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {  // whoever shares the pipe with us made it non-blocking
            pollfd end{.fd = descriptor, .events = POLLOUT, .revents = 0};
            poll(&end, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

void hold_standard_streams() {
    // The lowest free descriptor is the one that open() takes. What it cannot do fails with EBADF.
    for (const auto& [descriptor, mode] : {std::pair{STDIN_FILENO, O_WRONLY},
                                           {STDOUT_FILENO, O_RDONLY},
                                           {STDERR_FILENO, O_RDONLY}}) {
        if (fcntl(descriptor, F_GETFD) < 0) {
            open("/dev/null", mode);
        }
    }
    stop_on_closed_output();
    put_on(standard_output, isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF, stdout);
    put_on(standard_error, _IONBF, stderr);
}

bool output_lost() {
    return standard_output.problem != 0;
}

int exit_code_of(int code) {
    std::fflush(stdout);
    std::fflush(stderr);
    const bool lost = standard_output.problem != 0 || (standard_error.problem != 0 && code == 0);
    return lost ? kIncomplete : code;
}

}  // namespace pathproof::process
