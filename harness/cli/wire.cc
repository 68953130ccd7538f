#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/seconds.h"
#include "harness/ports/open.h"
#include "harness/process/json_text.h"
#include "harness/process/stop.h"
#include "harness/tester/client.h"
#include "harness/tester/wire_text.h"

namespace pathproof::cli {
namespace {

struct WireOptions {
    std::string port_a;
    std::string port_b;
    softnic::WireMode mode = softnic::WireMode::kHealthyNic;
    std::string netns;
    double seconds = 0;  // 0: until a signal
    bool json = false;
    std::string capture;
    std::vector<std::uint16_t> vxlan_ports = {4789};
    int cpu = 0;
};

// Ctrl-C ends the wire, not the program: its table is still to come.
Status wait_for_end(tester::Client& tester, const WireOptions& options) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kLook{200};
    const auto end = options.seconds > 0 ? Clock::now() + nanoseconds_of(options.seconds)
                                         : Clock::time_point::max();
    for (;;) {
        process::sleep_until(std::min(end, Clock::now() + kLook));
        if (process::stopping() || Clock::now() >= end) {
            return {};
        }
        const auto broken = TRY(tester.wire_broken());
        if (broken) {
            return {};  // the report's objections say which port went away
        }
    }
}

Result<ports::OpenTester> start(const WireOptions& options) {
    const auto chosen =
        TRY(ports::choose_ports({{.name = options.port_a}, {.name = options.port_b}}, options.netns,
                                "a wire has two ends"));
    auto started = TRY(
        ports::open_tester({.netns = options.netns, .ports = chosen, .worker_cpus = {options.cpu}},
                           chosen, ports::OnSignal::kToCaller));
    TRY(started.client->start_wire({.mode = options.mode, .tunnel_ports = options.vxlan_ports}));
    return started;
}

Result<int> run(const WireOptions& options) {
    process::stop_on_signals();
    TRY(tester::check_evidence_path(options.capture));
    const auto started = TRY(start(options));
    tester::Client* tester = started.client.get();
    const auto& ports = tester->ports();
    fmt::print(stderr, "wire {} <-> {} ({}, {}), mode {}{}\n", ports[0].name, ports[1].name,
               ports[0].driver, tester->dpdk_version(), softnic::name(options.mode),
               options.seconds > 0 ? "" : "; Ctrl-C ends it");
    TRY(wait_for_end(*tester, options));
    const auto report = TRY(tester->stop_wire(options.capture));
    fmt::print("{}", options.json ? process::to_text(tester::wire_summary(report, ports)) + "\n"
                                  : tester::wire_table(report, ports));
    return report.objections.empty() ? 0 : 3;
}

}  // namespace

void add_wire(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "wire", "Join two ports by a software wire and judge every checksum that passes");
    const auto options = options_for<WireOptions>(*command, chosen, run);
    command
        ->add_option("port_a", options->port_a,
                     "kernel interface, DPDK vdev (net_tap,iface=t0) or PCI address")
        ->required();
    command->add_option("port_b", options->port_b, "the other port")->required();
    command
        ->add_option_function<std::string>(
            "--mode",
            [options](const std::string& mode) {
                options->mode = mode == softnic::name(softnic::WireMode::kPassThrough)
                                    ? softnic::WireMode::kPassThrough
                                    : softnic::WireMode::kHealthyNic;
            },
            "healthy-nic: complete partial checksums (default); pass-through: leave all bytes as "
            "they are")
        ->check(CLI::IsMember({softnic::name(softnic::WireMode::kHealthyNic),
                               softnic::name(softnic::WireMode::kPassThrough)}));
    command->add_option("--netns", options->netns, "network namespace in which the ports are");
    command->add_option("--duration", options->seconds, "seconds; without it until Ctrl-C")
        ->check(kAboveZero);
    command->add_flag("--json", options->json, "print the result as one JSON object");
    command->add_option("--pcapng", options->capture,
                        "file for the first frames that left with a wrong checksum");
    command
        ->add_option("--vxlan-port", options->vxlan_ports,
                     "UDP ports that carry VXLAN (default 4789)")
        ->check(kUdpPort);
    command->add_option("--cpu", options->cpu, "CPU of the forwarding lcore (default 0)")
        ->check(kCpu);
}

}  // namespace pathproof::cli
