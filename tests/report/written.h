// Folders with reports, for the tests of what is written.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "harness/report/report.h"
#include "samples.h"

namespace pathproof::report::test {

struct Folder {
    std::string path = std::filesystem::temp_directory_path() / "pp-report-XXXXXX";
    Folder() {
        BOOST_REQUIRE(mkdtemp(path.data()) != nullptr);
        chmod(path.c_str(), 0755);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string at(const std::string& name) const { return path + "/" + name; }
};

inline std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

inline void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
}

// The run of the sample as if it had just been measured into `out`: with what it lists.
inline verdict::RunResult measured(const std::string& out) {
    verdict::RunResult run = sample();
    const Status ready = prepare_output(out);
    BOOST_REQUIRE_MESSAGE(ready, (ready ? "" : ready.error().message));
    for (verdict::ScenarioResult& scenario : run.scenarios) {
        for (auto* cells : {&scenario.cells, &scenario.controls}) {
            for (const verdict::Cell& cell : *cells) {
                for (const verdict::EvidenceFile& file : cell.evidence) {
                    put(unfinished_folder(out) + "/" + file.path, "evidence");
                }
            }
        }
        for (const verdict::EvidenceFile& file : scenario.evidence) {
            put(unfinished_folder(out) + "/" + file.path, "evidence");
        }
    }
    return run;
}

}  // namespace pathproof::report::test
