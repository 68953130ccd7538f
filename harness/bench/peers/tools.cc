#include "harness/bench/peers/tools.h"

#include <fmt/format.h>

#include "harness/process/program.h"

namespace pathproof::bench {
namespace {

Tool find(const std::string& package, const std::vector<std::string>& question,
          const std::string& mark) {
    Tool tool{.program = question.front(), .package = package, .version = {}};
    const auto said = process::run_program(question);
    if (said) {
        tool.version = version_after(said->out + said->err, mark);
    }
    return tool;
}

}  // namespace

std::string Tool::absence() const {
    return version.empty()
               ? fmt::format("not measured: install {} (apt-get install {})", program, package)
               : "";
}

std::string version_after(const std::string& text, const std::string& mark) {
    const auto at = text.find(mark);
    if (at == std::string::npos) {
        return "unknown version";
    }
    const auto from = at + mark.size();
    return text.substr(from, text.find_first_of("\n'", from) - from);
}

Tools find_tools() {
    // testpmd has no option for its version: EAL prints it with -v, and then testpmd ends for want
    // of ports.
    return {.testpmd = find("dpdk-dev",
                            {"dpdk-testpmd", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
                             "-v", "--", "--version"},
                            "RTE Version: '"),
            .kxdpgun = find("knot-dnsutils", {"kxdpgun", "--version"}, "version "),
            .trafgen = find("netsniff-ng", {"trafgen", "--version"}, "trafgen "),
            .dnsperf = find("dnsperf", {"dnsperf", "-h"}, "Version ")};
}

}  // namespace pathproof::bench
