#include "harness/predict/diagnosis.h"

#include "tests/predict/fixture.h"

BOOST_AUTO_TEST_SUITE(predict_diagnosis)

using namespace pathproof;
using namespace pathproof::predict;
using fixture::Host;

namespace {

constexpr const char* kFlow = "udp 10.1.0.5:4000 10.96.0.10:53";

FlowSeen seen_of(Host& host, std::uint64_t in, std::uint64_t out, std::uint64_t answers) {
    return {.tuple = *netfilter::parse_flow({kFlow}),
            .forth_in = in,
            .forth_out = out,
            .back_in = answers,
            .back_out = answers,
            .outcomes = host.simulate(kFlow)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_answered_flow_is_healthy_whatever_the_rules_say) {
    Host host("*filter\n:FORWARD DROP [0:0]\nCOMMIT\n");
    const auto diagnosis = diagnose(seen_of(host, 10, 10, 10), 0);
    BOOST_TEST((diagnosis.health == Health::kHealthy));
    BOOST_TEST(diagnosis.cause.empty());
}

BOOST_AUTO_TEST_CASE(a_drop_is_named_by_its_rule_or_policy) {
    Host rule(
        "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p udp -m udp --dport 53 -j DROP\nCOMMIT\n");
    const auto by_rule = diagnose(seen_of(rule, 10, 0, 0), 0);
    BOOST_TEST(by_rule.cause == "dropped-by-rule");
    BOOST_TEST(by_rule.text.find("-A FORWARD -p udp -m udp --dport 53 -j DROP") !=
               std::string::npos);
    Host policy("*filter\n:FORWARD DROP [0:0]\nCOMMIT\n");
    const auto by_policy = diagnose(seen_of(policy, 10, 0, 0), 0);
    BOOST_TEST(by_policy.cause == "dropped-by-policy");
    BOOST_TEST(by_policy.remedy ==
               "iptables -t filter -I FORWARD -s 10.1.0.5 -d 10.96.0.10 -j ACCEPT");
}

// A container on a device that the host lends it: no rule of the host meets its packets.
BOOST_AUTO_TEST_CASE(a_flow_below_the_rules_is_judged_by_what_passes_the_device) {
    Host host("*filter\n:FORWARD DROP [0:0]\nCOMMIT\n");
    auto seen = seen_of(host, 0, 10, 0);
    seen.back_in = 10;
    BOOST_TEST((diagnose(seen, 0).health == Health::kHealthy));
    seen.back_in = 2;
    BOOST_TEST((diagnose(seen, 0).health == Health::kNotDecided));
    // Answers that came in and did not leave: its packets came in here, too.
    seen.forth_in = 10;
    seen.back_in = 10;
    BOOST_TEST((diagnose(seen, 0).health != Health::kHealthy));
}

// Acknowledgements of an upload come evenly; what is left of answers that were lost does not.
BOOST_AUTO_TEST_CASE(few_answers_are_healthy_only_where_they_come_evenly) {
    Host host("");
    auto seen = seen_of(host, 80, 80, 10);
    BOOST_TEST((diagnose(seen, 0).health == Health::kNotDecided));
    seen.longest_silence = 9;
    BOOST_TEST((diagnose(seen, 0).health == Health::kHealthy));
    seen.longest_silence = 30;
    BOOST_TEST((diagnose(seen, 0).health == Health::kNotDecided));
    seen = seen_of(host, 16, 16, 2);
    seen.longest_silence = 8;
    BOOST_TEST((diagnose(seen, 0).health == Health::kNotDecided));
}

BOOST_AUTO_TEST_CASE(answers_from_another_port_are_healthy_where_they_reach_who_asked) {
    Host host("");
    auto seen = seen_of(host, 10, 10, 0);
    seen.stray_answers = 10;
    seen.stray_port = 49152;
    BOOST_TEST(diagnose(seen, 0).cause == "answers-from-another-port");
    seen.strays_pass = true;
    const auto passed = diagnose(seen, 0);
    BOOST_TEST((passed.health == Health::kHealthy));
    BOOST_TEST(passed.text.find("from port 49152") != std::string::npos, passed.text);
}

// The entry's packet passed before the look, and nobody answered it: it is not healthy.
BOOST_AUTO_TEST_CASE(an_entry_without_an_answer_is_not_healthy) {
    Host host("");
    auto seen = seen_of(host, 0, 0, 0);
    seen.entry = netfilter::Entry{.original = seen.tuple, .reply = turned(seen.tuple)};
    BOOST_TEST((diagnose(seen, 0).health == Health::kNotDecided));
    seen.neighbour = Neighbour{.device = "s0", .state = "FAILED"};
    BOOST_TEST(diagnose(seen, 0).cause == "no-neighbour");
    seen.neighbour.reset();
    seen.entry->status = netfilter::status::kSeenReply;
    BOOST_TEST((diagnose(seen, 0).health == Health::kHealthy));
    // A rule that its packet has passed is not accused.
    Host dropping("*filter\n:FORWARD DROP [0:0]\nCOMMIT\n");
    auto passed = seen_of(dropping, 0, 0, 0);
    passed.entry = netfilter::Entry{.original = passed.tuple, .reply = turned(passed.tuple)};
    BOOST_TEST((diagnose(passed, 0).health == Health::kNotDecided));
}

// A rule that packets were seen to pass is not accused.
BOOST_AUTO_TEST_CASE(a_drop_that_packets_pass_is_none) {
    Host host("*filter\n:FORWARD DROP [0:0]\nCOMMIT\n");
    const auto diagnosis = diagnose(seen_of(host, 10, 10, 0), 0);
    BOOST_TEST((diagnosis.health == Health::kNotDecided));
}

BOOST_AUTO_TEST_CASE(one_direction_only_is_said) {
    Host host("");
    const auto diagnosis = diagnose(seen_of(host, 10, 10, 0), 0);
    BOOST_TEST((diagnosis.health == Health::kNotDecided));
    BOOST_TEST(diagnosis.text.find("only one direction passes here") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_neighbour_that_does_not_answer_is_named_with_the_rule_that_chose_it) {
    Host host(
        "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j DNAT --to-destination "
        "10.2.0.7\n-A "
        "PREROUTING -p udp -j DNAT --to-destination 10.2.0.8\nCOMMIT\n");
    FlowSeen seen = seen_of(host, 5, 0, 0);
    seen.neighbour = Neighbour{*frame::parse_ip("10.2.0.7"), "s0", "FAILED"};
    Host without(
        "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j DNAT --to-destination "
        "10.2.0.8\nCOMMIT\n");
    seen.without_rule = without.simulate(kFlow);
    const auto diagnosis = diagnose(seen, 0);
    BOOST_TEST(diagnosis.cause == "no-neighbour");
    BOOST_TEST(diagnosis.text.find("10.2.0.8") != std::string::npos);
    BOOST_TEST(diagnosis.remedy == "iptables -t nat -D PREROUTING 1");
    seen.neighbour->state = "REACHABLE";
    BOOST_TEST(diagnose(seen, 0).cause.empty());
}

// The packets' own ends stand above what the rules would do.
BOOST_AUTO_TEST_CASE(a_drop_that_was_followed_is_the_cause) {
    Host host("");
    FlowSeen seen = seen_of(host, 10, 10, 0);
    seen.drops = {{.packets = 7, .cause = "tc-ingress", .text = "by tc at ingress, device d0"}};
    auto diagnosis = diagnose(seen, 0);
    BOOST_TEST((diagnosis.health == Health::kCause));
    BOOST_TEST(diagnosis.cause == "dropped-tc-ingress");
    BOOST_TEST(diagnosis.text.starts_with("7 packets were dropped by tc at ingress, device d0."),
               diagnosis.text);
    // A rare drop does not make an answered flow sick.
    seen = seen_of(host, 100, 100, 99);
    seen.drops = {
        {.of_answers = true, .packets = 1, .cause = "qdisc", .text = "by a queue, device d1"}};
    diagnosis = diagnose(seen, 0);
    BOOST_TEST((diagnosis.health == Health::kHealthy));
    BOOST_TEST(diagnosis.text.find("1 answer was dropped by a queue") != std::string::npos);
    seen.drops[0].packets = 30;
    BOOST_TEST(diagnose(seen, 0).cause == "dropped-qdisc");
}

BOOST_AUTO_TEST_CASE(a_rule_is_not_accused_of_what_was_dropped_elsewhere) {
    Host rule("*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p udp --dport 53 -j DROP\nCOMMIT\n");
    FlowSeen seen = seen_of(rule, 10, 0, 0);
    seen.drops = {{.packets = 10, .cause = "tc-ingress", .text = "by tc at ingress, device d0"}};
    BOOST_TEST(diagnose(seen, 0).cause == "dropped-tc-ingress");
    BOOST_TEST(diagnose(seen, 0).remedy.empty());
    seen.drops = {{.packets = 10, .cause = "rule", .text = "by a rule or a policy"}};
    BOOST_TEST(diagnose(seen, 0).cause == "dropped-by-rule");
    BOOST_TEST(diagnose(seen, 0).text.find("Followed: 10 packets were dropped by a rule") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(frames_to_a_mac_that_no_port_has_are_told) {
    Host host("");
    FlowSeen seen = seen_of(host, 6, 0, 0);
    seen.drops = {{.packets = 6,
                   .cause = "no-port",
                   .text = "as a bridge or tunnel had no port for it",
                   .place = "br_handle_frame_finish"}};
    const auto diagnosis = diagnose(seen, 0);
    BOOST_TEST(diagnosis.cause == "unknown-mac");
    BOOST_TEST(diagnosis.text.find("neighbour entry") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_neighbour_that_a_bridge_has_lost_is_named) {
    Host host("");
    FlowSeen seen = seen_of(host, 5, 5, 0);
    seen.neighbour =
        Neighbour{*frame::parse_ip("10.2.0.7"), "br0", "REACHABLE", "02:00:00:00:00:07"};
    const auto diagnosis = diagnose(seen, 0);
    BOOST_TEST(diagnosis.cause == "gone-neighbour");
    BOOST_TEST(diagnosis.remedy == "ip neigh del 10.2.0.7 dev br0");
}

BOOST_AUTO_TEST_CASE(answers_from_another_port_are_told_and_the_helper_is_named) {
    Host host("");
    FlowSeen seen = seen_of(host, 3, 3, 0);
    seen.tuple.destination.port = 69;
    seen.stray_answers = 4;
    seen.stray_port = 40111;
    const auto diagnosis = diagnose(seen, 0);
    BOOST_TEST(diagnosis.cause == "answers-from-another-port");
    BOOST_TEST(diagnosis.remedy ==
               "iptables -t raw -A PREROUTING -p udp --dport 69 -j CT --helper tftp");
}

BOOST_AUTO_TEST_CASE(sockets_are_read_and_matched) {
    const auto sockets = parse_sockets(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
        "timeout\n"
        "  10: 0100007F:3AD5 00000000:0000 07 00000000:00000000 00:00000000 00000000  1337 0 99\n"
        "  11: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0 0 98\n"
        "  12: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A "
        "00000000:00000000 00:00000000 00000000     5 0 97\nnonsense\n");
    BOOST_REQUIRE_EQUAL(sockets.size(), 3U);
    BOOST_TEST(sockets[0].local.port == 15061);
    BOOST_TEST(frame::to_string(sockets[0].local.address) == "127.0.0.1");
    BOOST_TEST(sockets[0].user == 1337U);
    const auto tuple = *netfilter::parse_flow({kFlow});
    BOOST_TEST(takes(sockets, tuple, *frame::parse_endpoint("10.1.0.1:53")));
    BOOST_TEST(!takes(sockets, tuple, *frame::parse_endpoint("10.1.0.1:15061")));
    BOOST_TEST(takes(sockets, *netfilter::parse_flow({"tcp 10.1.0.5:4000 10.1.0.1:80"}),
                     *frame::parse_endpoint("10.1.0.1:80")));
    BOOST_TEST(owner_of(sockets, *frame::parse_endpoint("127.0.0.1:15061")).value_or(0) == 1337U);
}

BOOST_AUTO_TEST_CASE(a_neighbour_is_read) {
    const auto address = *frame::parse_ip("10.2.0.7");
    const auto found = parse_neighbour(R"([{"dst":"10.2.0.7","state":["FAILED"]}])", address, "s0");
    BOOST_REQUIRE(found);
    BOOST_TEST(found->state == "FAILED");
    BOOST_TEST(parse_neighbour("[]", address, "s0")->state.empty());
    BOOST_TEST(!parse_neighbour("{", address, "s0"));
}

BOOST_AUTO_TEST_SUITE_END()
