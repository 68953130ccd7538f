#include "harness/cli/profile/target.h"

#include <CLI/CLI.hpp>

#include "harness/ports/open.h"
#include "harness/process/netns.h"

namespace pathproof::cli::profiles {
namespace {

using profile::LiveDevice;

Result<LiveDevice> read_kernel(const TargetOptions& options) {
    return process::in_netns(options.netns,
                             [&] { return profile::read_kernel_device(options.device); });
}

// "DPDK 22.11.11" is 22.11.11.
std::string version_of(const std::string& text) {
    const std::size_t space = text.rfind(' ');
    return space == std::string::npos ? text : text.substr(space + 1);
}

Result<LiveDevice> read_dpdk(const TargetOptions& options) {
    const auto chosen = TRY(ports::choose_port(options.dpdk, options.netns));
    const lab::SignalHold hold;
    const auto tester = TRY(ports::open_tester(
        {.netns = options.netns, .ports = {chosen}, .worker_cpus = {0}, .hugepages = false},
        {chosen}));
    const port::PortInfo& info = tester.client->ports().front();
    return LiveDevice{
        .name = info.device,
        .identity = {.kernel_driver = "", .pmd = info.driver, .pci = profile::pci_id(info.device)},
        .firmware = "",
        .features = {},
        .dpdk_tx = info.tx_offloads,
        .dpdk_rx = info.rx_offloads,
        .limits = {},
        .speed_mbps = info.link_mbps == 0 ? -1 : std::int64_t{info.link_mbps},
        .running = {.kernel = "", .dpdk = version_of(tester.client->dpdk_version())}};
}

}  // namespace

void add_target(CLI::App& command, TargetOptions& options) {
    CLI::Option* device = command.add_option("DEV", options.device, "Network device of the kernel");
    CLI::Option* port = command.add_option(
        "--dpdk", options.dpdk, "DPDK port: PCI address, or virtual device with its arguments");
    device->excludes(port);
    command.add_option("--netns", options.netns, "Network namespace (see 'ip netns')");
}

Result<LiveDevice> read_target(const TargetOptions& options) {
    if (options.device.empty() && options.dpdk.empty()) {
        return fail(ErrorCode::kBadInput,
                    "which device? name one of the kernel's (see 'ip link'), or a DPDK port with "
                    "--dpdk");
    }
    return options.device.empty() ? read_dpdk(options) : read_kernel(options);
}

}  // namespace pathproof::cli::profiles
