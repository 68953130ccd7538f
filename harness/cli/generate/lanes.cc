#include "harness/cli/generate/lanes.h"

#include <CLI/CLI.hpp>

#include "dataplane/load/placement.h"
#include "dataplane/port/cpus.h"
#include "harness/cli/generate/number_checks.h"

namespace pathproof::cli {

void add_lane_options(CLI::App& command, LaneOptions& options) {
    command
        .add_option("port", options.port,
                    "kernel interface (c0 or af_xdp:c0), DPDK vdev (net_tap,iface=t0) or PCI "
                    "address")
        ->required();
    command.add_option("--receive", options.receive,
                       "port at which frames come back (default: the sending one)");
    command.add_option("--netns", options.netns, "network namespace in which the ports are");
    command.add_option("--cpu", options.cpus, "CPUs of the lcores: 1 or 1,2 (default 0)")
        ->delimiter(',')
        ->check(kCpu);
    command
        .add_option("--queues", options.queues,
                    "queues of each port, each way (default: one for each lcore)")
        ->check(whole(1, 65'535));
}

Status check_lanes(const LaneOptions& options) {
    const std::size_t lcores = options.cpus.size();
    if (const std::size_t usable = port::usable_cpus().size(); lcores > usable) {
        return fail(ErrorCode::kBadInput,
                    "--cpu names {} lcores, and this process may run on {} CPUs: every lcore needs "
                    "one of its own",
                    lcores, usable);
    }
    if (options.queue_count() > frame::kMostStreams) {
        return fail(ErrorCode::kBadInput, "--queues {}: a run has at most {} of them",
                    options.queue_count(), frame::kMostStreams);
    }
    if (lcores > 2 * options.queue_count()) {
        return fail(ErrorCode::kBadInput,
                    "--queues {} for {} lcores: some would have nothing to do; each needs a "
                    "transmit or a receive queue",
                    options.queue_count(), lcores);
    }
    return {};
}

load::Roles roles_of(const LaneOptions& options, port::Port& sending, port::Port& receiving) {
    return load::share_queues(static_cast<unsigned>(options.cpus.size()), options.queue_count(),
                              sending, receiving);
}

Result<Lanes> Lanes::open(const LaneOptions& options, std::uint64_t tx_offloads,
                          SlowDevice slow_device) {
    // A completion ring of frames of a page, and their sk_buffs.
    constexpr std::uint32_t kWholeRing = 2048 * 8192;
    TRY(check_lanes(options));
    ports::OwnPortsOptions wanted{.ports = {}, .netns = options.netns, .cpus = options.cpus};
    const std::uint16_t queues = options.queue_count();
    wanted.ports.push_back(
        {.name = options.port,
         .queues = queues,
         .tx_offloads = tx_offloads,
         .send_buffer_bytes = slow_device == SlowDevice::kLosesFrames ? kWholeRing : 0});
    if (!options.receive.empty() && options.receive != options.port) {
        wanted.ports.push_back({.name = options.receive, .queues = queues});
    }
    auto opened = TRY(ports::OwnPorts::open(wanted));
    return Lanes{std::move(opened)};
}

}  // namespace pathproof::cli
