#include "harness/lab/undo.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using Kind = UndoAction::Kind;
using Undone = Result<std::optional<std::string>>;

constexpr const char* kNetnsFolder = "/run/netns";
constexpr const char* kMountNote = "/netns-mount";

std::string netns_path(const std::string& name) {
    return std::string(kNetnsFolder) + "/" + name;
}

std::optional<pid_t> as_pid(const char* text) {
    pid_t pid = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, wrong] = std::from_chars(text, end, pid);
    return wrong == std::errc() && stop == end ? std::optional(pid) : std::nullopt;
}

// The processes whose network namespace is the one of this inode; never ourselves.
std::vector<pid_t> processes_in(const struct stat& netns) {
    std::vector<pid_t> found;
    DIR* processes = opendir("/proc");
    if (processes == nullptr) {
        return found;
    }
    while (const dirent* entry = readdir(processes)) {
        const auto pid = as_pid(entry->d_name);
        struct stat theirs {};
        if (pid && *pid != getpid() &&
            stat(fmt::format("/proc/{}/ns/net", *pid).c_str(), &theirs) == 0 &&
            theirs.st_ino == netns.st_ino && theirs.st_dev == netns.st_dev) {
            found.push_back(*pid);
        }
    }
    closedir(processes);
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

Result<std::string> sysctl_path(const std::string& name, const KernelFiles& files) {
    if (name.empty() || name.front() == '.' || name.front() == '/' ||
        name.find("..") != std::string::npos) {
        return fail(ErrorCode::kBadInput,
                    "'{}' is no sysctl name; write it with dots, as 'net.ipv4.ip_forward'", name);
    }
    // sysctl(8): with '/' as separator a dot belongs to a name (a VLAN device), with '.' a slash
    // does.
    std::string path = name;
    if (name.find_first_of("./") == name.find('.')) {
        for (char& letter : path) {
            letter = letter == '.' ? '/' : letter == '/' ? '.' : letter;
        }
    }
    return files.proc + "/sys/" + path;
}

// The kernel prints lists with tabs and takes them with blanks.
std::string one_blank_between(const std::string& text) {
    std::string out;
    for (char letter : text) {
        const bool blank = std::isspace(static_cast<unsigned char>(letter)) != 0;
        if (!blank) {
            out += letter;
        } else if (!out.empty() && out.back() != ' ') {
            out += ' ';
        }
    }
    while (!out.empty() && out.back() == ' ') {
        out.pop_back();
    }
    return out;
}

Undone undo_sysctl(const UndoAction& action, const KernelFiles& files) {
    const auto now = read_sysctl(action.name, files);
    if (!now) {
        if (now.error().code == ErrorCode::kNotFound) {
            return std::nullopt;  // its device or module is gone, and its value with it
        }
        return pass_on(now.error());
    }
    if (one_blank_between(*now) == one_blank_between(action.value)) {
        return std::nullopt;
    }
    if (const Status written = write_sysctl(action.name, action.value, files); !written) {
        return pass_on(written.error());
    }
    return fmt::format("set sysctl {} back from {} to {}", action.name, *now, action.value);
}

Undone undo_hugepages(const UndoAction& action, const KernelFiles& files) {
    const auto now = read_sysctl("vm.nr_hugepages", files);
    if (!now) {
        return pass_on(now.error());
    }
    // We only ever raise the number: if it is lower by now, somebody else wanted that.
    if (std::strtoul(now->c_str(), nullptr, 10) <=
        std::strtoul(action.value.c_str(), nullptr, 10)) {
        return std::nullopt;
    }
    if (const Status written = write_sysctl("vm.nr_hugepages", action.value, files); !written) {
        return pass_on(written.error());
    }
    return fmt::format("set the number of hugepages back from {} to {}", *now, action.value);
}

Undone undo_feature(const UndoAction& action) {
    if (!action.netns.empty() && !process::netns_exists(action.netns)) {
        return std::nullopt;
    }
    const auto set = process::run_program(
        {"ethtool", "-K", action.device, action.name, action.value}, {.netns = action.netns});
    if (!set) {
        return pass_on(set.error());
    }
    if (set->exit_status == 0) {
        return fmt::format("set {} back to {} on {}", action.name, action.value, action.device);
    }
    if (set->err.find("No such device") != std::string::npos) {
        return std::nullopt;
    }
    return fail(ErrorCode::kFailed, "set {} of {} back to {}: {}", action.name, action.device,
                action.value, set->err);
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

}  // namespace

Result<std::string> read_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFailed, "read {}: {}",
                    path, std::strerror(errno));
    }
    std::string text;
    std::array<char, 4096> chunk;
    ssize_t got = 0;
    while ((got = read(file, chunk.data(), chunk.size())) > 0) {
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    const int reason = errno;
    close(file);
    if (got < 0) {
        return fail(ErrorCode::kFailed, "read {}: {}", path, std::strerror(reason));
    }
    return text;
}

Status write_file(const std::string& path, const std::string& text, int open_flags) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | open_flags, 0644);
    if (file < 0) {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFailed, "write {}: {}",
                    path, std::strerror(errno));
    }
    const ssize_t put = write(file, text.data(), text.size());
    const int reason = errno;
    fsync(file);
    close(file);
    if (put != static_cast<ssize_t>(text.size())) {
        return fail(ErrorCode::kFailed, "write {}: {}", path,
                    put < 0 ? std::strerror(reason) : "only a part of it was taken");
    }
    return {};
}

Result<std::string> read_sysctl(const std::string& name, const KernelFiles& files) {
    const auto path = sysctl_path(name, files);
    if (!path) {
        return pass_on(path.error());
    }
    auto text = read_file(*path);
    if (!text) {
        return fail(text.error(), "sysctl {}", name);
    }
    while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back())) != 0) {
        text->pop_back();
    }
    return text;
}

Status write_sysctl(const std::string& name, const std::string& value, const KernelFiles& files) {
    const auto path = sysctl_path(name, files);
    if (!path) {
        return pass_on(path.error());
    }
    if (const Status written = write_file(*path, value + "\n", O_TRUNC); !written) {
        return fail(written.error(), "set sysctl {} to {}", name, value);
    }
    const auto now = read_sysctl(name, files);
    if (!now) {
        return pass_on(now.error());
    }
    if (one_blank_between(*now) != one_blank_between(value)) {
        return fail(ErrorCode::kFailed, "set sysctl {} to {}: the kernel made it {}", name, value,
                    *now);
    }
    return {};
}

Undone delete_netns(const std::string& name) {
    struct stat netns {};
    const std::string path = netns_path(name);
    if (name.find('/') != std::string::npos || stat(path.c_str(), &netns) != 0) {
        return std::nullopt;
    }
    const std::size_t killed = kill_processes_in(netns);
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

Undone undo_action(const UndoAction& action, const KernelFiles& files) {
    switch (action.kind) {
        case Kind::kNetns:
            return delete_netns(action.name);
        case Kind::kSysctl:
            return undo_sysctl(action, files);
        case Kind::kHugepages:
            return undo_hugepages(action, files);
        case Kind::kFeature:
            return undo_feature(action);
    }
    return std::nullopt;
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
    if (!before || !is_empty_folder(kNetnsFolder)) {
        return std::nullopt;  // not ours, or in use by others: the note stays for the next time
    }
    // Not MNT_DETACH: a namespace added at this moment by somebody else is mounted below and makes
    // it busy.
    if (is_mount_point(kNetnsFolder) && umount2(kNetnsFolder, UMOUNT_NOFOLLOW) != 0) {
        return std::nullopt;
    }
    if (*before == "nothing\n") {
        rmdir(kNetnsFolder);
    }
    unlink(note.c_str());
    return fmt::format("unmounted {}", kNetnsFolder);
}

}  // namespace pathproof::lab
