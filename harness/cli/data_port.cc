#include "harness/cli/data_port.h"

#include <cctype>
#include <csignal>

#include "harness/process/netns.h"
#include "harness/tester/port_choice.h"

namespace pathproof::cli {
namespace {

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

extern "C" void note_signal(int) {
    stop.store(true, std::memory_order_relaxed);
}

struct Device {
    std::string name;       // what EAL calls it
    std::string arguments;  // with a leading comma, or empty
    bool pci = false;
};

Device device_of(const std::string& text) {
    const std::size_t comma = std::min(text.find(','), text.size());
    Device device{.name = text.substr(0, comma),
                  .arguments = text.substr(comma),
                  .pci = text.substr(0, comma).find(':') != std::string::npos};
    const bool numbered = std::isdigit(static_cast<unsigned char>(device.name.back())) != 0;
    if (!device.pci && !numbered) {
        device.name += '0';
    }
    return device;
}

}  // namespace

Result<DataPort> DataPort::open(const DataPortOptions& options) {
    const auto chosen = tester::choose_port(options.port, options.netns);
    if (!chosen) {
        return pass_on(chosen.error());
    }
    if (!options.netns.empty()) {
        const Status entered = process::enter_netns(options.netns, process::SysfsView::kRemount);
        if (!entered) {
            return pass_on(entered.error());
        }
    }
    const Device device = device_of(chosen->device);
    port::EalOptions wanted{.worker_cpus = {options.cpu}};
    (device.pci ? wanted.pci : wanted.vdevs).push_back(device.name + device.arguments);
    auto eal = port::Eal::start(wanted);
    if (!eal) {
        return pass_on(eal.error());
    }
    auto port = port::Port::open(
        {.name = chosen->name, .device = device.name, .tx_offloads = options.tx_offloads});
    if (!port) {
        return pass_on(port.error());
    }
    return DataPort{std::move(*eal), std::move(*port)};
}

const std::atomic<bool>& stop_on_signals() {
    struct sigaction action {};
    action.sa_handler = note_signal;
    sigemptyset(&action.sa_mask);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        sigaction(signal, &action, nullptr);
    }
    return stop;
}

}  // namespace pathproof::cli
