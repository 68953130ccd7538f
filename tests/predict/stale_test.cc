#include "harness/predict/stale.h"

#include "tests/predict/fixture.h"

BOOST_AUTO_TEST_SUITE(predict_stale)

using namespace pathproof;
using namespace pathproof::predict;
using fixture::Host;

namespace {

constexpr const char* kService =
    "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.10/32 -p udp -m udp --dport 53 -j "
    "DNAT "
    "--to-destination 10.2.0.7:53\nCOMMIT\n";
constexpr const char* kMasquerade =
    "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -o s0 -j MASQUERADE\nCOMMIT\n";
constexpr const char* kZones =
    "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.10 -p udp -j CT --zone 1\nCOMMIT\n"
    "*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n";

netfilter::Entry entry_of(const std::string& original, const std::string& reply,
                          std::uint16_t zone = 0) {
    netfilter::Entry entry{.original = *netfilter::parse_flow({original}),
                           .reply = *netfilter::parse_flow({reply})};
    entry.zone = zone;
    return entry;
}

struct Case {
    const char* what;
    std::string rules, original, reply;
    std::uint16_t zone;
    Staleness staleness;
};

const Case kCases[] = {
    {"as the rules make it", kService, "udp 10.1.0.5:4000 10.96.0.10:53",
     "udp 10.2.0.7:53 10.1.0.5:4000", 0, Staleness::kCurrent},
    {"before the rule", kService, "udp 10.1.0.5:4000 10.96.0.10:53",
     "udp 10.96.0.10:53 10.1.0.5:4000", 0, Staleness::kOtherDestination},
    {"to an endpoint that is gone", kService, "udp 10.1.0.5:4000 10.96.0.10:53",
     "udp 10.2.0.9:53 10.1.0.5:4000", 0, Staleness::kOtherDestination},
    {"of another port of the service", kService, "udp 10.1.0.5:4000 10.96.0.10:54",
     "udp 10.96.0.10:54 10.1.0.5:4000", 0, Staleness::kCurrent},
    {"a source port that NAT has changed", kMasquerade, "udp 10.1.0.5:4000 10.9.0.1:53",
     "udp 10.9.0.1:53 10.2.0.1:61000", 0, Staleness::kCurrent},
    {"another uplink's address", kMasquerade, "udp 10.1.0.5:4000 10.9.0.1:53",
     "udp 10.9.0.1:53 10.1.0.1:4000", 0, Staleness::kOtherSource},
    {"an address that is gone", kMasquerade, "udp 10.1.0.5:4000 10.9.0.1:53",
     "udp 10.9.0.1:53 10.2.0.99:4000", 0, Staleness::kAddressGone},
    {"before the masquerade", kMasquerade, "udp 10.1.0.5:4000 10.9.0.1:53",
     "udp 10.9.0.1:53 10.1.0.5:4000", 0, Staleness::kOtherSource},
    {"to a group, from outside", kMasquerade, "udp 10.1.0.5:4000 224.0.0.251:5353",
     "udp 224.0.0.251:5353 10.1.0.5:4000", 0, Staleness::kCurrent},
    {"to everybody, from outside", kMasquerade, "udp 10.1.0.5:68 255.255.255.255:67",
     "udp 255.255.255.255:67 10.1.0.5:68", 0, Staleness::kCurrent},
    {"to everybody, by the route's device", kMasquerade, "udp 10.2.0.1:68 255.255.255.255:67",
     "udp 255.255.255.255:67 10.2.0.1:68", 0, Staleness::kCurrent},
    {"to everybody, with another source", kMasquerade, "udp 10.2.0.1:68 255.255.255.255:67",
     "udp 255.255.255.255:67 10.1.0.1:68", 0, Staleness::kOtherSource},
    {"to everybody, of a socket that is bound", kMasquerade, "udp 10.1.0.1:68 255.255.255.255:67",
     "udp 255.255.255.255:67 10.1.0.1:68", 0, Staleness::kNotDecided},
    {"to a group, of a socket that is bound", kMasquerade, "udp 10.1.0.1:4000 224.0.0.22:5353",
     "udp 224.0.0.22:5353 10.1.0.1:4000", 0, Staleness::kNotDecided},
    {"of a socket that is bound", kMasquerade, "udp 10.1.0.1:4000 10.9.0.1:53",
     "udp 10.9.0.1:53 10.1.0.1:4000", 0, Staleness::kNotDecided},
    {"of a socket that is not, and an address that is gone", kMasquerade,
     "udp 10.2.0.1:4000 10.9.0.1:53", "udp 10.9.0.1:53 10.2.0.99:4000", 0, Staleness::kAddressGone},
    {"of an echo", kMasquerade, "icmp 10.1.0.5 10.9.0.1 id=7", "icmp 10.9.0.1 10.1.0.5 id=7", 0,
     Staleness::kOtherSource},
    {"another zone", kZones, "udp 10.1.0.5:4000 10.96.0.10:53", "udp 10.96.0.10:53 10.1.0.5:4000",
     0, Staleness::kOtherZone},
    {"answers in another zone", kZones, "udp 10.1.0.5:4000 10.96.0.10:53",
     "udp 10.96.0.10:53 10.1.0.5:4000", 1, Staleness::kAnswersElsewhere},
    {"not tracked now",
     "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j NOTRACK\nCOMMIT\n*nat\n:PREROUTING "
     "ACCEPT "
     "[0:0]\nCOMMIT\n",
     "udp 10.1.0.5:4000 10.96.0.10:53", "udp 10.96.0.10:53 10.1.0.5:4000", 0,
     Staleness::kUntracked},
    {"by chance to one of two",
     "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -m statistic --mode random "
     "--probability "
     "0.5 -j DNAT --to-destination 10.2.0.7\n-A PREROUTING -p udp -j DNAT --to-destination "
     "10.2.0.8\nCOMMIT\n",
     "udp 10.1.0.5:4000 10.96.0.10:53", "udp 10.2.0.8:53 10.1.0.5:4000", 0, Staleness::kCurrent},
    {"a device that the entry does not tell",
     "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -i other0 -p udp -j DNAT --to-destination "
     "10.2.0.7\nCOMMIT\n",
     "udp 10.1.0.5:4000 10.96.0.10:53", "udp 10.2.0.7:53 10.1.0.5:4000", 0, Staleness::kCurrent},
    {"dropped were it new", "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n",
     "udp 10.1.0.5:4000 10.96.0.10:53", "udp 10.96.0.10:53 10.1.0.5:4000", 0, Staleness::kCurrent},
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_entry_is_held_against_the_rules) {
    for (const Case& each : kCases) {
        BOOST_TEST_CONTEXT(each.what) {
            Host host(each.rules);
            const Simulator simulator(host.facts, host.routes);
            StaleFinder finder(simulator, host.routes);
            const auto verdict = finder.check(entry_of(each.original, each.reply, each.zone));
            BOOST_TEST(std::string(name(verdict.staleness)) == name(each.staleness));
        }
    }
}

BOOST_AUTO_TEST_CASE(an_entry_of_an_exempt_user_is_told_by_who_asks_now) {
    Host host(
        "*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -p udp -m udp --dport 53 -m owner --uid-owner 1337 "
        "-j "
        "RETURN\n-A OUTPUT -p udp -m udp --dport 53 -j REDIRECT --to-ports 15053\nCOMMIT\n");
    const Simulator simulator(host.facts, host.routes);
    StaleFinder finder(simulator, host.routes);
    const auto entry = entry_of("udp 10.1.0.1:4000 10.2.0.53:53", "udp 10.2.0.53:53 10.1.0.1:4000");
    BOOST_TEST((finder.check(entry).staleness == Staleness::kCurrent));
    BOOST_TEST((finder.check(entry, 1337).staleness == Staleness::kCurrent));
    const auto other = finder.check(entry, 0);
    BOOST_TEST((other.staleness == Staleness::kOtherUser));
    BOOST_TEST(other.would_go == "to 127.0.0.1:15053");
}

BOOST_AUTO_TEST_CASE(like_entries_cost_one_simulation) {
    Host host(kService);
    const Simulator simulator(host.facts, host.routes);
    StaleFinder finder(simulator, host.routes);
    for (int port = 1000; port < 3000; ++port) {
        const auto entry = entry_of(fmt::format("udp 10.1.0.5:{} 10.96.0.10:53", port),
                                    fmt::format("udp 10.2.0.7:53 10.1.0.5:{}", port));
        BOOST_REQUIRE(!finder.check(entry).stale());
    }
    BOOST_TEST(finder.simulations() == 1U);
}

// Answers for like entries are kept: those of sources that the rules tell apart are not like.
BOOST_AUTO_TEST_CASE(like_entries_of_other_sources_are_judged_by_themselves) {
    const std::string service =
        "-d 10.96.0.10/32 -p udp -m udp --dport 53 -j DNAT --to-destination ";
    Host host(
        "*nat\n:PREROUTING ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n"
        "-A PREROUTING -s 10.1.0.128/25 " +
        service + "10.2.0.8:53\n-A PREROUTING " + service +
        "10.2.0.7:53\n-A POSTROUTING -p tcp -o s0 -j SNAT --to-source 10.1.0.5\nCOMMIT\n");
    const Simulator simulator(host.facts, host.routes);
    StaleFinder finder(simulator, host.routes);
    const auto staleness_of = [&](const char* protocol, const std::string& from, const char* to,
                                  const char* goes) {
        const auto entry = entry_of(fmt::format("{} {}:4000 {}", protocol, from, to),
                                    fmt::format("{} {} {}:4000", protocol, goes, from));
        return std::string(name(finder.check(entry).staleness));
    };
    for (int round = 0; round < 2; ++round) {
        BOOST_TEST(staleness_of("udp", "10.1.0.5", "10.96.0.10:53", "10.2.0.7:53") == "current");
        BOOST_TEST(staleness_of("udp", "10.1.0.200", "10.96.0.10:53", "10.2.0.7:53") ==
                   "other destination");
        // Its source is what NAT would give it.
        BOOST_TEST(staleness_of("tcp", "10.1.0.5", "10.9.0.1:80", "10.9.0.1:80") == "current");
        BOOST_TEST(staleness_of("tcp", "10.1.0.6", "10.9.0.1:80", "10.9.0.1:80") == "other source");
    }
}

BOOST_AUTO_TEST_CASE(the_cure_names_the_whole_entry) {
    BOOST_TEST(
        delete_command(
            entry_of("udp 10.1.0.5:4000 10.96.0.10:53", "udp 10.2.0.7:5353 10.1.0.5:4000", 3)) ==
        "conntrack -D -p udp -s 10.1.0.5 -d 10.96.0.10 -r 10.2.0.7 -q 10.1.0.5 "
        "--orig-port-src 4000 --orig-port-dst 53 --reply-port-src 5353 --reply-port-dst 4000 "
        "--zone 3");
    BOOST_TEST(
        delete_command(entry_of("icmp 10.1.0.5 10.9.0.1 id=7", "icmp 10.9.0.1 10.1.0.5 id=7"))
            .ends_with("--icmp-type 8 --icmp-code 0 --icmp-id 7 --zone 0"));
}

BOOST_AUTO_TEST_SUITE_END()
