// compare and rerun as programs: what they refuse, and what they leave alone.
#define BOOST_TEST_MODULE compare command
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/process/program.h"
#include "tests/lab/temp_folder.h"

using namespace pathproof;
using lab::TempFolder;
using nlohmann::ordered_json;

namespace {

std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

// A report with options, changed.
template <typename Change>
std::string report_in(const TempFolder& folder, const std::string& name, const Change& change) {
    ordered_json report = ordered_json::parse(text_of(SAMPLE_JSON));
    report["options"] = {{"command", "qualify"},
                         {"lab", "veth"},
                         {"profile", "veth"},
                         {"scenarios", ordered_json::array()},
                         {"cells", ordered_json::array()},
                         {"pairs", 0},
                         {"repeat", 1},
                         {"full", false},
                         {"no_hugepages", true},
                         {"device", ""},
                         {"netns", ""},
                         {"tester", ""},
                         {"tester_netns", ""},
                         {"quick", false}};
    change(report);
    std::filesystem::create_directories(folder.path() + "/" + name);
    folder.write(name + "/report.json", report.dump(2) + "\n");
    return folder.path() + "/" + name;
}

// The command must end with this exit code, and print these words.
void gives(int status, const std::string& words, const std::string& command) {
    const auto ran = process::run_program({"sh", "-c", "\"$PATHPROOF\" " + command + " 2>&1"});
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    BOOST_TEST(ran->exit_status == status, command << "\n" << ran->out);
    BOOST_TEST(ran->out.find(words) != std::string::npos, command << "\n" << ran->out);
}

constexpr auto kAsItIs = [](ordered_json&) {};

}  // namespace

BOOST_AUTO_TEST_CASE(a_page_that_cannot_be_written_leaves_the_old_one) {
    const TempFolder folder;
    const std::string before = report_in(folder, "before", kAsItIs);
    const std::string now = report_in(folder, "now", kAsItIs);
    folder.write("page.html", "the old page");
    const std::string compare =
        "compare " + before + " " + now + " --html " + folder.path() + "/page.html";
    // The limit of 2 KiB a file acts as a full disk does.
    const auto ran = process::run_program(
        {"sh", "-c", "trap '' XFSZ; ulimit -f 4; \"$PATHPROOF\" " + compare + " 2>&1"});
    BOOST_REQUIRE(ran);
    BOOST_TEST(ran->exit_status == 3, ran->out);
    BOOST_TEST(ran->out.find("page.html") != std::string::npos, ran->out);
    BOOST_TEST(text_of(folder.path() + "/page.html") == "the old page");
    for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
        BOOST_TEST(each.path().extension() != ".new", each.path());  // left beside it
    }
    gives(0, "NO WORSE", compare);
    BOOST_TEST(text_of(folder.path() + "/page.html").find("NO WORSE") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_report_without_options_is_refused_with_the_command_that_repeats_it) {
    gives(2, "did not keep the options of a run; repeat it by hand: pathproof qualify",
          std::string("rerun ") + SAMPLE_JSON);
}

BOOST_AUTO_TEST_CASE(a_rerun_never_goes_over_the_report_that_it_repeats) {
    const TempFolder folder;
    const std::string report = report_in(folder, "report", kAsItIs);
    const std::string old = text_of(report + "/report.json");
    for (const std::string& out : {report, report + "/", report + "/../report", folder.path()}) {
        gives(2, "name another folder with --out", "rerun " + report + " --out " + out);
    }
    gives(2, "name another folder with --out", "rerun " + report + "/report.json --out " + report);
    BOOST_TEST(text_of(report + "/report.json") == old);
}

BOOST_AUTO_TEST_CASE(a_rerun_names_what_a_report_has_not) {
    const TempFolder folder;
    const std::string report = report_in(folder, "report", kAsItIs);
    const std::string rerun = "rerun " + report + " --out " + folder.path() + "/new ";
    gives(2, "has no scenario 'nosuch'", rerun + "nosuch");
    gives(2, "has no cell or finding 'dns-race/nosuch'", rerun + "dns-race/nosuch");
    gives(2, "has no report.json", "rerun " + folder.path());
}

BOOST_AUTO_TEST_CASE(a_rerun_says_first_what_this_version_has_not) {
    const TempFolder folder;
    const std::string report = report_in(folder, "report", [](ordered_json& document) {
        document["scenarios"].erase(1);
        document["scenarios"][0]["id"] = "old-scenario";
    });
    const std::string rerun = "rerun " + report + " --out " + folder.path() + "/new ";
    gives(2, "not as it was: this pathproof has no scenario old-scenario\n", rerun);
    gives(2, "nothing of " + report + "/report.json that can be run again is left", rerun);
}

BOOST_AUTO_TEST_CASE(a_rerun_of_dpdk_ports_or_of_another_command_is_refused_by_name) {
    const TempFolder folder;
    const auto of_command = [&](const std::string& command) {
        return "rerun " + report_in(folder, "report", [&](ordered_json& document) {
                   document["options"]["command"] = command;
               });
    };
    gives(2, "is of DPDK ports, which rerun does not repeat", of_command("offload check"));
    gives(2, "is of 'restore', which rerun does not repeat", of_command("restore"));
}

BOOST_AUTO_TEST_CASE(repetitions_go_from_1_to_1000_and_with_devices_of_the_kernel_only) {
    gives(2, "--repeat", "qualify --repeat 0");
    gives(2, "--repeat", "repro dns-race --repeat 1001");
    gives(2, "--repeat goes with a network device of the kernel only",
          "offload check --software-nic --repeat 2");
}
