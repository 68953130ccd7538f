#include "harness/cli/data_port.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <iterator>
#include <string_view>

#include "dataplane/port/numa.h"
#include "harness/cli/port_journal.h"
#include "harness/process/netns.h"
#include "harness/tester/port_choice.h"

namespace pathproof::cli {
namespace {

constexpr std::chrono::seconds kLinkWait{5};

struct Device {
    tester::PortRequest chosen;
    std::string title;      // what reports call it
    std::string name;       // what EAL calls it
    std::string arguments;  // with a leading comma, or empty
    bool pci = false;
    port::PortConfig config;
};

bool names_device(const std::vector<Device>& devices, const std::string& name) {
    return std::ranges::find(devices, name, &Device::name) != devices.end();
}

// "net_tap,iface=t0" becomes "net_tap0": EAL wants a number, and a different one for each.
Device device_of(const tester::PortRequest& chosen, const std::vector<Device>& others) {
    const std::size_t comma = std::min(chosen.device.find(','), chosen.device.size());
    const std::string driver = chosen.device.substr(0, comma);
    Device device{.chosen = chosen,
                  .title = chosen.name,
                  .name = driver,
                  .arguments = chosen.device.substr(comma),
                  .pci = driver.find(':') != std::string::npos,
                  .config = {}};
    if (device.pci && driver.size() < std::string_view("0000:3b:00.0").size()) {
        device.name = "0000:" + driver;
    }
    const bool numbered = std::isdigit(static_cast<unsigned char>(driver.back())) != 0;
    for (unsigned n = 0; !device.pci && !numbered && (n == 0 || names_device(others, device.name));
         ++n) {
        device.name = fmt::format("{}{}", driver, n);
    }
    return device;
}

// What can lie in the descriptors of all queues, in bursts and in the lcores' caches at one time,
// twice.
std::uint32_t buffers_for(const port::PortConfig& config, std::size_t lcores) {
    constexpr std::uint32_t kPerLcore = 1024;
    const std::uint32_t descriptors = std::uint32_t{config.rx_queues} * config.rx_descriptors +
                                      std::uint32_t{config.tx_queues} * config.tx_descriptors;
    const std::uint32_t most = 2 * descriptors + kPerLcore * static_cast<std::uint32_t>(lcores);
    return std::max(port::PortConfig().pool_mbufs, most);
}

Result<Device> choose(const DataPortRequest& request, const DataPortsOptions& options,
                      const std::vector<Device>& others) {
    const auto chosen = TRY(tester::choose_port(request.port, options.netns, request.queues));
    Device device = device_of(chosen, others);
    const auto same = [&](const Device& other) {
        return other.name == device.name || tester::is_same_port(other.chosen, device.chosen);
    };
    if (std::ranges::any_of(others, same)) {
        return fail(ErrorCode::kBadInput, "port '{}' is named twice; one port is opened once",
                    request.port);
    }
    device.config = {.name = device.title,
                     .device = device.name,
                     .rx_queues = request.queues,
                     .tx_queues = request.queues,
                     .tx_offloads = request.tx_offloads,
                     .send_buffer_bytes = request.send_buffer_bytes,
                     .link_wait = kLinkWait};
    device.config.pool_mbufs = buffers_for(device.config, options.cpus.size());
    return device;
}

Result<std::vector<Device>> choose_all(const DataPortsOptions& options) {
    std::vector<Device> devices;
    for (const DataPortRequest& request : options.ports) {
        auto device = TRY(choose(request, options, devices));
        devices.push_back(std::move(device));
    }
    return devices;
}

port::EalOptions eal_options(const DataPortsOptions& options, const std::vector<Device>& devices) {
    port::EalOptions wanted{.worker_cpus = options.cpus, .memory_mib = 0};
    constexpr std::uint32_t kElse = 192;        // EAL's own, rings, histograms of the lcores
    constexpr std::uint32_t kMostFrame = 4096;  // an af_packet slot behind its headers, rounded up
    std::uint64_t bytes = 0;
    for (const Device& device : devices) {
        (device.pci ? wanted.pci : wanted.vdevs).push_back(device.name + device.arguments);
        bytes += std::uint64_t{device.config.pool_mbufs} * kMostFrame;
    }
    wanted.memory_mib = kElse + static_cast<std::uint32_t>(bytes >> 20);
    return wanted;
}

}  // namespace

Result<DataPorts> DataPorts::open(const DataPortsOptions& options) {
    const auto devices = TRY(choose_all(options));
    std::vector<tester::PortRequest> chosen;
    std::ranges::transform(devices, std::back_inserter(chosen), &Device::chosen);
    auto journal = TRY(port_journal(chosen));
    std::optional<DataPorts> opened;
    TRY(open_noted(journal, chosen, options.netns, [&]() -> Status {
        if (!options.netns.empty()) {
            TRY(process::enter_netns(options.netns, process::SysfsView::kRemount));
        }
        auto eal = TRY(port::Eal::start(eal_options(options, devices)));
        opened.emplace(DataPorts{nullptr, std::move(eal), {}, {}});
        for (const Device& device : devices) {
            auto port = TRY(port::Port::open(device.config));
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
