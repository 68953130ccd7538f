#include "harness/guest/guest.h"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/agent/device_info.h"
#include "harness/guest/init.h"
#include "harness/guest/qmp.h"
#include "harness/process/program.h"

namespace pathproof::guest {
namespace {

using namespace std::chrono_literals;

constexpr auto kLinkTime = 30s;

std::vector<std::string> command_of(const GuestPlan& plan, const std::string& image,
                                    const std::string& console, const std::string& monitor) {
    std::vector<std::string> command = qemu_command({.kernel = plan.kernel.image,
                                                     .image = image,
                                                     .console = console,
                                                     .cpus = plan.cpus,
                                                     .channel = "agent",
                                                     .port = kPortName});
    command.insert(
        command.end(),
        {"-chardev",
         fmt::format("socket,id=monitor,path={},abstract=on,server=on,wait=off", monitor), "-mon",
         "chardev=monitor,mode=control"});
    for (unsigned cable = 0; cable < plan.cables; ++cable) {
        command.insert(command.end(),
                       {"-netdev",
                        fmt::format("tap,id=cable{},ifname={},script=no,downscript=no,vnet_hdr={}",
                                    cable, tap_of(cable), plan.nic.vnet_header ? "on" : "off"),
                        "-device",
                        fmt::format("{},netdev=cable{},romfile=,mac=02:70:70:01:0a:{:02x}",
                                    plan.nic.device, cable, cable + 1)});
    }
    return command;
}

// A NIC needs a moment to find its link, an emulated one too.
Status wait_for_link(agent::Client& agent, const std::string& device) {
    const auto until = std::chrono::steady_clock::now() + kLinkTime;
    for (;; std::this_thread::sleep_for(200ms)) {
        const auto info = TRY(agent.device(device));
        if (info.link_up) {
            return {};
        }
        if (std::chrono::steady_clock::now() > until) {
            return fail(ErrorCode::kUnavailable, "its NIC {} ({}) has no link after {} s", device,
                        info.driver, kLinkTime.count());
        }
    }
}

}  // namespace

std::string tap_of(unsigned cable) {
    return fmt::format("tap{}", cable);
}

std::string device_of(unsigned cable) {
    return fmt::format("eth{}", cable);
}

std::vector<std::string> qemu_command(const Machine& machine) {
    // -cpu max without 57-bit addresses: TCG walks a page table less.
    return {
        kQemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-name",
        "pathproof", "-accel", machine.kvm ? "kvm" : "tcg,thread=multi", "-cpu",
        machine.kvm ? "host" : "max,la57=off", "-smp", std::to_string(machine.cpus), "-m",
        std::to_string(machine.memory_mib), "-kernel", machine.kernel, "-initrd", machine.image,
        "-append",
        // The NICs keep the names that the kernel gives them. On a busy host the emulated timer is
        // late, for which a kernel that tests it panics.
        "console=ttyS0 panic=-1 net.ifnames=0 mitigations=off no_timer_check quiet", "-serial",
        "file:" + machine.console, "-chardev",
        fmt::format("stdio,id={},signal=off", machine.channel), "-device", "virtio-serial-pci",
        "-device", fmt::format("virtserialport,chardev={},name={}", machine.channel, machine.port)};
}

Status check_qemu() {
    const auto version = process::run_program({kQemu, "--version"});
    return version && version->exit_status == 0
               ? Status()
               : fail(ErrorCode::kNotFound, "a guest takes {}: install the package qemu-system-x86",
                      kQemu);
}

Status check_replacement(const Kernel& kernel, const Nic& nic, const std::string& file) {
    TRY(make_image(kernel, {.module = nic.module, .replacement = file}));
    return {};
}

Result<std::unique_ptr<Guest>> Guest::boot(const GuestPlan& plan) {
    const auto image = TRY(make_image(
        plan.kernel,
        {.module = plan.nic.module, .replacement = plan.replacement, .work = plan.work}));
    const auto archive = TRY(MemoryFile::make("initramfs", image.archive));
    std::unique_ptr<Guest> guest(new Guest);
    guest->netns_ = plan.netns;
    guest->without_ = image.without;
    guest->monitor_ = "pathproof-" + plan.netns;
    guest->console_.emplace(TRY(MemoryFile::make("console", "")));
    const auto began = std::chrono::steady_clock::now();
    auto agent = agent::Client::start_behind(
        command_of(plan, archive.path(), guest->console_->path(), guest->monitor_), plan.netns,
        "the guest with " + plan.nic.name, kBootTime);
    if (!agent) {
        return fail(ErrorCode::kUnavailable, "{}; the last lines of its console: {}",
                    agent.error().message, last_lines(guest->console()));
    }
    guest->agent_ = std::move(*agent);
    for (unsigned cable = 0; cable < plan.cables; ++cable) {
        if (const Status linked = wait_for_link(*guest->agent_, device_of(cable)); !linked) {
            return fail(ErrorCode::kUnavailable,
                        "the guest with {}: {}; the last lines of its console: {}", plan.nic.name,
                        linked.error().message, last_lines(guest->console()));
        }
    }
    guest->boot_seconds_ =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return guest;
}

Guest::~Guest() {
    if (auto monitor = Qmp::connect(netns_, monitor_); agent_ && monitor) {
        // A guest that does not quit is killed.
        static_cast<void>(monitor->execute("quit", 1s));
    }
}

std::string Guest::console() const {
    return console_->text();
}

}  // namespace pathproof::guest
