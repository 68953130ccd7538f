// Any bytes as what another host says of its devices. Parts are separated by zero bytes.
#include <algorithm>
#include <array>
#include <string>

#include "harness/lab/machine_use.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::lab;
namespace fuzz = pathproof::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::array<std::string, 6> parts;
    std::size_t part = 0;
    for (std::size_t i = 0; i < size; ++i) {
        if (data[i] == 0 && part + 1 < parts.size()) {
            ++part;
        } else {
            parts[part] += static_cast<char>(data[i]);
        }
    }
    const auto use = parse_use(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]);
    if (!use) {
        return 0;
    }
    LabFile lab;
    lab.dut.where = "dut";
    for (const DeviceUse& device : *use) {
        lab.dut.devices = {{.name = device.name, .port = "p", .addresses = device.addresses}};
        const bool needed =
            device.default_route || !device.ssh_peers.empty() || !device.storage_peers.empty();
        const auto same_name = std::count_if(use->begin(), use->end(), [&](const DeviceUse& one) {
            return one.name == device.name;
        });
        fuzz::require(same_name > 1 || check_dut_devices(lab, *use).has_value() == !needed,
                      "a device that is needed is accepted, or a free one refused");
    }
    return 0;
}
