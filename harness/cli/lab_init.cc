#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "dataplane/base/file.h"
#include "harness/agent/ethtool.h"
#include "harness/cli/lab_check.h"
#include "harness/lab/first_file.h"
#include "harness/process/netns.h"

namespace pathproof::cli {
namespace {

struct LabInitOptions {
    std::string path = "lab.toml";
    std::string netns;
    std::string dut_ssh;
    std::string dut_netns;
};

// Real ports: in our own namespace those on a bus, for its other devices are somebody's; in a named
// one all but the loopback.
std::vector<lab::FoundDevice> ports_in(const lab::MachineUse& use, bool only_pci) {
    std::vector<lab::FoundDevice> found;
    for (const lab::DeviceUse& device : use) {
        if (device.name != "lo" && !(only_pci && device.pci.empty())) {
            found.push_back({.use = device, .objections = lab::objections(device, nullptr)});
        }
    }
    return found;
}

// Adds the information that this machine's kernel has about each device.
Status describe(const std::string& netns, std::vector<lab::FoundDevice>& devices) {
    return process::in_netns(netns, [&]() -> Status {
        for (lab::FoundDevice& device : devices) {
            device.info = agent::read_device(device.use.name).value_or(agent::DeviceInfo());
        }
        return {};
    });
}

Result<lab::FoundHosts> look_around(const LabInitOptions& options) {
    lab::FoundHosts found{
        .tester_netns = options.netns, .tester = {}, .dut = {}, .dut_devices = {}};
    const auto here = TRY(lab::local_use(options.netns));
    found.tester = ports_in(here, options.netns.empty());
    TRY(describe(options.netns, found.tester));
    if (!options.dut_netns.empty()) {
        found.dut = {.kind = lab::Dut::Kind::kNetns, .where = options.dut_netns};
        const auto there = TRY(lab::local_use(options.dut_netns));
        found.dut_devices = ports_in(there, false);
        TRY(describe(options.dut_netns, found.dut_devices));
    } else if (!options.dut_ssh.empty()) {
        found.dut = {.kind = lab::Dut::Kind::kSsh, .where = options.dut_ssh};
        const auto there = TRY(lab::remote_use(found.dut.ssh_host()));
        found.dut_devices = ports_in(there, true);
        for (lab::FoundDevice& device : found.dut_devices) {
            device.info.link_up = true;  // 'lab check' asks its agent
        }
    }
    return found;
}

// Never over a file that is there.
Status write_new(const std::string& path, const std::string& text) {
    const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file) {
        return fail(errno == EEXIST ? ErrorCode::kBadInput : ErrorCode::kFailed, "{}: {}", path,
                    errno == EEXIST ? "this file is there already, and is never overwritten; name "
                                      "another one"
                                    : std::strerror(errno));
    }
    if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return fail(ErrorCode::kFailed, "{}: {}", path, std::strerror(errno));
    }
    return {};
}

Result<int> run_init(const LabInitOptions& options) {
    if (access(options.path.c_str(), F_OK) == 0) {
        TRY(write_new(options.path, ""));
    }
    const auto found = TRY(look_around(options));
    const auto text = TRY(lab::first_lab_file(found));
    TRY(write_new(options.path, text));
    fmt::print("wrote {}; look through it, then: pathproof lab check {}\n", options.path,
               options.path);
    return 0;
}

}  // namespace

void add_lab_init(CLI::App& lab, Command& chosen) {
    CLI::App* command = lab.add_subcommand(
        "init", "Write a first lab file from the network devices that are found");
    const auto options = options_for<LabInitOptions>(*command, chosen, run_init);
    command->add_option("file", options->path, "the file, which must not be there")
        ->capture_default_str();
    command->add_option("--netns", options->netns,
                        "network namespace with the tester's ports (default: ours)");
    CLI::Option* ssh = command->add_option("--dut", options->dut_ssh,
                                           "the DUT, as ssh takes it: its devices are looked at");
    command
        ->add_option("--dut-netns", options->dut_netns,
                     "the same for a network namespace of this machine")
        ->excludes(ssh);
}

}  // namespace pathproof::cli
