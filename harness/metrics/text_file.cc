#include "harness/metrics/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pathproof::metrics {
namespace {

Failure not_written(const std::string& path, int problem) {
    const bool theirs = problem == EACCES || problem == EPERM || problem == ENOENT ||
                        problem == ENOTDIR || problem == EISDIR || problem == EROFS;
    return fail(theirs ? ErrorCode::kBadInput : ErrorCode::kFailed, "write metrics to {}: {}{}",
                path, std::strerror(problem),
                theirs ? "; name a file in a folder that can be written to" : "");
}

// 0, or errno.
int write_all(int fd, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t written = write(fd, text.data() + done, text.size() - done);
        if (written >= 0) {
            done += static_cast<std::size_t>(written);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

}  // namespace

Status replace_file(const std::string& path, const std::string& text) {
    // In the same folder, so that it can be renamed; the collector reads files that end in .prom
    // only.
    const std::string unfinished = fmt::format("{}.{}.tmp", path, getpid());
    const int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return not_written(path, errno);
    }
    int problem = fchmod(fd, 0644) == 0 ? 0 : errno;
    if (problem == 0) {
        problem = write_all(fd, text);
    }
    close(fd);
    if (problem == 0 && std::rename(unfinished.c_str(), path.c_str()) == 0) {
        return {};
    }
    if (problem == 0) {
        problem = errno;
    }
    unlink(unfinished.c_str());
    return not_written(path, problem);
}

}  // namespace pathproof::metrics
