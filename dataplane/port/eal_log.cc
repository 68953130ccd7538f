#include "dataplane/port/eal_log.h"

#include <fcntl.h>
#include <rte_log.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sstream>

#include "dataplane/base/file.h"

namespace pathproof::port {
namespace {

struct Log {
    std::mutex mutex;
    std::string text;
    FILE* stream = nullptr;  // lives as long as the process: drivers may log until the very end
};

// The log is never destroyed: EAL's threads may log while the process exits.
Log& log() {
    static Log& the_log = *new Log;
    return the_log;
}

constexpr std::size_t kMostLogBytes = 1 << 20;

ssize_t take(void*, const char* data, std::size_t size) {
    const std::lock_guard lock(log().mutex);
    if (log().text.size() + size > kMostLogBytes) {
        return static_cast<ssize_t>(size);
    }
    // The level is known only while rte_log() runs: mark the lines that matter as they come.
    const bool serious = rte_log_cur_msg_loglevel() <= static_cast<int>(RTE_LOG_ERR);
    log().text += serious ? "! " : "  ";
    log().text.append(data, size);
    if (size == 0 || data[size - 1] != '\n') {
        log().text += '\n';
    }
    return static_cast<ssize_t>(size);
}

// A standard stream that points into a memory file for as long as this object lives.
class Aside {
  public:
    Aside(int stream, int file) : stream_(stream), saved_(fcntl(stream, F_DUPFD_CLOEXEC, 3)) {
        if (saved_) {
            dup2(file, stream_);
        }
    }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    ~Aside() {
        if (saved_) {
            dup2(saved_.get(), stream_);
        }
    }

  private:
    int stream_;
    Fd saved_;
};

}  // namespace

void collect_eal_log() {
    if (log().stream != nullptr) {
        return;
    }
    cookie_io_functions_t functions{};
    functions.write = take;
    log().stream = fopencookie(nullptr, "w", functions);
    if (log().stream != nullptr) {
        setvbuf(log().stream, nullptr, _IOLBF, BUFSIZ);
        rte_openlog_stream(log().stream);
    }
}

std::string eal_log_text() {
    const std::lock_guard lock(log().mutex);
    return log().text;
}

std::string eal_log_errors(std::size_t from) {
    const std::string text = eal_log_text();
    std::istringstream lines(text.substr(std::min(from, text.size())));
    std::string errors;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("! ")) {
            errors += (errors.empty() ? "" : "; ") + line.substr(2);
        }
    }
    return errors;
}

bool says_out_of_memory(const std::string& lines) {
    return lines.find(std::strerror(ENOMEM)) != std::string::npos;
}

void with_standard_streams_aside(const std::function<void()>& work) {
    const Fd file(memfd_create("eal-streams", MFD_CLOEXEC));
    if (!file) {
        work();
        return;
    }
    std::fflush(stdout);
    std::fflush(stderr);
    {
        const Aside output(STDOUT_FILENO, file.get());
        const Aside error(STDERR_FILENO, file.get());
        work();
        std::fflush(stdout);
        std::fflush(stderr);
    }
    const std::string said = read_file(fmt::format("/proc/self/fd/{}", file.get())).value_or("");
    const std::lock_guard lock(log().mutex);
    log().text += said;
}

}  // namespace pathproof::port
