#include "harness/cli/data_port.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "dataplane/port/frame_pool.h"
#include "dataplane/port/numa.h"
#include "harness/cli/port_journal.h"
#include "harness/process/netns.h"
#include "harness/tester/port_choice.h"

namespace pathproof::cli {
namespace {

constexpr std::chrono::seconds kLinkWait{5};

Result<std::vector<tester::PortRequest>> choose_all(const DataPortsOptions& options) {
    std::vector<tester::PortRequest> chosen;
    for (const DataPortRequest& request : options.ports) {
        auto port = TRY(tester::choose_port(request.port, options.netns, request.queues));
        const auto same = [&](const tester::PortRequest& other) {
            return tester::is_same_port(other, port);
        };
        if (std::ranges::any_of(chosen, same)) {
            return fail(ErrorCode::kBadInput, "port '{}' is named twice; one port is opened once",
                        request.port);
        }
        chosen.push_back(std::move(port));
    }
    return chosen;
}

// `title`: what reports call the port; `device`: what EAL calls it.
port::PortConfig config_of(const DataPortRequest& request, const std::string& title,
                           const std::string& device, std::size_t lcores) {
    port::PortConfig config{.name = title,
                            .device = device,
                            .rx_queues = request.queues,
                            .tx_queues = request.queues,
                            .tx_offloads = request.tx_offloads,
                            .send_buffer_bytes = request.send_buffer_bytes,
                            .link_wait = kLinkWait};
    config.pool_mbufs = port::frame_buffers_for(config, lcores);
    return config;
}

}  // namespace

Result<DataPorts> DataPorts::open(const DataPortsOptions& options) {
    const auto chosen = TRY(choose_all(options));
    const tester::EalDevices devices = tester::eal_devices(chosen);
    std::vector<port::PortConfig> configs;
    std::uint64_t buffers = 0;
    for (std::size_t index = 0; index < chosen.size(); ++index) {
        configs.push_back(config_of(options.ports[index], chosen[index].name, devices.names[index],
                                    options.cpus.size()));
        buffers += configs.back().pool_mbufs;
    }
    auto journal = TRY(port_journal(chosen));
    std::optional<DataPorts> opened;
    TRY(open_noted(journal, chosen, options.netns, [&]() -> Status {
        if (!options.netns.empty()) {
            TRY(process::enter_netns(options.netns, process::SysfsView::kRemount));
        }
        auto eal = TRY(port::Eal::start({.worker_cpus = options.cpus,
                                         .memory_mib = port::memory_mib_for(buffers),
                                         .vdevs = devices.vdevs,
                                         .pci = devices.pci}));
        opened.emplace(DataPorts{nullptr, std::move(eal), {}, {}});
        for (const port::PortConfig& config : configs) {
            auto port = TRY(port::Port::open(config));
            opened->ports.push_back(std::move(port));
        }
        return {};
    }));
    opened->journal = std::move(journal);
    for (const port::Port& port : opened->ports) {
        if (std::string far = port::far_cpus(port.info(), port::place(options.cpus));
            !far.empty()) {
            opened->objections.push_back(std::move(far));
        }
    }
    return std::move(*opened);
}

}  // namespace pathproof::cli
