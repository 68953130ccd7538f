#include "harness/cli/generate/remedies.h"

#include <fmt/format.h>

namespace pathproof::cli {
namespace {

bool is_kernels(const port::PortInfo& port) {
    return port.driver == "net_af_packet" || port.driver == "net_af_xdp" ||
           port.driver == "net_tap";
}

// "af_xdp:c0", "af_xdp:c0 and af_xdp:s0": the ports that packet sockets carry. Empty: none.
std::string by_af_xdp(const port::PortInfo& sending, const port::PortInfo& receiving) {
    std::string ports;
    for (const port::PortInfo* port : {&sending, &receiving}) {
        const std::string name = "af_xdp:" + port->name;
        if (port->driver == "net_af_packet" && !ports.ends_with(name)) {
            ports += (ports.empty() ? "" : " and ") + name;
        }
    }
    return ports;
}

}  // namespace

std::vector<std::string> remedies(const TesterTrouble& trouble, const port::PortInfo& sending,
                                  const port::PortInfo& receiving) {
    std::vector<std::string> sentences;
    const bool through_kernel = is_kernels(sending) || is_kernels(receiving);
    if (trouble.disturbed) {
        sentences.emplace_back(
            through_kernel
                ? "the kernel handles the frames on this machine's CPUs, and so does a device in a "
                  "namespace: give the tester CPUs of its own with --cpu, and the device others "
                  "(rps_cpus of the interface it receives on); dataplane/README.md, 'Choosing "
                  "ports', says how"
                : "give each lcore a CPU that nothing else runs on (isolcpus, nohz_full, "
                  "interrupts "
                  "elsewhere) and name them with --cpu");
    }
    if (!trouble.limited) {
        return sentences;
    }
    if (const std::string ports = by_af_xdp(sending, receiving); !ports.empty()) {
        sentences.push_back(
            fmt::format("{}: AF_XDP takes less CPU time a frame than the packet "
                        "sockets of net_af_packet",
                        ports));
    }
    if (!through_kernel) {
        sentences.emplace_back("more lcores and queues, as --cpu 2,3 --queues 2 for instance");
    }
    return sentences;
}

std::string remedy_rows(const std::vector<std::string>& remedies) {
    std::string text;
    for (const std::string& one : remedies) {
        text += "what may help: " + one + "\n";
    }
    return text;
}

}  // namespace pathproof::cli
