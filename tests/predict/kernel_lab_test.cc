// The simulator against the kernel: random rulesets and packets in namespaces. The end and the device
// are compared with sets that the kernel fills, translation and zone with conntrack, the chain of rules
// with nft's trace. A packet whose trace is not whole is counted, not passed over.
// PATHPROOF_PREDICT_SECONDS: how long (default 12); PATHPROOF_PREDICT_SEED: from which seed;
// PATHPROOF_PREDICT_ROUNDS: of 24 packets through each project's rules (default 2).
#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>
#include <thread>

#include "dataplane/base/file.h"
#include "dataplane/frame/checksum.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/lookup.h"
#include "harness/predict/stale.h"
#include "harness/process/child.h"
#include "harness/process/foreign.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/predict/project_rules.h"

BOOST_AUTO_TEST_SUITE(predict_kernel)

using namespace pathproof;
using namespace std::chrono_literals;
using netfilter::Tuple;
using predict::fixture::project_rules;
using predict::fixture::ProjectRules;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint16_t kFirstId = 1000;
constexpr unsigned kPackets = 24;         // for each ruleset
constexpr std::uint16_t kLastId = 60000;  // of a packet behind all others
// The kernel's own answers (RST, ICMP) have ids by chance, which may be those of packets that were sent,
// and another time to live.
constexpr std::uint8_t kTimeToLive = 77;

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    unsigned below(unsigned end) { return static_cast<unsigned>(engine_() % end); }
    bool chance(unsigned percent) { return below(100) < percent; }
    std::string of(const std::vector<std::string>& all) {
        return all[below(static_cast<unsigned>(all.size()))];
    }

  private:
    std::mt19937_64 engine_;
};

const std::vector<std::string> kSources = {"10.1.0.2", "10.1.0.3", "10.1.0.4", "10.2.0.77"};
const std::vector<std::string> kDestinations = {"10.96.0.10", "10.96.0.11", "10.1.0.1",
                                                "10.2.0.2",   "10.2.0.9",   "10.3.0.2"};
const std::vector<std::string> kNetworks = {"10.1.0.0/24", "10.96.0.0/16", "10.2.0.0/24",
                                            "10.1.0.2",    "10.96.0.10",   "10.1.0.0/30"};
const std::vector<std::string> kPorts = {"53", "80", "8080", "443"};
const std::vector<std::string> kBackends = {"10.2.0.2", "10.2.0.9", "10.3.0.2", "10.1.0.1"};

// Writes rulesets: each rule has the comment rN, by which the trace names it.
class Writer {
  public:
    explicit Writer(Random& random) : random_(random) {}

    std::string nft() {
        std::string family = random_.chance(30) ? "inet" : "ip";
        std::string text = fmt::format("table {} t {{\n", family);
        text +=
            "  set nets { type ipv4_addr; flags interval; elements = { 10.1.0.0/30, "
            "10.96.0.11 } }\n  set services { type ipv4_addr . inet_proto . inet_service; "
            "elements = { 10.96.0.10 . udp . 53, 10.96.0.11 . tcp . 80 } }\n";
        const bool dual = family == "inet";
        // Chains that others jump to, deepest first.
        for (const char* kind : {"f", "d", "s"}) {
            for (int i = 2; i >= 0; --i) {
                text += fmt::format("  chain {}{} {{\n", kind, i);
                for (unsigned n = 1 + random_.below(4); n > 0; --n) {
                    text += nft_rule(kind, i + 1, "", dual);
                }
                text += "  }\n";
            }
        }
        const auto base = [&](const char* name, const char* type, const char* hook, int priority,
                              const char* kind, const char* where) {
            if (random_.chance(20)) {
                return;
            }
            const bool may_drop = std::string(type) == "filter" && priority == 0;
            text += fmt::format("  chain {} {{\n    type {} hook {} priority {}; policy {};\n",
                                name, type, hook, priority,
                                may_drop && random_.chance(25) ? "drop" : "accept");
            for (unsigned n = 1 + random_.below(6); n > 0; --n) {
                text += nft_rule(kind, 0, where, dual);
            }
            text += "  }\n";
        };
        base("rawpre", "filter", "prerouting", -300, "f", "raw in");
        base("rawout", "filter", "output", -300, "f", "raw out");
        base("manpre", "filter", "prerouting", -150, "f", "in");
        base("manout", "route", "output", -150, "f", "out");
        base("natpre", "nat", "prerouting", -100, "d", "in");
        base("natout", "nat", "output", -100, "d", "out");
        base("filin", "filter", "input", 0, "f", "in");
        base("filfwd", "filter", "forward", 0, "f", "in out");
        base("filout", "filter", "output", 0, "f", "out");
        base("natpost", "nat", "postrouting", 100, "s", "out");
        return text + "}\n";
    }

    std::string iptables() {
        std::string text;
        const auto table = [&](const char* name, const std::vector<const char*>& hooks,
                               const char* kind) {
            if (random_.chance(20)) {
                return;
            }
            text += fmt::format("*{}\n", name);
            const bool filters = std::string(name) == "filter";
            for (const char* hook : hooks) {
                text += fmt::format(":{} {} [0:0]\n", hook,
                                    filters && random_.chance(25) ? "DROP" : "ACCEPT");
            }
            for (int i = 0; i < 3; ++i) {
                text += fmt::format(":{}{} - [0:0]\n", kind, i);
            }
            for (int i = 0; i < 3; ++i) {
                for (unsigned n = 1 + random_.below(4); n > 0; --n) {
                    text += iptables_rule(fmt::format("{}{}", kind, i), kind, i + 1, name, "");
                }
            }
            for (const char* hook : hooks) {
                for (unsigned n = 1 + random_.below(5); n > 0; --n) {
                    text += iptables_rule(hook, kind, 0, name, hook);
                }
            }
            text += "COMMIT\n";
        };
        table("raw", {"PREROUTING", "OUTPUT"}, "w");
        table("mangle", {"PREROUTING", "FORWARD", "OUTPUT", "POSTROUTING"}, "m");
        table("nat", {"PREROUTING", "OUTPUT"}, "d");
        table("filter", {"INPUT", "FORWARD", "OUTPUT"}, "f");
        // Chains of its own: source NAT.
        if (text.find("*nat") != std::string::npos && random_.chance(80)) {
            text += "*nat\n:s0 - [0:0]\n:s1 - [0:0]\n:s2 - [0:0]\n";
            for (int i = 0; i < 3; ++i) {
                text += iptables_rule(fmt::format("s{}", i), "s", i + 1, "nat", "");
            }
            for (unsigned n = 1 + random_.below(4); n > 0; --n) {
                text += iptables_rule("POSTROUTING", "s", 0, "nat", "POSTROUTING");
            }
            text += "COMMIT\n";
        }
        return text;
    }

  private:
    std::string nft_condition(const std::string& where) {
        switch (random_.below(15)) {
            case 0: return "ip saddr " + random_.of(kNetworks);
            case 1: return "ip daddr " + random_.of(kDestinations);
            case 2: return "ip daddr != " + random_.of(kNetworks);
            case 3: return "udp dport " + random_.of(kPorts);
            case 4: return "tcp dport { 80, 443 }";
            case 5: return "meta l4proto " + random_.of({"udp", "tcp", "icmp", "{ tcp, udp }"});
            case 6: return "ip saddr @nets";
            case 7: return "ip daddr . meta l4proto . th dport @services";
            case 8: return "meta mark & 0x3 == 0x1";
            case 9:
                return "ct state " +
                       random_.of({"new", "established,related", "invalid", "untracked"});
            case 10: return "ct status dnat";
            case 11: return "fib daddr type local";
            case 12:
                if (where.find("in") != std::string::npos) {
                    return "iifname " + random_.of({"\"c0\"", "\"c*\"", "\"s0\""});
                }
                if (where.find("out") != std::string::npos) {
                    return "oifname " + random_.of({"\"s0\"", "\"s*\"", "\"lo\""});
                }
                return "ip protocol udp";
            case 13:
                return random_.of({"tcp flags syn / syn,ack", "icmp type echo-request",
                                   "udp sport 20000-20010", "th dport >= 443"});
            default: return "ip saddr != " + random_.of(kSources);
        }
    }

    std::string nft_rule(const std::string& kind, int from, const std::string& where, bool dual) {
        std::string text = "    ";
        const auto tells_protocol = [](const std::string& words) {
            return words.find("tcp") != std::string::npos ||
                   words.find("udp") != std::string::npos ||
                   words.find("icmp") != std::string::npos ||
                   words.find("l4proto") != std::string::npos ||
                   words.find("th ") != std::string::npos;
        };
        for (unsigned n = random_.below(3); n > 0; --n) {
            const std::string condition = nft_condition(where);
            if (tells_protocol(condition) && tells_protocol(text)) {
                continue;
            }
            // Ports need their protocol in front.
            if (condition.starts_with("th ") || condition.find(". th") != std::string::npos) {
                text += condition.starts_with("th ") ? "meta l4proto { tcp, udp } " : "";
            }
            text += condition + " ";
        }
        const bool raw = where.find("raw") != std::string::npos;
        const unsigned what = random_.below(12);
        const std::string comment = fmt::format(" comment \"r{}\"\n", ++number_);
        const std::string of = dual ? "ip " : "";
        if (what < 4 && from < 3) {
            return text + (random_.chance(70) ? "jump " : "goto ") +
                   fmt::format(
                       "{}{}", kind,
                       from + static_cast<int>(random_.below(static_cast<unsigned>(3 - from)))) +
                   comment;
        }
        if (raw && what < 7) {
            return text + random_.of({"notrack", "ct zone set 3", "ct zone set 5"}) + comment;
        }
        if (kind == "d" && what < 10 && tells_protocol(text)) {
            return text + "dnat " + of + "to " + random_.of(kBackends) + comment;
        }
        if (kind == "d" && what < 10) {
            text += "meta l4proto " + random_.of({"udp ", "tcp "});
            return text +
                   random_.of(
                       {"dnat " + of + "to " + random_.of(kBackends) + ":" + random_.of(kPorts),
                        "dnat " + of + "to " + random_.of(kBackends), "redirect to :8080",
                        "dnat " + of + "to " + random_.of(kBackends)}) +
                   comment;
        }
        if (kind == "s" && what < 10) {
            return text + random_.of({"masquerade", "snat " + of + "to 10.2.0.50", "masquerade"}) +
                   comment;
        }
        if (what < 8) {
            return text +
                   random_.of({"meta mark set 0x1", "meta mark set meta mark or 0x2", "counter",
                               "meta mark set meta mark xor 0x3"}) +
                   comment;
        }
        if (what == 8 && kind == "f") {
            return text + "drop" + comment;
        }
        return text + random_.of({"accept", "return", "counter"}) + comment;
    }

    std::string iptables_condition(const std::string& hook) {
        switch (random_.below(14)) {
            case 0: return "-s " + random_.of(kNetworks);
            case 1: return "-d " + random_.of(kDestinations);
            case 2: return "! -d " + random_.of(kNetworks);
            case 3: return "! -s " + random_.of(kSources);
            case 4: return "-p udp -m udp --dport " + random_.of(kPorts);
            case 5: return "-p tcp -m tcp ! --dport " + random_.of(kPorts);
            case 6: return "-p tcp -m multiport --dports 80,443,8000:9000";
            case 7: return "-m mark " + random_.of({"--mark 0x1/0x3", "! --mark 0x2/0x2"});
            case 8:
                return "-m conntrack " +
                       random_.of({"--ctstate NEW", "! --ctstate RELATED,ESTABLISHED",
                                   "--ctstate DNAT", "--ctstate UNTRACKED"});
            case 9: return "-m addrtype --dst-type LOCAL";
            case 10: return "-p icmp -m icmp --icmp-type 8";
            case 11: return "-p tcp --tcp-flags SYN,ACK SYN";
            case 12:
                if (hook == "PREROUTING" || hook == "INPUT" || hook == "FORWARD") {
                    return "-i c+";
                }
                if (hook == "OUTPUT" || hook == "POSTROUTING") {
                    return "! -o s0";
                }
                return "-m addrtype --src-type LOCAL";
            default: return "-m iprange --src-range 10.1.0.2-10.1.0.3";
        }
    }

    std::string iptables_rule(const std::string& chain, const std::string& kind, int from,
                              const std::string& table, const std::string& hook) {
        std::string text = fmt::format("-A {} -m comment --comment r{} ", chain, ++number_);
        std::string protocol;
        for (unsigned n = random_.below(3); n > 0; --n) {
            const std::string condition = iptables_condition(hook);
            // Each option once.
            const std::size_t dash = condition.find('-');
            const std::string option = condition.substr(dash, condition.find(' ', dash) - dash + 1);
            if (option != "-m " && text.find(" " + option) != std::string::npos) {
                continue;
            }
            const std::size_t at = condition.find("-p ");
            if (at != std::string::npos) {
                if (!protocol.empty()) {
                    continue;
                }
                protocol = condition.substr(at + 3, condition.find(' ', at + 3) - at - 3);
            }
            text += condition + " ";
        }
        const unsigned what = random_.below(12);
        if (what < 4 && from < 3) {
            return text + (random_.chance(70) ? "-j " : "-g ") +
                   fmt::format(
                       "{}{}\n", kind,
                       from + static_cast<int>(random_.below(static_cast<unsigned>(3 - from))));
        }
        if (table == "raw" && what < 7) {
            return text + random_.of({"-j NOTRACK", "-j CT --zone 3", "-j CT --zone 5"}) + "\n";
        }
        if (table == "mangle" && what < 9) {
            return text +
                   random_.of({"-j MARK --set-xmark 0x1/0x1", "-j MARK --set-xmark 0x2/0x3",
                               "-j CONNMARK --save-mark", "-j MARK --xor-mark 0x3"}) +
                   "\n";
        }
        if (kind == "d" && what < 10) {
            if (protocol.empty()) {
                text += random_.of({"-p udp ", "-p tcp "});
            } else if (protocol == "icmp") {
                return text + "-j DNAT --to-destination " + random_.of(kBackends) + "\n";
            }
            return text +
                   random_.of({"-j DNAT --to-destination " + random_.of(kBackends) + ":" +
                                   random_.of(kPorts),
                               "-j DNAT --to-destination " + random_.of(kBackends),
                               "-j REDIRECT --to-ports 8080"}) +
                   "\n";
        }
        if (kind == "s" && what < 10) {
            return text + random_.of({"-j MASQUERADE", "-j SNAT --to-source 10.2.0.50"}) + "\n";
        }
        if (table == "filter" && what < 6) {
            return text + random_.of({"-j DROP", "-j REJECT"}) + "\n";
        }
        return text + random_.of({"-j ACCEPT", "-j RETURN", ""}) + "\n";
    }

    Random& random_;
    unsigned number_ = 0;
};

struct Sent {
    Tuple tuple;
    std::string in;  // empty: sent by the node
    std::uint16_t id = 0;
};

// Header by header, by the same rules for all: an IPv4 packet with a known id.
std::vector<std::uint8_t> bytes_of(const Sent& sent) {
    std::vector<std::uint8_t> bytes(40, 0);
    const auto put16 = [&](std::size_t at, unsigned value) {
        bytes[at] = static_cast<std::uint8_t>(value >> 8);
        bytes[at + 1] = static_cast<std::uint8_t>(value);
    };
    bytes[0] = 0x45;
    put16(2, 40);
    put16(4, sent.id);
    bytes[8] = kTimeToLive;
    bytes[9] = sent.tuple.protocol;
    std::copy_n(sent.tuple.source.address.bytes.begin(), 4, bytes.begin() + 12);
    std::copy_n(sent.tuple.destination.address.bytes.begin(), 4, bytes.begin() + 16);
    if (sent.tuple.protocol == IPPROTO_ICMP) {
        bytes[20] = 8;
        put16(24, sent.tuple.icmp->id);
        put16(22, static_cast<std::uint16_t>(
                      ~frame::folded(frame::sum_bytes({bytes.data() + 20, 20}))));
        return bytes;
    }
    put16(20, sent.tuple.source.port);
    put16(22, sent.tuple.destination.port);
    if (sent.tuple.protocol == IPPROTO_UDP) {
        put16(24, 20);
    } else {
        bytes[32] = 0x50;
        bytes[33] = 0x02;  // SYN
        put16(34, 1000);
    }
    const frame::PartialSum pseudo = frame::pseudo_header_sum(
        sent.tuple.source.address, sent.tuple.destination.address, sent.tuple.protocol, 20);
    const std::size_t at = sent.tuple.protocol == IPPROTO_UDP ? 26 : 36;
    put16(at, static_cast<std::uint16_t>(
                  ~frame::folded(frame::sum_bytes({bytes.data() + 20, 20}, pseudo))));
    return bytes;
}

// Fate of one packet in the kernel, as observed.
struct Seen {
    std::vector<unsigned> rules;
    std::vector<std::string> places;  // table and chain of each rule
    bool dropped = false;
    bool entered = false;
    bool delivered = false, forwarded = false;  // by the sets
    std::string out;
    bool traced_in = false, traced_out = false;  // the same by the trace
};

// A batch of packets, as they were observed.
struct Batch {
    std::map<std::uint16_t, Seen> seen;
    std::set<std::uint16_t> refused;  // by sendto()
    std::string lost;                 // why its trace may not be whole; empty: it is
};

class Lab {
  public:
    Lab() {
        const auto ip = [](const netfilter::lab::Namespace& space, const std::string& words) {
            space.run("ip " + words);
        };
        client_.run("ip link add n0 type veth peer name c0 netns " + node_.name());
        for (const char* device : {"s0", "s1"}) {
            server_.run(fmt::format("ip link add {} type veth peer name {} netns {}", device,
                                    device, node_.name()));
            ip(server_, fmt::format("link set {} up", device));
            ip(node_, fmt::format("link set {} up", device));
        }
        ip(client_, "link set n0 up");
        ip(node_, "link set c0 up");
        for (const char* address : {"10.1.0.2", "10.1.0.3", "10.1.0.4"}) {
            ip(client_, fmt::format("address add {}/24 dev n0", address));
        }
        ip(node_, "address add 10.1.0.1/24 dev c0");
        ip(node_, "address add 10.2.0.1/24 dev s0");
        ip(node_, "address add 10.3.0.1/24 dev s1");
        for (const char* address : {"10.2.0.2/24", "10.2.0.9/24", "10.2.0.77/24"}) {
            ip(server_, fmt::format("address add {} dev s0", address));
        }
        ip(server_, "address add 10.3.0.2/24 dev s1");
        ip(client_, "route add default via 10.1.0.1");
        ip(node_, "route add default via 10.2.0.2");
        ip(node_, "route add default via 10.3.0.2 table 100");
        ip(node_, "rule add fwmark 0x1/0x1 lookup 100");
        // Neighbours are known, so that nothing waits for ARP.
        for (const char* address : {"10.2.0.2", "10.2.0.9", "10.3.0.2", "10.1.0.2", "10.1.0.3"}) {
            node_.run({"ping", "-c1", "-W1", address});
        }
        for (const auto* space : {&client_, &server_}) {
            // The hosts answer nothing: the node sees only what was sent.
            space->run(std::vector<std::string>{
                "nft",
                "add table ip quiet; add chain ip quiet in { type filter hook input priority 0; "
                "policy drop; }; add rule ip quiet in icmp type != 8 drop"});
        }
        node_.run(
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 "
            "net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.s0.rp_filter=0 "
            "net.ipv4.conf.s1.rp_filter=0 net.ipv4.conf.c0.rp_filter=0");
        for (const auto* space : {&client_, &server_}) {
            (void)process::run_program({"sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0"},
                                       {.netns = space->name()});
        }
        client_socket_ = raw_socket(client_.name());
        node_socket_ = raw_socket(node_.name());
    }

    ~Lab() {
        close(client_socket_);
        close(node_socket_);
    }

    const std::string& node() const { return node_.name(); }

    // Later packets of the node's own leave by it, whatever the routes say.
    void bind_node(const char* device) const {
        BOOST_REQUIRE(setsockopt(node_socket_, SOL_SOCKET, SO_BINDTODEVICE, device,
                                 static_cast<socklen_t>(std::strlen(device) + 1)) == 0);
    }

    void sysctl(const std::string& words) const { node_.run("sysctl -qw " + words); }

    // Takes all rules away, and makes these and what traces.
    bool load(const std::string& rules, bool is_nft, const char* restore, std::string& why) {
        (void)process::run_program({"nft", "flush", "ruleset"}, {.netns = node()});
        for (const char* table : {"raw", "mangle", "nat", "filter"}) {
            if (used_legacy_) {
                (void)process::run_program({"iptables-legacy", "-t", table, "-F"},
                                           {.netns = node()});
                (void)process::run_program({"iptables-legacy", "-t", table, "-X"},
                                           {.netns = node()});
                for (const char* chain : {"INPUT", "FORWARD", "OUTPUT"}) {
                    (void)process::run_program(
                        {"iptables-legacy", "-t", table, "-P", chain, "ACCEPT"}, {.netns = node()});
                }
            }
        }
        used_legacy_ |= !is_nft && std::string(restore) == "iptables-legacy-restore";
        const auto made =
            process::run_program(is_nft ? std::vector<std::string>{"nft", "-f", "-"}
                                        : std::vector<std::string>{restore, "--noflush"},
                                 {.netns = node(), .input = rules});
        if (!made || made->exit_status != 0) {
            why = made ? made->err : made.error().message;
            return false;
        }
        // Sets lose nothing, unlike a socket's queue.
        std::string tracing =
            "table ip pp_trace {\n"
            "  set in { typeof ip id; size 65535; flags dynamic; }\n"
            "  set out { typeof ip id . meta oif; size 65535; flags dynamic; }\n";
        for (const auto& [name, hook] :
             {std::pair{"first", "prerouting"}, {"firstout", "output"}}) {
            tracing += fmt::format(
                "  chain {} {{ type filter hook {} priority -450; ip ttl {} ip id {}-{} meta "
                "nftrace "
                "set 1; }}\n",
                name, hook, kTimeToLive, kFirstId, kLastId);
        }
        for (const auto& [hook, adds] : {std::pair{"input", "add @in { ip id }"},
                                         {"postrouting", "add @out { ip id . meta oif }"}}) {
            tracing += fmt::format(
                "  chain at{} {{ type filter hook {} priority 2000; ip ttl {{ {}, {} }} {}; }}\n",
                hook, hook, kTimeToLive - 1, kTimeToLive, adds);
        }
        const auto traced =
            process::run_program({"nft", "-f", "-"}, {.netns = node(), .input = tracing + "}\n"});
        BOOST_REQUIRE_MESSAGE((traced.has_value() && traced->exit_status == 0),
                              (traced.has_value() ? traced->err : std::string()));
        BOOST_REQUIRE(netfilter::flush(node()));
        return true;
    }

    // Sends them, and one behind them by which the trace is known to be read to its end.
    Batch send(const std::vector<Sent>& packets) {
        auto monitor = process::Child::start({"sh", "-c", "exec stdbuf -oL nft monitor trace 2>&1"},
                                             {.netns = node()});
        BOOST_REQUIRE(monitor);
        wait_for_listener();
        Batch batch;
        for (const Sent& sent : packets) {
            if (!send_one(sent)) {
                batch.refused.insert(sent.id);
            }
        }
        Sent last{.tuple = {.source = {*frame::parse_ip("10.1.0.2"), 9},
                            .destination = {*frame::parse_ip("10.1.0.1"), 9},
                            .protocol = IPPROTO_UDP},
                  .in = "c0",
                  .id = kLastId};
        BOOST_REQUIRE(send_one(last));
        const std::string text = read_trace(*monitor, batch.lost);
        kill(monitor->pid(), SIGTERM);
        (void)monitor->stop();
        read(text, batch.seen);
        read_sets(batch.seen);
        return batch;
    }

  private:
    bool send_one(const Sent& sent) const {
        const auto bytes = bytes_of(sent);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        std::memcpy(&to.sin_addr, sent.tuple.destination.address.bytes.data(), 4);
        return sendto(sent.in.empty() ? node_socket_ : client_socket_, bytes.data(), bytes.size(),
                      0, reinterpret_cast<const sockaddr*>(&to), sizeof to) >= 0;
    }

    // Messages come in the order of the packets: the last one's is behind all others but those of
    // packets that another CPU still had.
    static std::string read_trace(const process::Child& monitor, std::string& lost) {
        const std::string end = fmt::format("ip id {} ", kLastId);
        std::string text;
        const auto deadline = Clock::now() + 10s;
        auto quiet_at = deadline;
        while (Clock::now() < quiet_at) {
            pollfd waits{.fd = monitor.socket(), .events = POLLIN, .revents = 0};
            if (poll(&waits, 1, 20) <= 0) {
                continue;
            }
            std::array<char, 65536> buffer;
            const ssize_t got = ::read(monitor.socket(), buffer.data(), buffer.size());
            if (got <= 0) {
                break;
            }
            text.append(buffer.data(), static_cast<std::size_t>(got));
            if (text.find(end) != std::string::npos) {
                quiet_at = std::min(deadline, Clock::now() + 60ms);
            }
        }
        if (text.find(end) == std::string::npos) {
            lost = "the trace did not come to its end";
        } else if (text.find("We lost some netlink events") != std::string::npos) {
            lost = "the trace's socket overflowed";
        }
        return text;
    }

    void read_sets(std::map<std::uint16_t, Seen>& seen) const {
        const auto said = process::run_checked({"nft", "-j", "list", "table", "ip", "pp_trace"},
                                               {.netns = node()});
        BOOST_REQUIRE(said);
        const auto json = nlohmann::json::parse(*said);
        for (const auto& item : json.at("nftables")) {
            if (!item.contains("set") || !item["set"].contains("elem")) {
                continue;
            }
            const bool leaves = item["set"].at("name") == "out";
            for (const auto& element : item["set"]["elem"]) {
                const auto& id = leaves ? element.at("concat").at(0) : element;
                Seen& here = seen[id.get<std::uint16_t>()];
                here.entered = true;
                if (leaves) {
                    here.forwarded = true;
                    here.out = element.at("concat").at(1);
                } else {
                    here.delivered = true;
                }
            }
        }
    }

    void wait_for_listener() const {
        for (int i = 0; i < 400 && !node_.has_listener(); ++i) {
            std::this_thread::sleep_for(2ms);
        }
    }

    static int raw_socket(const std::string& netns) {
        int handle = -1;
        const Status opened = process::in_netns(netns, [&]() -> Status {
            handle = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
            return {};
        });
        const int on = 1;
        BOOST_REQUIRE(opened && handle >= 0 &&
                      setsockopt(handle, SOL_SOCKET, SO_BROADCAST, &on, sizeof on) == 0);
        return handle;
    }

    static void read(const std::string& text, std::map<std::uint16_t, Seen>& seen) {
        std::map<std::string, std::uint16_t> packets;
        static const std::regex kLine(R"(trace id (\w+) (\w+) (\S+) (\S+) (\S+) ?(.*))");
        static const std::regex kId(R"(ip id (\d+))"), kRule(R"(\br(\d+)\b)");
        for (const std::string& line : process::lines_of(text)) {
            std::smatch parts;
            if (!std::regex_match(line, parts, kLine)) {
                continue;
            }
            const std::string id = parts[1], table = parts[3], chain = parts[4], word = parts[5],
                              rest = parts[6];
            std::smatch found;
            if (word == "packet:") {
                if (std::regex_search(rest, found, kId)) {
                    packets[id] = static_cast<std::uint16_t>(std::stoi(found[1]));
                    Seen& here = seen[packets[id]];
                    here.entered = true;
                }
                continue;
            }
            const auto packet = packets.find(id);
            if (packet == packets.end()) {
                continue;
            }
            Seen& here = seen[packet->second];
            if (table == "pp_trace") {
                here.traced_in |= chain == "atinput";
                here.traced_out |= chain == "atpostrouting";
                continue;
            }
            const bool drops = rest.find("verdict drop") != std::string::npos ||
                               (word == "policy" && rest.find("drop") == 0) ||
                               rest.find("reject") != std::string::npos;
            here.dropped |= drops;
            if (word == "rule") {
                here.places.push_back(table + " " + chain);
            }
            if (word == "rule" && std::regex_search(rest, found, kRule)) {
                here.rules.push_back(static_cast<unsigned>(std::stoul(found[1])));
            }
        }
    }

    netfilter::lab::Namespace client_{"pc"}, node_{"pn"}, server_{"ps"};
    int client_socket_ = -1, node_socket_ = -1;
    bool used_legacy_ = false;
};

std::vector<Sent> packets_for(Random& random, std::uint16_t& next) {
    std::vector<Sent> packets;
    for (unsigned i = 0; i < kPackets; ++i) {
        Sent sent{.tuple = {}, .in = random.chance(70) ? "c0" : "", .id = next};
        const std::uint16_t port = static_cast<std::uint16_t>(19000 + next);
        next = next > 40000 ? kFirstId : static_cast<std::uint16_t>(next + 1);
        sent.tuple.source.address =
            *frame::parse_ip(sent.in.empty() ? random.of({"10.1.0.1", "10.2.0.1", "10.3.0.1"})
                                             : random.of(kSources));
        sent.tuple.destination.address = *frame::parse_ip(random.of(kDestinations));
        const unsigned kind = random.below(10);
        sent.tuple.protocol = IPPROTO_ICMP;
        if (kind < 5) {
            sent.tuple.protocol = IPPROTO_UDP;
        } else if (kind < 9) {
            sent.tuple.protocol = IPPROTO_TCP;
        }
        if (sent.tuple.protocol == IPPROTO_ICMP) {
            sent.tuple.icmp = Tuple::Icmp{.type = 8, .code = 0, .id = port};
        } else {
            sent.tuple.source.port = port;
            sent.tuple.destination.port = static_cast<std::uint16_t>(std::stoi(random.of(kPorts)));
        }
        packets.push_back(sent);
    }
    return packets;
}

std::vector<unsigned> rules_of(const predict::Outcome& outcome) {
    static const std::regex kRule(R"(\br(\d+)\b)");
    std::vector<unsigned> rules;
    for (const predict::Step& step : outcome.steps) {
        std::smatch found;
        if (step.rule != nullptr && std::regex_search(step.rule->text, found, kRule)) {
            rules.push_back(static_cast<unsigned>(std::stoul(found[1])));
        }
    }
    return rules;
}

std::vector<std::string> places_of(const predict::Outcome& outcome) {
    std::vector<std::string> places;
    for (const predict::Step& step : outcome.steps) {
        if (step.rule != nullptr) {
            places.push_back(step.rule->table + " " + step.rule->chain);
        }
    }
    return places;
}

enum class Form : std::uint8_t { kNft, kIptablesNft, kIptablesLegacy };

// Empty: as the kernel did. Of iptables-nft the trace tells the chain of each rule, of nft the rule, of
// the legacy form nothing.
std::string difference(const predict::Outcome& outcome, const Seen& seen,
                       const std::optional<netfilter::Entry>& entry, const Sent& sent, Form form,
                       bool is_traced) {
    using predict::End;
    const auto rules = rules_of(outcome);
    const bool compares_rules = is_traced && outcome.steps_certain;
    if (form == Form::kNft && compares_rules && rules != seen.rules) {
        return fmt::format("rules {} and the kernel's {}", rules, seen.rules);
    }
    const auto places = places_of(outcome);
    if (form == Form::kIptablesNft && compares_rules && places != seen.places) {
        return fmt::format("rules of {} and the kernel's {}", places, seen.places);
    }
    const bool delivered = outcome.end == End::kDelivered;
    const bool forwarded = outcome.end == End::kForwarded;
    const bool loops = delivered && sent.in.empty();
    // A packet of this host's own may be dropped behind POSTROUTING, on its way back in.
    const bool may_have_left = sent.in.empty() && !delivered && !forwarded;
    if (delivered != seen.delivered || (!may_have_left && (forwarded || loops) != seen.forwarded)) {
        return fmt::format("{}, and the kernel: delivered {}, forwarded {}", name(outcome.end),
                           seen.delivered, seen.forwarded);
    }
    if (forwarded && seen.out != outcome.out) {
        return fmt::format("leaves by '{}', and the kernel: '{}'", outcome.out, seen.out);
    }
    if (!delivered && !forwarded) {
        return "";
    }
    // A reset as the only answer takes the entry away (nf_conntrack_tcp_packet()).
    const bool may_be_reset = delivered && sent.tuple.protocol == IPPROTO_TCP && !entry;
    if (outcome.tracked != entry.has_value() && !may_be_reset) {
        return fmt::format("tracked {}, and the kernel: {}", outcome.tracked, entry.has_value());
    }
    if (!entry) {
        return "";
    }
    if (entry->reply.source != outcome.destination) {
        return fmt::format("to {}, and the kernel: {}", frame::to_string(outcome.destination),
                           frame::to_string(entry->reply.source));
    }
    const frame::IpAddress source =
        outcome.sources.empty() ? sent.tuple.source.address : outcome.sources.front().first;
    if (entry->reply.destination.address != source) {
        return fmt::format("from {}, and the kernel: {}", frame::to_string(source),
                           frame::to_string(entry->reply.destination.address));
    }
    return "";
}

// Ends of the packets of many rulesets.
struct Tally {
    unsigned pairs = 0;
    unsigned decided = 0;  // one outcome, and it is the kernel's
    unsigned by_chance =
        0;  // several, which only chance tells apart, and one of them is the kernel's
    unsigned wrong = 0;
    unsigned refused = 0;  // of the pairs, by their own host before any rule
    std::map<std::string, unsigned> ends, doubts, untraced;

    void print() const {
        fmt::print("  {} packets: {} decided ({:.1f} %), {} by chance, {} wrong\n", pairs, decided,
                   100.0 * decided / std::max(1U, pairs), by_chance, wrong);
        for (const auto& [why, count] : untraced) {
            fmt::print("  {} whose chain of rules was not observed: {}\n", count, why);
        }
        for (const auto& [end, count] : ends) {
            fmt::print("  {}: {}\n", end, count);
        }
        for (const auto& [doubt, count] : doubts) {
            fmt::print("  not decided {} times: {}\n", count, doubt);
        }
    }
};

bool is_by_chance(const std::vector<predict::Outcome>& outcomes) {
    return std::ranges::all_of(outcomes, [](const predict::Outcome& outcome) {
        return outcome.doubts == std::vector<std::string>{"chance"};
    });
}

// Returns why a packet's trace is not whole, judged by the sets; empty: it is whole.
std::string untraced_for(const Seen& seen, const Batch& batch, const Sent& sent) {
    if (!batch.lost.empty()) {
        return batch.lost;
    }
    if (!seen.entered) {
        return sent.in.empty() ? "the trace has nothing of it" : "it never came in";
    }
    return seen.traced_in != seen.delivered || seen.traced_out != seen.forwarded
               ? "the trace ended early"
               : "";
}

// Sends the packets through the rules that the lab has, and holds each against what the simulator says.
void compare(Lab& lab, Form form, const std::vector<Sent>& packets, const std::string& label,
             Tally& tally) {
    auto facts = hazards::read_facts(lab.node());
    BOOST_REQUIRE(facts);
    std::erase_if(facts->rules.chains,
                  [](const hazards::Chain& chain) { return chain.table == "pp_trace"; });
    const auto router = predict::kernel_router(lab.node());
    BOOST_REQUIRE(router);
    const predict::Simulator simulator(*facts, **router);
    const Batch batch = lab.send(packets);
    auto lookup = netfilter::Lookup::open(lab.node());
    BOOST_REQUIRE(lookup);
    for (const Sent& sent : packets) {
        const auto found = batch.seen.find(sent.id);
        const bool is_refused = batch.refused.contains(sent.id) && found == batch.seen.end();
        const auto outcomes = simulator.simulate({.tuple = sent.tuple, .in = sent.in});
        ++tally.pairs;
        tally.refused += is_refused ? 1 : 0;
        const bool is_one = outcomes.size() == 1 && outcomes[0].doubts.empty();
        if (!is_one && !is_by_chance(outcomes)) {
            ++tally.doubts[outcomes[0].doubts.empty() ? "" : outcomes[0].doubts.front()];
            continue;
        }
        const Seen seen = found == batch.seen.end() ? Seen() : found->second;
        const std::string untraced = is_refused ? "" : untraced_for(seen, batch, sent);
        if (!untraced.empty()) {
            ++tally.untraced[untraced];
        }
        // The trace knows no rules of the legacy form, nor packets that one of them dropped before
        // the trace's own chains.
        std::string wrong;
        for (const predict::Outcome& outcome : outcomes) {
            const auto entry = lookup->find(sent.tuple, outcome.zone);
            BOOST_REQUIRE(entry);
            std::string one;
            if (!is_refused) {
                one = difference(outcome, seen, *entry, sent, form, untraced.empty());
            } else if (outcome.end != predict::End::kNoRoute) {
                one = "its own host refused it";
            }
            if (one.empty()) {
                wrong.clear();
                break;
            }
            wrong = one + (wrong.empty() ? "" : "; " + wrong);
        }
        tally.wrong += wrong.empty() ? 0 : 1;
        ++(is_one ? tally.decided : tally.by_chance);
        ++tally.ends[name(outcomes[0].end)];
        BOOST_CHECK_MESSAGE(
            wrong.empty(),
            fmt::format("{} {}:{} -> {}:{} in '{}': {}\n{}\n{}", sent.tuple.protocol,
                        frame::to_string(sent.tuple.source.address), sent.tuple.source.port,
                        frame::to_string(sent.tuple.destination.address),
                        sent.tuple.destination.port, sent.in, wrong,
                        fmt::join(predict::lines_of(outcomes[0]), "\n"), label));
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_decided_is_what_the_kernel_does) {
    const char* seconds = std::getenv("PATHPROOF_PREDICT_SECONDS");
    const char* from = std::getenv("PATHPROOF_PREDICT_SEED");
    Lab lab;
    const auto deadline = Clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 12);
    std::uint16_t next = kFirstId;
    unsigned rulesets = 0, refused = 0;
    Tally tally;
    std::string refusal;
    std::map<std::string, unsigned> reasons;
    for (unsigned seed = from ? static_cast<unsigned>(std::atoi(from)) : 1; Clock::now() < deadline;
         ++seed) {
        Random random(seed);
        Writer writer(random);
        const unsigned form = seed % 5;  // two of nft, two of iptables-nft, one legacy
        const bool is_nft = form < 2, is_legacy = form == 4;
        const std::string rules = is_nft ? writer.nft() : writer.iptables();
        lab.sysctl(fmt::format("net.ipv4.conf.c0.rp_filter={}", random.below(3)));
        if (!lab.load(rules, is_nft, is_legacy ? "iptables-legacy-restore" : "iptables-nft-restore",
                      refusal)) {
            ++refused;
            reasons[refusal.substr(0, refusal.find('\n'))] += 1;
            continue;
        }
        ++rulesets;
        const Form iptables = is_legacy ? Form::kIptablesLegacy : Form::kIptablesNft;
        compare(lab, is_nft ? Form::kNft : iptables, packets_for(random, next),
                fmt::format("seed {}\n{}", seed, rules), tally);
    }
    fmt::print("{} rulesets by chance, {} refused by the kernel\n", rulesets, refused);
    tally.print();
    for (const auto& [reason, count] : reasons) {
        fmt::print("  refused {} times: {}\n", count, reason);
    }
    BOOST_CHECK_GT(tally.pairs, 20U);  // a busy machine does few
    BOOST_CHECK_GE(tally.decided * 100, tally.pairs * 95);
    BOOST_CHECK_LT(refused * 5, rulesets + 5);
}

// kube-proxy in both of its forms, flannel, Calico, portmap and Docker: chains, marks and order as they
// write them, for the addresses of the lab.
BOOST_AUTO_TEST_CASE(rulesets_of_projects_are_decided_as_the_kernel_does) {
    const char* rounds = std::getenv("PATHPROOF_PREDICT_ROUNDS");
    Lab lab;
    lab.sysctl("net.ipv4.conf.c0.rp_filter=0");
    std::uint16_t next = kFirstId;
    Tally all;
    std::string refusal;
    for (const ProjectRules& project : project_rules()) {
        for (const char* restore : {"iptables-nft-restore", "iptables-legacy-restore"}) {
            const bool is_legacy = std::string_view(restore) == "iptables-legacy-restore";
            if (project.is_nft && is_legacy) {
                continue;
            }
            BOOST_REQUIRE_MESSAGE(lab.load(project.text, project.is_nft, restore, refusal),
                                  project.name << ": " << refusal);
            Tally tally;
            Random random(7);
            for (int round = rounds ? std::atoi(rounds) : 2; round > 0; --round) {
                const Form iptables = is_legacy ? Form::kIptablesLegacy : Form::kIptablesNft;
                compare(lab, project.is_nft ? Form::kNft : iptables, packets_for(random, next),
                        project.name, tally);
            }
            fmt::print("{} ({})\n", project.name, project.is_nft ? "nft" : restore);
            tally.print();
            all.pairs += tally.pairs;
            all.decided += tally.decided;
            all.by_chance += tally.by_chance;
            all.wrong += tally.wrong;
            for (const auto& [why, count] : tally.untraced) {
                all.untraced[why] += count;
            }
        }
    }
    fmt::print("rulesets of projects:\n");
    all.print();
    BOOST_CHECK_GT(all.pairs, 200U);
    BOOST_CHECK_GE((all.decided + all.by_chance) * 100, all.pairs * 95);
}

// A broadcast that this host sends leaves, and one from outside is taken in. No entry of either is
// stale under the rules that made it. An entry whose socket chose the device is not decided.
BOOST_AUTO_TEST_CASE(a_broadcast_leaves_or_is_taken_in_as_the_kernel_does_it) {
    struct Case {
        const char *source, *destination, *in, *out;
    };
    const Case kCases[] = {
        {"10.1.0.1", "10.1.0.255", "", "c0"},      {"10.2.0.1", "10.2.0.255", "", "s0"},
        {"10.2.0.1", "224.0.0.251", "", "s0"},     {"10.1.0.2", "10.1.0.255", "c0", ""},
        {"10.2.0.1", "255.255.255.255", "", "s0"}, {"10.1.0.2", "255.255.255.255", "c0", ""},
        {"10.1.0.2", "224.0.0.1", "c0", ""}};
    Lab lab;
    std::string why;
    BOOST_REQUIRE_MESSAGE(lab.load("*nat\n:POSTROUTING ACCEPT [0:0]\n"
                                   "-A POSTROUTING -o c0 -j SNAT --to-source 10.1.0.77\n"
                                   "-A POSTROUTING -o s0 -j SNAT --to-source 10.2.0.66\nCOMMIT\n",
                                   false, "iptables-nft-restore", why),
                          why);
    const auto packet = [](const Case& each, std::uint16_t id) {
        const auto end = [&](const char* address, std::uint16_t port) {
            return frame::Endpoint{*frame::parse_ip(address), port};
        };
        return Sent{.tuple = {.source = end(each.source, static_cast<std::uint16_t>(20'000 + id)),
                              .destination = end(each.destination, 9),
                              .protocol = IPPROTO_UDP},
                    .in = each.in,
                    .id = id};
    };
    std::vector<Sent> packets;
    for (const Case& each : kCases) {
        packets.push_back(packet(each, static_cast<std::uint16_t>(kFirstId + packets.size())));
    }
    const Batch batch = lab.send(packets);
    lab.bind_node("s0");
    const Sent bound = packet({"10.1.0.1", "255.255.255.255", "", "s0"}, kFirstId + 100);
    lab.send({bound});

    const auto facts = hazards::read_facts(lab.node());
    BOOST_REQUIRE(facts);
    const auto router = predict::kernel_router(lab.node());
    BOOST_REQUIRE(router);
    const predict::Simulator simulator(*facts, **router);
    predict::StaleFinder finder(simulator, **router);
    auto lookup = netfilter::Lookup::open(lab.node());
    BOOST_REQUIRE(lookup);
    const auto staleness_of = [&](const Sent& sent) {
        const auto entry = lookup->find(sent.tuple, 0);
        BOOST_REQUIRE((entry && *entry));
        return std::string(name(finder.check(**entry).staleness));
    };
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const auto& [source, destination, in, out] = kCases[i];
        BOOST_TEST_CONTEXT(source << " -> " << destination << " in '" << in << "'") {
            const bool leaves = packets[i].in.empty();
            const auto found = batch.seen.find(packets[i].id);
            BOOST_REQUIRE((found != batch.seen.end()));
            BOOST_TEST(found->second.forwarded == leaves);
            BOOST_TEST(found->second.out == out);
            const auto outcomes =
                simulator.simulate({.tuple = packets[i].tuple, .in = packets[i].in});
            BOOST_REQUIRE(outcomes.size() == 1U);
            BOOST_TEST(name(outcomes[0].end) ==
                       name(leaves ? predict::End::kForwarded : predict::End::kDelivered));
            BOOST_TEST(outcomes[0].out == out);
            BOOST_TEST(staleness_of(packets[i]) == "current");
        }
    }
    BOOST_TEST(staleness_of(bound) == "not decided");
}

BOOST_AUTO_TEST_SUITE_END()
