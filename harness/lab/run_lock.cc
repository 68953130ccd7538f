#include "harness/lab/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "dataplane/base/new_file.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {
namespace {

std::string lock_path(const std::string& directory) {
    return directory + "/lock";
}

// A holder removes the file before it releases the lock: what we locked must still be what the path
// names.
bool still_named(int file, const std::string& path) {
    struct stat ours {};
    struct stat named {};
    return fstat(file, &ours) == 0 && stat(path.c_str(), &named) == 0 &&
           ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

Failure held_by_another(const std::string& path) {
    // Between the holder's lock and its name in the file lies a moment.
    for (int attempt = 0; attempt < 20; ++attempt) {
        const auto holder = read_file(path);
        if (holder && !holder->empty() && holder->back() == '\n') {
            return fail(ErrorCode::kBusy,
                        "another run has the lab: {}; wait until it ends, or stop it",
                        holder->substr(0, holder->size() - 1));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return fail(ErrorCode::kBusy, "another run has the lab ({} is locked); wait until it ends",
                path);
}

Fd open_locked_now(const std::string& path, int open_flags) {
    Fd file(open(path.c_str(), open_flags | O_CLOEXEC, 0644));
    if (!file) {
        return file;
    }
    int reason = 0;
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        reason = errno;
    } else if (!still_named(file.get(), path)) {
        reason = ENOENT;
    }
    if (reason != 0) {
        file.reset();
        errno = reason;
    }
    return file;
}

}  // namespace

Fd open_locked(const std::string& path, int open_flags, std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
        Fd file = open_locked_now(path, open_flags);
        if (file || errno != EWOULDBLOCK || std::chrono::steady_clock::now() > deadline) {
            return file;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

Result<RunLock> RunLock::take(const std::string& directory, const std::string& command_line) {
    const std::string path = lock_path(directory);
    // A run that ends at this moment takes the file and the folder away: then once more.
    for (int attempt = 0; attempt < 100; ++attempt) {
        TRY(doing(make_folders(directory, ErrorCode::kFailed), "make folder {}", directory));
        Fd file = open_locked(path, O_RDWR | O_CREAT);
        if (file) {
            const std::string holder = fmt::format("pid {}, '{}'\n", getpid(), command_line);
            if (ftruncate(file.get(), 0) != 0 ||
                pwrite(file.get(), holder.data(), holder.size(), 0) < 0) {
                return fail(ErrorCode::kFailed, "write {}: {}", path, std::strerror(errno));
            }
            return RunLock(std::move(file), directory);
        }
        if (errno == EWOULDBLOCK) {
            return held_by_another(path);
        }
        if (errno != ENOENT) {
            return fail(ErrorCode::kFailed, "lock {}: {}", path, std::strerror(errno));
        }
    }
    return fail(ErrorCode::kUnavailable, "{} comes and goes; try again", path);
}

Result<RunLock> RunLock::take_host(const std::string& directory, std::uint64_t netns,
                                   const std::string& command_line) {
    RunLock lock = TRY(take(fmt::format("{}/host-{}", directory, netns), command_line));
    lock.around_ = directory;
    return lock;
}

void remove_stale_host_locks(const std::string& directory) {
    std::error_code wrong;
    for (const auto& entry : std::filesystem::directory_iterator(directory, wrong)) {
        if (entry.path().filename().string().starts_with("host-")) {
            const std::string path = entry.path().string();
            const Fd file = open_locked(lock_path(path), O_RDWR, std::chrono::milliseconds(0));
            if (file || errno == ENOENT) {
                unlink(lock_path(path).c_str());
                rmdir(path.c_str());
            }
        }
    }
}

RunLock::~RunLock() {
    if (file_) {
        unlink(lock_path(directory_).c_str());
        // Fails while anything else is in them, as it should.
        rmdir(directory_.c_str());
        if (!around_.empty()) {
            rmdir(around_.c_str());
        }
    }
}

}  // namespace pathproof::lab
