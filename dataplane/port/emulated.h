// NICs of a virtual machine that are emulated and not passed through.
#pragma once

#include <string_view>

namespace pathproof::port {

// By the subsystem ids, as sysfs writes them ("0x1af4"). They carry the vendor of the hypervisor: Red
// Hat (QEMU), VMware, Microsoft; QEMU's e1000e carries Intel's and the device 0, which no board has.
constexpr bool is_emulated(std::string_view subsystem_vendor, std::string_view subsystem_device) {
    return subsystem_vendor == "0x1af4" || subsystem_vendor == "0x15ad" ||
           subsystem_vendor == "0x1414" ||
           (subsystem_vendor == "0x8086" && subsystem_device == "0x0000");
}

}  // namespace pathproof::port
