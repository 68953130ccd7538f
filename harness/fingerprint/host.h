// Facts about a machine with their source, read or marked as not readable, never guessed. Host
// names and addresses are not collected, and serial numbers only where they are asked for.
#pragma once

#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::fingerprint {

struct EnvironmentOptions {
    std::string pathproof_version;
    std::string dpdk_version;  // rte_version(), asked of the tester; empty: the tester did not say
    std::string root;          // put before every file that is read: "" for this machine
};

// Kernel, board, CPU: of any host, by its agent. `root` as above.
std::vector<verdict::FactGroup> read_host(const std::string& root = "");

// Kernel, netfilter, network, board, CPU, memory and software, as groups. Sysctls are those
// of the calling thread's network namespace.
std::vector<verdict::FactGroup> read_environment(const EnvironmentOptions& options);

// Serial numbers that the firmware tells (DMI) and those of network devices: names of interfaces in the
// calling thread's namespace, or PCI addresses. Most take root.
std::vector<verdict::Fact> read_serials(const std::vector<std::string>& devices,
                                        const std::string& root = "");

// Makes a fact of what was read from a source: `error` is 0 or an errno, of which EACCES and EPERM
// mean denied. An empty value says nothing: it counts as absent.
verdict::Fact fact_of(const std::string& name, const std::string& source, int error,
                      std::string value);

// One file as a fact: its first line, trimmed, "(empty)" when it holds nothing. ENOENT and the like
// say absent, EACCES and EPERM say denied.
verdict::Fact file_fact(const std::string& name, const std::string& path,
                        const std::string& root = "");

}  // namespace pathproof::fingerprint
