#include "harness/compare/read.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "harness/report/json.h"
#include "tests/lab/temp_folder.h"
#include "tests/report/samples.h"

BOOST_AUTO_TEST_SUITE(reports)

using namespace pathproof;
using namespace pathproof::compare;

namespace {

void refused(const std::string& path, const std::string& sentence) {
    const auto read = read_report(path);
    BOOST_REQUIRE(!read);
    BOOST_TEST(read.error().message.find(sentence) != std::string::npos, read.error().message);
    BOOST_TEST(
        (read.error().code == ErrorCode::kBadInput || read.error().code == ErrorCode::kNotFound));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_report_is_read_by_file_or_by_folder) {
    const lab::TempFolder folder;
    folder.write("report.json", report::test::sample_text());
    const auto by_folder = read_report(folder.path());
    const auto by_file = read_report(folder.path() + "/report.json");
    BOOST_REQUIRE(by_folder);
    BOOST_REQUIRE(by_file);
    BOOST_TEST(by_folder->run.seed == by_file->run.seed);
    BOOST_TEST(by_folder->file == by_file->file);
}

BOOST_AUTO_TEST_CASE(what_is_no_report_is_named) {
    const lab::TempFolder folder;
    const std::string path = folder.path() + "/report.json";
    refused("", "there is no report ''");
    refused("/nowhere", "there is no report '/nowhere'");
    refused(folder.path(), "has no report.json");
    const std::string whole = report::test::sample_text();
    folder.write("report.json", whole.substr(0, whole.size() / 2));
    refused(path, "report.json is no JSON, or was cut short");
    folder.write("report.json", "{\"a\": 1}");
    refused(path, "no report of pathproof");
    folder.write("report.json", "{\"schema\": \"pathproof-report/9\"}");
    refused(path, "is of version pathproof-report/9");
    std::string damaged = whole;
    damaged.replace(damaged.find("\"verdict\""), 9, "\"verdikt\"");
    folder.write("report.json", damaged);
    refused(path, "report.json: ");
    BOOST_REQUIRE(truncate(path.c_str(), off_t{1} << 30) == 0);
    refused(path, "has 1024 MiB; no report has more than 64");
    BOOST_REQUIRE(std::filesystem::remove(path));
    BOOST_REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    refused(folder.path(), "is no regular file");
}

BOOST_AUTO_TEST_SUITE_END()
