#include "tests/pairs/middle.h"

#include <boost/test/unit_test.hpp>
#include <chrono>

#include "tests/port/eal_fixture.h"

namespace pathproof::pairs {

using traffic::endpoint;
using traffic::ip_of;
using traffic::ResponderPlan;

namespace {

struct Rings {
    std::vector<port::Port> ports;
    std::vector<port::RingEnd> ends;

    Rings() {
        for (const char* name : {"c0", "c1", "s0"}) {
            port::RingPort ring = port::RingPort::make(name, kRingSize);
            ports.push_back(std::move(ring.port));
            ends.push_back(ring.end);
        }
    }
};

// Closed by the EAL at the end of the process, not before it.
Rings& rings() {
    static auto* made = new Rings();
    return *made;
}

}  // namespace

std::span<port::Port> ring_ports() {
    return rings().ports;
}

Middle::Middle(Hook hook) : hook_(std::move(hook)) {
    for (port::RingEnd& end : rings().ends) {
        end.left();  // of a run before
    }
    thread_ = std::thread([this] { run(); });
}

Middle::~Middle() {
    stop_ = true;
    thread_.join();
}

void Middle::run() {
    port::RingEnd& c0 = rings().ends[0];
    port::RingEnd& c1 = rings().ends[1];
    port::RingEnd& s0 = rings().ends[2];
    while (!stop_) {
        for (port::RingEnd* client : {&c0, &c1}) {
            for (const Frame& frame : client->left()) {
                for (const Frame& changed : hook_(Way::kToServer, frame)) {
                    s0.arrive(changed);
                }
            }
        }
        for (const Frame& frame : s0.left()) {
            for (const Frame& changed : hook_(Way::kToClient, frame)) {
                c0.arrive(changed);
            }
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

Frames unchanged(Way, const Frame& frame) {
    return {frame};
}

PairPlan small_plan() {
    PairPlan plan;
    plan.pairs = 100;
    plan.pairs_per_second = 1000;
    plan.service = endpoint("203.0.113.2:53");
    for (std::size_t n = 0; n < 2; ++n) {
        PairMember& member = plan.members[n];
        member.port = n;
        member.source_mac = frame::parse_mac("02:00:00:00:00:01").value();
        member.destination_mac = frame::parse_mac("02:00:00:00:00:02").value();
        member.first_client = ip_of("198.18.0.1");
        member.qtype = n == 0 ? frame::kDnsTypeA : frame::kDnsTypeAaaa;
    }
    plan.source_ports = 60;
    plan.warm_up = false;  // hooks expect queries
    plan.drain = std::chrono::milliseconds(100);
    return plan;
}

ResponderPlan small_responder() {
    return {.port = 2, .rules = {{.addresses = {ip_of("192.0.2.53"), ip_of("2001:db8::53")}}}};
}

judge::PairReport run(const PairPlan& plan, const ResponderPlan& responder, const Hook& hook) {
    const std::atomic<bool> stop = false;
    ring_ports();
    const Middle middle(hook);
    auto report = run_pairs(port::eal(), ring_ports(), plan, responder, stop);
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    return std::move(*report);
}

}  // namespace pathproof::pairs
