// The DPDK environment (EAL) of this process: memory, lcores and devices. It is global to a process
// and cannot be started twice, so only one Eal is ever made; the tester process exists to hold it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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
    std::vector<std::string> pci;    // "0000:3b:00.0"; empty: the PCI bus is not scanned
};

class Eal {
  public:
    // Starts the EAL; the calling thread becomes the main lcore, which never polls. Errors: a
    // second start in this process; a CPU that this process may not use; a PCI device that is not
    // ready (pci_ready.h); what EAL itself refused, with its own words.
    static Result<Eal> start(const EalOptions& options);

    Eal(Eal&&) noexcept;
    Eal& operator=(Eal&&) = delete;
    ~Eal();  // joins the workers, frees the memory and removes EAL's runtime folder; close all
             // ports before

    unsigned workers() const;

    // Starts `work` on a worker (0 .. workers() - 1). `work` must end when it is told to: join
    // waits for it.
    Status launch(unsigned worker, std::function<int()> work);
    // Waits without burning a CPU; gives what `work` returned (0 if nothing was launched).
    int join(unsigned worker);
    bool running(unsigned worker) const;

    // Everything that EAL and the drivers logged; none of it reaches the terminal.
    static std::string log();
    static std::string dpdk_version();  // "DPDK 22.11.11"

  private:
    struct Impl;
    explicit Eal(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::port
