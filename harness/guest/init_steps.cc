#include "harness/guest/init_steps.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/reboot.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "dataplane/base/file.h"

namespace pathproof::guest {

namespace fs = std::filesystem;

void say(const std::string& sentence) {
    // The kernel's own messages and ours in one order.
    const Fd log(open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
    const std::string line = "<3>pathproof: " + sentence + "\n";
    if (!log || write(log.get(), line.data(), line.size()) < 0) {
        dprintf(STDERR_FILENO, "%s", line.c_str() + 3);
    }
}

[[noreturn]] void go_off(const std::string& why) {
    say(why);
    sync();
    usleep(300'000);  // the console is slow
    reboot(LINUX_REBOOT_CMD_POWER_OFF);
    for (;;) {
        pause();
    }
}

void mount_or_off(const std::string& what, const std::string& place, const char* type,
                  unsigned long flags, const std::string& options) {
    if (mount(what.c_str(), place.c_str(), type, flags, options.c_str()) != 0 && errno != EBUSY) {
        go_off(fmt::format("mount {} ({}) on {}: {}", what, type, place, std::strerror(errno)));
    }
}

void load_module(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        go_off(fmt::format("module {}: {}", path, std::strerror(errno)));
    }
    if (syscall(SYS_finit_module, file.get(), "", 0) != 0 && errno != EEXIST) {
        go_off(
            fmt::format("the kernel does not take the module {}: {}", path, std::strerror(errno)));
    }
}

void raise_link(const std::string& device) {
    const Fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    device.copy(request.ifr_name, IFNAMSIZ - 1);
    ioctl(any.get(), SIOCGIFFLAGS, &request);
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    if (ioctl(any.get(), SIOCSIFFLAGS, &request) != 0) {
        say(fmt::format("{} does not come up: {}", device, std::strerror(errno)));
    }
}

int wait_for(pid_t child) {
    int state = 0;
    for (pid_t ended = 0; ended != child;) {
        ended = wait(&state);
        if (ended < 0 && errno != EINTR) {
            break;
        }
    }
    return state;
}

// devtmpfs makes it a moment after the driver.
std::string port_named(const char* wanted) {
    for (int tries = 0; tries < 1000; ++tries) {
        std::error_code none;
        for (const auto& entry : fs::directory_iterator("/sys/class/virtio-ports", none)) {
            std::string name;
            std::ifstream(entry.path() / "name") >> name;
            const std::string device = "/dev/" + entry.path().filename().string();
            if (name == wanted && fs::exists(device)) {
                return device;
            }
        }
        usleep(10'000);
    }
    go_off(fmt::format("there is no virtio-serial port {}", wanted));
}

}  // namespace pathproof::guest
