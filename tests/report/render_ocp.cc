// Streams a stored report.json as OCP Test & Validation lines, as runs with each exit code and as one that is
// interrupted: what check_ocp.py checks.   render_ocp SAMPLE.json OUT_DIR
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "harness/report/json.h"
#include "harness/report/ocp.h"

using namespace pathproof;

namespace {

// `exit_code` below 0: a signal ends it in its second scenario.
void stream(const verdict::RunResult& run, int exit_code, const std::string& file) {
    std::ofstream out(file);
    report::OcpStream ocp([&](std::string_view line) -> Status {
        out << line;
        return {};
    });
    ocp.begin(run);
    for (const verdict::ScenarioResult& scenario : run.scenarios) {
        ocp.begin_scenario(scenario.id);
        if (exit_code < 0 && &scenario != &run.scenarios.front()) {
            ocp.interrupt("interrupted by Interrupt");
        }
        ocp.end_scenario(scenario);
    }
    ocp.end(run, exit_code);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "render_ocp SAMPLE.json OUT_DIR\n");
        return 2;
    }
    std::ostringstream text;
    text << std::ifstream(argv[1]).rdbuf();
    auto run = report::from_json(text.str());
    if (!run) {
        fmt::print(stderr, "render_ocp: {}\n", run.error().message);
        return 1;
    }
    using verdict::Fact;
    run->items = {{.device = "ens1f0",
                   .title = "DUT device ens1f0",
                   .identity = {{"maker", "ACME", Fact::Status::kRead, "pci.ids"},
                                {"model", "25G NIC", Fact::Status::kRead, "VPD"},
                                {"part number", "P-1", Fact::Status::kRead, "VPD"},
                                {"bus", "0000:3b:00.0", Fact::Status::kRead, "ETHTOOL_GDRVINFO"}},
                   .firmware = {{"fw.mgmt", "4.90", "4.90"}},
                   .driver = {{"name", "ice", Fact::Status::kRead, "ETHTOOL_GDRVINFO"}}}};
    for (const int exit_code : {-1, 0, 1, 3}) {
        stream(*run, exit_code, fmt::format("{}/{}.jsonl", argv[2], exit_code));
    }
    return 0;
}
