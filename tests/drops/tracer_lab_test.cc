#include <sched.h>

#include <boost/test/unit_test.hpp>

#include "harness/drops/agreement.h"
#include "harness/drops/tracer.h"
#include "harness/netfilter/stats.h"
#include "harness/process/program.h"
#include "tests/drops/senders.h"
#include "tests/netfilter/lab_namespace.h"

BOOST_AUTO_TEST_SUITE(tracer)

using namespace pathproof;
using namespace pathproof::drops;
using netfilter::lab::Namespace;

namespace {

constexpr const char* kAddress = "198.18.50.1";
constexpr std::uint16_t kRefusedPort = 5353;  // dropped by a rule
constexpr std::uint16_t kClosedPort = 9999;   // nobody listens

// A namespace that drops UDP to one port by a rule.
struct Place : Namespace {
    explicit Place(const std::string& word) : Namespace(word) {
        run(fmt::format("ip address add {}/32 dev lo", kAddress));
        run(fmt::format("iptables -A INPUT -p udp --dport {} -j DROP", kRefusedPort));
    }
    void send(std::uint16_t port, int count) const { lab::send_udp(name(), kAddress, port, count); }
};

std::unique_ptr<DropTracer> trace(const TraceOptions& options) {
    auto tracer = DropTracer::start(options);
    BOOST_REQUIRE_MESSAGE(tracer, tracer.error().message);
    return std::move(*tracer);
}

std::uint64_t packets(const DropSummary& summary, const std::string& reason) {
    for (const DropCount& count : by_reason(summary.counts)) {
        if (count.reason == reason) {
            return count.packets;
        }
    }
    return 0;
}

std::vector<netfilter::CpuStats> counters(const std::string& netns) {
    const auto stats = netfilter::cpu_stats(netns);
    BOOST_REQUIRE_MESSAGE(stats, stats.error().message);
    return *stats;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_drop_of_a_namespace_is_counted_with_reason_place_and_protocol) {
    const Place place("drops");
    const auto tracer = trace({.netns = place.name()});
    place.send(kRefusedPort, 300);
    const DropSummary so_far = tracer->poll();
    place.send(kClosedPort, 20);
    const DropSummary summary = tracer->stop();

    BOOST_TEST((summary.scope == Scope::kNamespace), summary.scope_reason);
    BOOST_TEST(packets(so_far, "NETFILTER_DROP") == 300U);
    BOOST_TEST(packets(so_far, "NO_SOCKET") == 0U);
    BOOST_TEST(packets(summary, "NETFILTER_DROP") == 300U);
    BOOST_TEST(packets(summary, "NO_SOCKET") == 20U);
    BOOST_TEST(summary.lost == 0U);
    for (const DropCount& count : summary.counts) {
        if (count.reason == "NO_SOCKET") {
            BOOST_TEST(count.protocol == "ip/udp");
            BOOST_TEST(count.location.find("udp") != std::string::npos, count.location);
        }
    }
    BOOST_REQUIRE(!summary.last.empty());
    BOOST_TEST(summary.last[0].time_ns > so_far.last[0].time_ns);
}

BOOST_AUTO_TEST_CASE(drops_of_another_namespace_are_left_out_unless_all_are_asked_for) {
    const Place here("here");
    const Place there("there");
    const auto one = trace({.netns = here.name()});
    const auto all = trace({.netns = here.name(), .scope = Scope::kMachine});
    here.send(kRefusedPort, 30);
    there.send(kRefusedPort, 400);
    const DropSummary of_one = one->stop();
    const DropSummary of_all = all->stop();
    BOOST_TEST(packets(of_one, "NETFILTER_DROP") == 30U);
    BOOST_TEST((of_all.scope == Scope::kMachine));
    BOOST_TEST(of_all.scope_reason == "");
    // Other tests may drop at the same time.
    BOOST_TEST(packets(of_all, "NETFILTER_DROP") >= 430U);
}

BOOST_AUTO_TEST_CASE(a_packet_counts_where_it_was_dropped_not_where_it_was_sent) {
    const Namespace sender("sender");
    const Place receiver("receiver");
    sender.run("ip link add e0 type veth peer name e0 netns " + receiver.name());
    sender.run("ip address add 198.18.53.1/24 dev e0");
    sender.run("ip link set e0 up");
    receiver.run("ip address add 198.18.53.2/24 dev e0");
    receiver.run("ip link set e0 up");
    const auto at_sender = trace({.netns = sender.name()});
    const auto at_receiver = trace({.netns = receiver.name()});
    // Such a packet still has its socket, which is the sender's.
    lab::send_udp(sender.name(), "198.18.53.2", kRefusedPort, 60);
    BOOST_TEST(packets(at_receiver->stop(), "NETFILTER_DROP") == 60U);
    BOOST_TEST(packets(at_sender->stop(), "NETFILTER_DROP") == 0U);
}

BOOST_AUTO_TEST_CASE(a_packet_dropped_on_its_way_out_counts_for_its_sender) {
    const Place place("out");
    place.run("iptables -A OUTPUT -p udp --dport 7 -j DROP");
    const auto tracer = trace({.netns = place.name()});
    // The packet has no device yet: its socket tells the namespace. The kernel answers with EPERM.
    const auto refused = process::run_program(
        {"bash", "-c", fmt::format("echo x > /dev/udp/{}/7", kAddress)}, {.netns = place.name()});
    BOOST_TEST((refused && refused->exit_status != 0));
    BOOST_TEST(packets(tracer->stop(), "NETFILTER_DROP") == 1U);
}

BOOST_AUTO_TEST_CASE(without_the_program_the_machine_is_counted_and_the_summary_says_why) {
    const Place place("event");
    const auto tracer = trace({.netns = place.name(), .detail = TraceOptions::Detail::kEvent});
    place.send(kRefusedPort, 50);
    const DropSummary summary = tracer->stop();
    BOOST_TEST((summary.scope == Scope::kMachine));
    BOOST_TEST(summary.scope_reason != "");
    BOOST_TEST(packets(summary, "NETFILTER_DROP") >= 50U);
    for (const DropCount& count : summary.counts) {
        BOOST_TEST((count.flow == FlowState::kUntold));
    }
}

// Threads that it starts share one CPU with it; once it goes first, they do not run while it does.
class OneCpu {
  public:
    OneCpu() {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t here;
        CPU_ZERO(&here);
        CPU_SET(static_cast<std::size_t>(sched_getcpu()), &here);
        BOOST_REQUIRE(sched_setaffinity(0, sizeof here, &here) == 0);
    }
    OneCpu(const OneCpu&) = delete;
    OneCpu& operator=(const OneCpu&) = delete;
    ~OneCpu() {
        set_policy(SCHED_OTHER, 0);
        sched_setaffinity(0, sizeof before_, &before_);
    }
    static void go_first() { BOOST_REQUIRE(set_policy(SCHED_FIFO, 1) == 0); }

  private:
    static int set_policy(int policy, int priority) {
        const sched_param parameter{.sched_priority = priority};
        return sched_setscheduler(0, policy, &parameter);
    }
    cpu_set_t before_{};
};

BOOST_AUTO_TEST_CASE(drops_that_found_no_room_are_counted_as_lost) {
    const Place place("lost");
    // One page holds fewer events than are made while the reader may not run.
    const OneCpu one_cpu;
    const auto tracer = trace({.netns = place.name(), .buffer_bytes = 1});
    OneCpu::go_first();
    std::uint64_t sent = 0;
    for (; sent < 100'000 && tracer->poll().lost == 0; sent += 2000) {
        place.send(kRefusedPort, 2000);
    }
    const DropSummary summary = tracer->stop();
    BOOST_TEST(summary.lost > 0U);
    BOOST_TEST(packets(summary, "NETFILTER_DROP") < sent);
    // Other drops of the namespace may be among those lost.
    BOOST_TEST(packets(summary, "NETFILTER_DROP") + summary.lost >= sent);
}

BOOST_AUTO_TEST_CASE(packets_that_conntrack_refuses_equal_its_counters) {
    // Two clients with one source port, translated to one address: whichever of two packets that
    // are on their way at once is confirmed second has lost.
    const Place place("clash");
    for (const char* address : {"198.18.50.2", "198.18.50.3", "198.18.50.9"}) {
        place.run(fmt::format("ip address add {}/32 dev lo", address));
    }
    place.run("iptables -t nat -A POSTROUTING -p udp --dport 9 -j SNAT --to-source 198.18.50.9");
    const auto before = counters(place.name());
    const auto tracer = trace({.netns = place.name()});
    std::uint64_t refused = 0;
    constexpr int kRounds = 1000;
    for (int batch = 0; batch < 20 && refused < 20; ++batch) {
        refused += lab::send_at_once(place.name(), "198.18.50.2", "198.18.50.3", kAddress,
                                     static_cast<std::uint16_t>(10'000 + batch * kRounds), kRounds);
    }
    place.send(kRefusedPort, 25);
    const DropSummary summary = tracer->stop();
    const auto change = netfilter::delta(before, counters(place.name()));
    BOOST_TEST(refused > 0U);
    BOOST_TEST(total(change, "insert_failed") == refused);
    const Agreement agreement = compare(summary, change);
    BOOST_TEST(agreement.agree(), explain(agreement, summary));
    BOOST_TEST(agreement.seen == refused);
    BOOST_TEST(agreement.seen_past_nat == refused);
    BOOST_TEST(agreement.by_rules == 25U);
}

BOOST_AUTO_TEST_SUITE_END()
