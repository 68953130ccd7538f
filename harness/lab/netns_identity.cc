#include "harness/lab/netns_identity.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/base/file.h"

namespace pathproof::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnNamespace = "/proc/thread-self/ns/net";

std::uint64_t inode_of(const std::string& path) {
    struct stat file {};
    return stat(path.c_str(), &file) == 0 ? file.st_ino : 0;
}

std::uint64_t cookie_of_thread() {
    const Fd handle(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    const bool told =
        handle && getsockopt(handle.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0;
    return told ? cookie : 0;
}

void add_names(const std::string& root, std::vector<std::string>& files) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(root + "/run/netns", ignored)) {
        files.push_back(entry.path().string());
    }
}

// Files that stand for namespaces, the thread's own first; last those whose names only other processes see, as what is
// started by `ip netns exec` does.
std::vector<std::string> namespace_files() {
    std::vector<std::string> files{kOwnNamespace};
    add_names("", files);
    std::vector<std::string> roots;
    std::set<std::uint64_t> mounts{inode_of("/proc/self/ns/mnt")};
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") == std::string::npos) {
            files.push_back(entry.path().string() + "/ns/net");
            if (mounts.insert(inode_of(entry.path().string() + "/ns/mnt")).second) {
                roots.push_back(entry.path().string() + "/root");
            }
        }
    }
    for (const std::string& root : roots) {
        add_names(root, files);
    }
    return files;
}

// Runs `work` on a thread in the namespace of this file. False: it is gone, or no network namespace.
Result<bool> run_at(const std::string& path, const std::function<Status()>& work) {
    const Fd handle(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!handle) {
        return false;  // the process ended, or the name was removed, at this moment
    }
    Status outcome;
    bool is_netns = true;
    std::thread worker([&] {
        if (setns(handle.get(), CLONE_NEWNET) != 0) {
            if (errno == EINVAL) {  // setns(2): of another kind; a name whose mount is gone
                is_netns = false;
                return;
            }
            outcome = fail(errno == EPERM ? ErrorCode::kNotPermitted : ErrorCode::kFailed,
                           "enter the network namespace of {}: {}", path, std::strerror(errno));
            return;
        }
        outcome = work();
    });
    worker.join();
    TRY(std::move(outcome));
    return is_netns;
}

}  // namespace

Result<NetnsIdentity> current_netns() {
    const NetnsIdentity own{.inode = inode_of(kOwnNamespace), .cookie = cookie_of_thread()};
    if (own.inode == 0) {
        return fail(ErrorCode::kFailed, "look at {}: {}; is /proc mounted?", kOwnNamespace,
                    std::strerror(errno));
    }
    return own;
}

std::string to_string(const NetnsIdentity& netns) {
    return fmt::format("{}:{}", netns.inode, netns.cookie);
}

Result<NetnsIdentity> parse_netns(const std::string& text) {
    NetnsIdentity netns;
    char behind = 0;
    if (std::sscanf(text.c_str(), "%lu:%lu%c", &netns.inode, &netns.cookie, &behind) != 2) {
        return fail(ErrorCode::kBadInput, "'{}' names no network namespace", text);
    }
    return netns;
}

Result<bool> run_in(const NetnsIdentity& netns, const std::function<Status()>& work) {
    for (const std::string& path : namespace_files()) {
        if (inode_of(path) != netns.inode) {
            continue;
        }
        bool is_it = false;
        auto ran = run_at(path, [&] {
            const auto entered = current_netns();
            is_it = entered && *entered == netns;
            return is_it ? work() : Status();
        });
        if (!ran || is_it) {
            return ran;
        }
    }
    return false;
}

Status run_where_found(const std::function<Status()>& work) {
    Status outcome = fail(ErrorCode::kNotFound, "no network namespace was found");
    std::set<std::uint64_t> seen;
    for (const std::string& path : namespace_files()) {
        if (!seen.insert(inode_of(path)).second) {
            continue;
        }
        const auto ran = run_at(path, work);
        if (ran && *ran) {
            return {};
        }
        if (!ran) {
            outcome = pass_on(ran.error());
            const bool elsewhere = outcome.error().code == ErrorCode::kNotFound ||
                                   outcome.error().code == ErrorCode::kNotPermitted;
            if (!elsewhere) {
                break;
            }
        }
    }
    return outcome;
}

}  // namespace pathproof::lab
