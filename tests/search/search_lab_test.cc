// The search command against the kernel: a namespace that forwards, with a token bucket of known
// rate and queue on its way out, so that the device and not the tester is the limit.
#define BOOST_TEST_MODULE search_lab
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/process/program.h"

using namespace pathproof;
using nlohmann::json;

namespace {

std::string shell(const std::string& netns, const std::string& script) {
    const auto out = process::run_checked({"sh", "-ec", script},
                                          {.netns = netns, .timeout = std::chrono::minutes(3)});
    BOOST_REQUIRE_MESSAGE(out, out.error().message);
    return *out;
}

// c0 sends, s0 receives; the device forwards from d0 to ds, where 960 kbit/s leave at most: 2000
// frames of 60 bytes a second, with room for 200 more.
class Device {
  public:
    Device()
        : tester_("pp-se" + std::to_string(getpid()) + "-t"),
          dut_("pp-se" + std::to_string(getpid()) + "-d") {
        shell("", "ip netns add " + tester_ + "; ip netns add " + dut_);
        shell(tester_, R"(
            sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
            n=0
            for pair in c0:d0 s0:ds; do
                ip link add ${pair%:*} address 02:70:70:00:00:0$n type veth \
                    peer name ${pair#*:} address 02:70:70:00:00:1$n netns )" +
                           dut_ + R"(
                ip link set ${pair%:*} up
                n=$((n + 1))
            done)");
        shell(dut_, R"(
            sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv4.ip_forward=1 \
                net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
            for dev in d0 ds; do sysctl -qw net.ipv4.conf.$dev.rp_filter=0; ip link set $dev up; done
            ip addr add 198.18.0.1/24 dev d0
            ip addr add 203.0.113.1/24 dev ds
            ip neigh add 203.0.113.2 lladdr 02:70:70:00:00:01 dev ds nud permanent
            tc qdisc add dev ds root tbf rate 960kbit burst 1540 limit 12000)");
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device() {
        for (const std::string& name : {tester_, dut_}) {
            process::run_program({"ip", "netns", "del", name}).has_value();
        }
    }

    // Exit code, and the lines that it printed on stdout.
    std::pair<int, std::vector<json>> search(const std::string& arguments,
                                             const std::string& before = "") const {
        const std::string binary = std::getenv("PATHPROOF_BINARY");
        const std::string text = shell(
            "", before + " " + binary + " search " + arguments + " --netns " + tester_ +
                    " --receive s0 --destination 203.0.113.2 --destination-mac 02:70:70:00:00:10 "
                    "--json 2>/dev/null || echo '{\"exit\":'$?'}'");
        std::pair<int, std::vector<json>> found;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            const json value = json::parse(line);
            if (value.contains("exit")) {
                found.first = value["exit"];
            } else {
                found.second.push_back(value);
            }
        }
        return found;
    }

  private:
    std::string tester_;
    std::string dut_;
};

const std::string kGoals =
    " --goal loss=0,trial=0.3,sum=0.9,initial=0.3,width=0.1"
    " --goal loss=0.05,trial=0.3,sum=0.9,initial=0.3,width=0.1";

void check_trials(const std::vector<json>& lines, const json& result) {
    BOOST_REQUIRE(!lines.empty());
    std::size_t trials = 0;
    for (const json& line : lines) {
        if (line["type"] != "trial") {
            continue;
        }
        ++trials;
        BOOST_TEST(line["n"] == trials);
        BOOST_TEST(line["lost"].get<std::uint64_t>() <= line["sent"].get<std::uint64_t>());
        BOOST_TEST((line["lost"] == 0 || line["loss_ratio"].get<double>() > 0));
        BOOST_TEST(line["frame_bytes"] == 64);
    }
    BOOST_TEST(result["sizes"][0]["trials"] == trials);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_search_over_the_kernel_gives_both_bounds_of_every_goal) {
    const Device device;
    const auto [code, lines] = device.search(
        "mlr c0 --min-load 100 --max-load 20000 --no-latency --retries 0 --max-time 40" + kGoals);
    BOOST_REQUIRE(!lines.empty());
    const json& result = lines.back();
    BOOST_REQUIRE(result["type"] == "result");
    BOOST_TEST(result["evidence"] == "virtual");
    check_trials(lines, result);
    const json& size = result["sizes"][0];
    BOOST_REQUIRE(size["goals"].size() == 2);
    for (const json& goal : size["goals"]) {
        BOOST_REQUIRE_MESSAGE(goal["lower_bound"].is_object(), size.dump());
        BOOST_REQUIRE_MESSAGE(goal["upper_bound"].is_object(), size.dump());
        BOOST_TEST(goal["lower_bound"]["load_pps"].get<double>() <
                   goal["upper_bound"]["load_pps"].get<double>());
    }
    // The queue lets 2750 a second pass for 0.3 s; nothing can make more of it.
    BOOST_TEST(size["goals"][0]["lower_bound"]["load_pps"].get<double>() < 3'000);
    // A machine that is busy makes the tester the limit: then it says so, and why.
    BOOST_TEST(code == (result["verdict"] == "FOUND" ? 0 : 3));
    BOOST_TEST(size["reasons"].empty() == (code == 0));
}

BOOST_AUTO_TEST_CASE(a_burst_longer_than_the_queue_of_the_kernel_is_told_from_one_that_fits) {
    const Device device;
    const auto [code, lines] = device.search(
        "back-to-back c0 --throughput 2000 --tests 1 --longest 2000 --resolution 50 --drain 0.4 "
        "--retries 0 --max-load 100000");
    BOOST_REQUIRE(!lines.empty());
    const json& size = lines.back()["sizes"][0];
    BOOST_REQUIRE(size["tests"].size() == 1);
    const std::uint64_t frames = size["tests"][0]["frames"];
    BOOST_TEST(frames >= 100);
    BOOST_TEST(frames < 1'000);
    BOOST_TEST(code == (size["reasons"].empty() ? 0 : 3));
}

BOOST_AUTO_TEST_CASE(a_search_that_is_interrupted_prints_what_it_has) {
    const Device device;
    const auto [code, lines] = device.search("mlr c0 --preset rfc2544 --max-load 20000",
                                             "timeout --preserve-status -s INT 6");
    BOOST_TEST(code == 3);
    BOOST_REQUIRE(!lines.empty());
    BOOST_TEST(lines.back()["verdict"] == "PARTIAL");
    BOOST_TEST(lines.back()["sizes"][0]["ending"] == "stopped");
}

BOOST_AUTO_TEST_CASE(searches_that_make_no_sense_send_nothing_and_exit_with_2) {
    const Device device;
    for (const std::string arguments :
         {"mlr c0 --goal loss=2", "mlr c0 --goal depth=1", "mlr c0 --preset mrr",
          "mlr c0 --sizes 63", "mlr c0 --sizes sixty", "mlr nowhere",
          "mlr c0 --min-load 100 --max-load 50", "loss c0 --step 0.5",
          "throughput c0 --sizes 9000 --max-load 1000"}) {
        const auto [code, lines] = device.search(arguments);
        BOOST_TEST_CONTEXT(arguments) {
            BOOST_TEST(code == 2);
            BOOST_TEST(lines.empty());
        }
    }
}
