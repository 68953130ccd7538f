// Bad input, and processes that die in the middle: a sentence, the right exit status, and the
// machine as it was found.
#define BOOST_TEST_MODULE scenario_lab
#include <filesystem>

#include "tests/scenario/background.h"

using namespace pathproof;
using namespace std::chrono_literals;

namespace {

// A child of `parent` that runs the command `word`.
pid_t child_running(pid_t parent, const std::string& word) {
    for (int waited = 0; waited < 200; ++waited) {
        for (const auto& task :
             std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task")) {
            std::ifstream children(task.path() / "children");
            for (pid_t child = 0; children >> child;) {
                std::ifstream command("/proc/" + std::to_string(child) + "/cmdline");
                const std::string line{std::istreambuf_iterator<char>(command), {}};
                if (line.find(word) != std::string::npos) {
                    return child;
                }
            }
        }
        std::this_thread::sleep_for(20ms);
    }
    BOOST_REQUIRE_MESSAGE(false, "no child runs " << word);
    return -1;
}

void expect_refusal(const std::vector<std::string>& arguments, const std::string& part) {
    const auto run = pathproof_run(arguments);
    BOOST_TEST(run.exit_status == 2, run.err);
    BOOST_TEST(run.err.find(part) != std::string::npos, run.err);
}

}  // namespace

BOOST_AUTO_TEST_CASE(bad_input_is_refused_with_a_sentence_and_nothing_is_changed) {
    const MachineState before = MachineState::read();
    const Scratch scratch;
    const std::string out = scratch.path() + "/report";
    expect_refusal(
        {"repro", "no-such-scenario"},
        "vxlan-checksum, dns-race, snat-race, offload-truth, snat-timestamps, stale-udp, "
        "bridge-unnat, stale-endpoint, table-full, snat-exhaustion, pmtu-blackhole, "
        "invalid-rst, ipvs-reuse, search-path, split-answer, dns-tcp-limit, "
        "large-answer, nodelocal");
    expect_refusal({"qualify", "--only", "dns-race,nonsense", "--out", out},
                   "unknown scenario 'nonsense'");
    expect_refusal({"qualify", "--lab", "no-such-lab", "--out", out}, "unknown lab 'no-such-lab'");
    expect_refusal({"qualify", "--profile", "no-such-profile", "--out", out}, "no-such-profile");
    expect_refusal({"qualify", "--pairs", "many", "--out", out}, "--pairs");
    expect_refusal({"repro", "vxlan-checksum", "--cells", "nosuch*"},
                   "no cell of vxlan-checksum matches 'nosuch*'; there are: vx-");
    expect_refusal({"repro", "offload-truth", "--cells", "*"}, "offload-truth runs whole");
    expect_refusal({"frobnicate"}, "frobnicate");
    std::ofstream(scratch.path() + "/lab.toml") << "name = \"x\"\n[dut]\nssh = 5\n";
    expect_refusal({"qualify", "--lab", scratch.path() + "/lab.toml", "--out", out}, "lab.toml:3:");
    std::ofstream(scratch.path() + "/file") << "a file";
    expect_refusal({"qualify", "--out", scratch.path() + "/file"}, scratch.path() + "/file");
    BOOST_TEST(MachineState::read() == before);
    BOOST_TEST(!std::filesystem::exists(out));
}

BOOST_AUTO_TEST_CASE(without_root_the_need_for_it_is_said_at_once) {
    const Scratch scratch;
    const auto run = process::run_program({"setpriv", "--reuid", "65534", "--regid", "65534",
                                           "--clear-groups", binary(), "repro", "dns-race"});
    BOOST_REQUIRE(run);
    BOOST_TEST(run->exit_status == 2, run->err);
    BOOST_TEST(run->err.find("root") != std::string::npos, run->err);
}

BOOST_AUTO_TEST_CASE(a_second_run_at_the_same_time_is_refused_and_the_first_goes_on) {
    const MachineState before = MachineState::read();
    const Scratch scratch;
    Background first({"repro", "vxlan-checksum"}, scratch.path() + "/log");
    first.wait_for("1/");
    const auto second = pathproof_run({"repro", "dns-race"});
    BOOST_TEST(second.exit_status == 4, second.err);
    BOOST_TEST(second.err.find(std::to_string(first.pid())) != std::string::npos, second.err);
    Background waiting({"repro", "vxlan-checksum", "--wait", "60"}, scratch.path() + "/waiting");
    waiting.wait_for("waiting");
    Background impatient({"repro", "vxlan-checksum", "--wait", "60"}, scratch.path() + "/other");
    impatient.wait_for("waiting");
    kill(impatient.pid(), SIGINT);
    BOOST_TEST(impatient.end() != 0);
    kill(first.pid(), SIGINT);
    BOOST_TEST(first.end() == 3);
    waiting.wait_for("1/");  // its turn has come
    kill(waiting.pid(), SIGINT);
    BOOST_TEST(waiting.end() == 3);
    BOOST_TEST(MachineState::read() == before);
}

BOOST_AUTO_TEST_CASE(ctrl_c_puts_the_machine_back_and_keeps_a_report_that_says_incomplete) {
    const MachineState before = MachineState::read();
    const Scratch scratch;
    const std::string out = scratch.path() + "/report";
    Background run({"qualify", "--out", out}, scratch.path() + "/log");
    run.wait_for("2/");
    kill(run.pid(), SIGINT);
    BOOST_TEST(run.end() == 3, run.log());
    BOOST_TEST(MachineState::read() == before);
    std::ifstream file(out + "/report.json");
    const auto report = nlohmann::json::parse(file, nullptr, false);
    BOOST_REQUIRE_MESSAGE(report.is_object(), run.log());
    BOOST_TEST(report["verdict"] == "INCOMPLETE");
}

BOOST_AUTO_TEST_CASE(after_kill_9_of_the_controller_restore_puts_the_machine_back) {
    const MachineState before = MachineState::read();
    const Scratch scratch;
    // In the cell whose sysctl is changed outside any namespace.
    Background run({"repro", "dns-race", "--cells", "control.same-tuple.list-of-one", "--out",
                    scratch.path() + "/report"},
                   scratch.path() + "/log");
    run.wait_for("list-of-one");
    std::this_thread::sleep_for(200ms);
    kill(run.pid(), SIGKILL);
    run.end();
    BOOST_TEST(MachineState::read() != before);
    // The DUT's agent hears of it, and puts the sysctl back.
    std::this_thread::sleep_for(2s);
    const auto restored = pathproof_run({"restore"});
    BOOST_TEST(restored.exit_status == 0, restored.err);
    BOOST_TEST(restored.out.find("deleted network namespace") != std::string::npos, restored.out);
    BOOST_TEST(MachineState::read() == before);
    BOOST_TEST(pathproof_run({"restore"}).exit_status == 0);
}

BOOST_AUTO_TEST_CASE(after_kill_9_of_the_tester_or_an_agent_the_run_says_so_and_ends_incomplete) {
    const MachineState before = MachineState::read();
    for (const char* victim : {"tester", "agent"}) {
        const Scratch scratch;
        const std::string out = scratch.path() + "/report";
        Background run({"qualify", "--only", "dns-race", "--out", out}, scratch.path() + "/log");
        run.wait_for(" 2/");
        kill(child_running(run.pid(), victim), SIGKILL);
        BOOST_TEST(run.end() == 3, run.log());
        std::ifstream file(out + "/report.json");
        const auto report = nlohmann::json::parse(file, nullptr, false);
        BOOST_REQUIRE_MESSAGE(report.is_object(), run.log());
        BOOST_TEST(report["verdict"] == "INCOMPLETE");
        BOOST_TEST(
            report["scenarios"][0]["headline"].get<std::string>().find(victim) != std::string::npos,
            report["scenarios"][0]["headline"]);
        BOOST_TEST(MachineState::read() == before);
    }
}
