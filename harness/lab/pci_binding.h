// A PCI network device handed over from its kernel driver to one that gives it to user space
// (driver_override, Documentation/ABI/testing/sysfs-bus-pci), and back, with its interface as it was.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/undo.h"
#include "harness/lab/user_driver.h"

namespace pathproof::lab {

// Binding of a PCI device.
struct PciBinding {
    std::string driver;          // of the kernel; empty: none
    std::string preferred;       // its driver_override; empty: none
    std::string interface = "";  // in this network namespace; empty: none
    // Commands of ip(8) that make a fresh interface as this one is, in their order.
    std::vector<std::string> settings = {};
    bool operator==(const PciBinding&) const = default;
};
std::string to_string(const PciBinding& binding);
Result<PciBinding> parse_binding(const std::string& text);

// kNotFound: no such device.
Result<PciBinding> read_binding(const std::string& address, const KernelFiles& files);

// Checks that the device may be bound so, as far as its neighbours and the kernel go. Errors: no
// network device, an interface that is elsewhere, no IOMMU, another device in its group, a driver
// that is not loaded.
Status check_bindable(const std::string& address, UserDriver driver, const KernelFiles& files);

// Writes and reads back. An error leaves it half way: the caller's note tells how it was.
Status bind_to(const std::string& address, UserDriver driver, const KernelFiles& files);

// Undoes a note of kBinding in the namespace in which the device was bound: `name` is the address,
// `value` the former binding, `set` the driver that it got.
Status undo_binding(const Note& note, const KernelFiles& files, UndoReport& report);

// Parts of the functions above that do not need the kernel.

struct SysfsWrite {
    std::string path;
    std::string text;
    bool operator==(const SysfsWrite&) const = default;
};
// From one driver to another (empty: none), in their order.
std::vector<SysfsWrite> steps_between(const std::string& address, const PciBinding& now,
                                      const std::string& driver, const std::string& preferred,
                                      const KernelFiles& files);

}  // namespace pathproof::lab
