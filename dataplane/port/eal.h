// The DPDK environment (EAL) of this process: memory, lcores and devices. It is global to a process
// and cannot be started twice, so only one Eal is ever made; the tester process exists to hold it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::port {

struct EalOptions {
    std::vector<int> worker_cpus;  // one worker lcore each; a CPU may be named several times
    std::vector<int> main_cpus;  // where the calling thread goes on; empty: wherever it may run now
    std::uint32_t memory_mib = 256;
    // False: ordinary pages, enough for virtual devices; PCI devices have hugepages all the same.
    bool hugepages = false;
    std::vector<std::string> vdevs;  // "net_ring0", "net_af_packet0,iface=c0"; names must be unique
    std::vector<std::string> pci;  // "0000:3b:00.0,representor=vf0"; empty: the bus is not scanned
};

class Eal {
  public:
    // Starts the EAL; the calling thread becomes the main lcore, which never polls. Errors: a
    // second start in this process; a CPU that this process may not use; a PCI device that is not
    // ready (pci_ready.h); what EAL itself refused, with its own words.
    static Result<Eal> start(const EalOptions& options);

    Eal(Eal&& other) noexcept
        : prefix_(std::exchange(other.prefix_, {})), work_(std::move(other.work_)) {}
    Eal& operator=(Eal&&) = delete;
    ~Eal();  // joins the workers, frees the memory and removes EAL's runtime folder; close all
             // ports before

    unsigned workers() const { return static_cast<unsigned>(work_.size()); }

    // Starts `work` on a worker (0 .. workers() - 1). `work` must end when it is told to: join
    // waits for it.
    Status launch(unsigned worker, std::function<int()> work);
    // Waits without burning a CPU; gives what `work` returned (0 if nothing was launched).
    int join(unsigned worker);
    bool running(unsigned worker) const;

    static std::string dpdk_version();  // "DPDK 22.11.11"

  private:
    Eal(std::string prefix, std::size_t workers) : prefix_(std::move(prefix)), work_(workers) {}

    std::string prefix_;                      // of EAL's runtime folder; empty: moved from
    std::vector<std::function<int()>> work_;  // by worker; lcore id = worker + 1
};

}  // namespace pathproof::port
