#include "tests/pairs/nat_box.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "dataplane/base/pattern.h"
#include "harness/process/netns.h"
#include "tests/process/shell.h"

namespace pathproof::pairs {
namespace {

// Locally administered; the last byte tells the device.
constexpr const char* kMac = "02:70:70:00:00:";

frame::MacAddress mac(const std::string& last) {
    return frame::parse_mac(kMac + last).value();
}

}  // namespace

NatBox::NatBox()
    : tester_("pp-tr" + std::to_string(getpid()) + "-t"),
      dut_("pp-tr" + std::to_string(getpid()) + "-d") {
    shell("", "ip netns add " + tester_ + "; ip netns add " + dut_);
    shell(tester_, R"(
        sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        n=0
        for pair in c0:d0 c1:d1 s0:ds; do
            ip link add ${pair%:*} address 02:70:70:00:00:0$n type veth \
                peer name ${pair#*:} address 02:70:70:00:00:1$n netns )" +
                       dut_ + R"(
            ip link set ${pair%:*} up
            n=$((n + 1))
        done)");
    shell(dut_, R"(
        sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv4.ip_forward=1 \
            net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
        for dev in d0 d1 ds; do sysctl -qw net.ipv4.conf.$dev.rp_filter=0; ip link set $dev up; done
        ip addr add 198.18.0.1/24 dev d0
        ip addr add 203.0.113.1/24 dev ds
        ip neigh add 198.18.0.2 lladdr 02:70:70:00:00:00 dev d0 nud permanent
        for host in 2 3; do
            ip neigh add 203.0.113.$host lladdr 02:70:70:00:00:02 dev ds nud permanent
        done
        iptables -t nat -A PREROUTING -d 198.51.100.10 -p udp --dport 53 \
            -m statistic --mode random --probability 0.5 -j DNAT --to-destination 203.0.113.2
        iptables -t nat -A PREROUTING -d 198.51.100.10 -p udp --dport 53 \
            -j DNAT --to-destination 203.0.113.3)");
    const Status entered = process::enter_netns(tester_, process::SysfsView::kKeep);
    BOOST_REQUIRE_MESSAGE(entered, entered.error().message);
}

NatBox::~NatBox() {
    for (const std::string& name : {tester_, dut_}) {
        process::run_program({"ip", "netns", "del", name}).has_value();
    }
}

std::string NatBox::in_dut(const std::string& script) const {
    return shell(dut_, script);
}

std::uint64_t NatBox::conntrack(const std::string& counter) const {
    const std::string text = shell(dut_, "conntrack -S");
    std::uint64_t sum = 0;
    for (const auto& value : Pattern(counter + "=([0-9]+)").search_all(text)) {
        sum += std::stoull(value[1]);
    }
    return sum;
}

PairPlan NatBox::plan(std::uint64_t pairs) const {
    PairPlan plan;
    plan.pairs = pairs;
    plan.pairs_per_second = 1000;
    plan.source_ports = 5000;
    plan.service = frame::parse_endpoint("198.51.100.10:53").value();
    for (std::size_t n = 0; n < 2; ++n) {
        PairMember& member = plan.members[n];
        member.port = n;
        member.source_mac = mac("0" + std::to_string(n));
        member.destination_mac = mac("1" + std::to_string(n));
        member.first_client = frame::parse_ip("198.18.0.2").value();
        member.qtype = n == 0 ? frame::kDnsTypeA : frame::kDnsTypeAaaa;
    }
    return plan;
}

traffic::ResponderPlan NatBox::responder() const {
    return {.port = 2,
            .rules = {{.addresses = {frame::parse_ip("192.0.2.53").value(),
                                     frame::parse_ip("2001:db8::53").value()}}}};
}

}  // namespace pathproof::pairs
