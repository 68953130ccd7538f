#include "dataplane/port/port_set.h"

#include <algorithm>
#include <utility>

#include "dataplane/port/device.h"
#include "dataplane/port/device_name.h"
#include "dataplane/port/frame_pool.h"

namespace pathproof::port {
namespace {

// The driver's name with the first number from `number` on that no other device has or asks for.
std::string free_name(const std::string& driver, std::size_t number,
                      const std::vector<PortRequest>& ports,
                      const std::vector<std::string>& given) {
    for (;; ++number) {
        std::string name = driver + std::to_string(number);
        const auto asks_for_it = [&](const PortRequest& port) {
            return driver_of(port.device) == name;
        };
        if (std::ranges::none_of(ports, asks_for_it) &&
            std::ranges::find(given, name) == given.end()) {
            return name;
        }
    }
}

PortConfig config_of(const PortRequest& request, const std::string& device,
                     const PortSetOptions& options) {
    PortConfig config{.name = request.name,
                      .device = device,
                      .rx_queues = request.queues,
                      .tx_queues = request.queues,
                      .pool_mbufs = request.pool_mbufs,
                      .tx_offloads = request.tx_offloads,
                      .send_buffer_bytes = request.send_buffer_bytes,
                      .hears = request.hears,
                      .link_wait = options.link_wait};
    if (config.pool_mbufs == 0) {
        config.pool_mbufs = frame_buffers_for(config, options.worker_cpus.size());
    }
    return config;
}

Result<Port> open_port(PortConfig config, PortOffloads offloads) {
    if (offloads == PortOffloads::kAll) {
        const auto able = TRY(capabilities(config.device));
        config.tx_offloads = able.tx & kFrameTxOffloads;
        config.rx_offloads = able.rx & kFrameRxOffloads;
    }
    return Port::open(config);
}

}  // namespace

EalDevices eal_devices(const std::vector<PortRequest>& ports) {
    EalDevices devices;
    for (std::size_t index = 0; index < ports.size(); ++index) {
        const std::string& device = ports[index].device;
        std::string name = driver_of(device);
        const std::string arguments = device.substr(name.size());
        const bool is_pci = name.find(':') != std::string::npos;
        if (!is_pci && !name.empty() && !ends_in_digit(name)) {
            name = free_name(name, index, ports, devices.names);
        }
        (is_pci ? devices.pci : devices.vdevs).push_back(name + arguments);
        devices.names.push_back(std::move(name));
    }
    return devices;
}

Result<PortSet> PortSet::open(const PortSetOptions& options) {
    const EalDevices devices = eal_devices(options.ports);
    std::vector<PortConfig> configs;
    std::uint64_t buffers = 0;
    for (std::size_t index = 0; index < options.ports.size(); ++index) {
        configs.push_back(config_of(options.ports[index], devices.names[index], options));
        buffers += configs.back().pool_mbufs;
    }
    auto eal = TRY(Eal::start({.worker_cpus = options.worker_cpus,
                               .memory_mib = memory_mib_for(buffers),
                               .hugepages = options.hugepages,
                               .vdevs = devices.vdevs,
                               .pci = devices.pci}));
    PortSet set{std::move(eal), {}};
    for (std::size_t index = 0; index < configs.size(); ++index) {
        auto port = TRY(open_port(configs[index], options.ports[index].offloads));
        set.ports.push_back(std::move(port));
    }
    return set;
}

}  // namespace pathproof::port
