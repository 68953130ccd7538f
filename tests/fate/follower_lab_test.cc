// Packets whose fate is planted in the kernel, and what is said of each: its own end and cause.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "dataplane/base/file.h"
#include "harness/fate/follower.h"
#include "harness/process/netns.h"
#include "tests/netfilter/lab_namespace.h"

BOOST_AUTO_TEST_SUITE(follower)

using namespace pathproof;
using namespace std::chrono_literals;
using fate::Direction;
using fate::Ending;
using netfilter::lab::Namespace;

namespace {

// TC_ACT_OK, TC_ACT_SHOT: <linux/pkt_cls.h> has macros that Boost.Test's headers do not bear.
constexpr int kActOk = 0;
constexpr int kActShot = 2;
constexpr const char* kSender = "198.18.53.2";
constexpr const char* kSpoofed = "192.0.2.66";  // of the sender, and behind no route of the router
constexpr const char* kRouter = "198.18.53.1";
constexpr const char* kServer = "203.0.113.2";
constexpr const char* kNobody = "203.0.113.99";
constexpr const char* kNowhere = "192.0.2.1";
constexpr const char* kSwallowed = "192.0.2.2";   // a blackhole route of the router
constexpr const char* kProhibited = "192.0.2.3";  // and one that prohibits
constexpr const char* kElsewhere =
    "198.18.53.77";  // the sender has another's link-layer address for it
constexpr const char* kSender6 = "2001:db8:53::2";
constexpr const char* kRouter6 = "2001:db8:53::1";
constexpr const char* kServer6 = "2001:db8:113::2";
constexpr const char* kNobody6 = "2001:db8:113::99";
constexpr const char* kSwallowed6 = "2001:db8:77::2";
constexpr const char* kProhibited6 = "2001:db8:77::3";
constexpr const char* kNowhere6 = "2001:db8:77::1";

// Three of each kind; the long ring asks for more.
int packets_of_a_kind() {
    const char* wanted = std::getenv("PATHPROOF_FATE_PACKETS");
    return wanted == nullptr ? 3 : std::atoi(wanted);
}

struct Sent {
    std::string to = kServer;
    int packets = packets_of_a_kind();
    std::size_t bytes = 8;
    std::string from = kSender;
    std::uint16_t source_port = 0;  // 0: any
    int ttl = 0;                    // 0: the kernel's
    bool whole = false;             // "don't fragment"
};

// One kind of fate: packets to a port of its own.
struct Planted {
    std::uint16_t port;
    const char* what;
    Sent sent;
    Ending ending;
    std::string cause;
    std::string hook;
    std::string netns;  // of the three: "sender", "router", "server"
    std::uint64_t packets = packets_of_a_kind();
};

Sent sent6(const char* to, int hops = 0) {
    return {.to = to, .from = kSender6, .ttl = hops};
}

struct Address {
    sockaddr_storage bytes{};
    socklen_t length = 0;

    Address(const std::string& text, std::uint16_t port) {
        auto* four = reinterpret_cast<sockaddr_in*>(&bytes);
        auto* six = reinterpret_cast<sockaddr_in6*>(&bytes);
        if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
            bytes.ss_family = AF_INET;
            four->sin_port = htons(port);
            length = sizeof *four;
            return;
        }
        BOOST_REQUIRE(inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1);
        bytes.ss_family = AF_INET6;
        six->sin6_port = htons(port);
        length = sizeof *six;
    }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};

void send(const Namespace& from, std::uint16_t port, const Sent& what) {
    const Status sent = process::in_netns(from.name(), [&]() -> Status {
        Address own(what.from, what.source_port), peer(what.to, port);
        const bool six = own.bytes.ss_family == AF_INET6;
        const Fd socket(::socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        BOOST_REQUIRE(bind(socket.get(), own.get(), own.length) == 0);
        if (what.ttl != 0) {
            setsockopt(socket.get(), six ? IPPROTO_IPV6 : IPPROTO_IP,
                       six ? IPV6_UNICAST_HOPS : IP_TTL, &what.ttl, sizeof what.ttl);
        }
        const int discover = what.whole ? IP_PMTUDISC_PROBE : IP_PMTUDISC_DONT;
        setsockopt(socket.get(), six ? IPPROTO_IPV6 : IPPROTO_IP,
                   six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &discover, sizeof discover);
        const std::string payload(what.bytes, 'x');
        for (int i = 0; i < what.packets; ++i) {
            // An ICMP error of a packet before may be told here; the packet is then sent again.
            for (int again = 0; again < 100; ++again) {
                if (sendto(socket.get(), payload.data(), payload.size(), 0, peer.get(),
                           peer.length) >= 0 ||
                    errno == EPERM) {
                    break;
                }
            }
        }
        return {};
    });
    BOOST_REQUIRE(sent);
}

constexpr int kRoom = 1 << 21;  // for all packets of a kind

// A UDP socket of the server, and what is read of it.
class Reader {
  public:
    enum class Filter { kNone, kTakesNothing };
    Reader(const Namespace& where, std::uint16_t port, int buffer = kRoom,
           Filter filter = Filter::kNone) {
        const Status made = process::in_netns(where.name(), [&]() -> Status {
            // The socket takes IPv4 as well.
            socket_ = Fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            Address own("::", port);
            setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
            sock_filter nothing{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
            const sock_fprog program{.len = 1, .filter = &nothing};
            if (filter == Filter::kTakesNothing) {
                BOOST_REQUIRE(setsockopt(socket_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program,
                                         sizeof program) == 0);
            }
            BOOST_REQUIRE(bind(socket_.get(), own.get(), own.length) == 0);
            return {};
        });
        BOOST_REQUIRE(made);
    }
    int read_all() const {
        char bytes[4096];
        int packets = 0;
        while (recv(socket_.get(), bytes, sizeof bytes, 0) >= 0) {
            ++packets;
        }
        return packets;
    }

  private:
    Fd socket_;
};

// Attaches a program that drops UDP packets to that port, and takes it off.
class PortDrop {
  public:
    enum class Where { kXdp, kIngress, kEgress };
    PortDrop(const Namespace& netns, const char* device, std::uint16_t port, Where where) {
        const bool xdp = where == Where::kXdp;
        // r1: xdp_md or __sk_buff. Data begins at 4 bytes of xdp_md and at 76 of __sk_buff, and ends 4
        // bytes behind. Ethernet, IPv4 without options, UDP: the port lies at 36.
        const std::int16_t data = xdp ? 0 : 76;
        const std::int16_t data_end = xdp ? 4 : 80;
        const bpf_insn program[] = {
            {.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1, .off = data, .imm = 0},
            {.code = BPF_LDX | BPF_MEM | BPF_W,
             .dst_reg = 3,
             .src_reg = 1,
             .off = data_end,
             .imm = 0},
            {.code = BPF_ALU64 | BPF_MOV | BPF_K,
             .dst_reg = 0,
             .src_reg = 0,
             .off = 0,
             .imm = xdp ? static_cast<int>(XDP_PASS) : kActOk},
            {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 4, .src_reg = 2, .off = 0, .imm = 0},
            {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 4, .src_reg = 0, .off = 0, .imm = 42},
            {.code = BPF_JMP | BPF_JGT | BPF_X, .dst_reg = 4, .src_reg = 3, .off = 5, .imm = 0},
            {.code = BPF_LDX | BPF_MEM | BPF_B, .dst_reg = 4, .src_reg = 2, .off = 23, .imm = 0},
            {.code = BPF_JMP | BPF_JNE | BPF_K,
             .dst_reg = 4,
             .src_reg = 0,
             .off = 3,
             .imm = IPPROTO_UDP},
            {.code = BPF_LDX | BPF_MEM | BPF_H, .dst_reg = 4, .src_reg = 2, .off = 36, .imm = 0},
            {.code = BPF_JMP | BPF_JNE | BPF_K,
             .dst_reg = 4,
             .src_reg = 0,
             .off = 1,
             .imm = htons(port)},
            {.code = BPF_ALU64 | BPF_MOV | BPF_K,
             .dst_reg = 0,
             .src_reg = 0,
             .off = 0,
             .imm = xdp ? static_cast<int>(XDP_DROP) : kActShot},
            {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
        };
        char log[4096] = "";
        bpf_prog_load_opts options{};
        options.sz = sizeof options;
        options.log_buf = log;
        options.log_size = sizeof log;
        options.log_level = 1;
        program_ = Fd(bpf_prog_load(xdp ? BPF_PROG_TYPE_XDP : BPF_PROG_TYPE_SCHED_CLS, "drop_port",
                                    "GPL", program, std::size(program), &options));
        BOOST_REQUIRE_MESSAGE(program_, log);
        const Status attached = process::in_netns(netns.name(), [&]() -> Status {
            const int index = static_cast<int>(if_nametoindex(device));
            if (xdp) {
                BOOST_REQUIRE(bpf_xdp_attach(index, program_.get(), XDP_FLAGS_SKB_MODE, nullptr) ==
                              0);
                return {};
            }
            bpf_tc_hook hook{};
            hook.sz = sizeof hook;
            hook.ifindex = index;
            hook.attach_point = where == Where::kIngress ? BPF_TC_INGRESS : BPF_TC_EGRESS;
            bpf_tc_opts opts{};
            opts.sz = sizeof opts;
            opts.prog_fd = program_.get();
            bpf_tc_hook_create(&hook);  // one may be there
            BOOST_REQUIRE(bpf_tc_attach(&hook, &opts) == 0);
            return {};
        });
        BOOST_REQUIRE(attached);
    }

  private:
    Fd program_;
};

// A sender, a router and a server, each a namespace.
struct Path {
    Namespace sender{"sender"}, router{"router"}, server{"server"};

    Path() {
        for (const Namespace* each : {&sender, &router, &server}) {
            // Addresses are there at once.
            each->run(
                "sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0");
        }
        sender.run("ip link add x0 type veth peer name x1 netns " + router.name());
        router.run("ip link add y0 type veth peer name y1 netns " + server.name());
        sender.run(fmt::format("ip address add {}/24 dev x0", kSender));
        sender.run(fmt::format("ip address add {}/32 dev lo", kSpoofed));
        router.run(fmt::format("ip address add {}/24 dev x1", kRouter));
        router.run("ip address add 203.0.113.1/24 dev y0");
        server.run(fmt::format("ip address add {}/24 dev y1", kServer));
        sender.run("ip link set x0 up");
        router.run("ip link set x1 up");
        router.run("ip link set y0 mtu 1300 up");
        server.run("ip link set y1 mtu 1300 up");
        sender.run(fmt::format("ip route add default via {}", kRouter));
        server.run("ip route add default via 203.0.113.1");
        sender.run(fmt::format("ip address add {}/64 dev x0 nodad", kSender6));
        router.run(fmt::format("ip address add {}/64 dev x1 nodad", kRouter6));
        router.run("ip address add 2001:db8:113::1/64 dev y0 nodad");
        server.run(fmt::format("ip address add {}/64 dev y1 nodad", kServer6));
        sender.run(fmt::format("ip route add default via {}", kRouter6));
        server.run("ip route add default via 2001:db8:113::1");
        router.run(fmt::format("ip route add blackhole {}", kSwallowed));
        router.run(fmt::format("ip route add blackhole {}", kSwallowed6));
        router.run(fmt::format("ip route add prohibit {}", kProhibited6));
        router.run(fmt::format("ip route add prohibit {}", kProhibited));
        sender.run(fmt::format("ip neigh add {} lladdr 02:00:00:00:00:99 dev x0", kElsewhere));
        // A checksum that is wrong on the way is only seen where the sender's device finishes it.
        sender.run("ethtool -K x0 tx off");
        router.run(
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 "
            "net.ipv4.conf.x1.rp_filter=1 net.ipv6.neigh.y0.retrans_time_ms=50 "
            "net.ipv6.icmp.ratelimit=0 "
            "net.ipv4.neigh.y0.retrans_time_ms=50 net.ipv4.icmp_ratelimit=0 "
            "net.ipv4.icmp_msgs_per_sec=10000 net.ipv4.icmp_msgs_burst=1000");
        server.run(
            "sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv4.icmp_msgs_per_sec=10000 "
            "net.ipv4.icmp_msgs_burst=1000");
    }
    std::string role(const std::string& netns) const {
        if (netns == sender.name()) {
            return "sender";
        }
        if (netns == router.name()) {
            return "router";
        }
        return netns == server.name() ? "server" : netns;
    }
};

void wait_for_answers() {
    std::this_thread::sleep_for(
        2s);  // neighbours are given up after 0.15 s, on a busy machine later
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_planted_packet_has_its_own_end_and_cause) {
    const Path path;
    path.router.run(std::vector<std::string>{
        "nft",
        "add table ip planted; "
        "add chain ip planted c_pre { type filter hook prerouting priority -300; }; "
        "add chain ip planted c_in { type filter hook input priority 0; }; "
        "add chain ip planted c_fwd { type filter hook forward priority 0; }; "
        "add chain ip planted c_post { type filter hook postrouting priority 300; }; "
        "add chain ip planted c_nat { type nat hook postrouting priority 100; }; "
        "add rule ip planted c_pre udp dport 7103 drop; "
        "add rule ip planted c_pre udp dport 7116 notrack; "
        "add rule ip planted c_in udp dport 7109 drop; "
        "add rule ip planted c_fwd udp dport 7104 drop; "
        "add rule ip planted c_fwd udp dport 7106 reject; "
        "add rule ip planted c_post udp dport 7105 drop; "
        "add rule ip planted c_nat udp dport 7119 snat to 203.0.113.1:5555; "
        "add rule ip planted c_fwd udp dport 7131 udp checksum set 7; "
        "add rule ip planted c_fwd udp dport 7132 limit rate over 1/hour burst 1 packets drop; "
        "add set ip planted bad { type ipv4_addr . inet_service; }; "
        "add element ip planted bad { 203.0.113.2 . 7133 }; "
        "add rule ip planted c_fwd ip daddr . udp dport @bad drop; "
        "add map ip planted fate { type inet_service : verdict; }; "
        "add element ip planted fate { 7134 : drop }; "
        "add rule ip planted c_fwd udp dport vmap @fate; "
        "add chain ip planted c_closed { type filter hook forward priority 50; policy drop; }; "
        "add rule ip planted c_closed udp dport != 7135 accept; "
        "add table ip6 planted; "
        "add chain ip6 planted c_pre { type filter hook prerouting priority -300; }; "
        "add chain ip6 planted c_fwd { type filter hook forward priority 0; }; "
        "add rule ip6 planted c_pre udp dport 7140 drop; "
        "add rule ip6 planted c_fwd udp dport 7141 drop; "
        "add rule ip6 planted c_fwd udp dport 7142 reject; "
        "add table netdev planted; "
        "add chain netdev planted c_in { type filter hook ingress device x1 "
        "priority 0; }; "
        "add rule netdev planted c_in udp dport 7117 drop"});
    path.router.run("iptables-nft -A FORWARD -p udp --dport 7107 -j DROP");
    path.router.run("iptables-legacy -A FORWARD -p udp --dport 7108 -j DROP");
    path.router.run("iptables-legacy -t raw -A PREROUTING -p udp --dport 7121 -j DROP");
    path.server.run("iptables-nft -A INPUT -p udp --dport 7122 -j REJECT");
    path.sender.run("iptables-nft -A OUTPUT -p udp --dport 7123 -j DROP");
    const PortDrop ingress(path.router, "x1", 7118, PortDrop::Where::kIngress);
    const PortDrop egress(path.router, "y0", 7120, PortDrop::Where::kEgress);
    const PortDrop xdp(path.server, "y1", 7124, PortDrop::Where::kXdp);
    path.router.run("ip6tables-legacy -A FORWARD -p udp --dport 7143 -j DROP");
    path.router.run("tc qdisc add dev y0 root handle 1: htb default 1");
    path.router.run("tc class add dev y0 parent 1: classid 1:1 htb rate 10gbit");
    path.router.run("tc class add dev y0 parent 1: classid 1:2 htb rate 10gbit");
    path.router.run("tc qdisc add dev y0 parent 1:2 bfifo limit 1");
    path.router.run(
        "tc filter add dev y0 parent 1: protocol ip u32 match ip dport 7136 0xffff flowid 1:2");
    const Reader filtered(path.server, 7138, kRoom, Reader::Filter::kTakesNothing);
    const Reader six(path.server, 7144), wrong(path.server, 7131);
    const Reader read(path.server, 7101), untracked(path.server, 7116), whole(path.server, 7112),
        small(path.server, 7115, 1), unread(path.server, 7125), snat(path.server, 7119);

    using enum Ending;
    const std::vector<Planted> all = {
        {7101, "a socket that is read", {}, kDelivered, "", "", "server"},
        {7125, "a socket that nobody reads", {}, kDelivered, "", "", "server"},
        {7102, "a closed port", {}, kDropped, "no-socket", "", "server"},
        {7103, "nftables, prerouting", {}, kDropped, "rule", "prerouting", "router"},
        {7104, "nftables, forward", {}, kDropped, "rule", "forward", "router"},
        {7105, "nftables, postrouting", {}, kDropped, "rule", "postrouting", "router"},
        {7106, "nftables, reject", {}, kDropped, "reject", "forward", "router"},
        {7107, "iptables-nft, forward", {}, kDropped, "rule", "forward", "router"},
        {7108, "iptables-legacy, forward", {}, kDropped, "rule", "forward", "router"},
        {7121, "iptables-legacy, raw", {}, kDropped, "rule", "prerouting", "router"},
        {7109, "nftables, input", {.to = kRouter}, kDropped, "rule", "input", "router"},
        {7122, "iptables-nft, REJECT in input", {}, kDropped, "reject", "input", "server"},
        {7123, "iptables-nft, output", {}, kDropped, "rule", "output", "sender"},
        {7110, "a time to live of 1", {.ttl = 1}, kDropped, "ttl", "", "router"},
        {7111,
         "longer than the next link",
         {.bytes = 1400, .whole = true},
         kDropped,
         "mtu",
         "",
         "router"},
        {7113, "no neighbour", {.to = kNobody}, kDropped, "neighbour", "", "router"},
        {7114, "no route", {.to = kNowhere}, kDropped, "no-route", "", "router"},
        {7126, "the reverse path", {.from = kSpoofed}, kDropped, "rp-filter", "", "router"},
        {7116, "not tracked", {}, kDelivered, "", "", "server"},
        {7117, "nftables, netdev ingress", {}, kDropped, "rule", "ingress", "router"},
        {7118, "tc, ingress", {}, kDropped, "tc-ingress", "", "router"},
        {7120, "tc, egress", {}, kDropped, "tc-egress", "", "router"},
        {7124, "XDP", {}, kDropped, "xdp", "", "server"},
        {7127, "a blackhole route", {.to = kSwallowed}, kDropped, "no-route", "", "router"},
        {7128, "a route that prohibits", {.to = kProhibited}, kDropped, "no-route", "", "router"},
        {7129,
         "another's link-layer address",
         {.to = kElsewhere},
         kDropped,
         "other-host",
         "",
         "router"},
        {7131, "a wrong checksum", {}, kDropped, "checksum", "", "server"},
        {7133, "a set of nftables", {}, kDropped, "rule", "forward", "router"},
        {7134, "a verdict map", {}, kDropped, "rule", "forward", "router"},
        {7135, "a policy", {}, kDropped, "rule", "forward", "router"},
        {7136, "a queueing discipline that is full", {}, kDropped, "qdisc", "", "router"},
        {7138, "a socket's filter", {}, kDropped, "socket-filter", "", "server"},
        {7140, "IPv6, prerouting", sent6(kServer6), kDropped, "rule", "prerouting", "router"},
        {7141, "IPv6, forward", sent6(kServer6), kDropped, "rule", "forward", "router"},
        {7142, "IPv6, reject", sent6(kServer6), kDropped, "rule", "forward", "router"},
        {7143, "ip6tables-legacy", sent6(kServer6), kDropped, "rule", "forward", "router"},
        {7144, "IPv6, delivered", sent6(kServer6), kDelivered, "", "", "server"},
        {7149, "a route of IPv6 that prohibits", sent6(kProhibited6), kDropped, "no-route", "",
         "router"},
        {7150, "a blackhole route of IPv6", sent6(kSwallowed6), kDropped, "no-route", "", "router"},
        {7145, "IPv6, a closed port", sent6(kServer6), kDropped, "no-socket", "", "server"},
        {7146, "IPv6, a hop limit of 1", sent6(kServer6, 1), kDropped, "ttl", "", "router"},
        {7147, "IPv6, no neighbour", sent6(kNobody6), kDropped, "neighbour", "", "router"},
        {7148, "IPv6, no route", sent6(kNowhere6), kDropped, "no-route", "", "router"},
    };
    auto follower = fate::Follower::start({.flows = {*fate::parse_flow({"udp", kSender, "*"}),
                                                     *fate::parse_flow({"udp", kSpoofed, "*"}),
                                                     *fate::parse_flow({"udp", kSender6, "*"})}});
    BOOST_REQUIRE_MESSAGE(follower, follower.error().message);
    for (const Planted& each : all) {
        send(path.sender, each.port, each.sent);
    }
    // Two flows that SNAT gives one tuple: the second one's entry cannot be inserted.
    send(path.sender, 7119, {.packets = 1, .source_port = 40'001});
    send(path.sender, 7119, {.packets = 1, .source_port = 40'002});
    send(path.sender, 7112, {.packets = 1, .bytes = 1400});
    send(path.sender, 7115, {.packets = 40, .bytes = 1000});
    wait_for_answers();
    BOOST_TEST(read.read_all() == packets_of_a_kind());
    BOOST_TEST(untracked.read_all() == packets_of_a_kind());
    BOOST_TEST(whole.read_all() == 1);
    BOOST_TEST(snat.read_all() == 1);
    const fate::Fates fates = (*follower)->stop();
    BOOST_TEST(fates.lost == 0U);
    BOOST_TEST(fates.whole());

    struct Count {
        std::uint64_t packets = 0;
        std::uint64_t right = 0;
    };
    std::map<std::uint16_t, std::map<std::string, std::uint64_t>> ended;
    std::map<std::uint16_t, Count> counts;
    for (const fate::Packet& packet : fates.each) {
        const fate::EndCount& count = fates.ends.at(packet.end);
        if (packet.direction != Direction::kThere) {
            continue;
        }
        const fate::End& end = count.end;
        const std::uint16_t port = packet.destination.port;
        ++ended[port][fmt::format("{} {} {} in {}", name(end.ending), end.cause, end.hook,
                                  path.role(end.netns))];
        const auto expected = std::ranges::find(all, port, &Planted::port);
        ++counts[port].packets;
        if (expected != all.end() && end.ending == expected->ending &&
            end.cause == expected->cause && end.hook == expected->hook &&
            path.role(end.netns) == expected->netns) {
            ++counts[port].right;
        }
    }
    const auto ends_of = [&](std::uint16_t port) {
        std::string said;
        for (const auto& [text, packets] : ended[port]) {
            said += fmt::format(" {} {};", packets, text);
        }
        return said;
    };
    for (const Planted& each : all) {
        const std::string said = ends_of(each.port);
        BOOST_TEST(counts[each.port].right == each.packets, each.what << ":" << said);
        BOOST_TEST(counts[each.port].packets == each.packets, each.what << ":" << said);
    }
    BOOST_TEST(ended[7119]["dropped insert-failed postrouting in router"] == 1U, ends_of(7119));
    BOOST_TEST(ended[7119]["delivered   in server"] == 1U, ends_of(7119));
    BOOST_TEST(ended[7112]["delivered   in server"] == 1U);
    const std::uint64_t full = ended[7115]["dropped socket-full  in server"];
    BOOST_TEST(full > 0U);
    BOOST_TEST(full + ended[7115]["delivered   in server"] == 40U);
    // ICMP errors about them are told apart from them.
    std::uint64_t errors = 0;
    for (const fate::EndCount& count : fates.ends) {
        errors += count.direction == Direction::kError ? count.packets : 0;
    }
    BOOST_TEST(errors > 0U);
}

// The cause is the packet's own, whatever the counters of the host do meanwhile.
BOOST_AUTO_TEST_CASE(strangers_that_cannot_be_inserted_give_no_packet_their_cause) {
    const Path path;
    path.router.run(std::vector<std::string>{
        "nft",
        "add table ip planted; "
        "add chain ip planted c_nat { type nat hook postrouting priority 100; }; "
        "add rule ip planted c_nat udp dport 7202 snat to 203.0.113.1:5555"});
    const PortDrop egress(path.router, "y0", 7201, PortDrop::Where::kEgress);
    auto follower = fate::Follower::start({.flows = {*fate::parse_flow({"udp", "*", "*:7201"})}});
    BOOST_REQUIRE_MESSAGE(follower, follower.error().message);
    for (std::uint16_t i = 0; i < 20; ++i) {
        const auto port = static_cast<std::uint16_t>(41'000 + i);
        send(path.sender, 7202, {.packets = 1, .source_port = port});
        send(path.sender, 7201, {.packets = 1});
    }
    std::this_thread::sleep_for(200ms);
    const fate::Fates fates = (*follower)->stop();
    BOOST_TEST(fates.packets == 20U);
    BOOST_TEST(fate::dropped(fates, Direction::kThere, "tc-egress") == 20U);
    // The strangers' failures are on the counters, of whichever CPU.
    std::string counters = path.router.run("conntrack -S");
    bool failed = false;
    constexpr std::string_view kName = "insert_failed=";
    for (auto at = counters.find(kName); at != counters.npos; at = counters.find(kName, at + 1)) {
        failed = failed || counters.at(at + kName.size()) != '0';
    }
    BOOST_TEST(failed, counters);
}

BOOST_AUTO_TEST_CASE(no_flow_or_too_many_are_refused) {
    BOOST_TEST(!fate::Follower::start({}));
    const fate::Flow one = *fate::parse_flow({"udp", "*", "*:1"});
    const auto many = fate::Follower::start({.flows = std::vector(17, one)});
    BOOST_REQUIRE(!many);
    BOOST_TEST((many.error().code == ErrorCode::kBadInput));
}

BOOST_AUTO_TEST_SUITE_END()
