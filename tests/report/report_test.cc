#include "harness/report/report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "samples.h"
#include "written.h"

using namespace pathproof;
using namespace pathproof::report;
using namespace pathproof::report::test;
namespace fs = std::filesystem;

namespace {

std::ptrdiff_t entries(const std::string& path) {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
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
    BOOST_TEST(fs::is_directory(unfinished_folder(out) + "/evidence"));
    BOOST_TEST(prepare_output(out).has_value());
    BOOST_TEST(entries(out) == 1);
    BOOST_TEST(fs::is_empty(unfinished_folder(out) + "/evidence"));
    discard_output(out);
    BOOST_TEST(entries(out) == 0);
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

BOOST_AUTO_TEST_CASE(a_report_is_three_files_its_evidence_and_no_leftovers) {
    const Folder folder;
    const auto written = write_report(measured(folder.path), folder.path, 0);
    BOOST_REQUIRE_MESSAGE(written, written.error().message);
    BOOST_TEST(written->folder == folder.path);
    BOOST_TEST(written->lost.empty());
    BOOST_TEST(validate(contents(folder.at("report.json"))).has_value());
    BOOST_TEST(contents(folder.at("report.html")).starts_with("<!DOCTYPE html>"));
    BOOST_TEST(contents(folder.at("junit.xml")).starts_with("<?xml"));
    BOOST_TEST(fs::is_directory(folder.at("evidence")));
    BOOST_TEST(entries(folder.path) == 4);
}

BOOST_AUTO_TEST_CASE(evidence_that_is_not_there_or_empty_is_never_listed) {
    const Folder folder;
    const verdict::RunResult run = measured(folder.path);
    std::vector<std::string> listed;
    for (const verdict::Cell& cell : run.scenarios[0].cells) {
        for (const verdict::EvidenceFile& file : cell.evidence) {
            listed.push_back(file.path);
        }
    }
    BOOST_REQUIRE(listed.size() > 1);
    fs::remove(unfinished_folder(folder.path) + "/" + listed[0]);
    put(unfinished_folder(folder.path) + "/" + listed[1], "");
    const auto written = write_report(run, folder.path, 0);
    BOOST_REQUIRE(written);
    BOOST_TEST(written->lost == (std::vector{listed[0], listed[1]}),
               boost::test_tools::per_element());
    const std::string json = contents(folder.at("report.json"));
    for (const std::string& name : {listed[0], listed[1]}) {
        BOOST_TEST(json.find('"' + name + '"') == std::string::npos, name);
        BOOST_TEST(!fs::exists(folder.at(name)), name);
    }
    if (listed.size() > 2) {
        BOOST_TEST(json.find(listed[2]) != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_report_takes_the_place_of_the_earlier_one_as_a_whole) {
    const Folder folder;
    BOOST_REQUIRE(write_report(measured(folder.path), folder.path, 0));
    put(folder.at("evidence/stale.txt"), "of an earlier run");
    const verdict::RunResult run = measured(folder.path);
    BOOST_TEST(contents(folder.at("evidence/stale.txt")) == "of an earlier run");
    BOOST_REQUIRE(write_report(run, folder.path, 0));
    BOOST_TEST(!fs::exists(folder.at("evidence/stale.txt")));
    BOOST_TEST(entries(folder.path) == 4);
}

BOOST_AUTO_TEST_CASE(a_run_that_did_not_complete_goes_beside_one_that_did) {
    const Folder folder;
    const auto incomplete = [&] {
        verdict::RunResult run = measured(folder.path);
        run.verdict = verdict::RunVerdict::kIncomplete;
        run.reasons = {"Interrupted."};
        return run;
    };
    // An incomplete run becomes the report where there is none, or only another incomplete one.
    auto written = write_report(incomplete(), folder.path, 3);
    BOOST_REQUIRE_MESSAGE(written, (written ? "" : written.error().message));
    BOOST_TEST(written->folder == folder.path);
    written = write_report(incomplete(), folder.path, 3);
    BOOST_REQUIRE(written);
    BOOST_TEST(written->folder == folder.path);
    BOOST_REQUIRE(write_report(measured(folder.path), folder.path, 0));
    const std::string complete = contents(folder.at("report.json"));
    for (int again = 0; again < 2; ++again) {
        written = write_report(incomplete(), folder.path, 3);
        BOOST_REQUIRE(written);
        BOOST_TEST(written->folder == folder.at("incomplete"));
        BOOST_TEST(contents(folder.at("report.json")) == complete);
        BOOST_TEST(contents(folder.at("incomplete/report.json")).find("INCOMPLETE") !=
                   std::string::npos);
        BOOST_TEST(entries(folder.path) == 5);
    }
    BOOST_REQUIRE(write_report(measured(folder.path), folder.path, 0));
    BOOST_TEST(!fs::exists(folder.at("incomplete")));
}

BOOST_AUTO_TEST_CASE(links_and_what_is_of_no_report_are_refused_and_kept) {
    const Folder folder;
    fs::create_directories(folder.at("elsewhere/evidence"));
    put(folder.at("elsewhere/evidence/precious"), "precious");
    fs::create_symlink("elsewhere", folder.at("link"));
    fs::create_directory(folder.at("out"));
    fs::create_symlink("../elsewhere/evidence", folder.at("out/evidence"));
    fs::create_directory(folder.at("out2"));
    fs::create_symlink("../elsewhere/evidence/precious", folder.at("out2/report.json"));
    for (const char* name : {"link", "link/", "out", "out2", "elsewhere"}) {
        const Status ready = prepare_output(folder.at(name));
        BOOST_REQUIRE_MESSAGE(!ready, name);
        BOOST_TEST((ready.error().code == ErrorCode::kBadInput), name);
    }
    BOOST_TEST(contents(folder.at("elsewhere/evidence/precious")) == "precious");
    BOOST_TEST(entries(folder.path) == 4);
}

BOOST_AUTO_TEST_CASE(what_a_killed_run_left_goes_with_the_next) {
    const Folder folder;
    fs::create_directories(folder.at("unfinished-999999999/evidence"));
    const std::string ours = "unfinished-" + std::to_string(getppid());
    fs::create_directories(folder.at(ours));  // of one that lives
    fs::create_directories(folder.at("unfinished-business"));
    BOOST_REQUIRE(prepare_output(folder.path));
    BOOST_TEST(!fs::exists(folder.at("unfinished-999999999")));
    BOOST_TEST(fs::exists(folder.at(ours)));
    BOOST_TEST(fs::exists(folder.at("unfinished-business")));
}

BOOST_AUTO_TEST_CASE(an_invalid_report_is_an_error_and_the_earlier_one_stays) {
    const Folder folder;
    put(folder.at("report.json"), "earlier");
    const std::vector<std::function<void(verdict::RunResult&)>> damages{
        [](auto& run) { run.evidence_class = "real"; },
        [](auto& run) { run.started_at = "today"; },
        [](auto& run) { run.scenarios[0].cells[1].id = run.scenarios[0].cells[0].id; },
    };
    for (const auto& damage : damages) {
        verdict::RunResult run = measured(folder.path);
        damage(run);
        BOOST_TEST(!write_report(run, folder.path, 0));
        BOOST_TEST(contents(folder.at("report.json")) == "earlier");
        BOOST_TEST(entries(folder.path) == 1);
    }
    BOOST_TEST(write_report(measured(folder.path), folder.path, 0).has_value());
    BOOST_TEST(contents(folder.at("report.json")) != "earlier");
}

BOOST_AUTO_TEST_CASE(a_folder_that_went_away_is_an_error) {
    const auto written = write_report(sample(), "/nonexistent/report", 0);
    BOOST_REQUIRE(!written);
    BOOST_TEST(written.error().message.find("/nonexistent/report") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_summary_says_verdict_finding_cause_and_cure_in_100_columns) {
    const auto run = sample();
    const std::string text = summary(run);
    for (const char* part :
         {"CONDITIONALLY QUALIFIED", "of the software path", "vxlan-checksum  REPRODUCED",
          "1 of 16 combinations", "local checksum offload", "ethtool -K vx", "(shown in this run)",
          "pathproof qualify --lab veth --seed 7216433971"}) {
        BOOST_TEST(text.find(part) != std::string::npos, part);
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        BOOST_TEST(line.size() <= 100, line);
    }
}

BOOST_AUTO_TEST_CASE(the_summary_has_a_line_for_each_area_and_repro_says_what_it_reproduced) {
    auto run = sample();
    run.scenarios[1].area = verdict::Area::kResolvers;
    BOOST_TEST(summary(run).find("  kernel path        CONDITIONALLY QUALIFIED: 1 failure") !=
               std::string::npos);
    BOOST_TEST(summary(run).find("  resolvers          CONDITIONALLY QUALIFIED: ") !=
               std::string::npos);
    run.options.command = "repro";
    BOOST_TEST(summary(run).starts_with("REPRODUCED  "));
    run.verdict = verdict::RunVerdict::kIncomplete;
    BOOST_TEST(summary(run).starts_with("INCOMPLETE  "));
}

BOOST_AUTO_TEST_CASE(colour_is_there_only_when_asked_for) {
    BOOST_TEST(summary(sample()).find('\x1b') == std::string::npos);
    BOOST_TEST(summary(sample(), Colour::kAnsi).find("\x1b[1;31mREPRODUCED\x1b[0m") !=
               std::string::npos);
    BOOST_TEST(summary(hostile()).find('\x1b') == std::string::npos);
}
