// The overlay lab shows the vxlan offload-checksum bug with the kernel's own tools, DPDK being
// nowhere near: its two tester ports are joined by a bridge of the kernel.
#include "harness/lab/overlay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <sstream>
#include <thread>

#include "harness/lab/undo.h"
#include "harness/process/netns.h"
#include "tests/lab/support.h"

BOOST_AUTO_TEST_SUITE(overlay)

using namespace pathproof;
using namespace pathproof::lab;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint16_t kPort = 5000;
constexpr std::size_t kMegabyte = 1'000'000;

double seconds_since(Clock::time_point began) {
    return std::chrono::duration<double>(Clock::now() - began).count();
}

sockaddr_in address(const frame::IpAddress& ip) {
    sockaddr_in socket_address{};
    socket_address.sin_family = AF_INET;
    socket_address.sin_port = htons(kPort);
    socket_address.sin_addr.s_addr = htonl(ip.v4_host_order());
    return socket_address;
}

int tcp_socket(const std::string& netns) {
    int opened = -1;
    const Status done = process::in_netns(netns, [&]() -> Status {
        opened = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return {};
    });
    BOOST_REQUIRE(done);
    return opened;
}

// A server in pod B that takes in one connection at a time and counts what it gets.
class Sink {
  public:
    explicit Sink(const OverlayNames& names) : listening_(tcp_socket(names.pod_b)) {
        const sockaddr_in here = address(names.pod_b_address);
        BOOST_REQUIRE(bind(listening_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
        BOOST_REQUIRE(listen(listening_, 5) == 0);
        thread_ = std::thread([this] { serve(); });
    }
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    ~Sink() {
        shutdown(listening_, SHUT_RDWR);
        thread_.join();
        close(listening_);
    }

  private:
    void serve() const {
        for (;;) {
            const int connection = accept(listening_, nullptr, nullptr);
            if (connection < 0) {
                return;
            }
            std::vector<char> chunk(1 << 16);
            std::size_t got = 0;
            ssize_t more = 0;
            while (got < kMegabyte &&
                   (more = recv(connection, chunk.data(), chunk.size(), 0)) > 0) {
                got += static_cast<std::size_t>(more);
            }
            if (got == kMegabyte) {
                send(connection, "all", 3, MSG_NOSIGNAL);
            }
            close(connection);
        }
    }

    int listening_;
    std::thread thread_;
};

// Sends a megabyte from pod A to pod B and waits for the confirmation; false when it is not through
// after `patience`.
bool tcp_works(const OverlayNames& names, std::chrono::milliseconds patience) {
    const int connection = tcp_socket(names.pod_a);
    const timeval limit{.tv_sec = patience.count() / 1000,
                        .tv_usec = patience.count() % 1000 * 1000};
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const sockaddr_in there = address(names.pod_b_address);
    bool worked = connect(connection, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0;
    const std::vector<char> data(kMegabyte, 'x');
    for (std::size_t sent = 0; worked && sent < data.size();) {
        const ssize_t put = send(connection, data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
        worked = put > 0;
        sent += put > 0 ? static_cast<std::size_t>(put) : 0;
    }
    char answer[4] = "";
    worked = worked && recv(connection, answer, 3, MSG_WAITALL) == 3;
    close(connection);
    return worked;
}

bool ping_works(const OverlayNames& names) {
    return shell_status(names.pod_a,
                        "ping -q -c 3 -i 0.05 -W 1 " + to_string(names.pod_b_address)) == 0;
}

// The named value of the "Udp:" lines of /proc/net/snmp in a namespace.
std::uint64_t udp_counter(const std::string& netns, const std::string& name) {
    std::string text;
    const Status read = process::in_netns(netns, [&]() -> Status {
        text = read_file("/proc/thread-self/net/snmp").value_or("");
        return {};
    });
    BOOST_REQUIRE(read);
    std::istringstream lines(text.substr(text.find("\nUdp: ") + 1));
    std::string names;
    std::string values;
    std::getline(lines, names);
    std::getline(lines, values);
    std::istringstream heads(names);
    std::istringstream numbers(values);
    std::string head;
    std::string number;
    while (heads >> head && numbers >> number) {
        if (head == name) {
            return std::stoull(number);
        }
    }
    BOOST_FAIL("no counter " + name);
    return 0;
}

struct Lab {
    std::unique_ptr<Journal> journal;
    std::unique_ptr<Overlay> overlay;
    const OverlayNames& names() const { return overlay->names(); }

    Lab() {
        auto opened = Journal::open("pathproof test");
        BOOST_REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
        journal = std::move(*opened);
        auto built = Overlay::build(*journal);
        BOOST_REQUIRE_MESSAGE(built, (built ? "" : built.error().message));
        overlay = std::move(*built);
    }

    enum class Outer { kPlain, kTranslated };
    void set(bool udp_checksum, Outer outer) const {
        Settings settings = overlay->tunnel(udp_checksum);
        if (outer == Outer::kTranslated) {
            settings.push_back(overlay->outer_snat());
        }
        const Status done = overlay->set_anew(settings);
        BOOST_REQUIRE_MESSAGE(done, (done ? "" : done.error().message));
    }
    void ethtool(const std::string& device_and_words) const {
        for (const std::string& node : {names().node_a, names().node_b}) {
            shell(node, "ethtool -K " + device_and_words);
        }
    }
};

struct Outcome {
    bool ping = false;
    bool tcp = false;
    std::uint64_t bad_checksums = 0;  // at node B
};

Outcome probe(const Lab& lab) {
    const std::uint64_t before = udp_counter(lab.names().node_b, "InCsumErrors");
    Outcome outcome;
    outcome.ping = ping_works(lab.names());
    outcome.tcp = tcp_works(lab.names(), std::chrono::milliseconds(2500));
    outcome.bad_checksums = udp_counter(lab.names().node_b, "InCsumErrors") - before;
    return outcome;
}

// The longest frame that comes out of node A while pod A sends a megabyte.
std::size_t longest_frame(const Lab& lab) {
    RawPort wire(lab.names().tester, lab.names().tester_port_a);
    BOOST_REQUIRE(tcp_works(lab.names(), std::chrono::seconds(5)));
    std::size_t longest = 0;
    for (const auto& frame : wire.receive(50)) {
        longest = std::max(longest, frame.size());
    }
    return longest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_stands_and_leaves_nothing) {
    auto began = Clock::now();
    {
        const Lab lab;
        const double up = seconds_since(began);
        BOOST_TEST_MESSAGE("overlay up in " << up << " s");
        began = Clock::now();
    }
    const double down = seconds_since(began);
    BOOST_TEST_MESSAGE("overlay down in " << down << " s");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(nothing_stirs_on_the_wire_before_somebody_sends) {
    const Lab lab;
    RawPort a(lab.names().tester, lab.names().tester_port_a);
    RawPort b(lab.names().tester, lab.names().tester_port_b);
    shell(lab.names().tester, "ip link set u0 down && ip link set u0 up");
    BOOST_TEST(a.receive(1200).empty());
    BOOST_TEST(b.receive(10).empty());
}

BOOST_AUTO_TEST_CASE(the_namespaces_are_set_up_as_described) {
    const Lab lab;
    for (const std::string& node : {lab.names().node_a, lab.names().node_b}) {
        BOOST_TEST(shell(node,
                         "sysctl -n net.ipv4.ip_forward net.ipv4.conf.eth0.rp_filter "
                         "net.ipv4.conf.pod0.rp_filter net.ipv6.conf.eth0.disable_ipv6") ==
                   "1\n0\n0\n1\n");
        BOOST_TEST(contains(shell(node, "ip link show eth0"), "mtu 1500"));
        const std::string vx = shell(node, "ip -d link show vx");
        BOOST_TEST(contains(vx, "mtu 1450"));
        BOOST_TEST(contains(vx, " id 42 "));
        BOOST_TEST(contains(vx, "dstport 4789"));
        BOOST_TEST(contains(vx, " udpcsum "));
        BOOST_TEST(contains(shell(node, "iptables-save -t nat"),
                            "-A POSTROUTING -o eth0 -p udp -m udp --dport 4789 -j MASQUERADE "
                            "--random-fully"));
    }
    const std::string tester = shell(lab.names().tester, "ip address show");
    BOOST_TEST(contains(tester, "NOARP"));
    BOOST_TEST(!contains(tester, "inet"));
    // No namespace has a way out: only the pods have a default route, which leads to their node.
    for (const std::string& netns : {lab.names().tester, lab.names().node_a, lab.names().node_b}) {
        BOOST_TEST(shell(netns, "ip route show default") == "");
    }
}

BOOST_AUTO_TEST_CASE(setting_anew_makes_device_rules_and_flows_anew) {
    const Lab lab;
    BOOST_REQUIRE(lab.overlay->join_by_bridge());
    BOOST_REQUIRE(ping_works(lab.names()));
    lab.ethtool("vx tx-checksum-ip-generic off");
    BOOST_TEST(shell(lab.names().node_a, "conntrack -C") != "0\n");
    lab.set(false, Lab::Outer::kPlain);
    BOOST_TEST(shell(lab.names().node_a, "conntrack -C") == "0\n");
    BOOST_TEST(contains(shell(lab.names().node_a, "ip -d link show vx"), " noudpcsum "));
    BOOST_TEST(contains(shell(lab.names().node_a, "ethtool -k vx"), "tx-checksum-ip-generic: on"));
    BOOST_TEST(!contains(shell(lab.names().node_a, "iptables-save -t nat"), "MASQUERADE"));
    BOOST_TEST(ping_works(lab.names()));
    // conntrack is at work where nothing is translated, too.
    BOOST_TEST(
        contains(shell(lab.names().node_a, "conntrack -L -p udp 2>/dev/null"), "dport=4789"));
    // Applying the same settings again makes the device anew.
    lab.ethtool("vx tx-checksum-ip-generic off");
    lab.set(false, Lab::Outer::kPlain);
    BOOST_TEST(contains(shell(lab.names().node_a, "ethtool -k vx"), "tx-checksum-ip-generic: on"));
}

BOOST_AUTO_TEST_CASE(the_checksum_bug_shows_and_its_cure_clears_it) {
    const Lab lab;
    BOOST_REQUIRE(lab.overlay->join_by_bridge());
    const Sink sink(lab.names());
    lab.ethtool("eth0 tx off");
    const Outcome failing = probe(lab);
    BOOST_TEST(failing.ping);
    BOOST_TEST(!failing.tcp);
    BOOST_TEST(failing.bad_checksums > 0U);

    lab.ethtool("vx tx-checksum-ip-generic off");
    const Outcome cured = probe(lab);
    BOOST_TEST(cured.ping);
    BOOST_TEST(cured.tcp);
    BOOST_TEST(cured.bad_checksums == 0U);
}

BOOST_AUTO_TEST_CASE(the_other_set_ups_are_healthy) {
    struct Row {
        const char* name;
        bool udp_checksum;
        Lab::Outer outer;
        const char* underlay_tx;
    };
    const Lab lab;
    BOOST_REQUIRE(lab.overlay->join_by_bridge());
    const Sink sink(lab.names());
    for (const Row& row : {Row{"underlay tx on", true, Lab::Outer::kTranslated, "eth0 tx on"},
                           Row{"no masquerade", true, Lab::Outer::kPlain, "eth0 tx off"},
                           Row{"noudpcsum", false, Lab::Outer::kTranslated, "eth0 tx off"}}) {
        lab.set(row.udp_checksum, row.outer);
        lab.ethtool(row.underlay_tx);
        const Outcome healthy = probe(lab);
        BOOST_TEST(healthy.ping, row.name);
        BOOST_TEST(healthy.tcp, row.name);
        BOOST_TEST(healthy.bad_checksums == 0U, row.name);
    }
}

BOOST_AUTO_TEST_CASE(no_super_frame_reaches_the_wire_whatever_happens_to_tx) {
    const Lab lab;
    BOOST_REQUIRE(lab.overlay->join_by_bridge());
    const Sink sink(lab.names());
    BOOST_TEST(longest_frame(lab) == 1514U);
    lab.ethtool("eth0 tx off");
    lab.ethtool("eth0 tx on");
    BOOST_TEST(
        contains(shell(lab.names().node_a, "ethtool -k eth0"), "tcp-segmentation-offload: off"));
    BOOST_TEST(longest_frame(lab) == 1514U);
    // The measurement can see them: with TSO on they are there.
    lab.ethtool("eth0 tso on gso on");
    BOOST_TEST(longest_frame(lab) > 1514U);
}

BOOST_AUTO_TEST_SUITE_END()
