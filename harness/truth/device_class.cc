#include "harness/truth/device_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dataplane/base/contains.h"
#include "dataplane/port/emulated.h"

namespace pathproof::truth {
namespace {

// Paravirtual NICs sit on a PCI bus as well; ena and gve as net_ena and net_gve of port::Evidence.
constexpr std::array<std::string_view, 8> kParavirtual = {
    "virtio_net", "vmxnet3", "hv_netvsc", "xen_netfront", "vif", "ena", "gve", "ibmveth"};

}  // namespace

port::Evidence class_of_device(const agent::DeviceInfo& info) {
    if (info.bus.empty() || contains(kParavirtual, info.driver)) {
        return port::Evidence::kVirtual;
    }
    // usb_make_path() words it "usb-0000:00:14.0-1".
    const bool on_usb = info.bus.starts_with("usb-");
    return on_usb || (info.pci && !port::is_emulated(info.pci->device, info.pci->subsystem_vendor,
                                                     info.pci->subsystem_device))
               ? port::Evidence::kPhysical
               : port::Evidence::kVirtual;
}

port::Evidence class_of_ports(port::Evidence device, port::Evidence far) {
    return std::max(device, far);  // they are in this order
}

std::string evidence_note(port::Evidence evidence, const std::string& device) {
    switch (evidence) {
        case port::Evidence::kPhysical:
            return fmt::format(
                "{} is hardware; what came in at the far end of its cable was judged in software.",
                device);
        case port::Evidence::kVirtual:
            return fmt::format(
                "{} is a virtual device: this says something of its driver and of the kernel "
                "behind "
                "it, nothing of any hardware.",
                device);
        case port::Evidence::kSimulated: break;
    }
    return fmt::format(
        "{} stood in for hardware: this shows what the instrument finds, and nothing of any NIC.",
        device);
}

}  // namespace pathproof::truth
