#include "tests/lab/site.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "harness/process/program.h"
#include "tests/lab/support.h"

namespace pathproof::lab {
namespace {

constexpr const char* kMake = R"(
ip netns add site-tester; ip netns add site-dut
for netns in site-tester site-dut; do
    ip netns exec $netns sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
done
for cable in "c0 d0" "c1 d1" "s0 ds"; do
    set -- $cable
    ip link add $1 netns site-tester type veth peer name $2 netns site-dut
    ip -n site-tester link set $1 arp off up
    ip -n site-dut link set $2 up
done
ip -n site-dut address add 198.18.0.1/24 dev d0
ip -n site-dut neigh add 198.18.0.77 lladdr 02:00:00:00:00:77 nud permanent dev d0
ip netns exec site-dut iptables -t nat -A POSTROUTING -s 10.1.0.0/16 -j MASQUERADE
ip netns exec site-dut sysctl -qw net.ipv4.ip_forward=0
)";

// Counters are left out, and what the kernel writes itself.
constexpr const char* kState = R"(
for netns in site-tester site-dut; do
    echo "== $netns"
    ip -n $netns -d link; ip -n $netns address; ip -n $netns route show table all
    ip -n $netns neigh show nud permanent
    ip netns exec $netns sysctl -a -r '^net\.' 2>/dev/null | grep -v -e nf_conntrack_count -e buckets
    for device in c0 c1 s0 d0 d1 ds; do
        ip netns exec $netns sh -c "ethtool -k $device; cat /sys/class/net/$device/queues/rx-0/rps_cpus" 2>/dev/null
    done
done
cat /proc/sys/net/core/gro_normal_batch
ip netns exec site-dut iptables-save | grep -v -e '^#' -e '^\*' -e ' ACCEPT ' -e COMMIT
ip netns exec site-dut ip6tables-save | grep -v -e '^#' -e '^\*' -e ' ACCEPT ' -e COMMIT
ip netns exec site-dut nft list tables 2>/dev/null | grep pathproof || true
)";

}  // namespace

const char* const kSiteFile = R"(name = "site"

[tester]
netns = "site-tester"

[[tester.port]]
name = "client0"
device = "c0"
address = ["198.18.0.2/24"]
clients = "198.18.0.0/17"

[[tester.port]]
name = "client1"
device = "c1"
address = ["198.18.128.2/24"]
clients = "198.18.128.0/17"

[[tester.port]]
name = "server0"
device = "s0"
servers = ["203.0.113.2", "203.0.113.3"]

[dut]
netns = "site-dut"

[[dut.device]]
name = "d0"
port = "client0"
address = ["198.18.0.1/24"]

[[dut.device]]
name = "d1"
port = "client1"
address = ["198.18.128.1/24"]

[[dut.device]]
name = "ds"
port = "server0"
address = ["203.0.113.1/24"]
)";

Site::Site(const std::string& more) {
    shell("", kMake + more);
    std::ofstream(file()) << kSiteFile;
    // The kernel tells links' state later (linkwatch), the more so the more links come and go on the
    // machine.
    for (int look = 0; look < 40; ++look) {
        const std::string state = shell("", kState);
        if (state == before_ && state.find("NO-CARRIER") == std::string::npos) {
            break;
        }
        before_ = state;
        usleep(500'000);
    }
    BOOST_REQUIRE_MESSAGE(before_.find("NO-CARRIER") == std::string::npos, before_);
}

Site::~Site() {
    shell_status("", "ip netns del site-tester; ip netns del site-dut");
}

std::string Site::changed(int patience_ms) const {
    std::string different;
    for (int waited = 0; waited <= patience_ms; waited += 250) {
        different = difference(before_, shell("", kState));
        if (different.empty()) {
            break;
        }
        usleep(250'000);
    }
    return different;
}

Site::Run Site::run(const std::string& words, const std::string& netns) const {
    const auto ran = process::run_program(
        {"sh", "-c", fmt::format("cd {} && exec {} {} 2>&1", folder(), binary_path(), words)},
        {.netns = netns, .timeout = std::chrono::minutes(5)});
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    return {ran->exit_status, ran->out};
}

nlohmann::json Site::report(const std::string& name) const {
    return nlohmann::json::parse(read_file(folder() + "/" + name + "/report.json").value_or(""),
                                 nullptr, false);
}

nlohmann::json scenario_of(const nlohmann::json& report, const std::string& id) {
    for (const nlohmann::json& scenario : report.value("scenarios", nlohmann::json::array())) {
        if (scenario["id"] == id) {
            return scenario;
        }
    }
    return {};
}

}  // namespace pathproof::lab
