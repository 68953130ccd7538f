// A command of the binary inside a guest on another kernel: its words, its files, its end.
#define BOOST_TEST_MODULE guest_program
#include <sys/utsname.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/process/program.h"

using namespace pathproof;
using nlohmann::json;

namespace {

constexpr std::chrono::minutes kPatience{5};

std::string binary() {
    const char* path = std::getenv("PATHPROOF");
    BOOST_REQUIRE(path != nullptr);
    return path;
}

struct Folder {
    std::string path = std::filesystem::temp_directory_path() / "pathproof-guest-program-XXXXXX";
    Folder() { BOOST_REQUIRE(mkdtemp(path.data()) != nullptr); }
    ~Folder() { std::filesystem::remove_all(path); }
};

process::ProgramOutput in_guest(std::vector<std::string> words) {
    words.insert(words.begin(), {binary(), "guest"});
    const auto run = process::run_program(words, {.timeout = kPatience});
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    return *run;
}

std::string fact(const json& report, const std::string& group, const std::string& name) {
    for (const json& each : report["environment"]) {
        for (const json& one : each["title"] == group ? each["facts"] : json::array()) {
            if (one["name"] == name) {
                return one["value"];
            }
        }
    }
    return "";
}

}  // namespace

// The guest runs Debian's kernel, which has IPVS.
BOOST_AUTO_TEST_CASE(a_scenario_runs_on_the_guests_kernel_and_its_report_is_ours) {
    const Folder folder;
    const std::string out = folder.path + "/report";
    const auto run =
        in_guest({"repro", "stale-udp", "--cells", "ipvs.other-endpoint", "--out", out});
    BOOST_TEST_CONTEXT(run.err << run.out) {
        BOOST_TEST(run.out.find("15 of 15 datagrams after the change came out nowhere") !=
                   std::string::npos);
        BOOST_TEST(run.err.find("stale-udp 1/1") != std::string::npos);
        BOOST_TEST(run.out.find("pathproof guest repro stale-udp") != std::string::npos);
        std::ifstream file(out + "/report.json");
        const json report = json::parse(file, nullptr, false);
        BOOST_REQUIRE(report.is_object());
        utsname here{};
        uname(&here);
        const std::string release = fact(report, "Kernel", "release");
        BOOST_TEST(!release.empty());
        BOOST_TEST(release != here.release);
        BOOST_TEST(report.dump().find("in a guest of QEMU") != std::string::npos);
        BOOST_TEST(run.exit_status == 0);  // reproduced
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_run_is_said_before_anything_boots) {
    const auto began = std::chrono::steady_clock::now();
    BOOST_TEST(in_guest({"repro"}).exit_status == 2);
    BOOST_TEST(in_guest({"frobnicate"}).err.find("frobnicate") != std::string::npos);
    BOOST_TEST(in_guest({}).exit_status == 2);
    BOOST_TEST(in_guest({"--kernel", "/etc/passwd", "--modules", "/", "restore"}).exit_status == 2);
    BOOST_TEST(in_guest({"--kernel", "/etc/passwd", "restore"}).exit_status == 2);
    BOOST_TEST(in_guest({"--kernel", "/etc/passwd", "--modules", "/", "qualify", "--bisect",
                         "stale-udp/other-endpoint"})
                   .exit_status == 125);
    const auto own = in_guest({"--write", "/proc/self", "restore"});
    BOOST_TEST(own.exit_status == 2);
    BOOST_TEST(own.err.find("/proc") != std::string::npos, own.err);
    BOOST_TEST((std::chrono::steady_clock::now() - began < kPatience / 2));
}
