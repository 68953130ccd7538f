// Rules in front of what is there, as texts.
#include "harness/lab/front_rules.h"

#include <boost/test/unit_test.hpp>

#include "harness/lab/path_settings.h"
#include "harness/lab/plan.h"
#include "harness/lab/rule_hits.h"

using namespace pathproof;
using namespace pathproof::lab;

namespace {

bool has(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(rules_of_the_kernels_chains_go_to_chains_in_front_and_nothing_else_is_named) {
    FrontChains known;
    const std::string text = in_front(
        "*nat\n:POSTROUTING ACCEPT [0:0]\n:OWN - [0:0]\n-A POSTROUTING -o eth0 -j OWN\n"
        "-A OWN -j MASQUERADE\nCOMMIT\n",
        known);
    BOOST_TEST(text ==
               "*nat\n:OWN - [0:0]\n:PATHPROOF-POSTROUTING - [0:0]\n"
               "-I POSTROUTING 1 -j PATHPROOF-POSTROUTING\n"
               "-A PATHPROOF-POSTROUTING -o eth0 -j OWN\n-A OWN -j MASQUERADE\nCOMMIT\n");
}

BOOST_AUTO_TEST_CASE(a_second_text_takes_the_place_of_the_first_and_jumps_no_second_time) {
    FrontChains known;
    in_front("*nat\n:POSTROUTING ACCEPT [0:0]\n:OLD - [0:0]\n-A POSTROUTING -j OLD\nCOMMIT\n",
             known);
    const std::string text =
        in_front("*nat\n:PREROUTING ACCEPT [0:0]\n:NEW - [0:0]\nCOMMIT\n", known);
    BOOST_TEST(has(text, ":PATHPROOF-POSTROUTING - [0:0]"));  // emptied
    BOOST_TEST(!has(text, "-I POSTROUTING 1 -j PATHPROOF-POSTROUTING"));
    BOOST_TEST(has(text, "-I PREROUTING 1 -j PATHPROOF-PREROUTING"));
    BOOST_TEST(has(text, ":OLD - [0:0]"));
    BOOST_TEST(has(text, "-X OLD"));
    const std::string third = in_front("*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n", known);
    BOOST_TEST(!has(third, "-X OLD"));
    BOOST_TEST(has(third, "-X NEW"));
    BOOST_TEST(!has(third, "-I PREROUTING 1 -j PATHPROOF-PREROUTING"));
}

BOOST_AUTO_TEST_CASE(tables_apart_and_a_policy_of_drop_as_the_last_rule) {
    FrontChains known;
    const std::string text = in_front(
        "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -j NOTRACK\nCOMMIT\n"
        "*filter\n:INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n",
        known);
    BOOST_TEST(has(text, "-A PATHPROOF-PREROUTING -j NOTRACK"));
    BOOST_TEST(text.find("-A PATHPROOF-INPUT -i lo -j ACCEPT\n-A PATHPROOF-INPUT -j DROP\n") !=
               std::string::npos);
    BOOST_TEST(known.size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_they_counted_is_read_as_of_the_tables_own_chains) {
    const std::string text = without_front(
        "*filter\n:INPUT ACCEPT [9:900]\n:PATHPROOF-INPUT - [0:0]\n"
        "[12:624] -A INPUT -j PATHPROOF-INPUT\n[5:60] -A PATHPROOF-INPUT -i lo -j ACCEPT\n"
        "[7:70] -A PATHPROOF-INPUT -j DROP\n[3:30] -A OWN -j DROP\nCOMMIT\n");
    BOOST_TEST(has(text, "[5:60] -A INPUT -i lo -j ACCEPT"));
    BOOST_TEST(has(text, ":INPUT DROP [7:70]"));
    BOOST_TEST(has(text, "[3:30] -A OWN -j DROP"));
    BOOST_TEST(policy_hits_of(text, "INPUT") == 7U);
    BOOST_TEST(hits_of(text, "-A INPUT -i lo") == 5U);
}

BOOST_AUTO_TEST_CASE(what_a_dut_translates_by_itself_is_left_to_it_or_exempted) {
    NatBoxNames box = nat_box_names("run");
    NatPathNames path = nat_path_names("run");
    box.own_snat = path.own_snat = Snat::kMasquerade;
    const auto box_rules = [&](Snat snat) {
        return setting::merged({nat_box_service(box, 2), nat_box_snat(box, snat)}, {HostRole::kDut},
                               place_names(box))[0]
            .value;
    };
    BOOST_TEST(!has(box_rules(Snat::kMasquerade), "-A KUBE-POSTROUTING -o ds -j MASQUERADE"));
    BOOST_TEST(has(box_rules(Snat::kNone), "-A KUBE-POSTROUTING -o ds -j ACCEPT"));
    BOOST_TEST(has(box_rules(Snat::kMasqueradeRandomFully),
                   "-A KUBE-POSTROUTING -o ds -j MASQUERADE --random-fully"));
    const auto path_rules = [&](Snat snat, PortRange ports) {
        return setting::merged({masquerade(path, {.snat = snat, .ports = ports})}, {HostRole::kDut},
                               place_names(path))[0]
            .value;
    };
    BOOST_TEST(path_rules(Snat::kMasquerade, {}).find("-j MASQUERADE") == std::string::npos);
    BOOST_TEST(has(path_rules(Snat::kMasquerade, {1024, 2047}),
                   "-A PATH-POSTROUTING -o d1 -p tcp -j MASQUERADE --to-ports 1024-2047"));
    BOOST_TEST(has(path_rules(Snat::kNone, {}), "-A PATH-POSTROUTING -o d1 -j ACCEPT"));
    path.own_snat = Snat::kNone;
    BOOST_TEST(path_rules(Snat::kNone, {1024, 2047}).find("PATH-POSTROUTING -o") ==
               std::string::npos);
}
