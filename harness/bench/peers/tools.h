// The usual tools that a benchmark of the data plane is measured beside: which are there, and of
// which version.
#pragma once

#include <string>
#include <vector>

namespace pathproof::bench {

struct Tool {
    std::string program;  // "dpdk-testpmd"
    std::string package;  // of Debian: "dpdk-dev"
    std::string version;  // empty: it is not installed

    // Returns why the tool's lanes are absent, and what to do; empty when it is installed.
    std::string absence() const;
};

struct Tools {
    Tool testpmd;
    Tool kxdpgun;
    Tool trafgen;
    Tool dnsperf;

    std::vector<Tool> all() const { return {testpmd, kxdpgun, trafgen, dnsperf}; }
};

// Runs each of them once to ask for its version; sends nothing.
Tools find_tools();

// The version in what a tool printed: what follows `mark` up to the end of the line or a quote;
// "unknown version" when the mark is not there.
std::string version_after(const std::string& text, const std::string& mark);

}  // namespace pathproof::bench
