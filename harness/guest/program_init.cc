#include "harness/guest/program_init.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "dataplane/base/file.h"
#include "harness/guest/init_steps.h"
#include "harness/guest/relay.h"
#include "harness/message/archive.h"
#include "harness/process/children.h"
#include "harness/process/json_text.h"
#include "harness/process/streams.h"

namespace pathproof::guest {

FIELDS(Program, path, words, folder, environment, writable)

namespace {

namespace fs = std::filesystem;

constexpr const char* kNewRoot = "/new";
// Large messages: a page at a time takes an emulated CPU long.
constexpr const char* kNinePfs = "trans=virtio,version=9p2000.L,msize=262144,cache=";

void make_folder(const std::string& path) {
    std::error_code wrong;
    fs::create_directories(path, wrong);
    if (wrong) {
        go_off(fmt::format("make folder {}: {}", path, wrong.message()));
    }
}

// The machine's root folder below, memory above.
void make_root() {
    for (const char* folder : {"/low", "/up", kNewRoot}) {
        make_folder(folder);
    }
    mount_or_off(kRootTag, "/low", "9p", MS_RDONLY, std::string(kNinePfs) + "loose");
    mount_or_off("memory", "/up", "tmpfs");
    make_folder("/up/upper");
    make_folder("/up/work");
    mount_or_off("root", kNewRoot, "overlay", 0,
                 "lowerdir=/low,upperdir=/up/upper,workdir=/up/work");
}

void fill_root(const Program& program) {
    const std::string root = kNewRoot;
    utsname kernel{};
    uname(&kernel);
    const std::string modules = fmt::format("{}/lib/modules/{}", root, kernel.release);
    make_folder(modules);
    mount_or_off(kModulesTag, modules, "9p", MS_RDONLY, std::string(kNinePfs) + "loose");
    for (std::size_t n = 0; n < program.writable.size(); ++n) {
        const std::string place = root + program.writable[n];
        make_folder(place);
        mount_or_off(fmt::format("w{}", n), place, "9p", 0, std::string(kNinePfs) + "none");
    }
    for (const char* folder : {"/dev", "/proc", "/sys"}) {
        if (mount(folder, (root + folder).c_str(), nullptr, MS_MOVE, nullptr) != 0) {
            go_off(fmt::format("move {}: {}", folder, std::strerror(errno)));
        }
    }
    mount_or_off("run", root + "/run", "tmpfs");
    make_folder(root + "/run/netns");
    make_folder(root + "/dev/shm");
    mount_or_off("shm", root + "/dev/shm", "tmpfs");
    make_folder(root + "/dev/pts");
    mount_or_off("pts", root + "/dev/pts", "devpts");
    // The kernel's own calls of modprobe(8) follow: its threads share the first process's root.
    if (chdir(kNewRoot) != 0 || mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 ||
        chroot(".") != 0 || chdir("/") != 0) {
        go_off(fmt::format("take this machine's root folder: {}", std::strerror(errno)));
    }
}

struct Running {
    pid_t pid = -1;
    Fd output;
    Fd errors;
};

Running start(const Program& program) {
    std::array<int, 2> output{};
    std::array<int, 2> errors{};
    if (pipe2(output.data(), O_CLOEXEC) != 0 || pipe2(errors.data(), O_CLOEXEC) != 0) {
        go_off(fmt::format("make a pipe: {}", std::strerror(errno)));
    }
    const pid_t child = fork();
    if (child == 0) {
        const int nothing = open("/dev/null", O_RDONLY);
        setsid();
        if (dup2(nothing, STDIN_FILENO) < 0 || dup2(output[1], STDOUT_FILENO) < 0 ||
            dup2(errors[1], STDERR_FILENO) < 0 || chdir(program.folder.c_str()) != 0) {
            _exit(127);
        }
        execve(program.path.c_str(), process::pointers_to(program.words).data(),
               process::pointers_to(program.environment).data());
        dprintf(STDERR_FILENO, "pathproof: start %s in the guest: %s\n", program.path.c_str(),
                std::strerror(errno));
        _exit(127);
    }
    close(output[1]);
    close(errors[1]);
    return {child, Fd(output[0]), Fd(errors[0])};
}

void send(const Fd& port, Relayed kind, std::string_view bytes) {
    if (!process::write_whole(port.get(), relay_frame(kind, bytes))) {
        go_off(fmt::format("the port of the program's output: {}", std::strerror(errno)));
    }
}

// Loads the modules that a node of a cluster has loaded and that are not loaded on use.
void load_node_modules() {
    const pid_t child = fork();
    if (child == 0) {
        execl("/sbin/modprobe", "modprobe", "-q", "-a", "br_netfilter", "nf_conntrack", nullptr);
        _exit(1);
    }
    waitpid(child, nullptr, 0);  // a kernel without them: their scenarios say so
}

// Passes on what the program says and what it is sent, until both its streams have ended.
void relay(const Fd& port, const Running& running) {
    std::array<pollfd, 3> watched{{{running.output.get(), POLLIN, 0},
                                   {running.errors.get(), POLLIN, 0},
                                   {port.get(), POLLIN, 0}}};
    std::array<char, 65536> bytes{};
    while (watched[0].fd >= 0 || watched[1].fd >= 0) {
        poll(watched.data(), watched.size(), -1);
        for (std::size_t n = 0; n < 2; ++n) {
            if (watched[n].fd < 0 || watched[n].revents == 0) {
                continue;
            }
            const ssize_t got = read(watched[n].fd, bytes.data(), bytes.size());
            if (got > 0) {
                send(port, n == 0 ? Relayed::kOutput : Relayed::kErrors,
                     {bytes.data(), static_cast<std::size_t>(got)});
            } else if (got == 0 || errno != EINTR) {
                watched[n].fd = -1;
            }
        }
        if ((watched[2].revents & POLLIN) != 0) {
            const ssize_t got = read(port.get(), bytes.data(), bytes.size());
            for (ssize_t n = 0; n < got; ++n) {
                kill(running.pid, bytes[static_cast<std::size_t>(n)]);
            }
        }
    }
}

}  // namespace

std::string to_json(const Program& program) {
    return process::to_text(message::encode(program));
}

Result<Program> program_of(const std::string& text) {
    return doing(message::decode<Program>(process::json_or_null(text)), "{}", kProgramFile);
}

bool has_program() {
    return access(kProgramFile, R_OK) == 0;
}

void run_program_of_guest() {
    const auto text = read_file(kProgramFile);
    const auto program = text ? program_of(*text) : pass_on(text.error());
    if (!program) {
        go_off(program.error().message);
    }
    const Fd port(open(port_named(kProgramPort).c_str(), O_RDWR | O_CLOEXEC));
    if (!port) {
        go_off(fmt::format("open the port of the program's output: {}", std::strerror(errno)));
    }
    make_root();
    fill_root(*program);
    raise_link("lo");
    load_node_modules();
    const Running running = start(*program);
    relay(port, running);
    const int state = wait_for(running.pid);
    const char status =
        static_cast<char>(WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state));
    sync();
    send(port, Relayed::kExit, {&status, 1});
    go_off("the program ended");
}

}  // namespace pathproof::guest
