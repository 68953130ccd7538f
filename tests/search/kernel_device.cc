#include "tests/search/kernel_device.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "harness/process/program.h"
#include "tests/process/shell.h"

namespace pathproof {
namespace {

using nlohmann::json;

constexpr auto kLongest = std::chrono::minutes(3);

std::vector<json> json_lines(const std::string& text) {
    std::vector<json> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        found.push_back(json::parse(line));
    }
    return found;
}

}  // namespace

KernelDevice::KernelDevice()
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

KernelDevice::~KernelDevice() {
    for (const std::string& name : {tester_, dut_}) {
        process::run_program({"ip", "netns", "del", name}).has_value();
    }
}

SearchOutput KernelDevice::search(const std::string& arguments, const std::string& before,
                                  const std::string& meanwhile) const {
    const std::string binary = std::getenv("PATHPROOF_BINARY");
    const std::string beside = meanwhile.empty() ? "" : "(" + meanwhile + ") & ";
    const auto ran = process::run_program(
        {"sh", "-c",
         beside + before + " " + binary + " search " + arguments + " --netns " + tester_ +
             " --receive s0 --destination 203.0.113.2 --destination-mac 02:70:70:00:00:10 --json"},
        {.timeout = kLongest});
    BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
    return {.code = ran->exit_status, .lines = json_lines(ran->out), .said = ran->err};
}

}  // namespace pathproof
