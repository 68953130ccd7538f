#include "harness/guest/init.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/reboot.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::guest {
namespace {

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

void mount_or_off(const char* type, const char* place) {
    if (mount(type, place, type, 0, nullptr) != 0 && errno != EBUSY) {
        go_off(fmt::format("mount {}: {}", place, std::strerror(errno)));
    }
}

void set(const std::string& sysctl, const char* value) {
    std::ofstream("/proc/sys/" + sysctl) << value;  // one that this kernel has not is not needed
}

void load(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        go_off(fmt::format("module {}: {}", path, std::strerror(errno)));
    }
    if (syscall(SYS_finit_module, file.get(), "", 0) != 0 && errno != EEXIST) {
        go_off(
            fmt::format("the kernel does not take the module {}: {}", path, std::strerror(errno)));
    }
}

// All devices but those that stand for nothing, up.
void raise_links() {
    const Fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (const auto& entry : fs::directory_iterator("/sys/class/net")) {
        ifreq request{};
        std::strncpy(request.ifr_name, entry.path().filename().c_str(), IFNAMSIZ - 1);
        ioctl(any.get(), SIOCGIFFLAGS, &request);
        request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
        if (ioctl(any.get(), SIOCSIFFLAGS, &request) != 0) {
            say(fmt::format("{} does not come up: {}", request.ifr_name, std::strerror(errno)));
        }
    }
}

// "/dev/vport1p1": devtmpfs makes it a moment after the driver.
std::string agent_port() {
    for (int tries = 0; tries < 1000; ++tries) {
        std::error_code none;
        for (const auto& entry : fs::directory_iterator("/sys/class/virtio-ports", none)) {
            std::string name;
            std::ifstream(entry.path() / "name") >> name;
            const std::string device = "/dev/" + entry.path().filename().string();
            if (name == kPortName && fs::exists(device)) {
                return device;
            }
        }
        usleep(10'000);
    }
    go_off("there is no virtio-serial port for the agent");
}

pid_t start_agent(const std::string& port) {
    const pid_t child = fork();
    if (child != 0) {
        return child;
    }
    const int fd = open(port.c_str(), O_RDWR);
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        say(fmt::format("open {}: {}", port, std::strerror(errno)));
        _exit(1);
    }
    setsid();
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    execl("/proc/self/exe", "pathproof", "agent", nullptr);
    say(fmt::format("start the agent: {}", std::strerror(errno)));
    _exit(1);
}

}  // namespace

bool is_init(const char* program) {
    return getpid() == 1 && program != nullptr && std::strcmp(program, kInit) == 0;
}

void run_init() {
    mount_or_off("devtmpfs", "/dev");
    mount_or_off("proc", "/proc");
    mount_or_off("sysfs", "/sys");
    mount_or_off("tmpfs", "/run");
    mount_or_off("tmpfs", "/tmp");
    std::ifstream list(kModuleList);
    for (std::string path; std::getline(list, path);) {
        // Before the driver: without frames of the kernel's own on the wire.
        for (const char* which : {"all", "default"}) {
            const std::string ipv6 = fmt::format("net/ipv6/conf/{}/", which);
            set(ipv6 + "accept_ra", "0");
            set(ipv6 + "router_solicitations", "0");
            set(ipv6 + "addr_gen_mode", "1");
        }
        load(path);
    }
    raise_links();
    const pid_t agent = start_agent(agent_port());
    int state = 0;
    for (pid_t ended = 0; ended != agent;) {
        ended = wait(&state);
        if (ended < 0 && errno != EINTR) {
            break;
        }
    }
    go_off(fmt::format("the agent ended ({} {})", WIFSIGNALED(state) ? "signal" : "exit status",
                       WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state)));
}

}  // namespace pathproof::guest
