// Checks before a run: each thing that a run on a lab file takes, and how the lab is cabled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pathproof::verdict {

struct Preflight {
    struct Check {
        std::string outcome;  // "ok", "doubt", "BAD", "fix", "-" (not looked at)
        std::string of;       // "tester port client0", "DUT device ens1f0"
        std::string what;     // "link", "PCIe", "NUMA node"
        std::string found;    // with what mends it
        bool operator==(const Check&) const = default;
    };
    // A port of a host: of the tester or the DUT. Empty or -1: not known.
    struct Port {
        std::string host;    // "tester", "DUT root@dut1"
        std::string name;    // of the lab file
        std::string device;  // "ens1f0", "0000:3b:00.0"
        std::string driver;
        std::string firmware;
        std::string mac;
        std::vector<std::string>
            addresses;                // that it has in the run, with the length of the network
        std::int64_t link_mbps = -1;  // as negotiated
        std::int64_t mtu = -1;
        std::int64_t numa_node = -1;
        std::string pcie;  // "linked at 8 GT/s x4"
        bool operator==(const Port&) const = default;
    };
    // A cable as the file has it, and as the probe frames proved it.
    struct Cable {
        enum class Proof {
            kBothWays,
            kOneWay,
            kNotThere,  // frames arrived elsewhere, or nowhere
            kNotLooked,
        };
        std::string port;    // of the tester
        std::string device;  // of the DUT
        Proof proof = Proof::kNotLooked;
        std::string found;  // a sentence
        bool operator==(const Cable&) const = default;
    };
    std::vector<Check> checks;
    std::vector<Port> ports;
    std::vector<Cable> cables;
    bool operator==(const Preflight&) const = default;
};
// "both ways", "one way", "not there", "not looked at"
const char* name(Preflight::Cable::Proof proof);

// The drawing: hosts as boxes, ports with their addresses, cables with what was proved. Plain SVG without
// scripts or references, readable on a light and on a dark page.
std::string topology_svg(const Preflight& preflight);

}  // namespace pathproof::verdict
