// Two namespaces joined by our wire, as a machine's two NICs would be by their cable: real kernels'
// frames, partial checksums, super-frames and losses.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "dataplane/judge/checksum_names.h"
#include "harness/ports/choose.h"
#include "harness/process/program.h"
#include "harness/tester/client.h"
#include "harness/tester/wire_text.h"
#include "tests/tester/traffic.h"

using namespace pathproof;
using namespace pathproof::tester;
using namespace std::chrono_literals;
using judge::ChecksumState;
using softnic::WireMode;
using softnic::WireReport;
using softnic::WireTally;

namespace {

// a: eth0 198.51.100.1 - ua [tester namespace] ub - eth0 198.51.100.2 :b
class Lab {
  public:
    Lab() {
        for (const std::string* name : {&a.netns, &b.netns, &tester_}) {
            ip("netns add " + *name);
            in(*name, "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; ip link set lo up");
        }
        ip("-n " + a.netns + " link add eth0 type veth peer name ua netns " + tester_);
        ip("-n " + b.netns + " link add eth0 type veth peer name ub netns " + tester_);
        for (const Side* side : {&a, &b}) {
            // Super-frames are what one case is about: the others do without, as DESIGN has the lab
            // do it.
            in(side->netns, "ip addr add " + side->address +
                                "/24 dev eth0 && ip link set eth0 up && "
                                "ethtool -K eth0 tso off gso off >/dev/null");
        }
        in(tester_, "ip link set ua up && ip link set ub up");
        client_ = open();
    }
    Lab(const Lab&) = delete;
    Lab& operator=(const Lab&) = delete;
    ~Lab() {
        client_.reset();
        for (const std::string* name : {&a.netns, &b.netns, &tester_}) {
            process::run_program({"ip", "netns", "del", *name}).has_value();
        }
    }

    std::unique_ptr<Client> open() const {
        TesterOptions options{.netns = tester_, .worker_cpus = {0}};
        for (const char* name : {"ua", "ub"}) {
            const auto port = ports::choose_port(name, tester_);
            BOOST_REQUIRE_MESSAGE(port, port.error().message);
            options.ports.push_back(*port);
        }
        auto client = Client::start(options);
        BOOST_REQUIRE_MESSAGE(client, client.error().message);
        return std::move(*client);
    }

    void reopen() {
        client_.reset();
        client_ = open();
    }

    Client& client() { return *client_; }
    const std::string& tester() const { return tester_; }

    void start(WireMode mode) {
        const Status started = client_->start_wire({.mode = mode});
        BOOST_REQUIRE_MESSAGE(started, started.error().message);
    }

    WireReport stop(const std::string& evidence = "") {
        const auto report = client_->stop_wire(evidence);
        BOOST_REQUIRE_MESSAGE(report, report.error().message);
        for (const WireTally& tally : report->directions) {
            BOOST_TEST(tally.received == tally.forwarded + tally.not_forwarded);
        }
        return *report;
    }

    void both(const std::string& command) {
        in(a.netns, command);
        in(b.netns, command);
    }

    static void ip(const std::string& words) { in("", "ip " + words); }

    const std::string run = "pp-wl" + std::to_string(getpid());
    const Side a{run + "-a", "198.51.100.1"};
    const Side b{run + "-b", "198.51.100.2"};
    const Side a_overlay{run + "-a", "198.18.0.1"};
    const Side b_overlay{run + "-b", "198.18.0.2"};

    void add_overlay() {
        for (const auto& [side, far, overlay] :
             {std::tuple{&a, &b, &a_overlay}, std::tuple{&b, &a, &b_overlay}}) {
            in(side->netns,
               "ip link add vx type vxlan id 42 dstport 4789 udpcsum local " + side->address +
                   " remote " + far->address + " dev eth0 && ip addr add " + overlay->address +
                   "/30 dev vx && ip link set vx up && ethtool -K vx tso off gso off >/dev/null");
        }
    }

  private:
    const std::string tester_ = run + "-t";
    std::unique_ptr<Client> client_;
};

constexpr judge::Layer kTcp{judge::Depth::kPlain, judge::Protocol::kTcp};
constexpr judge::Layer kOuterUdp{judge::Depth::kOuter, judge::Protocol::kUdp};
constexpr judge::Layer kInnerTcp{judge::Depth::kInner, judge::Protocol::kTcp};

std::uint64_t seen(const WireTally& tally, judge::Layer layer, ChecksumState state) {
    return tally.checksums[judge::index_of(layer)][static_cast<std::size_t>(state)];
}

std::uint64_t all_bad(const WireReport& report) {
    return report.directions[0].bad_frames + report.directions[1].bad_frames;
}

bool objects(const WireReport& report, const std::string& part) {
    return std::any_of(report.objections.begin(), report.objections.end(),
                       [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(wire_lab, *boost::unit_test::label("lab"))

BOOST_AUTO_TEST_CASE(a_healthy_wire_makes_the_kernels_partial_checksums_whole) {
    Lab lab;
    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(ping(lab.a, lab.b, 5) == 5u);
    BOOST_TEST(tcp_transfer(lab.a, lab.b, 1'000'000, 3s) == 1'000'000u);
    const WireReport report = lab.stop();
    BOOST_TEST(report.directions[0].completed > 600u);
    BOOST_TEST(report.directions[0].handed_partial == report.directions[0].completed);
    BOOST_TEST(report.directions[0].completed_by_value == 0u);
    BOOST_TEST(all_bad(report) == 0u);
    BOOST_TEST(seen(report.directions[0], kTcp, ChecksumState::kGood) > 600u);
    BOOST_TEST(report.tester_lost == 0u);
    BOOST_TEST(report.objections.empty());
    BOOST_TEST(kernel_counter(lab.b.netns, "Tcp", "InCsumErrors") == 0u);
}

// The field holds the pseudo-header's sum, but nobody left it to the NIC: a packet socket's bytes
// are final.
BOOST_AUTO_TEST_CASE(a_healthy_wire_leaves_a_pseudo_sum_that_was_not_handed_over_as_partial) {
    Lab lab;
    lab.start(WireMode::kHealthyNic);
    in(lab.a.netns, R"(python3 -c '
import socket, struct
def total(data):
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s > 65535: s = (s & 65535) + (s >> 16)
    return s
a, b = bytes([198, 51, 100, 1]), bytes([198, 51, 100, 2])
ip = lambda c: struct.pack("!BBHHHBBH", 0x45, 0, 40, 1, 0, 64, 6, c) + a + b
tcp = struct.pack("!HHIIBBHHH", 1000, 80, 1, 0, 0x50, 2, 1024, total(a + b + struct.pack("!HH", 6, 20)), 0)
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
for n in range(100):
    s.send(b"\2\0\0\0\0\2\2\0\0\0\0\1\10\0" + ip(65535 - total(ip(0))) + tcp)
')");
    BOOST_TEST(tcp_transfer(lab.a, lab.b, 100'000, 3s) == 100'000u);
    const WireReport report = lab.stop();
    BOOST_TEST(seen(report.directions[0], kTcp, ChecksumState::kBad) == 100u);
    BOOST_TEST(report.directions[0].bad_frames == 100u);
    BOOST_TEST(report.directions[0].completed == report.directions[0].handed_partial);
    BOOST_TEST(report.directions[0].completed > 60u);
}

BOOST_AUTO_TEST_CASE(a_wire_that_passes_bytes_lets_tcp_die_and_names_the_value) {
    Lab lab;
    lab.start(WireMode::kPassThrough);
    BOOST_TEST(ping(lab.a, lab.b, 3) == 3u);
    BOOST_TEST(tcp_transfer(lab.a, lab.b, 1000, 1500ms) == 0u);
    const WireReport report = lab.stop();
    const std::uint64_t bad = seen(report.directions[0], kTcp, ChecksumState::kBad);
    BOOST_TEST(bad >= 2u);  // the SYN and its repetition
    BOOST_TEST(kernel_counter(lab.b.netns, "Tcp", "InCsumErrors") == bad);
    BOOST_TEST(report.directions[0].completed == 0u);
    BOOST_REQUIRE(!report.kept.empty());
    for (const softnic::WireFrame& frame : report.kept) {
        const auto names = judge::matching_names(frame.bytes, frame.bad[0], std::nullopt);
        BOOST_TEST(
            (std::find(names.begin(), names.end(), judge::ChecksumName::kPseudo) != names.end()));
    }
}

BOOST_AUTO_TEST_CASE(with_transmit_offload_off_even_that_wire_carries_tcp) {
    Lab lab;
    lab.both("ethtool -K eth0 tx off >/dev/null");
    lab.start(WireMode::kPassThrough);
    BOOST_TEST(tcp_transfer(lab.a, lab.b, 100'000, 3s) == 100'000u);
    BOOST_TEST(all_bad(lab.stop()) == 0u);
}

BOOST_AUTO_TEST_CASE(the_overlay_works_over_a_healthy_wire_and_not_over_one_that_passes_bytes) {
    Lab lab;
    lab.add_overlay();
    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(ping(lab.a_overlay, lab.b_overlay, 3) == 3u);
    BOOST_TEST(tcp_transfer(lab.a_overlay, lab.b_overlay, 200'000, 3s) == 200'000u);
    const WireReport healthy = lab.stop();
    BOOST_TEST(all_bad(healthy) == 0u);
    BOOST_TEST(seen(healthy.directions[0], kOuterUdp, ChecksumState::kGood) > 100u);
    BOOST_TEST(seen(healthy.directions[0], kInnerTcp, ChecksumState::kGood) > 100u);

    lab.start(WireMode::kPassThrough);
    BOOST_TEST(ping(lab.a_overlay, lab.b_overlay, 2) == 0u);
    const WireReport broken = lab.stop();
    BOOST_TEST(seen(broken.directions[0], kOuterUdp, ChecksumState::kBad) > 0u);
    BOOST_TEST(kernel_counter(lab.b.netns, "Udp", "InCsumErrors") > 0u);
}

BOOST_AUTO_TEST_CASE(super_frames_are_noticed_and_explained) {
    Lab lab;
    lab.both("ethtool -K eth0 tso on gso on >/dev/null");
    lab.start(WireMode::kHealthyNic);
    tcp_transfer(lab.a, lab.b, 200'000, 2s);
    const WireReport report = lab.stop();
    const WireTally& forth = report.directions[0];
    BOOST_TEST(forth.truncated + forth.too_long > 0u);
    BOOST_TEST(forth.truncated > 0u);
    BOOST_TEST(forth.not_forwarded >= forth.truncated + forth.too_long);
    BOOST_TEST(objects(report, "super-frames"));
    BOOST_TEST(objects(report, "port ua"));
}

BOOST_AUTO_TEST_CASE(long_and_tagged_frames_pass_whole) {
    Lab lab;
    lab.both("ip link set eth0 mtu 2200");
    in(lab.tester(), "ip link set ua mtu 2200 && ip link set ub mtu 2200");
    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(ping(lab.a, lab.b, 2, 1400) == 2u);
    const WireReport before = lab.stop();
    BOOST_TEST(before.directions[0].not_forwarded == 0u);

    lab.reopen();  // the ports learn the new MTU when they are opened
    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(ping(lab.a, lab.b, 3, 2158) == 3u);             // 14 + 20 + 8 + 2158 = 2200 bytes
    BOOST_TEST(tagged_frames(lab.a, lab.b, 20, 2214) == 20u);  // 2214 and a tag of 4
    BOOST_TEST(tcp_transfer(lab.a, lab.b, 100'000, 3s) == 100'000u);
    const WireReport report = lab.stop();
    BOOST_TEST(report.directions[0].not_forwarded == 0u);
    BOOST_TEST(all_bad(report) == 0u);
}

BOOST_AUTO_TEST_CASE(a_burst_that_meets_a_stopped_tester_is_kept_whole_or_its_loss_is_shown) {
    Lab lab;
    BOOST_TEST(ping(lab.a, lab.b, 1) == 0u);  // no wire yet
    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(ping(lab.a, lab.b, 2) == 2u);  // neighbours are known from here on
    const auto burst = [&](unsigned frames) {
        kill(lab.client().pid(), SIGSTOP);
        const unsigned sent = udp_burst(lab.a, lab.b, frames);
        kill(lab.client().pid(), SIGCONT);
        std::this_thread::sleep_for(500ms);
        return sent;
    };
    lab.stop();
    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(burst(3000) == 3000u);
    const WireReport whole = lab.stop();
    BOOST_TEST(whole.directions[0].forwarded == 3000u);
    BOOST_TEST(whole.tester_lost == 0u);

    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(burst(9000) == 9000u);
    const WireReport lossy = lab.stop();
    BOOST_TEST(lossy.directions[0].forwarded < 9000u);
    BOOST_TEST(lossy.directions[0].received + lossy.ports[0].rx_missed == 9000u);
    BOOST_TEST(lossy.tester_lost == lossy.ports[0].rx_missed);
    BOOST_TEST(objects(lossy, "port ua lost"));
}

BOOST_AUTO_TEST_CASE(ring_slots_that_the_driver_would_misread_are_refused) {
    const Lab lab;
    const auto client =
        Client::start({.netns = lab.tester(),
                       .ports = {{.name = "ua", .device = "net_af_packet,iface=ua,framesz=1536"}},
                       .worker_cpus = {0}});
    BOOST_REQUIRE(!client);
    BOOST_TEST(client.error().message.find("does not divide blocksz=4096") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_the_testers_own_kernel_sends_is_no_traffic_of_the_wire) {
    Lab lab;
    in(lab.tester(), "ip addr add 203.0.113.9/24 dev ua");
    lab.start(WireMode::kHealthyNic);
    const Side own{lab.tester(), "203.0.113.9"};
    // Makes the kernel send ARP requests by ua.
    BOOST_TEST(udp_burst(own, {"", "203.0.113.10"}, 3) == 3u);
    std::this_thread::sleep_for(300ms);
    const WireReport report = lab.stop();
    BOOST_TEST(report.directions[0].received == 0u);
    BOOST_TEST(report.directions[1].received == 0u);
}

BOOST_AUTO_TEST_CASE(a_port_whose_interface_is_deleted_is_noticed_and_named) {
    Lab lab;
    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(ping(lab.a, lab.b, 1) == 1u);
    in(lab.tester(), "ip link del ub");
    // Frames for a port that is gone.
    BOOST_TEST(udp_burst(lab.a, {"", "198.51.100.2"}, 100) == 100u);
    bool broken = false;
    for (int look = 0; look < 100 && !broken; ++look) {
        std::this_thread::sleep_for(20ms);
        const auto state = lab.client().wire_broken();
        BOOST_REQUIRE(state);
        broken = *state;
    }
    BOOST_TEST(broken);
    const WireReport report = lab.stop();
    BOOST_TEST(objects(report, "port ub: its kernel interface ub no longer exists"));
    BOOST_TEST(lab.client().alive());
}

BOOST_AUTO_TEST_CASE(after_kill_9_the_interfaces_are_free_for_the_next_tester) {
    Lab lab;
    lab.start(WireMode::kHealthyNic);
    BOOST_REQUIRE(kill(lab.client().pid(), SIGKILL) == 0);
    const auto report = lab.client().stop_wire();
    BOOST_REQUIRE(!report);
    BOOST_TEST((report.error().code == ErrorCode::kUnavailable));
    lab.reopen();
    lab.start(WireMode::kHealthyNic);
    BOOST_TEST(ping(lab.a, lab.b, 2) == 2u);
    lab.stop();
}

BOOST_AUTO_TEST_CASE(the_table_and_the_object_say_what_stood_in_for_hardware) {
    Lab lab;
    lab.start(WireMode::kPassThrough);
    tcp_transfer(lab.a, lab.b, 1000, 500ms);
    const WireReport report = lab.stop();
    const std::string table = wire_table(report, lab.client().ports());
    BOOST_TEST(table.find("software in the place of a NIC") != std::string::npos);
    BOOST_TEST(table.find("mode pass-through") != std::string::npos);
    const auto object = wire_summary(report, lab.client().ports());
    BOOST_TEST(object["wire"] == "software");
    BOOST_TEST(object["directions"][0]["from"] == "ua");
    BOOST_TEST(object["directions"][0]["checksums"]["plain.tcp"]["bad"].get<std::uint64_t>() > 0u);
    BOOST_TEST(object["ports"][0]["evidence"] == "virtual");
}

BOOST_AUTO_TEST_SUITE_END()
