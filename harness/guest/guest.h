// A guest of QEMU: a Linux kernel with one emulated NIC or several, our agent inside, and the host's end
// of each NIC's cable as a tap device of a network namespace.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/client.h"
#include "harness/guest/image.h"
#include "harness/guest/kernel.h"
#include "harness/guest/memory_file.h"
#include "harness/guest/nics.h"

namespace pathproof::guest {

inline constexpr const char* kQemu = "qemu-system-x86_64";
std::string tap_of(unsigned cable);     // "tap0": the tester's end of the first cable
std::string device_of(unsigned cable);  // "eth0": the guest's
// Settings of any guest: QEMU gets no default devices, and always a virtio-serial bus.
struct Machine {
    std::string kernel, image, console;  // files; the console's is written
    unsigned cpus = 1;
    unsigned memory_mib = 512;
    bool kvm = false;
    std::string channel;  // the name of what is behind its standard input and output
    std::string port;     // of virtio-serial, for that
};
std::vector<std::string> qemu_command(const Machine& machine);

// TCG on a busy machine takes its time; one that panics or ends is told of at once.
inline constexpr std::chrono::seconds kBootTime{180};

// kNotFound: there is none, and its package.
Status check_qemu();

// kBadInput: the file is no module in the place of this NIC's driver.
Status check_replacement(const Kernel& kernel, const Nic& nic, const std::string& file);

struct GuestPlan {
    Kernel kernel;
    Nic nic;
    std::string replacement;  // a file for the driver's module; empty: the kernel's own
    std::string netns;        // named; QEMU runs in it
    Work work = Work::kDevice;
    unsigned cables = 1;  // NICs, each with its own
    unsigned cpus = 1;
};

class Guest {
  public:
    // Boots it and waits for its agent. Errors: the kernel has no driver of the NIC (kNotSupported);
    // it did not come up, or lacks a NIC or a link, with the console's last lines (kUnavailable).
    static Result<std::unique_ptr<Guest>> boot(const GuestPlan& plan);
    // Off, and its tap with it.
    ~Guest();

    const std::shared_ptr<agent::Client>& agent() const { return agent_; }
    double boot_seconds() const { return boot_seconds_; }
    // All that its kernel and QEMU said so far.
    std::string console() const;
    // Modules that this kernel has not, without which a part is not tested.
    const std::vector<std::string>& without() const { return without_; }

  private:
    Guest() = default;
    std::string netns_;
    std::string monitor_;  // the name of QEMU's socket
    std::optional<MemoryFile> console_;
    std::shared_ptr<agent::Client> agent_;
    std::vector<std::string> without_;
    double boot_seconds_ = 0;
};

}  // namespace pathproof::guest
