#define BOOST_TEST_MODULE hazards lab
// `pathproof inspect hazards` on the running kernel, with the real plug-ins of CNI.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "harness/process/program.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/needs_root.h"

using namespace pathproof;
using netfilter::lab::Namespace;
using nlohmann::json;

namespace {

constexpr const char* kPlugIns = "/usr/lib/cni";

struct Said {
    int exit_status = 0;
    std::map<std::string, json> hazards;  // by their ids
    std::vector<json> unread;
    std::string out, err;
};

Said inspect(const std::string& arguments, const std::string& path = "") {
    const char* const binary = std::getenv("PATHPROOF");
    BOOST_REQUIRE(binary != nullptr);
    const auto ran =
        process::run_program({"/bin/sh", "-c",
                              fmt::format("{} exec {} inspect hazards {}",
                                          path.empty() ? "" : "PATH=" + path, binary, arguments)});
    BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
    Said said{.exit_status = ran->exit_status, .out = ran->out, .err = ran->err};
    std::istringstream lines(ran->out);
    for (std::string line; std::getline(lines, line) && line.starts_with('{');) {
        const json value = json::parse(line);
        if (value.contains("hazard")) {
            said.hazards[value["hazard"]] = value;
        } else if (value.contains("why")) {
            said.unread.push_back(value);
        }
    }
    return said;
}

// All that a command which only reads might change.
std::string state_of(const Namespace& space) {
    std::string state;
    for (const char* command :
         {"iptables-save", "ip6tables-save", "nft -a list ruleset", "ip -4 address show",
          "ip -4 route show table all", "ip -4 rule show", "cat /proc/net/ip_tables_names",
          "cat /proc/net/ip6_tables_names", "sysctl -a --pattern ^net"}) {
        std::istringstream lines(space.run(command));
        for (std::string line; std::getline(lines, line);) {
            // Times and what counts by itself.
            state += line.starts_with('#') || line.find("nf_conntrack_count") != std::string::npos
                         ? ""
                         : line + "\n";
        }
    }
    return state;
}

// A pod that the plug-ins bridge and portmap attach to the namespace as to a node.
void attach(const Namespace& node, const std::string& pod, const std::string& data) {
    const std::string config =
        R"({"name":"net","cniVersion":"1.0.0","type":"bridge","bridge":"cni0","isGateway":true,)"
        R"("ipMasq":true,"ipam":{"type":"host-local","subnet":"198.18.9.0/24","dataDir":")" +
        data + R"("}})";
    node.run({"sh", "-c",
              fmt::format("CNI_COMMAND=ADD CNI_CONTAINERID={0} CNI_NETNS=/run/netns/{0} "
                          "CNI_IFNAME=eth0 CNI_PATH={1} {1}/bridge <<'END'\n{2}\nEND",
                          pod, kPlugIns, config)});
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_real_plug_in_writes_is_found_and_nothing_is_changed) {
    BOOST_REQUIRE_MESSAGE(std::filesystem::exists(std::string(kPlugIns) + "/bridge"),
                          "install containernetworking-plugins");
    const std::string data =
        std::filesystem::temp_directory_path() / fmt::format("pathproof-hazards-{}", getpid());
    {
        const Namespace node("node"), pod("pod");
        attach(node, pod.name(), data);
        const std::string before = state_of(node);
        const Said said = inspect("--json --netns " + node.name());
        BOOST_TEST(said.exit_status == 0);  // it may fail at times, and nothing is counted
        BOOST_TEST(said.unread.empty());
        BOOST_REQUIRE(said.hazards.contains("snat-race"));
        const json& race = said.hazards.at("snat-race");
        BOOST_TEST(race["scenario"] == "snat-race");
        BOOST_REQUIRE_EQUAL(race["evidence"].size(), 1U);
        const std::string rule = race["evidence"][0]["text"];
        // The very line that iptables-save prints.
        BOOST_TEST(rule.ends_with("-j MASQUERADE"));
        BOOST_TEST(node.run("iptables-save").find(rule + "\n") != std::string::npos);
        BOOST_TEST(state_of(node) == before);
    }
    std::filesystem::remove_all(data);
}

BOOST_AUTO_TEST_CASE(rules_of_all_three_kinds_are_read) {
    const Namespace space("kinds");
    BOOST_TEST(inspect("--netns " + space.name()).exit_status == 0);
    space.run("iptables-nft -t nat -A POSTROUTING -o one -j MASQUERADE");
    space.run("iptables-legacy -t nat -A POSTROUTING -o two -j MASQUERADE");
    space.run("ip6tables-legacy -t nat -A POSTROUTING -o three -j MASQUERADE");
    space.run(std::vector<std::string>{
        "nft",
        "add table inet own; add chain inet own post { type nat hook postrouting priority "
        "100; }; add rule inet own post oifname four masquerade"});
    const Said said = inspect("--json --netns " + space.name());
    BOOST_TEST(said.exit_status == 0);
    std::string all;
    for (const json& each : said.hazards.at("snat-race")["evidence"]) {
        all += each["where"].get<std::string>() + ": " + each["text"].get<std::string>() + "\n";
    }
    BOOST_TEST(all.find("ip, iptables (nf_tables): -A POSTROUTING -o one -j MASQ") !=
               std::string::npos);
    BOOST_TEST(all.find("ip, iptables (legacy): -A POSTROUTING -o two -j MASQ") !=
               std::string::npos);
    BOOST_TEST(all.find("ip6, iptables (legacy): -A POSTROUTING -o three -j MASQ") !=
               std::string::npos);
    BOOST_TEST(all.find("inet, nftables: oifname \"four\" masquerade") != std::string::npos);
    const Said text = inspect("--netns " + space.name());
    BOOST_TEST(text.out.find("side effect  where the server closes first") != std::string::npos);
    BOOST_TEST(text.out.find("\n1 of ") != std::string::npos, text.out);
    BOOST_TEST(text.out.ends_with(" known hazards found\n"), text.out);
}

BOOST_AUTO_TEST_CASE(a_device_and_a_sysctl_are_evidence_too) {
    const Namespace space("vxlan");
    space.run("ip link add u0 type veth peer name u1");
    space.run("ip address add 198.18.8.1/24 dev u0");
    space.run("ip link set u0 up");
    space.run("ip link set u1 up");
    space.run(
        "ip link add vx type vxlan id 7 local 198.18.8.1 remote 198.18.8.2 dstport 4789 dev u0");
    space.run(
        "iptables -t nat -A POSTROUTING -o u0 -p udp --dport 4789 -j MASQUERADE --random-fully");
    const Said said = inspect("--json --netns " + space.name());
    BOOST_REQUIRE(said.hazards.contains("vxlan-checksum"));
    BOOST_TEST(said.hazards.at("vxlan-checksum")["evidence"][1]["where"] == "device vx");
    space.run("ethtool -K vx tx-checksum-ip-generic off");
    BOOST_TEST(!inspect("--json --netns " + space.name()).hazards.contains("vxlan-checksum"));
    space.run("ip link set u0 mtu 1400");
    const Said mtu = inspect("--json --netns " + space.name());
    BOOST_REQUIRE(mtu.hazards.contains("pmtu-blackhole"));
    BOOST_TEST(mtu.hazards.at("pmtu-blackhole")["evidence"][0]["text"] ==
               "MTU 1450; u0 of MTU 1400 leaves 1350");
}

BOOST_AUTO_TEST_CASE(rules_that_stand_in_their_own_way_are_severe) {
    const Namespace space("plain");
    const auto restore = [&](const char* program, const std::string& to) {
        space.run(
            {"sh", "-c",
             fmt::format("{} <<'END'\n*nat\n-A PREROUTING -d 198.18.9.1/32 -p tcp -m tcp --dport "
                         "80 -j DNAT --to-destination {}\nCOMMIT\nEND",
                         program, to)});
    };
    restore("iptables-nft-restore --noflush", "198.18.9.2:80");
    BOOST_TEST(inspect("--netns " + space.name()).exit_status == 0);
    restore("iptables-nft-restore --noflush", "198.18.9.3:80");
    const Said shadowed = inspect("--json --netns " + space.name());
    BOOST_TEST(shadowed.exit_status == 1);
    BOOST_REQUIRE(shadowed.hazards.contains("shadowed-dnat"));
    BOOST_TEST(shadowed.hazards.at("shadowed-dnat")["remedy"].get<std::string>().find(
                   "iptables -t nat -D PREROUTING 1") != std::string::npos);
    space.run("iptables-nft -t nat -D PREROUTING 1");
    restore("iptables-legacy-restore --noflush", "198.18.9.2:80");
    const Said forms = inspect("--json --netns " + space.name());
    BOOST_TEST(forms.exit_status == 1);
    BOOST_TEST(forms.hazards.contains("two-forms"));
}

// The next pod gets the address of one that has just gone, and nothing tells the node.
BOOST_AUTO_TEST_CASE(what_pods_leave_behind_is_found) {
    const Namespace node("left"), first("left-1"), second("left-2");
    const std::string data =
        std::filesystem::temp_directory_path() / fmt::format("pathproof-leases-{}", getpid());
    const std::string leases = " --cni-leases " + data;
    attach(node, first.name(), data);
    // The bridge has another port: it stays up, and keeps its MAC.
    node.run("ip link add hold type veth peer name hold1");
    node.run("ip link set hold master cni0 up");
    node.run("ip link set hold1 up");
    first.run("ping -c 1 -W 1 198.18.9.1");
    Said said = inspect("--json --netns " + node.name() + leases);
    BOOST_TEST(!said.hazards.contains("gone-neighbour"), said.out);
    BOOST_TEST(!said.hazards.contains("lease-leak"), said.out);

    first.run("ip link del eth0");
    said = inspect("--json --netns " + node.name() + leases);
    BOOST_TEST(said.exit_status == 1);
    BOOST_REQUIRE_MESSAGE(said.hazards.contains("gone-neighbour"), said.out);
    const std::string found = said.hazards["gone-neighbour"]["evidence"][0]["where"];
    BOOST_TEST(found.starts_with("neighbour 198.18.9."), found);
    BOOST_REQUIRE_MESSAGE(said.hazards.contains("lease-leak"), said.out);
    BOOST_TEST(said.hazards["lease-leak"]["harm"] ==
               "without a pod in the network net: 1 of 1 lease");
    std::filesystem::remove_all(data);
}

namespace {

// A router between two hosts.
struct Path {
    const Namespace client{"doc-c"}, router{"doc-r"}, server{"doc-s"};

    Path() {
        for (const auto& [host, device, own, peer] :
             {std::tuple{&client, "c0", "198.18.7.2/24", "r0"},
              {&server, "s0", "198.18.8.2/24", "r1"}}) {
            host->run(fmt::format("ip link add {} type veth peer name {} netns {}", device, peer,
                                  router.name()));
            host->run(fmt::format("ip address add {} dev {}", own, device));
            host->run(fmt::format("ip link set {} up", device));
            router.run(fmt::format("ip link set {} up", peer));
        }
        router.run("ip address add 198.18.7.1/24 dev r0");
        router.run("ip address add 198.18.8.1/24 dev r1");
        router.run("sysctl -qw net.ipv4.ip_forward=1");
        client.run("ip route add default via 198.18.7.1");
        server.run("ip route add default via 198.18.8.1");
    }

    // `inspect WORDS` on the router, while the client sends from port 4000 to the server's port 7.
    process::ProgramOutput ask(const std::string& words) const {
        const auto ran = process::run_program(
            {"sh", "-c",
             fmt::format("(sleep 1; for i in 1 2 3 4 5 6 7 8 9 10; do echo x; sleep 0.2; done | ip "
                         "netns exec {} nc "
                         "-u -q 0 -w 3 -p 4000 198.18.8.2 7) >&2 & {} inspect {} --netns {}",
                         client.name(), std::getenv("PATHPROOF"), words, router.name())});
        BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
        return *ran;
    }
};

constexpr const char* kWhy = "why udp 198.18.7.2:4000 198.18.8.2:7 --duration 4";

}  // namespace

BOOST_AUTO_TEST_CASE(why_names_what_dropped_the_packets_themselves) {
    const Path path;
    path.client.run("ping -c 1 -W 2 198.18.8.2");
    path.router.run("tc qdisc add dev r1 root tbf rate 1kbit burst 20 limit 2000");
    auto why = path.ask(kWhy);
    BOOST_TEST(why.exit_status == 1, why.out << why.err);
    BOOST_TEST(why.out.find("cause found (dropped-qdisc): ") != std::string::npos, why.out);
    BOOST_TEST(why.out.find("device r1") != std::string::npos, why.out);
    path.router.run("tc qdisc del dev r1 root");

    path.router.run("iptables -A FORWARD -p udp --dport 7 -j DROP");
    why = path.ask(kWhy);
    BOOST_TEST(why.exit_status == 1, why.out << why.err);
    BOOST_TEST(why.out.find("cause found (dropped-by-rule): ") != std::string::npos, why.out);
    BOOST_TEST(why.out.find("Followed: ") != std::string::npos, why.out);
    const auto drops = path.ask("drops --flows --duration 4");
    BOOST_TEST(
        drops.out.find("udp 198.18.7.2:4000 > 198.18.8.2:7: dropped by ") != std::string::npos,
        drops.out);
    BOOST_TEST(drops.out.find("by the rules of now: filter FORWARD rule 1 ") != std::string::npos,
               drops.out);
}

BOOST_AUTO_TEST_CASE(an_entry_that_is_older_than_the_rules_is_a_hazard) {
    const Path path;
    path.router.run(
        "conntrack -I -p udp -s 198.18.7.2 -d 198.18.8.2 -r 198.18.8.2 -q 198.18.7.2 "
        "--orig-port-src 4000 --orig-port-dst 7 --reply-port-src 7 --reply-port-dst 4000 -t 60");
    Said said = inspect("--json --netns " + path.router.name());
    BOOST_TEST(!said.hazards.contains("stale-entry"), said.out);
    path.router.run(
        "iptables -t nat -A PREROUTING -p udp --dport 7 -j DNAT --to-destination 198.18.8.2:8");
    said = inspect("--json --netns " + path.router.name());
    BOOST_TEST(said.exit_status == 1, said.out);
    BOOST_REQUIRE_MESSAGE(said.hazards.contains("stale-entry"), said.out);
    BOOST_TEST(said.hazards["stale-entry"]["harm"] == "entries that are older than the rules: 1");
}

BOOST_AUTO_TEST_CASE(the_doctor_ranks_what_is_happening_first) {
    const Path path;
    auto doctor = path.ask("doctor --duration 4");
    BOOST_TEST(doctor.exit_status == 0, doctor.out << doctor.err);
    path.router.run("iptables -P FORWARD DROP");
    doctor = path.ask("doctor --duration 4");
    BOOST_TEST(doctor.out.starts_with("1. dropped: the kernel dropped "), doctor.out);
    BOOST_TEST(doctor.out.find("of udp 198.18.7.2:4000 > 198.18.8.2:7: by the rules of now policy "
                               "DROP of filter FORWARD") != std::string::npos,
               doctor.out);
    path.router.run("iptables -P FORWARD ACCEPT");
    path.router.run(
        "iptables -t nat -A PREROUTING -p udp --dport 7 -j DNAT --to-destination 198.18.8.9");
    // Nobody has that address: the first run's packets have told.
    path.ask("doctor --duration 4");
    doctor = path.ask("doctor --duration 4");
    BOOST_TEST(doctor.exit_status == 1, doctor.out << doctor.err);
    BOOST_TEST(doctor.out.starts_with("1. happening: dead-dnat: "), doctor.out);
    BOOST_TEST(doctor.out.find("--to-destination 198.18.8.9") != std::string::npos, doctor.out);
}

BOOST_AUTO_TEST_CASE(the_doctor_is_asked_about_one_service) {
    const Path path;
    path.router.run(
        "iptables -t nat -A PREROUTING -p udp --dport 7 -j DNAT --to-destination 198.18.8.9");
    path.router.run(
        "iptables -t nat -A PREROUTING -p udp --dport 9 -j DNAT --to-destination 198.18.8.10");
    // Its address alone, a service and a flow: the diagnosis comes first, with the rule.
    for (const char* subject : {"198.18.8.2:7", "udp 198.18.8.2:7",
                                "udp 198.18.7.2:4000 198.18.8.2:7", "udp '*' 198.18.8.2:7"}) {
        const auto doctor = path.ask(fmt::format("doctor --duration 4 {}", subject));
        BOOST_TEST_CONTEXT(subject) {
            BOOST_TEST(doctor.exit_status == 1, doctor.out << doctor.err);
            BOOST_TEST(doctor.out.starts_with("1. happening: "), doctor.out);
            const std::string first = doctor.out.substr(0, doctor.out.find("\n2. "));
            BOOST_TEST(first.find("--to-destination 198.18.8.9") != std::string::npos, doctor.out);
        }
    }
    // A service of which no flow was seen: only others fail.
    const auto other = path.ask("doctor --duration 3 udp 198.18.8.77:53");
    BOOST_TEST(other.exit_status == 3, other.out << other.err);
    BOOST_TEST(other.out.find("happening") == std::string::npos, other.out);
    BOOST_TEST(other.out.find("of others: ") != std::string::npos, other.out);
    BOOST_TEST(other.out.find("not seen: why udp: ") != std::string::npos, other.out);
    for (const char* wrong :
         {"here", "udp here:53", "quark 198.18.8.2:7", "udp 198.18.7.2:x 198.18.8.2:7"}) {
        const auto refused = path.ask(fmt::format("doctor {}", wrong));
        BOOST_TEST(refused.exit_status == 2, wrong);
        BOOST_TEST(!refused.err.empty(), wrong);
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_said_and_is_no_clean_bill) {
    const Namespace space("blind");
    space.run("nft add table inet own");
    // Folders of programs are PATH and the sbin folders: a file system without them is what hides them.
    const auto ran = process::run_program(
        {"unshare", "--mount", "sh", "-c",
         fmt::format("mount --bind /dev/null \"$(readlink -f /usr/sbin/nft)\" && exec {} inspect "
                     "hazards --netns {}",
                     std::getenv("PATHPROOF"), space.name())});
    BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
    BOOST_TEST(ran->exit_status == 3);
    BOOST_TEST(ran->out.find("not read: nftables' table inet own: ") != std::string::npos);
    BOOST_TEST(ran->out.find("not all could be read") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_namespace_that_is_not_there_is_refused) {
    const Said said = inspect("--netns pp-none");
    BOOST_TEST(said.exit_status == 2);
    BOOST_TEST(said.err.find("pp-none") != std::string::npos);
}
