// The ports of one process, and the EAL that they stand on.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "dataplane/port/port_request.h"

namespace pathproof::port {

// The devices of some ports as EAL's arguments, and the names that EAL gives them.
struct EalDevices {
    std::vector<std::string> vdevs;  // with their arguments, as the PCI addresses
    std::vector<std::string> pci;
    std::vector<std::string> names;  // by port
};
// EAL wants a number behind each vdev's driver, and a different one for each: "net_tap,iface=t0"
// gets its port's, or the next that no other device has or asks for.
EalDevices eal_devices(const std::vector<PortRequest>& ports);

struct PortSetOptions {
    std::vector<PortRequest> ports;
    std::vector<int> worker_cpus;  // one worker lcore each
    bool hugepages = false;
    std::chrono::milliseconds link_wait{0};  // PortConfig's
};

struct PortSet {
    Eal eal;
    std::vector<Port> ports;  // in the order of the requests; closed before the EAL

    // PCI devices are served from hugepages, virtual devices alone from ordinary pages unless
    // hugepages are asked for. Errors: those of Eal::start() and Port::open().
    static Result<PortSet> open(const PortSetOptions& options);
};

}  // namespace pathproof::port
