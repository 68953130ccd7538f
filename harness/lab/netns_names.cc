#include "harness/lab/netns_names.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "dataplane/base/number.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {
namespace {

constexpr const char* kNetnsFolder = "/run/netns";
constexpr const char* kMountNote = "/netns-mount";

std::string netns_path(const std::string& name) {
    return std::string(kNetnsFolder) + "/" + name;
}

// The processes whose network namespace is the one of this inode; never ourselves.
std::vector<pid_t> processes_in(const struct stat& netns) {
    std::vector<pid_t> found;
    std::error_code wrong;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", wrong)) {
        const auto pid = whole_number<pid_t>(entry.path().filename().native());
        struct stat theirs {};
        if (pid && *pid != getpid() &&
            stat(fmt::format("/proc/{}/ns/net", *pid).c_str(), &theirs) == 0 &&
            theirs.st_ino == netns.st_ino && theirs.st_dev == netns.st_dev) {
            found.push_back(*pid);
        }
    }
    return found;
}

// A process left in a nameless namespace would go on working on devices that nobody sees any more.
std::size_t kill_processes_in(const struct stat& netns) {
    std::size_t killed = 0;
    // Again and again: what is being killed may still fork.
    for (int round = 0; round < 100; ++round) {
        const std::vector<pid_t> inside = processes_in(netns);
        if (inside.empty()) {
            return killed;
        }
        for (pid_t pid : inside) {
            kill(pid, SIGKILL);
        }
        killed = std::max(killed, inside.size());
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return killed;
}

bool is_mount_point(const char* path) {
    struct statx about {};
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &about) != 0) {
        return false;
    }
    return (about.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0 ||
           (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool is_empty_folder(const char* path) {
    std::error_code wrong;
    return std::filesystem::is_empty(path, wrong) && !wrong;
}

// Makes /run/netns a shared mount of its own, as ip-netns(8) does, so that a name made or deleted
// here is made or deleted in every mount namespace that has a copy.
Status prepare_folder() {
    TRY(doing(make_folders(kNetnsFolder, ErrorCode::kFailed), "make folder {}", kNetnsFolder));
    if (!is_mount_point(kNetnsFolder) &&
        mount(kNetnsFolder, kNetnsFolder, "none", MS_BIND | MS_REC, nullptr) != 0) {
        return fail(ErrorCode::kFailed, "mount {}: {}", kNetnsFolder, std::strerror(errno));
    }
    if (mount("", kNetnsFolder, "none", MS_SHARED | MS_REC, nullptr) != 0) {
        return fail(ErrorCode::kFailed, "make {} a shared mount: {}", kNetnsFolder,
                    std::strerror(errno));
    }
    return {};
}

// Not MNT_DETACH: a namespace added at this moment by somebody else is mounted below and makes it
// busy. So does, for a moment, any thread that just looks up a name in it: hence more than one try.
bool unmount_while_empty() {
    for (int attempt = 0; attempt < 100 && is_empty_folder(kNetnsFolder); ++attempt) {
        if (!is_mount_point(kNetnsFolder) || umount2(kNetnsFolder, UMOUNT_NOFOLLOW) == 0) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

Failure not_made(const std::string& name) {
    return fail(errno == EPERM ? ErrorCode::kNotPermitted : ErrorCode::kFailed,
                "make network namespace {}: {}", name, std::strerror(errno));
}

// Runs `work` in the mounts of process 1, where the caller's are others: under `ip netns exec`, say. A name that is made
// there is seen by all, and is there when the caller is gone; here it would be nobody else's.
void in_first_mounts(const std::function<void()>& work) {
    constexpr const char* kFirst = "/proc/1/ns/mnt";
    struct stat first {
    }, own{};
    if (stat(kFirst, &first) != 0 || stat("/proc/self/ns/mnt", &own) != 0 ||
        first.st_ino == own.st_ino) {
        return;
    }
    std::thread([&] {
        const Fd mounts(open(kFirst, O_RDONLY | O_CLOEXEC));
        // The file system's view is shared by all threads until one leaves it.
        if (mounts && unshare(CLONE_FS) == 0 && setns(mounts.get(), CLONE_NEWNS) == 0) {
            work();
        }
    }).join();
}

// Returns whether a network namespace is mounted on that path.
bool is_netns(const std::string& path) {
    struct statfs about {};
    return statfs(path.c_str(), &about) == 0 && about.f_type == NSFS_MAGIC;
}

}  // namespace

Status create_netns(const std::string& name) {
    TRY(prepare_folder());
    const std::string path = netns_path(name);
    TRY(write_file(path, "", O_CREAT | O_EXCL));
    Status outcome;
    // A thread of its own goes into the new namespace; the caller stays where it is.
    std::thread maker([&] {
        if (unshare(CLONE_NEWNET) != 0) {
            outcome = not_made(name);
            return;
        }
        const std::string inside = fmt::format("/proc/{}/task/{}/ns/net", getpid(), gettid());
        in_first_mounts([&] {
            if (is_mount_point(kNetnsFolder)) {
                mount(inside.c_str(), path.c_str(), "none", MS_BIND, nullptr);
            }
        });
        if (!is_netns(path) && mount(inside.c_str(), path.c_str(), "none", MS_BIND, nullptr) != 0) {
            outcome = not_made(name);
        }
    });
    maker.join();
    return outcome;
}

Result<std::optional<std::string>> delete_netns(const std::string& name) {
    struct stat netns {};
    const std::string path = netns_path(name);
    if (name.find('/') != std::string::npos || stat(path.c_str(), &netns) != 0) {
        return std::nullopt;
    }
    in_first_mounts([&] {
        struct stat there {};
        if (is_netns(path) && stat(path.c_str(), &there) == 0) {
            netns = there;
        }
    });
    const std::size_t killed = kill_processes_in(netns);
    in_first_mounts([&] { umount2(path.c_str(), MNT_DETACH); });
    // As ip-netns(8) does. EINVAL: a name without a namespace, left by `ip netns add` cut short or
    // by a reboot.
    if (umount2(path.c_str(), MNT_DETACH) != 0 && errno != EINVAL) {
        return fail(ErrorCode::kFailed, "delete network namespace {}: {}", name,
                    std::strerror(errno));
    }
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
        return fail(ErrorCode::kFailed, "delete {}: {}", path, std::strerror(errno));
    }
    if (killed == 0) {
        return fmt::format("deleted network namespace {}", name);
    }
    return fmt::format("ended {} process{} in network namespace {} and deleted it", killed,
                       killed == 1 ? "" : "es", name);
}

Status note_netns_mount(const std::string& directory) {
    if (is_mount_point(kNetnsFolder)) {
        return {};
    }
    const bool there = access(kNetnsFolder, F_OK) == 0;
    return write_file(directory + kMountNote, there ? "folder\n" : "nothing\n", O_CREAT | O_TRUNC);
}

std::optional<std::string> undo_netns_mount(const std::string& directory) {
    const std::string note = directory + kMountNote;
    const auto before = read_file(note);
    if (before && access(kNetnsFolder, F_OK) != 0 && errno == ENOENT) {
        unlink(note.c_str());  // of a run that ended before it came to the mount
        return std::nullopt;
    }
    if (!before || !is_empty_folder(kNetnsFolder)) {
        return std::nullopt;  // not ours, or in use by others: the note stays for the next time
    }
    if (!unmount_while_empty()) {
        return std::nullopt;
    }
    if (*before == "nothing\n") {
        rmdir(kNetnsFolder);
    }
    unlink(note.c_str());
    return fmt::format("unmounted {}", kNetnsFolder);
}

}  // namespace pathproof::lab
