#include "harness/process/netns.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "dataplane/base/file.h"

namespace pathproof::process {
namespace {

// "NAME" of `ip netns`, else "PID", or the path of a namespace's file.
std::string netns_path(const std::string& name) {
    if (name.starts_with('/')) {
        return name;
    }
    const std::string named = "/run/netns/" + name;
    struct stat file {};
    const bool is_number =
        !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
    return is_number && stat(named.c_str(), &file) != 0 ? "/proc/" + name + "/ns/net" : named;
}

}  // namespace

bool netns_exists(const std::string& name) {
    struct stat file {};
    const bool is_path = name.starts_with('/');
    return !name.empty() && (is_path || name.find('/') == std::string::npos) &&
           stat(netns_path(name).c_str(), &file) == 0;
}

Status require_netns(const std::string& name) {
    return name.empty() || netns_exists(name)
               ? Status()
               : fail(ErrorCode::kNotFound,
                      "network namespace '{}' does not exist; 'ip netns' lists those with a name, "
                      "and a PID or the path of a file such as /proc/PID/ns/net names others",
                      name);
}

Status enter_netns(const std::string& name, SysfsView sysfs) {
    if (name.empty()) {
        return {};
    }
    TRY(require_netns(name));
    const Fd handle(open(netns_path(name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!handle) {
        return fail(ErrorCode::kFailed, "open {}: {}", netns_path(name), std::strerror(errno));
    }
    if (setns(handle.get(), CLONE_NEWNET) != 0) {
        const int reason = errno;
        return fail(reason == EPERM ? ErrorCode::kNotPermitted : ErrorCode::kFailed,
                    "enter network namespace '{}': {}{}", name, std::strerror(reason),
                    reason == EPERM ? "; run as root" : "");
    }
    if (sysfs == SysfsView::kRemount) {
        // As ip-netns(8) does: sysfs shows the devices of the namespace it was mounted in. Other mounts stay shared,
        // so that a namespace that is made here has its name below /run/netns everywhere.
        if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "none", MS_SLAVE, nullptr) != 0 ||
            mount("", "/sys", "none", MS_SLAVE | MS_REC, nullptr) != 0) {
            return fail(ErrorCode::kFailed, "private mount namespace for '{}': {}", name,
                        std::strerror(errno));
        }
        umount2("/sys", MNT_DETACH);
        if (mount(name.c_str(), "/sys", "sysfs", 0, nullptr) != 0) {
            return fail(ErrorCode::kFailed, "mount sysfs for '{}': {}", name, std::strerror(errno));
        }
    }
    return {};
}

Status in_netns(const std::string& name, const std::function<Status()>& work) {
    if (name.empty()) {
        return work();
    }
    Status outcome;
    std::thread worker([&] {
        outcome = enter_netns(name, SysfsView::kKeep);
        if (outcome) {
            outcome = work();
        }
    });
    worker.join();
    return outcome;
}

}  // namespace pathproof::process
