// Conclusions of the pods' scenarios: each cause from its own values, and no other.
#include <boost/test/unit_test.hpp>

#include "harness/scenario/pods/pod_life.h"
#include "harness/scenario/pods/pod_paths.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(pods_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using verdict::CellVerdict;
using verdict::ScenarioVerdict;

namespace {

PodPathCell across() {
    return {.id = "pod-pod.across.tcp.ipv4",
            .chain = "bridge",
            .path = PodPath::kAcross,
            .protocol = PodProtocol::kTcp};
}

PodPathValues all_well() {
    PodPathValues seen{.receiver_frames = 12,
                       .crosses_wire = true,
                       .wire_frames = 24,
                       .sources = {"10.244.1.2"},
                       .expected = {"10.244.1.2"},
                       .received_at = "pod b1"};
    for (const char* name : {"small", "mtu", "over"}) {
        seen.sizes.push_back({name, 1500, true, true, "answered"});
    }
    return seen;
}

// The last size did not come through.
PodPathValues stops_at(std::size_t sizes, bool arrived = false) {
    PodPathValues seen = all_well();
    seen.sizes.resize(sizes);
    seen.sizes.back().arrived = arrived;
    seen.sizes.back().answered = false;
    return seen;
}

PodPathValues::Hit masquerade() {
    return {"node A", "nat -A CNI-0011 ! -d 224.0.0.0/4 -j MASQUERADE", 3};
}

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(a_path_passes_where_all_sizes_come_from_the_right_source) {
    const auto cell = conclude(across(), all_well());
    BOOST_TEST((cell.verdict == CellVerdict::kPass), cell.reason);
    BOOST_TEST(cell.cause == "");
}

BOOST_AUTO_TEST_CASE(another_source_is_masqueraded_only_where_such_a_rule_counted) {
    PodPathValues seen = all_well();
    seen.sources = {"198.18.0.1"};
    BOOST_TEST(conclude(across(), seen).cause == "other-source");
    seen.hits = {masquerade()};
    const auto cell = conclude(across(), seen);
    BOOST_TEST(cell.cause == "masqueraded");
    BOOST_TEST(contains(cell.reason, "from 198.18.0.1 in place of 10.244.1.2"), cell.reason);
    BOOST_TEST(contains(cell.reason, "of node A counted 3"), cell.reason);
    // Such a rule alone says nothing.
    seen.sources = seen.expected;
    BOOST_TEST((conclude(across(), seen).verdict == CellVerdict::kPass));
}

BOOST_AUTO_TEST_CASE(each_loss_has_the_cause_that_its_values_name) {
    PodPathValues seen = stops_at(2);
    auto cell = conclude(across(), seen);
    BOOST_TEST(cell.cause == "lost");
    BOOST_TEST(cell.measures.back().name == verdict::kUnexplained);
    seen.too_big = 1;
    BOOST_TEST(conclude(across(), seen).cause == "too-big");
    // A packet that was refused as too big is no reason for a small one to be lost.
    seen = stops_at(1);
    seen.too_big = 1;
    BOOST_TEST(conclude(across(), seen).cause == "lost");
    seen.hits = {{"node B", "filter -A FORWARD -s 10.244.1.2/32 -j DROP", 2}};
    cell = conclude(across(), seen);
    BOOST_TEST(cell.cause == "dropped-by-rule");
    BOOST_TEST(contains(cell.reason, "-j DROP of node B counted 2 (by counters, not by packet)"),
               cell.reason);
    seen.wire_bad = 4;
    BOOST_TEST(conclude(across(), seen).cause == "wrong-checksum");
    seen.wire_lost = 1;
    BOOST_TEST((conclude(across(), seen).verdict == CellVerdict::kError));
}

namespace {

// The last probe was lost, and sent once more while its packets were followed.
PodPathValues followed(std::vector<OwnEnds::Kind> ends) {
    PodPathValues seen = stops_at(1);
    seen.ends = {.dropped = std::move(ends), .not_followed = ""};
    return seen;
}

OwnEnds::Kind dropped(const char* cause, const char* hook, const char* node) {
    return {.cause = cause,
            .text = std::string("dropped by ") + cause,
            .packets = 1,
            .hook = hook,
            .netns = node};
}

constexpr const char* kForward = "filter -A FORWARD -p tcp -j DROP";

}  // namespace

// tc drops on node B while a foreign host meets a rule of node A.
BOOST_AUTO_TEST_CASE(a_rule_that_counted_is_named_where_a_packet_of_the_probe_ended_alone) {
    PodPathValues seen = followed({});
    seen.hits = {{"node A", "filter -A INPUT -p tcp -m tcp --dport 7777 -j DROP", 32}};
    BOOST_TEST(conclude(across(), seen).cause == "lost");
    seen = followed({dropped("tc-egress", "", "node B")});
    seen.hits = {{"node A", kForward, 32}};
    auto cell = conclude(across(), seen);
    BOOST_TEST(cell.cause == "tc-egress");
    BOOST_TEST(contains(cell.reason, "1 dropped by tc-egress on node B"), cell.reason);
    BOOST_TEST(!contains(cell.reason, "node A"), cell.reason);

    seen = followed({dropped("rule", "forward", "node B")});
    seen.hits = {{"node A", kForward, 1},
                 {"node B", "filter -A INPUT -j DROP", 9},
                 {"node B", "filter -A FORWARD -p udp -j DROP", 9},
                 {"node B", kForward, 1}};
    cell = conclude(across(), seen);
    BOOST_TEST(cell.cause == "dropped-by-rule");
    BOOST_TEST(contains(cell.reason, std::string(kForward) + " of node B counted 1"), cell.reason);
    BOOST_TEST(!contains(cell.reason, "counted 9"), cell.reason);
    // A rule or policy that counts nothing.
    seen.hits.clear();
    BOOST_TEST(conclude(across(), seen).cause == "rule-drop");
    seen.ends.not_followed = "no BTF";
    seen.ends.dropped.clear();
    seen.hits = {{"node B", "filter -A FORWARD -p udp -j DROP", 9}};
    BOOST_TEST(conclude(across(), seen).cause == "lost");
}

BOOST_AUTO_TEST_CASE(a_packet_that_ended_elsewhere_was_not_too_big) {
    PodPathValues seen = stops_at(2);
    seen.too_big = 3;
    seen.ends = {.dropped = {dropped("mtu", "", "node A")}, .not_followed = ""};
    BOOST_TEST(conclude(across(), seen).cause == "too-big");
    seen.ends.dropped = {dropped("tc-ingress", "", "node A")};
    BOOST_TEST(conclude(across(), seen).cause == "tc-ingress");
}

BOOST_AUTO_TEST_CASE(a_loss_that_does_not_come_again_has_no_cause) {
    PodPathValues seen = followed({});
    seen.passed_again = true;
    seen.hits = {{"node B", kForward, 1}};
    const auto cell = conclude(across(), seen);
    BOOST_TEST(cell.cause == "lost");
    BOOST_TEST(contains(cell.reason, "sent once more and followed, it came through"), cell.reason);
}

BOOST_AUTO_TEST_CASE(hairpin_is_said_of_a_service_to_itself_alone) {
    PodPathCell self = across();
    self.path = PodPath::kServiceSelf;
    PodPathValues seen = stops_at(1);
    seen.crosses_wire = false;
    seen.hairpin = false;
    BOOST_TEST(conclude(self, seen).cause == "hairpin-off");
    BOOST_TEST(conclude(across(), seen).cause == "lost");
    seen.hairpin = true;
    BOOST_TEST(conclude(self, seen).cause == "lost");
    seen = stops_at(1, true);
    seen.hairpin = true;
    BOOST_TEST(conclude(self, seen).cause == "hairpin-not-masqueraded");
    seen.hits = {masquerade()};
    BOOST_TEST(conclude(self, seen).cause == "lost");
}

BOOST_AUTO_TEST_CASE(what_was_not_seen_on_the_wire_is_no_result) {
    PodPathValues seen = all_well();
    seen.wire_frames = 0;
    BOOST_TEST((conclude(across(), seen).verdict == CellVerdict::kError));
    seen = all_well();
    seen.sources.clear();
    BOOST_TEST((conclude(across(), seen).verdict == CellVerdict::kError));
    seen.objections = {"the tester died"};
    BOOST_TEST(contains(conclude(across(), seen).reason, "the tester died"));
}

BOOST_AUTO_TEST_CASE(combinations_that_do_not_exist_have_their_reason) {
    const PodNetwork all{.ipv6 = true,
                         .passes_nodes = true,
                         .host_ports = true,
                         .masquerades = true,
                         .masquerades6 = true};
    const auto v4 = frame::Family::kIpv4, v6 = frame::Family::kIpv6;
    BOOST_TEST(absent(all, PodPath::kService, PodProtocol::kIcmp, v4) != "");
    BOOST_TEST(absent(all, PodPath::kService, PodProtocol::kSctp, v6) == "");
    BOOST_TEST(absent(all, PodPath::kNodePod, PodProtocol::kSctp, v4) != "");
    PodNetwork one = all;
    one.ipv6 = false;
    BOOST_TEST(absent(one, PodPath::kAcross, PodProtocol::kTcp, v6) != "");
    one = all;
    one.passes_nodes = false;
    BOOST_TEST(absent(one, PodPath::kAcross, PodProtocol::kTcp, v4) == "");
    BOOST_TEST(absent(one, PodPath::kHostPort, PodProtocol::kTcp, v4) != "");
    one = all;
    one.masquerades = false;
    BOOST_TEST(absent(one, PodPath::kExternal, PodProtocol::kTcp, v4) != "");
    BOOST_TEST(absent(one, PodPath::kExternal, PodProtocol::kTcp, v6) == "");
}

BOOST_AUTO_TEST_CASE(the_cure_of_masquerading_is_shown_by_a_network_without_it_alone) {
    PodPathsMeasured measured;
    measured.chains = {{"bridge", {.masquerades = true}}};
    PodPathValues seen = all_well();
    seen.sources = {"198.18.0.1"};
    seen.hits = {masquerade()};
    measured.cells = {{.what = across(), .seen = seen, .evidence = {}}};
    auto result = conclude(measured);
    BOOST_TEST((result.verdict == ScenarioVerdict::kDefectFound));
    BOOST_TEST(contains(result.cause, "masqueraded"), result.cause);
    BOOST_TEST(!result.cure_shown);
    PodPathCell other = across();
    other.id = "flannel." + other.id;
    other.chain = "flannel";
    measured.chains.push_back({"flannel", {.masquerades = true}});
    measured.cells.push_back({.what = other, .seen = all_well(), .evidence = {}});
    result = conclude(measured);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(contains(result.cure, "seen in this run: flannel"), result.cure);
    // A cure is not shown where something else fails as well.
    measured.steps = {
        {.id = "check", .chain = "bridge", .complaints = {"CHECK of portmap: code 1"}}};
    result = conclude(measured);
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST(contains(result.cause, "check-failed"), result.cause);
}

BOOST_AUTO_TEST_CASE(a_hazard_says_what_this_run_knows_of_its_scenario) {
    const auto shown = [](const PodPathsMeasured& measured) {
        const auto result = conclude(measured);
        for (const auto& proof : result.proofs) {
            if (contains(proof.title, "Known hazards")) {
                return proof.rows.at(0).back();
            }
        }
        return std::string("no table");
    };
    PodPathsMeasured measured;
    measured.chains = {{"bridge", {}}};
    measured.cells = {{.what = across(), .seen = all_well(), .evidence = {}}};
    measured.hazards = {
        {.chain = "bridge", .id = "masquerade-without-random-fully", .scenario = "snat-race"}};
    BOOST_TEST(shown(measured) == "snat-race was not run before");
    measured.earlier = {{"snat-race", ScenarioVerdict::kReproduced}};
    BOOST_TEST(shown(measured) == "see snat-race of this run: REPRODUCED");
    measured.hazards[0].scenario = "dns-race";
    BOOST_TEST(shown(measured) == "dns-race was not run before");
    measured.hazards[0].scenario = "";
    BOOST_TEST(shown(measured) == "not measured");
    // The hazard's demonstration is a cell of this scenario.
    measured.hazards[0].id = "hairpin-accept";
    BOOST_TEST(shown(measured) == "no");
    PodPathCell self = across();
    self.id = "service-self.tcp.ipv4";
    self.path = PodPath::kServiceSelf;
    measured.cells.push_back({.what = self, .seen = stops_at(1), .evidence = {}});
    BOOST_TEST(shown(measured) == "yes: service-self.tcp.ipv4");
}

BOOST_AUTO_TEST_CASE(a_plugin_that_the_kernel_lacks_something_for_is_skipped) {
    PodProtocolStep step{.id = "ipvlan.attach", .chain = "ipvlan", .complaints = {"not supported"}};
    BOOST_TEST(conclude(step).cause == "add-failed");
    step.kernel_lacks = true;
    BOOST_TEST((conclude(step).verdict == CellVerdict::kSkip));
}

BOOST_AUTO_TEST_CASE(of_the_first_add_only_what_is_of_the_pod_is_left_behind) {
    PodResidueCell what{.id = "first", .chain = "bridge", .event = PodEvent::kFirst};
    PodResidueValues seen{.times = 1, .of_pods = {"10.244.1.2/32", "pathproof-a1"}};
    seen.left.devices = {"cni0: bridge mtu 1500"};
    seen.left.rules = {"ip nat: chain CNI-HOSTPORT-DNAT"};
    BOOST_TEST((conclude(what, seen).verdict == CellVerdict::kPass));
    seen.left.rules.push_back("ip nat: -A POSTROUTING -s 10.244.1.2/32 -j CNI-00");
    BOOST_TEST(conclude(what, seen).cause == "left-behind");
    // Later nothing may be left at all.
    what.event = PodEvent::kCycles;
    seen.left.rules.clear();
    BOOST_TEST(conclude(what, seen).cause == "left-behind");
    seen.left = {};
    BOOST_TEST((conclude(what, seen).verdict == CellVerdict::kPass));
    seen.complaints = {"DEL of bridge: code 7"};
    BOOST_TEST(conclude(what, seen).cause == "refused");
    what.event = PodEvent::kAddKilled;
    BOOST_TEST((conclude(what, seen).verdict == CellVerdict::kInconclusive));
}

BOOST_AUTO_TEST_CASE(a_port_and_an_address_have_to_reach_who_has_them_now) {
    PodResidueCell port{.id = "port-again", .chain = "bridge", .event = PodEvent::kPortAgain};
    PodResidueValues seen{.times = 1, .now = "pod a2", .before = "pod a1", .reached = "pod a2"};
    // Entries alone are no harm: the next ADD may remove them.
    seen.entries = {"udp 17 src=198.18.0.1"};
    BOOST_TEST((conclude(port, seen).verdict == CellVerdict::kPass));
    seen.reached = "pod a1";
    const auto stale = conclude(port, seen);
    BOOST_TEST(stale.cause == "stale-entry");
    BOOST_TEST(contains(stale.reason, "went on to pod a1"), stale.reason);
    PodResidueCell address{
        .id = "address-again", .chain = "bridge", .event = PodEvent::kAddressAgain};
    seen.wrong_ms = 3.0;
    seen.reached = "pod a2";
    BOOST_TEST((conclude(address, seen).verdict == CellVerdict::kPass));
    seen.reached = "";
    seen.wrong_ms = 12'000;
    BOOST_TEST(conclude(address, seen).cause == "stale-neighbour");
    BOOST_TEST(contains(conclude(address, seen).reason, "for 12000 ms"));
    // A call that was refused is told first, and what the plug-ins cannot do is a SKIP.
    seen.complaints = {"ADD of portmap: code 7"};
    BOOST_TEST(conclude(address, seen).cause == "refused");
    seen.lacks = "no plug-in of the network makes host ports";
    BOOST_TEST((conclude(port, seen).verdict == CellVerdict::kSkip));
}

BOOST_AUTO_TEST_CASE(a_host_port_has_to_reach_the_process_that_has_it_now) {
    const PodResidueCell what{
        .id = "port-to-host", .chain = "bridge", .event = PodEvent::kPortToHost};
    PodResidueValues seen{.times = 1,
                          .now = "the process on the node",
                          .before = "pod a1",
                          .reached = "the process on the node",
                          .fresh = "the process on the node"};
    BOOST_TEST((conclude(what, seen).verdict == CellVerdict::kPass));
    seen.reached = "pod a1";
    seen.entries = {"udp 17 src=198.18.0.1"};
    BOOST_TEST(conclude(what, seen).cause == "stale-entry");
    // A new flow has no entry from before: the rule is told, and only where it is there.
    seen.fresh = "pod a1";
    seen.rule = "ip nat: -A CNI-HOSTPORT-DNAT";
    BOOST_TEST(conclude(what, seen).cause == "stale-rule");
    BOOST_TEST(contains(conclude(what, seen).reason, "a new flow to the host port goes to pod a1"));
    seen.fresh = "";
    BOOST_TEST(conclude(what, seen).cause == "port-lost");
    BOOST_TEST(contains(conclude(what, seen).reason, "reaches nobody"));
}

BOOST_AUTO_TEST_CASE(a_reboot_leaves_leases_rules_or_nothing) {
    PodResidueCell what{.id = "reboot", .chain = "bridge", .event = PodEvent::kReboot};
    PodResidueValues seen{
        .times = 1, .now = "pod new1", .before = "pod old1", .reached = "pod new1"};
    BOOST_TEST((conclude(what, seen).verdict == CellVerdict::kPass));
    seen.left.leases = {"podnet/10.244.1.2"};
    const auto leaked = conclude(what, seen);
    BOOST_TEST(leaked.cause == "leaked-lease");
    BOOST_TEST(contains(leaked.reason, "DEL of that pod frees it"), leaked.reason);
    const auto cured = conclude(std::vector<MeasuredPodResidue>{{.what = what, .seen = seen}});
    BOOST_TEST(cured.cure_shown);
    seen.left_after_del = seen.left;
    seen.del_refused = "DEL of bridge: code 7";
    BOOST_TEST(contains(conclude(what, seen).reason, "does not free it (DEL of bridge: code 7)"));
    BOOST_TEST(!conclude(std::vector<MeasuredPodResidue>{{.what = what, .seen = seen}}).cure_shown);
    seen.pod_reached = false;
    BOOST_TEST(conclude(what, seen).cause == "unreachable");
    what.event = PodEvent::kRebootRules;
    seen.reached = "pod old1";
    seen.rule = "ip nat: -A CNI-HOSTPORT-DNAT";
    BOOST_TEST(conclude(what, seen).cause == "stale-rule");
    seen.reached = "198.18.0.1";
    BOOST_TEST(conclude(what, seen).cause == "port-lost");
}

BOOST_AUTO_TEST_CASE(an_advertised_route_has_to_outlive_the_first_pod) {
    const PodResidueCell what{.id = "ra-route", .chain = "bridge", .event = PodEvent::kRaRoute};
    PodResidueValues seen{.times = 1, .now = "the host outside", .reached = "the host outside"};
    BOOST_TEST((conclude(what, seen).verdict == CellVerdict::kPass));
    seen.reached = "";
    // The route is there: something else keeps the packets.
    BOOST_TEST(conclude(what, seen).cause == "unreachable");
    seen.has_route = false;
    seen.is_forwarding = true;
    seen.is_cured = true;
    const auto lost = conclude(what, seen);
    BOOST_TEST(lost.cause == "ra-route-lost");
    BOOST_TEST(contains(lost.reason, "forwarding on, and the node's IPv6 default route"),
               lost.reason);
    BOOST_TEST(contains(lost.reason, "with accept_ra=2 it reaches it again"), lost.reason);
    const auto all = conclude(std::vector<MeasuredPodResidue>{{.what = what, .seen = seen}});
    BOOST_TEST(contains(all.cure, "accept_ra=2"), all.cure);
}

BOOST_AUTO_TEST_CASE(what_is_left_counts_as_often_as_it_is_there_more) {
    lab::NodeState before, after;
    before.rules = {"a", "b"};
    after.rules = {"a", "a", "b", "c"};
    BOOST_TEST((left_of(before, after).rules == std::vector<std::string>{"a", "c"}));
    BOOST_TEST((left_of(after, before) == lab::NodeState{}));
}

BOOST_AUTO_TEST_CASE(a_stream_that_loses_without_pods_beside_it_concludes_nothing) {
    PodChurnCell quiet{
        .id = "control.quiet", .chain = "bridge", .churn = false, .role = CellRole::kControl};
    PodChurnCell churn{.id = "churn", .chain = "bridge"};
    PodChurnValues well{.pods = 5, .sent = 200, .arrived = 200, .transfers = 9};
    PodChurnValues lossy{
        .pods = 5, .sent = 200, .arrived = 190, .longest_loss = 10, .transfers = 9};
    BOOST_TEST(
        (conclude(std::vector<MeasuredPodChurn>{{quiet, well, {}}, {churn, well, {}}}).verdict ==
         ScenarioVerdict::kNoDefectFound));
    const auto found =
        conclude(std::vector<MeasuredPodChurn>{{quiet, well, {}}, {churn, lossy, {}}});
    BOOST_TEST((found.verdict == ScenarioVerdict::kDefectFound));
    BOOST_TEST(contains(found.cause, "10 of 200 datagrams were lost"), found.cause);
    BOOST_TEST(
        (conclude(std::vector<MeasuredPodChurn>{{quiet, lossy, {}}, {churn, lossy, {}}}).verdict ==
         ScenarioVerdict::kInconclusive));
}

BOOST_AUTO_TEST_SUITE_END()
