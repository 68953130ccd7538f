#include "harness/verdict/options.h"

#include <fmt/ranges.h>

namespace pathproof::verdict {

std::string repeat_command(const RunOptions& options) {
    std::string line = "pathproof " + options.command;
    const auto add = [&](bool given, const char* word, const auto& value) {
        line += given ? fmt::format(" {} {}", word, value) : "";
    };
    const bool names_scenario = options.command == "repro" && !options.scenarios.empty();
    line += names_scenario ? " " + options.scenarios.front() : "";
    line += options.device.empty() ? "" : " " + options.device;
    add(!options.lab.name.empty() && options.device.empty(), "--lab", to_text(options.lab));
    add(!options.netns.empty(), "--netns", options.netns);
    add(!options.tester.empty(), "--tester", options.tester);
    add(!options.tester_netns.empty(), "--tester-netns", options.tester_netns);
    add(!options.path_proven_by.empty(), "--path-proven-by", options.path_proven_by);
    add(!options.profile.empty(), "--profile", options.profile);
    add(options.command == "qualify" && !options.scenarios.empty(), "--only",
        fmt::format("{}", fmt::join(options.scenarios, ",")));
    for (const auto& [name, value] : options.of_scenarios) {
        line += " --" + name + (value.number ? fmt::format(" {}", *value.number) : "") +
                (value.text.empty() ? "" : " " + value.text);
    }
    add(!options.cells.empty(), "--cells", fmt::format("'{}'", fmt::join(options.cells, ",")));
    add(options.repeat > 1, "--repeat", options.repeat);
    line += options.prices ? " --prices" : "";
    line += options.performance.value_or(false) ? " --performance" : "";
    line += options.performance.value_or(true) ? "" : " --no-performance";
    add(!options.limits.empty(), "--limits", options.limits);
    add(!options.requirements.empty(), "--requirements", options.requirements);
    line += options.quick ? " --quick" : "";
    line += options.serials ? " --serials" : "";
    line += options.no_hugepages ? " --no-hugepages" : "";
    return line;
}

}  // namespace pathproof::verdict
