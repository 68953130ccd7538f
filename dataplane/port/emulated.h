// NICs of a virtual machine that are emulated and not passed through.
#pragma once

#include <string_view>

namespace pathproof::port {

// Recognises an emulated NIC by its ids, as sysfs writes them ("0x1af4"). The subsystem carries the
// vendor of the hypervisor: Red Hat (QEMU), VMware, Microsoft. QEMU's e1000e, an 82574L, carries
// Intel's, and 0 as its device; other NICs of Intel have that on real boards too (I225-V).
constexpr bool is_emulated(std::string_view device, std::string_view subsystem_vendor,
                           std::string_view subsystem_device) {
    return subsystem_vendor == "0x1af4" || subsystem_vendor == "0x15ad" ||
           subsystem_vendor == "0x1414" ||
           (device == "0x10d3" && subsystem_vendor == "0x8086" && subsystem_device == "0x0000");
}

}  // namespace pathproof::port
