#include "harness/guest/program.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "dataplane/base/exit_code.h"
#include "dataplane/base/file.h"
#include "harness/guest/guest.h"
#include "harness/guest/image.h"
#include "harness/guest/memory_file.h"
#include "harness/guest/program_init.h"
#include "harness/guest/relay.h"
#include "harness/process/child.h"
#include "harness/process/stop.h"

namespace pathproof::guest {
namespace {

using namespace std::chrono_literals;

// QEMU's options have a comma doubled.
std::string doubled(std::string path) {
    for (std::size_t at = 0; (at = path.find(',', at)) != std::string::npos; at += 2) {
        path.insert(at, 1, ',');
    }
    return path;
}

void add_share(std::vector<std::string>& command, const std::string& path, const std::string& tag,
               bool writable) {
    command.insert(command.end(),
                   {"-fsdev",
                    fmt::format("local,id={},path={},security_model=none,multidevs=remap{}", tag,
                                doubled(path), writable ? "" : ",readonly=on"),
                    "-device", fmt::format("virtio-9p-pci,fsdev={},mount_tag={}", tag, tag)});
}

std::vector<std::string> command_of(const ProgramPlan& plan, const MemoryFile& image,
                                    const MemoryFile& console) {
    std::vector<std::string> command = qemu_command({.kernel = plan.kernel.image,
                                                     .image = image.path(),
                                                     .console = console.path(),
                                                     .cpus = plan.cpus,
                                                     .memory_mib = plan.memory_mib,
                                                     .kvm = plan.kvm,
                                                     .channel = "program",
                                                     .port = kProgramPort});
    add_share(command, "/", kRootTag, false);
    add_share(command, plan.kernel.modules, kModulesTag, false);
    for (std::size_t n = 0; n < plan.writable.size(); ++n) {
        add_share(command, plan.writable[n], fmt::format("w{}", n), true);
    }
    return command;
}

// Ours, but for what is of this machine's own desk: the guest's program says what guest it is in.
std::vector<std::string> environment(const ProgramPlan& plan) {
    std::vector<std::string> all = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                                    fmt::format("{}={}", kGuestVariable, plan.typed)};
    for (const char* name : {"HOME", "LANG", "LC_ALL", "NO_COLOR"}) {
        if (const char* value = std::getenv(name); value != nullptr) {
            all.push_back(fmt::format("{}={}", name, value));
        }
    }
    return all;
}

Result<Program> program_for(const ProgramPlan& plan) {
    Program program{.path = process::own_binary(),
                    .words = plan.words,
                    .environment = environment(plan),
                    .writable = plan.writable};
    if (program.path.starts_with("/proc/")) {
        return fail(ErrorCode::kUnavailable,
                    "this program's file was replaced or removed since it was started: start it "
                    "again");
    }
    program.words.insert(program.words.begin(), "pathproof");
    std::error_code wrong;
    program.folder = std::filesystem::current_path(wrong);
    if (wrong) {
        return fail(ErrorCode::kBadInput, "the current folder: {}", wrong.message());
    }
    return program;
}

class Run {
  public:
    Run(process::Child child, const MemoryFile& console)
        : child_(std::move(child)), console_(console) {}

    Result<int> to_its_end();

  private:
    void take_output();
    void take_errors();
    void pass_signal(int signals);
    Result<int> gone() const;

    process::Child child_;
    const MemoryFile& console_;
    RelayReader reader_;
    std::string qemu_;  // what it said
    bool heard_ = false;
    bool open_ = true;
    unsigned signals_ = 0;
    std::optional<int> exit_status_;
    Status sound_;
};

void Run::take_output() {
    std::array<char, 65536> bytes{};
    const ssize_t got = recv(child_.socket(), bytes.data(), bytes.size(), 0);
    if (got <= 0) {
        open_ = got < 0 && errno == EINTR;
        return;
    }
    heard_ = true;
    sound_ = reader_.feed(
        {bytes.data(), static_cast<std::size_t>(got)}, [&](Relayed kind, std::string_view said) {
            if (kind == Relayed::kExit) {
                exit_status_ =
                    said.empty() ? kIncomplete : static_cast<unsigned char>(said.front());
                return;
            }
            std::FILE* stream = kind == Relayed::kOutput ? stdout : stderr;
            std::fwrite(said.data(), 1, said.size(), stream);
            std::fflush(stream);
        });
}

void Run::take_errors() {
    std::array<char, 4096> bytes{};
    const ssize_t got = read(child_.errors(), bytes.data(), bytes.size());
    qemu_.append(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
}

// The program in the guest stops as it would here; who asks twice does not wait for it.
void Run::pass_signal(int signals) {
    signalfd_siginfo arrived{};
    if (read(signals, &arrived, sizeof arrived) != sizeof arrived) {
        return;
    }
    const char number =
        static_cast<char>(arrived.ssi_signo == SIGPIPE ? SIGINT : arrived.ssi_signo);
    ++signals_;
    if (!heard_ || signals_ > 1 || ::send(child_.socket(), &number, 1, MSG_NOSIGNAL) != 1) {
        exit_status_ = kIncomplete;
    }
}

Result<int> Run::gone() const {
    return fail(ErrorCode::kUnavailable,
                "the guest went away{}{}; the last lines of its console: {}",
                qemu_.empty() ? "" : ": ", qemu_, last_lines(console_.text()));
}

Result<int> Run::to_its_end() {
    const sigset_t stops = process::stop_signals();
    sigset_t before{};
    pthread_sigmask(SIG_BLOCK, &stops, &before);
    const Fd signals(signalfd(-1, &stops, SFD_CLOEXEC));
    const auto patience = std::chrono::steady_clock::now() + kBootTime;
    while (open_ && sound_ && !exit_status_) {
        std::array<pollfd, 3> watched{{{child_.socket(), POLLIN, 0},
                                       {signals.get(), POLLIN, 0},
                                       {child_.errors(), POLLIN, 0}}};
        poll(watched.data(), watched.size(), 500);
        if (watched[0].revents != 0) {
            take_output();
        }
        if (watched[1].revents != 0) {
            pass_signal(signals.get());
        }
        if ((watched[2].revents & POLLIN) != 0) {
            take_errors();
        }
        if (!heard_ && std::chrono::steady_clock::now() > patience) {
            sound_ = fail(ErrorCode::kUnavailable,
                          "nothing was heard of the guest's program for {} s; the last lines of "
                          "its console: {}",
                          kBootTime.count(), last_lines(console_.text()));
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (exit_status_) {
        return *exit_status_;
    }
    if (!sound_) {
        return pass_on(sound_.error());
    }
    return gone();
}

}  // namespace

Result<int> run_in_guest(const ProgramPlan& plan) {
    const Program program = TRY(program_for(plan));
    const auto archive = TRY(make_program_image(plan.kernel, to_json(program)));
    const auto image = TRY(MemoryFile::make("initramfs", archive));
    const auto console = TRY(MemoryFile::make("console", ""));
    auto child =
        TRY(process::Child::start(command_of(plan, image, console), {.keep_errors = true}));
    return Run(std::move(child), console).to_its_end();
}

std::string guest_of_this_program() {
    const char* said = std::getenv(kGuestVariable);
    return said != nullptr ? said : "";
}

}  // namespace pathproof::guest
