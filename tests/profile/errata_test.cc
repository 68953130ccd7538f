#include "harness/profile/errata.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "dataplane/softnic/faults.h"

BOOST_AUTO_TEST_SUITE(profile_errata)

using namespace pathproof;
using namespace pathproof::profile;

namespace {

const std::string kGood = R"toml(schema = "erratum/1"
id = "E99-test"
title = "A defect"
signatures = ["tx.outer.udp.STALE(sport)"]
conditions = ["nat=outer"]
seen = "Nothing arrives."
workaround = ["ethtool -K DEV tx off"]
faults = ["tx.outer.udp.STALE_SPORT@nat:port!1"]

[[affected]]
kernel_driver = ["ice"]
kernel = { fixed_in = "5.7", backports = ["5.4.41"] }
except_ports = [4789]

[[source]]
reference = "linux 0123456"
url = "https://example.org/"
says = "so it is"
evidence = "source"
)toml";

std::string replaced(std::string text, const std::string& part, const std::string& by) {
    const std::size_t at = text.find(part);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, part);
    return text.replace(at, part.size(), by);
}

void refused(const std::string& part, const std::string& by, const std::string& place,
             const std::string& words) {
    const auto erratum = parse_erratum(replaced(kGood, part, by), "e.toml");
    BOOST_REQUIRE_MESSAGE(!erratum, "accepted: " << by);
    const std::string& message = erratum.error().message;
    BOOST_TEST(message.starts_with("e.toml:" + place + ": "), message);
    BOOST_TEST(message.find(words) != std::string::npos, message);
}

std::vector<Erratum> shipped() {
    auto errata = load_errata(NICPROFILES);
    BOOST_REQUIRE_MESSAGE(errata, errata.error().message);
    return *errata;
}

Erratum good() {
    return parse_erratum(kGood, "E99-test.toml").value();
}

Sighting stale_port() {
    return {.signature = {Direction::kTransmit, "outer.udp", "STALE"}};
}

Certainty certainty_of(const Sighting& sighting) {
    const auto matches = match_errata({good()}, sighting);
    BOOST_REQUIRE(matches.size() == 1);
    BOOST_TEST(!matches[0].why.empty());
    return matches[0].certainty;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_erratum_that_is_shipped_is_read_and_has_no_fault) {
    const auto errata = shipped();
    BOOST_TEST(errata.size() >= 64);
    for (const std::string& complaint : lint(errata)) {
        BOOST_ERROR(complaint);
    }
}

BOOST_AUTO_TEST_CASE(every_erratum_that_a_fault_model_stands_for_is_in_the_catalogue) {
    const auto errata = shipped();
    for (const softnic::FaultModel& model : softnic::fault_models()) {
        std::string ids(model.errata);
        std::replace(ids.begin(), ids.end(), ',', ' ');
        std::istringstream words(ids);
        for (std::string id; words >> id;) {
            if (!id.starts_with('E')) {
                continue;
            }
            const bool known =
                std::any_of(errata.begin(), errata.end(),
                            [&](const Erratum& erratum) { return erratum.id.starts_with(id); });
            BOOST_TEST(known, model.id << " stands for " << id << ", which is not there");
        }
    }
}

BOOST_AUTO_TEST_CASE(an_erratum_is_read_whole) {
    const Erratum erratum = good();
    BOOST_TEST(erratum.id == "E99-test");
    BOOST_REQUIRE(erratum.signatures.size() == 1);
    BOOST_TEST(
        (erratum.signatures[0] == Signature{Direction::kTransmit, "outer.udp", "STALE(sport)"}));
    BOOST_TEST(to_text(erratum.signatures[0]) == "tx.outer.udp.STALE(sport)");
    BOOST_REQUIRE(erratum.affected.size() == 1);
    BOOST_TEST(erratum.affected[0].kernel_driver[0] == "ice");
    BOOST_TEST(to_text(erratum.affected[0].kernel) == "before 5.7 (mended in 5.4.41 too)");
    BOOST_TEST(erratum.affected[0].except_ports[0] == 4789);
    BOOST_TEST((erratum.evidence() == Evidence::kSource));
    BOOST_TEST(erratum.workaround[0] == "ethtool -K DEV tx off");
}

BOOST_AUTO_TEST_CASE(errors_name_the_place_and_what_is_allowed) {
    refused("seen =", "sene =", "6:1", "allowed here: schema, id, title");
    refused("tx.outer.udp.STALE(sport)", "out.outer.udp.STALE", "4:15", "tx, rx or path");
    refused("tx.outer.udp.STALE(sport)", "tx.NAT0", "4:15", "direction.depth.protocol.NAME");
    refused("tx.outer.udp.STALE(sport)", "tx.upper.udp.NAT0", "4:15", "no layer; write one of");
    refused("tx.outer.udp.STALE(sport)", "tx.outer.udp.STAEL", "4:15", "there are: BITS, CARRY");
    refused("nat=outer", "nat=both", "5:15", "'nat' may be one of: outer inner plain none");
    refused("nat=outer", "moon=full", "5:15", "key=value with one of nat, outer_checksum");
    refused("nat=outer", "nat=", "5:15", "may be one of");
    refused("STALE_SPORT@nat:port!1", "STALE_PORT@nat:port!1", "8:11", "STALE_PORT");
    refused("@nat:port!1", "@moon!1", "8:11", "moon");
    refused("kernel_driver = [\"ice\"]\n", "", "10:1", "names nobody");
    refused("evidence = \"source\"", "evidence = \"rumour\"", "19:12",
            "it may be: source, thread, changelog");
    refused("https://example.org/", "example.org", "17:7", "https://");
    refused("says = \"so it is\"\n", "", "15:1", "'says' is missing");
    refused("id = \"E99-test\"\n", "", "1:1", "'id' is missing");
}

BOOST_AUTO_TEST_CASE(an_entry_without_evidence_or_without_anybody_is_refused) {
    const std::string bare = kGood.substr(0, kGood.find("[[source]]"));
    BOOST_TEST(parse_erratum(bare, "e.toml").error().message.find("without evidence") !=
               std::string::npos);
    const std::string nobody =
        kGood.substr(0, kGood.find("[[affected]]")) + kGood.substr(kGood.find("[[source]]"));
    BOOST_TEST(parse_erratum(nobody, "e.toml").error().message.find("who has it") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(damaged_text_never_crashes_the_reader) {
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        std::string text = kGood;
        for (int times = 0; times < 4; ++times) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        if (const auto erratum = parse_erratum(text, "e.toml"); !erratum) {
            BOOST_REQUIRE(erratum.error().message.starts_with("e.toml:"));
        }
    }
}

BOOST_AUTO_TEST_CASE(layers_and_names_of_the_catalogue_cover_what_is_seen) {
    BOOST_TEST(layer_covers("outer.udp", "outer.udp"));
    BOOST_TEST(!layer_covers("outer.udp", "inner.udp"));
    BOOST_TEST(layer_covers("innermost.l4", "plain.tcp"));
    BOOST_TEST(layer_covers("innermost.l4", "inner.icmpv6"));
    BOOST_TEST(!layer_covers("innermost.l4", "outer.udp"));
    BOOST_TEST(!layer_covers("inner.l4", "inner.ipv4"));
    BOOST_TEST(layer_covers("any.ip", "outer.ipv4"));
    BOOST_TEST(!layer_covers("inner.udp", "inner.l4"));
    BOOST_TEST(same_name("STALE", "STALE(sport)"));
    BOOST_TEST(same_name("STALE(sport)", "STALE"));
    BOOST_TEST(!same_name("STALE(sport)", "STALE(vni)"));
    BOOST_TEST(!same_name("PSEUDO", "PSEUDO_INV"));
}

BOOST_AUTO_TEST_CASE(certainty_follows_driver_and_version) {
    Sighting seen = stale_port();
    BOOST_TEST((certainty_of(seen) == Certainty::kSignature));
    seen.driver = "ice";
    BOOST_TEST((certainty_of(seen) == Certainty::kDriver));
    seen.kernel = "5.4.40";
    BOOST_TEST((certainty_of(seen) == Certainty::kDriverAndRange));
    seen.kernel = "5.4.41";
    BOOST_TEST((certainty_of(seen) == Certainty::kSignature));
    seen.kernel = "6.18.44-fc";
    BOOST_TEST((certainty_of(seen) == Certainty::kSignature));
    seen.kernel = "5.6.3";  // a series of which the entry says nothing
    BOOST_TEST((certainty_of(seen) == Certainty::kDriver));
    seen.driver = "igb";
    BOOST_TEST((certainty_of(seen) == Certainty::kSignature));
}

BOOST_AUTO_TEST_CASE(what_contradicts_an_entry_leaves_it_out) {
    const auto matches = [](const Sighting& sighting) {
        return match_errata({good()}, sighting).size();
    };
    Sighting seen = stale_port();
    BOOST_TEST(matches(seen) == 1);
    seen.conditions = {"nat=outer"};
    BOOST_TEST(matches(seen) == 1);
    seen.conditions = {"nat=none"};
    BOOST_TEST(matches(seen) == 0);
    seen = stale_port();
    seen.tunnel_port = 8472;
    BOOST_TEST(matches(seen) == 1);
    seen.tunnel_port = 4789;
    BOOST_TEST(matches(seen) == 0);
    seen = stale_port();
    seen.signature.layer = "inner.udp";
    BOOST_TEST(matches(seen) == 0);
    seen = stale_port();
    seen.signature.direction = Direction::kReceive;
    BOOST_TEST(matches(seen) == 0);
    seen = stale_port();
    seen.signature.name = "STALE(vni)";
    BOOST_TEST(matches(seen) == 0);
}

BOOST_AUTO_TEST_CASE(the_two_vxlan_bugs_are_told_apart) {
    const auto errata = shipped();
    Sighting seen{.signature = {Direction::kTransmit, "outer.udp", "NAT0"},
                  .driver = "vxlan",
                  .kernel = "5.4.20"};
    auto matches = match_errata(errata, seen);
    BOOST_REQUIRE(!matches.empty());
    BOOST_TEST(matches[0].id == "E01-nat0-outer-udp");
    BOOST_TEST((matches[0].certainty == Certainty::kDriverAndRange));
    BOOST_TEST(matches[0].workaround[0] == "ethtool -K DEV tx-checksum-ip-generic off");

    seen.signature.name = "STALE";
    seen.kernel = "6.18.44-fc";
    seen.tunnel_port = 4789;
    seen.conditions = {"nat=outer", "outer_checksum=on"};
    matches = match_errata(errata, seen);
    BOOST_REQUIRE(!matches.empty());
    BOOST_TEST(matches[0].id == "E02-nat-lco-outer-udp");
    BOOST_TEST((matches[0].certainty == Certainty::kDriverAndRange));
    BOOST_TEST(!matches[0].sources.empty());
}

BOOST_AUTO_TEST_CASE(an_entry_that_names_the_driver_comes_first) {
    const auto matches =
        match_errata(shipped(), {.signature = {Direction::kTransmit, "inner.udp", "PSEUDO"},
                                 .driver = "vmxnet3",
                                 .kernel = "5.15.0",
                                 .tunnel_port = 8223,
                                 .conditions = {"encapsulation=vxlan"}});
    const auto place = [&](const std::string& id) {
        return std::find_if(matches.begin(), matches.end(),
                            [&](const ErratumMatch& match) { return match.id == id; }) -
               matches.begin();
    };
    BOOST_REQUIRE(place("E24-vmxnet3-tunnel-port") < std::ssize(matches));
    BOOST_REQUIRE(place("E05-udp-gro-fraglist-unnecessary") < std::ssize(matches));
    BOOST_TEST(place("E24-vmxnet3-tunnel-port") < place("E05-udp-gro-fraglist-unnecessary"));
    BOOST_TEST((matches[0].certainty == Certainty::kDriver));
}

BOOST_AUTO_TEST_CASE(the_layer_implies_what_need_not_be_said) {
    Erratum of_udp = good();
    of_udp.signatures = {{Direction::kTransmit, "any.l4", "PSEUDO"}};
    of_udp.conditions = {"l4=udp"};
    const auto count = [&](const std::string& layer) {
        return match_errata({of_udp}, {.signature = {Direction::kTransmit, layer, "PSEUDO"}})
            .size();
    };
    BOOST_TEST(count("inner.udp") == 1);
    BOOST_TEST(count("inner.tcp") == 0);
    BOOST_TEST(count("plain.icmpv6") == 0);
    of_udp.conditions = {"encapsulation=vxlan"};
    BOOST_TEST(count("plain.udp") == 0);
    BOOST_TEST(count("inner.tcp") == 1);
}

BOOST_AUTO_TEST_CASE(a_port_of_dpdk_is_not_held_to_the_kernels_defects) {
    const auto matches =
        match_errata(shipped(), {.signature = {Direction::kTransmit, "outer.udp", "PSEUDO"},
                                 .driver = "net_txgbe",
                                 .dpdk = "22.11.5",
                                 .conditions = {"encapsulation=vxlan", "outer_checksum=on"}});
    BOOST_REQUIRE(!matches.empty());
    BOOST_TEST(matches[0].id == "E37-txgbe-outer-udp");
    BOOST_TEST((matches[0].certainty == Certainty::kDriverAndRange));
}

BOOST_AUTO_TEST_CASE(an_erratum_is_found_by_its_number_and_by_part_of_its_name) {
    BOOST_TEST(find_erratum(NICPROFILES, "E01")->id == "E01-nat0-outer-udp");
    BOOST_TEST(find_erratum(NICPROFILES, "E02-nat-lco-outer-udp")->id == "E02-nat-lco-outer-udp");
    BOOST_TEST(find_erratum(NICPROFILES, "qede-geneve")->id == "E46-qede-geneve-options");
    const auto several = find_erratum(NICPROFILES, "E63");
    BOOST_REQUIRE(!several);
    BOOST_TEST(several.error().message.find("close to it: E63a-") != std::string::npos);
    BOOST_TEST(find_erratum(NICPROFILES, "E00").error().message.find("profile errata list") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(lengths_are_words_numbers_or_ranges) {
    for (const char* good : {"length=odd", "length=even", "length=short", "length=1500",
                             "length=1499-9000", "length=0-60"}) {
        BOOST_TEST(check_condition(good).has_value(), good);
    }
    for (const char* bad : {"length=", "length=long", "length=15x", "length=9000-1499", "length=-5",
                            "length=1-", "vlan=1500"}) {
        const auto checked = check_condition(bad);
        BOOST_REQUIRE_MESSAGE(!checked, bad);
        BOOST_TEST(checked.error().message.find("may be one of") != std::string::npos, bad);
    }
    struct Case {
        const char* wanted;
        const char* held;
        bool fits;
    };
    const Case cases[] = {
        {"length=1499-9000", "length=1500", true},  {"length=1499-9000", "length=1498", false},
        {"length=odd", "length=1500", false},       {"length=odd", "length=1501", true},
        {"length=odd", "length=1500-1501", true},   {"length=even", "length=odd", false},
        {"length=short", "length=1500", false},     {"length=short", "length=59", true},
        {"length=100-200", "length=200-300", true}, {"length=100-200", "length=201-300", false},
    };
    Erratum long_frames = good();
    long_frames.signatures = {{Direction::kTransmit, "plain.udp", "PSEUDO"}};
    for (const Case& each : cases) {
        long_frames.conditions = {each.wanted};
        const auto matches =
            match_errata({long_frames}, {.signature = {Direction::kTransmit, "plain.udp", "PSEUDO"},
                                         .conditions = {each.held}});
        BOOST_TEST(!matches.empty() == each.fits, each.wanted << " of " << each.held);
    }
}

BOOST_AUTO_TEST_CASE(unknown_is_no_name_and_what_became_of_frames_has_names) {
    Erratum nameless = good();
    nameless.signatures = {{Direction::kTransmit, "plain.udp", "UNKNOWN"}};
    nameless.conditions.clear();
    BOOST_TEST(
        match_errata({nameless}, {.signature = {Direction::kTransmit, "plain.udp", "UNKNOWN"}})
            .empty());
    for (const char* name :
         {"MISORDERED", "DOUBLED", "CUT", "SHIFTED", "PADDED", "OFFSET(+0x0200)"}) {
        BOOST_TEST(parse_signature(std::string("tx.plain.frame.") + name).has_value(), name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
