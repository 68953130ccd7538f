#include "harness/drops/tracefs.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "dataplane/base/file.h"

namespace pathproof::drops {
namespace {

Failure not_readable(const std::string& what, int problem) {
    if (problem == EPERM || problem == EACCES) {
        return fail(ErrorCode::kNotPermitted,
                    "drop reasons need tracefs: {}: {}; run as root outside of a container", what,
                    std::strerror(problem));
    }
    return fail(ErrorCode::kKernelLacks, "drop reasons need tracefs (CONFIG_TRACING): {}: {}", what,
                std::strerror(problem));
}

// tracefs answers reads with less than was asked for.
Result<std::string> read_all(int fd, const std::string& name) {
    std::string text;
    char part[4096];
    for (;;) {
        const ssize_t got = read(fd, part, sizeof part);
        if (got == 0) {
            return text;
        }
        if (got > 0) {
            text.append(part, static_cast<std::size_t>(got));
        } else if (errno != EINTR) {
            return not_readable("read " + name, errno);
        }
    }
}

Result<std::string> read_in(int directory, const std::string& event) {
    const std::string path = "events/" + event + "/format";
    const Fd file(openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() >= 0) {
        return read_all(file.get(), path);
    }
    if (errno == ENOENT) {
        return fail(ErrorCode::kKernelLacks, "this kernel has no tracepoint {}", event);
    }
    return not_readable("open " + path, errno);
}

Result<std::string> read_from_own_mount(const std::string& event) {
    const Fd context(fsopen("tracefs", FSOPEN_CLOEXEC));
    if (!context) {
        return not_readable("open tracefs", errno);
    }
    if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
        return not_readable("create tracefs", errno);
    }
    const Fd root(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
    if (!root) {
        return not_readable("mount tracefs privately", errno);
    }
    return read_in(root.get(), event);
}

}  // namespace

Result<std::string> read_event_format(const std::string& event) {
    for (const char* place : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
        const Fd directory(open(place, O_PATH | O_DIRECTORY | O_CLOEXEC));
        // The directory is there, empty, where tracefs is not mounted on it.
        if (directory && faccessat(directory.get(), "events", F_OK, 0) == 0) {
            return read_in(directory.get(), event);
        }
    }
    return read_from_own_mount(event);
}

}  // namespace pathproof::drops
