// The benchmark in small, on the real kernel: figures are there and their counts are right. Times
// are nobody's business here.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "harness/bench/listener_probe.h"
#include "harness/bench/table_fill.h"
#include "harness/netfilter/dump.h"
#include "harness/process/netns.h"
#include "tests/bench/bench_command.h"

using namespace pathproof;
using namespace pathproof::bench;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// A benchmark that runs beside the test.
class BackgroundBench {
  public:
    explicit BackgroundBench(std::vector<std::string> words) : pid_(fork()) {
        if (pid_ != 0) {
            return;
        }
        words.insert(words.begin(), {binary(), "bench", "inspect"});
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        freopen("/dev/null", "w", stderr);
        execv(argv[0], argv.data());
        _exit(99);
    }
    BackgroundBench(const BackgroundBench&) = delete;
    ~BackgroundBench() {
        kill_it();
        (void)process::run_program({binary(), "restore"});
    }

    void kill_it() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(std::exchange(pid_, -1), nullptr, 0);
        }
    }

    // The DUT's namespace, once it can be entered: its name is there before it.
    std::string dut() const {
        for (int i = 0; i < 1200; ++i, std::this_thread::sleep_for(25ms)) {
            // One line a run: the benchmark's agent may be another.
            const auto text = process::run_checked({binary(), "lab", "list", "--json"});
            std::istringstream lines(text.value_or(""));
            for (std::string line; std::getline(lines, line);) {
                const json run = json::parse(line);
                for (const std::string name : run["namespaces"]) {
                    if (name.ends_with("-dut") && bench::read_listeners(name)) {
                        return name;
                    }
                }
            }
        }
        BOOST_FAIL("the benchmark made no namespace");
        return "";
    }

  private:
    pid_t pid_ = -1;
};

struct Namespace {
    std::string name = "pp-bench-" + std::to_string(getpid());
    Namespace() { BOOST_REQUIRE(process::run_checked({"ip", "netns", "add", name})); }
    ~Namespace() { (void)process::run_program({"ip", "netns", "delete", name}); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(inspect_bench)

BOOST_AUTO_TEST_CASE(a_filled_table_holds_the_kinds_it_says) {
    const Namespace space;
    const Status filled = bench::fill_table(space.name, 4000);
    BOOST_REQUIRE_MESSAGE(filled, (filled ? "" : filled.error().message));
    std::size_t tcp = 0, udp = 0, six = 0, translated = 0, unanswered = 0;
    const auto entries = netfilter::dump_all(space.name);
    BOOST_REQUIRE(entries);
    BOOST_TEST(entries->size() == 4000U);
    for (const netfilter::Entry& entry : *entries) {
        tcp += entry.protocol_state == "ESTABLISHED" ? 1 : 0;
        udp += entry.original.protocol == 17 ? 1 : 0;
        six += entry.original.source.address.family == frame::Family::kIpv6 ? 1 : 0;
        translated += (entry.status & netfilter::status::kDstNat) != 0 ? 1 : 0;
        unanswered += (entry.status & netfilter::status::kSeenReply) == 0 ? 1 : 0;
    }
    BOOST_TEST(tcp == 2000U);
    BOOST_TEST(udp == 2000U);
    BOOST_TEST(six == 500U);
    BOOST_TEST(translated == 500U);
    BOOST_TEST(unanswered == 500U);
}

BOOST_AUTO_TEST_CASE(a_table_that_is_not_empty_is_not_what_was_asked_for) {
    const Namespace space;
    BOOST_REQUIRE(bench::fill_table(space.name, 100));
    const Status again = bench::fill_table(space.name, 100);
    BOOST_REQUIRE(!again);  // the kernel has these flows (EEXIST)
}

BOOST_AUTO_TEST_CASE(all_experiments_give_figures_whose_counts_are_right) {
    const Folder folder;
    const std::string out = folder.path() / "out";
    const auto ran =
        run_bench({"inspect", "--entries", "20000", "--rounds", "2", "--flows-per-second", "10000",
                   "--seconds", "0.5", "--flows", "10000", "--contended", "use", "--out", out});
    BOOST_REQUIRE_MESSAGE(ran.exit_status == 0, ran.err);
    std::ifstream file(std::filesystem::path(out) / "bench.json");
    const json result = json::parse(file);

    const json& dump = by_id(result["experiments"], "dump");
    for (const char* lane : {"dump", "dump-again", "conntrack-list", "null", "drain"}) {
        BOOST_TEST(median(dump, lane, "wall_s") > 0);
        BOOST_TEST(median(dump, lane, "rss_mib") > 0);
        BOOST_TEST(median(dump, lane, "system_s") >= 0);
        for (const json& reading : by_id(dump["lanes"], lane)["readings"]) {
            BOOST_TEST(reading["figures"]["entries"] == 20'000);
        }
    }
    BOOST_TEST(by_id(dump["findings"], "wall_ratio")["value"].get<double>() > 0);
    BOOST_TEST(by_id(dump["findings"], "control")["value"].get<double>() > 0);

    const json& events = by_id(result["experiments"], "events");
    for (const char* lane : {"watch", "conntrack-event", "conntrack-event-buffer"}) {
        BOOST_TEST(median(events, lane, "flows") == 5000);
        // Flows that were printed, found again and lost add up to all flows.
        BOOST_TEST(median(events, lane, "new_live") + median(events, lane, "new_missed") +
                       median(events, lane, "unseen") ==
                   5000);
    }
    BOOST_TEST(median(events, "watch", "unseen") == 0);

    const json& attach = by_id(result["experiments"], "attach");
    for (const char* lane : {"nothing", "nothing-again", "watch", "conntrack-event"}) {
        BOOST_TEST(median(attach, lane, "rate") > 0);
        BOOST_TEST(median(attach, lane, "flows") == 10'000);
    }
    BOOST_TEST(result["tools"]["conntrack"].get<std::string>().find("v1.") != std::string::npos);
    BOOST_TEST(result["environment"]["Kernel"]["release"].is_string());
    BOOST_TEST(ran.out.find("conntrack -L / ours, wall time: ") != std::string::npos);
    BOOST_TEST(std::filesystem::file_size(std::filesystem::path(out) / "bench.txt") ==
               ran.out.size());
}

BOOST_AUTO_TEST_CASE(a_killed_benchmark_leaves_nothing_that_restore_does_not_put_back) {
    const Folder folder;
    BackgroundBench running({"--only", "events", "--seconds", "60", "--flows-per-second", "1000"});
    const std::string dut = running.dut();
    BOOST_REQUIRE(bench::wait_for_listener(dut, 30s));
    running.kill_it();
    const auto restored = process::run_checked({binary(), "restore"});
    BOOST_REQUIRE_MESSAGE(restored, (restored ? "" : restored.error().message));
    BOOST_TEST(restored->find(dut) != std::string::npos);
    BOOST_TEST(!std::filesystem::exists("/run/netns/" + dut));
    // The readers and generators died with it.
    const auto left = process::run_program({"pgrep", "-f", "bench worker flood.*--flows 60000"});
    BOOST_REQUIRE(left);
    BOOST_TEST(left->exit_status == 1);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_used_is_said_before_anything_is_measured) {
    const Folder folder;
    const auto unknown = run_bench({"inspect", "--only", "everything"});
    BOOST_TEST(unknown.exit_status == 2);
    BOOST_TEST(run_bench({"inspect", "--entries", "0"}).exit_status == 2);
    const auto nowhere = run_bench({"inspect", "--out", "/proc/nowhere"});
    BOOST_TEST(nowhere.exit_status == 2);
    BOOST_TEST(nowhere.err.find("/proc/nowhere") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
