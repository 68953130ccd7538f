#include "harness/cli/lab_check.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "dataplane/port/cpus.h"
#include "dataplane/port/device_name.h"
#include "harness/lab/journal.h"
#include "harness/lab/kernel_module.h"
#include "harness/lab/lab.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/lcores.h"
#include "harness/lab/machine_use.h"
#include "harness/lab/preflight.h"
#include "harness/lab/privilege.h"
#include "harness/lab/signals.h"
#include "harness/ports/open.h"
#include "harness/preflight/look.h"
#include "harness/process/json_text.h"
#include "harness/tester/client.h"

namespace pathproof::cli {
namespace {

using lab::Check;
using lab::LabFile;
using lab::TesterPort;
using nlohmann::json;
using Outcome = Check::Outcome;

struct LabCheckOptions {
    std::string path;
    bool file_only = false;
    bool fix = false;
    bool as_json = false;
};

std::string addresses_of(const std::vector<lab::Prefix>& prefixes) {
    std::string text;
    for (const lab::Prefix& prefix : prefixes) {
        text += " " + to_string(prefix);
    }
    return text.empty() ? " (no address)" : text;
}

const char* kind_name(TesterPort::Kind kind) {
    switch (kind) {
        case TesterPort::Kind::kPci: return "PCI";
        case TesterPort::Kind::kVdev: return "vdev";
        case TesterPort::Kind::kKernel: return "device";
    }
    return "";
}

void print_file(const LabFile& file) {
    fmt::print("lab '{}'\n", file.name);
    for (const TesterPort& port : file.ports) {
        std::string plays;
        if (port.clients) {
            plays = fmt::format(", plays clients of {}", to_string(*port.clients));
        }
        for (const frame::IpAddress& server : port.servers) {
            plays += (plays.empty() ? ", plays servers " : ", ") + to_string(server);
        }
        std::string how = port.queues == 1 ? "" : fmt::format(", {} queues", port.queues);
        how += port.lcores.empty() ? "" : fmt::format(", lcores {}", fmt::join(port.lcores, ", "));
        how += port.numa ? fmt::format(", NUMA node {}", *port.numa) : "";
        fmt::print("  tester port {}: {} {}{}{}{}\n", port.name, kind_name(port.kind), port.device,
                   addresses_of(port.addresses), plays, how);
    }
    const bool over_ssh = file.dut.kind == lab::Dut::Kind::kSsh;
    fmt::print("  DUT {} {}\n", over_ssh ? "over ssh:" : "in network namespace", file.dut.where);
    for (const lab::DutDevice& device : file.dut.devices) {
        fmt::print("  DUT device {}, on tester port {}:{}\n", device.name, device.port,
                   addresses_of(device.addresses));
    }
    if (file.hugepages_mib > 0) {
        fmt::print("  hugepages: {} MiB\n", file.hugepages_mib);
    }
    if (!file.modules.empty()) {
        fmt::print("  may load the modules {}\n", fmt::join(file.modules, ", "));
    }
}

bool any_is(const std::vector<Check>& checks, Outcome outcome) {
    return std::ranges::find(checks, outcome, &Check::outcome) != checks.end();
}

// Does what is safe, and leaves it so: 'lab down' gives it back.
Result<std::string> fix(const LabFile& file) {
    const lab::SignalHold hold;
    auto journal = TRY(lab::Journal::open("pathproof lab check --fix"));
    const lab::SignalGuard guard(journal.get(), ports::log_interrupted);
    TRY(lab::bind_ports(file, *journal));
    if (const std::uint32_t wanted = lab::hugepages_mib_for(file); wanted != 0) {
        TRY(journal->reserve_hugepages(wanted));  // the check says how many there are
    }
    TRY(journal->keep("what 'lab check --fix' did for " + file.name));
    return journal->run_id();
}

Result<ports::OpenTester> open_ports_of(const LabFile& file) {
    tester::TesterOptions wanted{
        .netns = file.tester_netns,
        .ports = {},
        .worker_cpus = {lab::lcores_of_run(file, port::usable_cpus()).back()}};
    for (const TesterPort& port : file.ports) {
        auto chosen =
            TRY(ports::choose_port(port.device, file.tester_netns, port.queues, &port.addresses));
        wanted.ports.push_back(std::move(chosen));
        wanted.hugepages |= port.kind == TesterPort::Kind::kPci;
    }
    return ports::open_tester(wanted, wanted.ports);
}

// Opens the ports for a look. It takes root, and is refused without.
Status with_tester(const LabFile& file, const std::function<Status(tester::Client&)>& look) {
    if (!lab::needs_root("sending probe frames")) {
        return fail(ErrorCode::kNotPermitted, "it takes root");
    }
    const lab::SignalHold hold;
    auto open = TRY(open_ports_of(file));
    return look(*open.client);
}

void print_checks(const std::vector<Check>& checks, bool as_json) {
    for (const Check& check : checks) {
        if (as_json) {
            fmt::print("{}\n", process::to_text(json{{"outcome", name(check.outcome)},
                                                     {"of", check.of},
                                                     {"what", check.what},
                                                     {"found", check.found}}));
        } else {
            fmt::print("{:<5} {}: {}: {}\n", name(check.outcome), check.of, check.what,
                       check.found);
        }
    }
}

Result<int> check_all(LabFile file, const LabCheckOptions& options) {
    TRY(lab::place_lcores(file));
    TRY(lab::check_machines(file));
    std::vector<Check> checks{{Outcome::kGood, "all devices", "use",
                               "none carries a default route, an SSH session, a mounted file "
                               "system or another address"}};
    const lab::LcoresOf cpus = preflight::lcores_in(file);
    auto machine = lab::check_tester_machine(file, cpus, {});
    if (options.fix && any_is(machine, Outcome::kFixable)) {
        const std::string run = TRY(fix(file));
        fmt::print(stderr, "pathproof: fixed what could be; 'pathproof lab down {}' undoes it\n",
                   run);
        machine = lab::check_tester_machine(file, cpus, {});
    }
    std::ranges::move(machine, std::back_inserter(checks));
    auto dut = file.dut.kind == lab::Dut::Kind::kSsh
                   ? agent::Client::start_over_ssh(file.dut.ssh_host(), file.dut.program)
                   : agent::Client::start_in_netns(file.dut.where);
    if (!dut) {
        checks.push_back({Outcome::kBad, "DUT", "agent", dut.error().message});
    }
    lab::Sightings seen;
    checks = preflight::look_at(
        file, dut ? dut->get() : nullptr, std::move(checks),
        [&](const auto& look) { return with_tester(file, look); }, seen);
    print_checks(checks, options.as_json);
    if (any_is(checks, Outcome::kBad) || any_is(checks, Outcome::kFixable)) {
        return 1;
    }
    return any_is(checks, Outcome::kNotLooked) ? 3 : 0;
}

Result<int> run_check(const LabCheckOptions& options) {
    const auto file = TRY(lab::load_lab_file(options.path));
    if (!options.as_json) {
        print_file(file);
    }
    if (options.file_only) {
        return 0;
    }
    return check_all(file, options);
}

struct LabBindOptions {
    std::vector<std::string> devices;
    std::string driver = "vfio-pci";
    std::uint32_t hugepages_mib = lab::kPciHugepagesMib;
};

Result<std::string> bind(const LabBindOptions& options) {
    TRY(lab::needs_root("'pathproof lab bind'"));
    const auto driver = TRY(lab::parse_user_driver(options.driver));
    for (const std::string& device : options.devices) {
        if (port::pci_address(device).empty()) {
            return fail(ErrorCode::kBadInput,
                        "'{}' is no PCI address; write it as lspci -D does, for example "
                        "0000:3b:00.0",
                        device);
        }
        const Status spare = lab::check_touchable(port::pci_address(device), "");
        if (!spare && spare.error().code != ErrorCode::kNotFound) {
            return pass_on(spare.error());
        }
        TRY(lab::read_binding(port::pci_address(device), {}));
    }
    const lab::SignalHold hold;
    auto journal = TRY(lab::Journal::open("pathproof lab bind"));
    const lab::SignalGuard guard(journal.get(), ports::log_interrupted);
    if (lab::module_state(lab::kernel_name(driver), {}) == lab::ModuleState::kMissing) {
        TRY(journal->load_module(lab::kernel_name(driver)));
    }
    for (const std::string& device : options.devices) {
        TRY(journal->bind_pci(port::pci_address(device), driver));
    }
    const auto free = TRY(journal->reserve_hugepages(options.hugepages_mib));
    TRY(journal->keep("binding"));
    fmt::print("bound to {}: {}; {} MiB of hugepages are free\n", options.driver,
               fmt::join(options.devices, ", "), free);
    return journal->run_id();
}

Result<int> run_bind(const LabBindOptions& options) {
    const auto run = TRY(bind(options));
    fmt::print("given back by  sudo pathproof lab down {}\n", run);
    return 0;
}

}  // namespace

void add_lab_bind(CLI::App& lab, Command& chosen) {
    CLI::App* command = lab.add_subcommand(
        "bind",
        "Give PCI network devices to DPDK until 'lab down' gives them back to their drivers, with "
        "the names, flags, addresses and routes of their interfaces");
    const auto options = options_for<LabBindOptions>(*command, chosen, run_bind);
    command->add_option("device", options->devices, "PCI addresses, as 0000:3b:00.0")->required();
    command
        ->add_option("--driver", options->driver,
                     "vfio-pci; or without the protection of an IOMMU: vfio-noiommu, "
                     "uio_pci_generic")
        ->capture_default_str();
    command
        ->add_option("--hugepages", options->hugepages_mib,
                     "MiB of hugepages that are to be free, if memory allows")
        ->capture_default_str();
}

void add_lab_check(CLI::App& lab, Command& chosen) {
    CLI::App* command = lab.add_subcommand(
        "check",
        "Say what a lab file means, and look at all that a run on it takes, one line a thing; "
        "sends a few probe frames out of each port and device of the file");
    const auto options = options_for<LabCheckOptions>(*command, chosen, run_check);
    command->add_option("file", options->path, "TOML file")->required();
    CLI::Option* only = command->add_flag("--file-only", options->file_only,
                                          "read the file, and look at no machine");
    command
        ->add_flag("--fix", options->fix,
                   "reserve hugepages, load the file's modules and bind its PCI ports, until 'lab "
                   "down' gives them back")
        ->excludes(only);
    command->add_flag("--json", options->as_json, "one JSON object a line");
}

}  // namespace pathproof::cli
