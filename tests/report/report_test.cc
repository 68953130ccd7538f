#include "harness/report/report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "samples.h"

using namespace pathproof;
using namespace pathproof::report;
using namespace pathproof::report::test;
namespace fs = std::filesystem;

namespace {

struct Folder {
    std::string path = fs::temp_directory_path() / "pp-report-XXXXXX";
    Folder() {
        BOOST_REQUIRE(mkdtemp(path.data()) != nullptr);
        chmod(path.c_str(), 0755);
    }
    ~Folder() { fs::remove_all(path); }
    std::string at(const std::string& name) const { return path + "/" + name; }
};

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

void put(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

// Root may write everywhere: what an ordinary user may not is tried as one.
template <typename Work>
void as_nobody(Work work) {
    const bool root = geteuid() == 0;
    if (root) {
        BOOST_REQUIRE(seteuid(65534) == 0);
    }
    work();
    if (root) {
        BOOST_REQUIRE(seteuid(0) == 0);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_output_folder_is_made_with_its_parents) {
    const Folder folder;
    const std::string out = folder.at("a/b");
    BOOST_TEST(prepare_output(out).has_value());
    BOOST_TEST(fs::is_directory(out + "/evidence"));
    BOOST_TEST(prepare_output(out).has_value());
    BOOST_TEST(std::distance(fs::directory_iterator(out), fs::directory_iterator()) == 1);
    BOOST_TEST(fs::is_empty(out + "/evidence"));
}

BOOST_AUTO_TEST_CASE(a_file_in_the_way_is_refused_and_kept) {
    const Folder folder;
    put(folder.at("taken"), "precious");
    for (const std::string& path : {folder.at("taken"), folder.at("taken/below")}) {
        const Status ready = prepare_output(path);
        BOOST_REQUIRE(!ready);
        BOOST_TEST((ready.error().code == ErrorCode::kBadInput), ready.error().message);
        BOOST_TEST(ready.error().message.find(path) != std::string::npos);
        BOOST_TEST(ready.error().message.find("--out") != std::string::npos);
    }
    BOOST_TEST(contents(folder.at("taken")) == "precious");
    fs::create_directory(folder.at("out"));
    put(folder.at("out/evidence"), "precious");
    BOOST_TEST(!prepare_output(folder.at("out")));
    BOOST_TEST(contents(folder.at("out/evidence")) == "precious");
}

BOOST_AUTO_TEST_CASE(an_unwritable_folder_is_refused) {
    const Folder folder;
    fs::create_directory(folder.at("locked"));
    chmod(folder.at("locked").c_str(), 0555);
    // Its evidence folder is there and writable, the folder of the report is not.
    fs::create_directories(folder.at("half/evidence"));
    chmod(folder.at("half/evidence").c_str(), 0777);
    chmod(folder.at("half").c_str(), 0555);
    as_nobody([&] {
        for (const std::string& path : {folder.at("locked"), folder.at("locked/new")}) {
            const Status ready = prepare_output(path);
            BOOST_REQUIRE(!ready);
            BOOST_TEST((ready.error().code == ErrorCode::kNotPermitted), ready.error().message);
            BOOST_TEST(ready.error().message.find("locked") != std::string::npos);
        }
        BOOST_TEST(!prepare_output(folder.at("half")));
    });
}

BOOST_AUTO_TEST_CASE(a_report_is_three_files_and_no_leftovers) {
    const Folder folder;
    BOOST_REQUIRE(prepare_output(folder.path));
    const Status written = write_report(sample(), folder.path);
    BOOST_REQUIRE_MESSAGE(written, written.error().message);
    BOOST_TEST(validate(contents(folder.at("report.json"))).has_value());
    BOOST_TEST(contents(folder.at("report.html")).starts_with("<!DOCTYPE html>"));
    BOOST_TEST(contents(folder.at("junit.xml")).starts_with("<?xml"));
    BOOST_TEST(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 4);
}

BOOST_AUTO_TEST_CASE(an_invalid_report_is_an_error_and_the_earlier_one_stays) {
    const Folder folder;
    BOOST_REQUIRE(prepare_output(folder.path));
    put(folder.at("report.json"), "earlier");
    const std::vector<std::function<void(verdict::RunResult&)>> damages{
        [](auto& run) { run.evidence_class = "real"; },
        [](auto& run) { run.started_at = "today"; },
        [](auto& run) { run.scenarios[0].cells[1].id = run.scenarios[0].cells[0].id; },
    };
    for (const auto& damage : damages) {
        verdict::RunResult run = sample();
        damage(run);
        BOOST_TEST(!write_report(run, folder.path));
        BOOST_TEST(contents(folder.at("report.json")) == "earlier");
        BOOST_TEST(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) ==
                   2);
    }
    BOOST_TEST(write_report(sample(), folder.path).has_value());
    BOOST_TEST(contents(folder.at("report.json")) != "earlier");
}

BOOST_AUTO_TEST_CASE(a_folder_that_went_away_is_an_error) {
    const Status written = write_report(sample(), "/nonexistent/report");
    BOOST_REQUIRE(!written);
    BOOST_TEST(written.error().message.find("/nonexistent/report") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_summary_says_verdict_finding_cause_and_cure_in_100_columns) {
    const auto run = sample();
    const std::string text = summary(run);
    for (const char* part :
         {"QUALIFIED WITH EXCEPTIONS", "of the software path", "vxlan-checksum  REPRODUCED",
          "1 of 16 combinations", "local checksum offload", "ethtool -K vx", "(shown in this run)",
          "pathproof qualify --lab veth --seed 7216433971"}) {
        BOOST_TEST(text.find(part) != std::string::npos, part);
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        BOOST_TEST(line.size() <= 100, line);
    }
}

BOOST_AUTO_TEST_CASE(colour_is_there_only_when_asked_for) {
    BOOST_TEST(summary(sample()).find('\x1b') == std::string::npos);
    BOOST_TEST(summary(sample(), Colour::kAnsi).find("\x1b[1;31mREPRODUCED\x1b[0m") !=
               std::string::npos);
    BOOST_TEST(summary(hostile()).find('\x1b') == std::string::npos);
}
