#include "harness/guest/init.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "harness/guest/init_steps.h"
#include "harness/guest/program_init.h"

namespace pathproof::guest {
namespace {

void set(const std::string& sysctl, const char* value) {
    std::ofstream("/proc/sys/" + sysctl) << value;  // one that this kernel has not is not needed
}

// Before the driver: without frames of the kernel's own on the wire.
void silence_ipv6() {
    for (const char* which : {"all", "default"}) {
        const std::string ipv6 = fmt::format("net/ipv6/conf/{}/", which);
        set(ipv6 + "accept_ra", "0");
        set(ipv6 + "router_solicitations", "0");
        set(ipv6 + "addr_gen_mode", "1");
    }
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
    mount_or_off("devtmpfs", "/dev", "devtmpfs");
    mount_or_off("proc", "/proc", "proc");
    mount_or_off("sysfs", "/sys", "sysfs");
    // For what the kernel drops, and why; one without it is asked for nothing of the sort.
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, nullptr);
    mount_or_off("tmpfs", "/run", "tmpfs");
    mount_or_off("tmpfs", "/tmp", "tmpfs");
    std::ifstream list(kModuleList);
    for (std::string path; std::getline(list, path);) {
        if (!has_program()) {
            silence_ipv6();
        }
        load_module(path);
    }
    if (has_program()) {
        run_program_of_guest();
    }
    // By itself the table of so small a machine takes 4096 entries, fewer than a cell of a NAT box has flows.
    set("net/netfilter/nf_conntrack_max", "65536");
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net")) {
        raise_link(entry.path().filename());
    }
    const int state = wait_for(start_agent(port_named(kPortName)));
    go_off(fmt::format("the agent ended ({} {})", WIFSIGNALED(state) ? "signal" : "exit status",
                       WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state)));
}

}  // namespace pathproof::guest
