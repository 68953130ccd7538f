// Renders a stored report.json anew: what check_page.py checks, and what a person looks at while
// working on the page.   render_sample SAMPLE.json OUT_DIR
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/report/json.h"
#include "harness/report/report.h"

using namespace pathproof;

namespace {

int complain(const Error& error) {
    fmt::print(stderr, "render_sample: {}\n", error.message);
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "render_sample SAMPLE.json OUT_DIR\n");
        return 2;
    }
    std::ostringstream text;
    text << std::ifstream(argv[1]).rdbuf();
    const auto run = report::from_json(text.str());
    if (!run) {
        return complain(run.error());
    }
    if (const Status ready = report::prepare_output(argv[2]); !ready) {
        return complain(ready.error());
    }
    // Writes the files that the run kept, under their names.
    const auto keep = [&](const std::vector<verdict::EvidenceFile>& files) {
        for (const verdict::EvidenceFile& file : files) {
            const std::filesystem::path path = report::unfinished_folder(argv[2]) + "/" + file.path;
            std::filesystem::create_directories(path.parent_path());
            std::ofstream(path) << file.description << "\n";
        }
    };
    for (const verdict::ScenarioResult& scenario : run->scenarios) {
        keep(scenario.evidence);
        for (const auto* cells : {&scenario.cells, &scenario.controls}) {
            for (const verdict::Cell& cell : *cells) {
                keep(cell.evidence);
            }
        }
    }
    const auto written = report::write_report(*run, argv[2], verdict::exit_code(run->verdict));
    if (!written) {
        return complain(written.error());
    }
    fmt::print("{}", report::summary(*run));
    return 0;
}
