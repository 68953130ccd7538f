// conclude() of vxlan-checksum on plain values: no lab, no root.
#include "harness/scenario/vxlan/vxlan_conclusion.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "tests/contains.h"
#include "tests/scenario/vxlan_claims.h"

BOOST_AUTO_TEST_SUITE(vxlan_conclusion)

using namespace pathproof;
using namespace pathproof::scenario;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::RunVerdict;
using verdict::ScenarioResult;
using verdict::ScenarioVerdict;

namespace {

using AllFacts = std::vector<OverlayFacts>;

OverlayPoint point_of(bool vxlan_tx, bool checksum, bool masquerade, bool underlay_tx,
                      bool broken_wire = false) {
    return {vxlan_tx, checksum, masquerade, underlay_tx,
            broken_wire ? softnic::WireMode::kPassThrough : softnic::WireMode::kHealthyNic};
}

OverlayFacts clean(const OverlayPoint& point, const std::string& id = "") {
    OverlayFacts facts{.id = id.empty() ? point.id() : id, .point = point};
    facts.ping = facts.dns_udp = facts.dns_tcp =
        facts.transfer = {.ok = true, .outcome = "all well"};
    facts.frames = 1200;
    facts.good_inner_icmp = 6;
    facts.tunnel_flows = 5;
    facts.translated = point.masquerade ? 5 : 0;
    facts.underlay_mtu = facts.tunnel_packet = 1500;
    if (point.underlay_tx && (point.vxlan_tx || point.udp_checksum)) {
        facts.handed_partial = facts.completed = 1100;
    }
    return facts;
}

void fail_tcp_and_dns(OverlayFacts& facts) {
    facts.dns_udp = facts.dns_tcp = facts.transfer = {.ok = false, .outcome = "timed out"};
    facts.frames = 60;
}

void make_stale(OverlayFacts& facts, std::uint64_t frames = 24) {
    fail_tcp_and_dns(facts);
    facts.bad_frames += frames;
    facts.bad_outer_udp = frames;
    facts.checksums.frames += frames;
    facts.checksums.stale_port = frames;
    facts.checksums.stale_port_named = frames >= 3;
    facts.node_udp_errors = frames;
}

void make_partial(OverlayFacts& facts) {
    fail_tcp_and_dns(facts);
    facts.bad_frames += 30;
    facts.bad_inner_tcp = 30;
    facts.checksums.frames += 30;
    facts.checksums.left_partial = 30;
    facts.checksums.left_partial_named = true;
}

bool suspect(const OverlayPoint& point) {
    return point.vxlan_tx && point.udp_checksum && point.masquerade;
}

// A whole run on a kernel that has the bug, or has not.
AllFacts run_of(bool bug) {
    AllFacts all;
    for (const bool vxlan_tx : {true, false}) {
        for (const bool checksum : {true, false}) {
            for (const bool masquerade : {false, true}) {
                for (const bool underlay_tx : {true, false}) {
                    all.push_back(clean(point_of(vxlan_tx, checksum, masquerade, underlay_tx)));
                }
            }
        }
    }
    for (const bool masquerade : {false, true}) {
        for (const bool underlay_tx : {true, false}) {
            all.push_back(clean(point_of(true, true, masquerade, underlay_tx, true)));
            all.back().completed = 0;
            if (underlay_tx) {
                make_partial(all.back());
            }
        }
    }
    if (bug) {
        for (OverlayFacts& facts : all) {
            if (suspect(facts.point)) {
                make_stale(facts);
            }
        }
        all.push_back(clean(point_of(false, true, true, false), kFlagOff));
        all.push_back(clean(point_of(true, true, true, false), kFlagBack));
        make_stale(all.back());
    }
    return all;
}

ScenarioResult concluded(const AllFacts& measured) {
    ScenarioResult result;
    result.id = "vxlan-checksum";
    result.title = "t";
    conclude_vxlan_checksum(measured, {}, result);
    return result;
}

RunVerdict run_verdict(const ScenarioResult& result) {
    return verdict::judge_run({result}).first;
}

OverlayFacts& at(AllFacts& measured, const std::string& id) {
    const auto found = std::ranges::find(measured, id, &OverlayFacts::id);
    BOOST_REQUIRE_MESSAGE(found != measured.end(), id);
    return *found;
}

const Cell& cell_at(const ScenarioResult& result, const std::string& id) {
    const auto found = std::ranges::find(result.cells, id, &Cell::id);
    BOOST_REQUIRE_MESSAGE(found != result.cells.end(), id);
    return *found;
}

std::vector<std::string> lies(const ScenarioResult& result) {
    // The JSON is that of report.json without the parts that the checker does not read: ten
    // thousand reports take their time.
    nlohmann::json scenario = {{"headline", result.headline},
                               {"cause", result.cause},
                               {"cure", result.cure},
                               {"cure_shown", result.cure_shown},
                               {"explanation", result.explanation},
                               {"proofs", nlohmann::json::array()},
                               {"cells", nlohmann::json::array()},
                               {"controls", nlohmann::json::array()}};
    for (const verdict::Proof& proof : result.proofs) {
        scenario["proofs"].push_back({{"conclusion", proof.conclusion}});
    }
    for (const auto& [list, cells] :
         {std::pair{"cells", &result.cells}, {"controls", &result.controls}}) {
        for (const Cell& cell : *cells) {
            nlohmann::json values = nlohmann::json::object();
            for (const verdict::Measure& made : cell.measures) {
                std::visit(
                    [&]<typename Kept>(const Kept& held) {
                        if constexpr (std::same_as<Kept, std::monostate>) {
                            values[made.name]["value"] = nullptr;
                        } else {
                            values[made.name]["value"] = held;
                        }
                    },
                    made.value.kinds());
            }
            scenario[list].push_back({{"id", cell.id},
                                      {"role", verdict::name(cell.role)},
                                      {"verdict", verdict::name(cell.verdict)},
                                      {"reason", cell.reason},
                                      {"cause", cell.cause},
                                      {"measures", std::move(values)}});
        }
    }
    static const std::vector<Claim> claims = vxlan_claims();
    return contradictions(scenario, claims);
}

void expect_true(const ScenarioResult& result) {
    for (const std::string& lie : lies(result)) {
        BOOST_ERROR(lie);
    }
}

constexpr const char* kSuspectId = "vx-tx-on.udpcsum.masquerade.eth0-tx-off";
constexpr const char* kNoNatId = "vx-tx-on.udpcsum.no-nat.eth0-tx-off";

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(the_bug_is_reproduced_named_and_cured) {
    const ScenarioResult result = concluded(run_of(true));
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST(result.unexplained == 0u);
    BOOST_TEST((run_verdict(result) == RunVerdict::kConditionallyQualified));
    BOOST_TEST(contains(result.cause, "Udp.InCsumErrors"), result.cause);
    BOOST_TEST(contains(result.cure, "the same failure is back"), result.cure);
    BOOST_TEST(result.explanation.size() == 3u);
    expect_true(result);
}

// T1
BOOST_AUTO_TEST_CASE(a_kernel_without_the_bug_is_qualified_beside_the_tools_own_demonstrations) {
    const ScenarioResult result = concluded(run_of(false));
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST((run_verdict(result) == RunVerdict::kQualified),
               verdict::judge_run({result}).second.front());
    BOOST_TEST(result.cause.empty());
    BOOST_TEST(result.cure.empty());
    expect_true(result);
}

BOOST_AUTO_TEST_CASE(a_demonstration_that_does_not_show_what_it_must_makes_the_run_incomplete) {
    AllFacts measured = run_of(false);
    OverlayFacts& shown = at(measured, "vx-tx-on.udpcsum.no-nat.eth0-tx-on.wire-leaves-partial");
    shown = clean(shown.point);
    BOOST_TEST((run_verdict(concluded(measured)) == RunVerdict::kIncomplete));
    measured = run_of(false);
    make_partial(at(measured, "vx-tx-on.udpcsum.no-nat.eth0-tx-off.wire-leaves-partial"));
    BOOST_TEST((run_verdict(concluded(measured)) == RunVerdict::kIncomplete));
}

// T2
BOOST_AUTO_TEST_CASE(a_masquerade_that_did_not_take_place_is_no_pass) {
    for (const std::uint64_t translated : {0u, 4u}) {
        AllFacts measured = run_of(false);
        for (OverlayFacts& facts : measured) {
            facts.translated = std::min(facts.translated, translated);
        }
        const ScenarioResult result = concluded(measured);
        BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
        BOOST_TEST((cell_at(result, kSuspectId).verdict == CellVerdict::kInconclusive));
        BOOST_TEST(contains(result.headline, "NAT did not take place"), result.headline);
        BOOST_TEST((run_verdict(result) == RunVerdict::kIncomplete));
        expect_true(result);
    }
}

BOOST_AUTO_TEST_CASE(a_toggle_that_did_not_take_is_no_pass) {
    AllFacts measured = run_of(false);
    at(measured, "vx-tx-on.udpcsum.no-nat.eth0-tx-on").handed_partial = 0;
    at(measured, kNoNatId).handed_partial = 9;
    const ScenarioResult result = concluded(measured);
    BOOST_TEST((cell_at(result, "vx-tx-on.udpcsum.no-nat.eth0-tx-on").verdict ==
                CellVerdict::kInconclusive));
    BOOST_TEST((cell_at(result, kNoNatId).verdict == CellVerdict::kInconclusive));
    BOOST_TEST((run_verdict(result) == RunVerdict::kIncomplete));
    expect_true(result);
}

// T5
BOOST_AUTO_TEST_CASE(the_place_of_the_drop_is_that_whose_counter_rose) {
    AllFacts measured = run_of(true);
    for (OverlayFacts& facts : measured) {
        if (facts.node_udp_errors != 0) {
            facts.node_udp_errors = 0;
            facts.drops["NETFILTER_DROP"] = facts.bad_outer_udp;
        }
    }
    const ScenarioResult result = concluded(measured);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(!contains(result.cause, "InCsumErrors"), result.cause);
    BOOST_TEST(contains(result.cause, "NETFILTER_DROP"), result.cause);
    BOOST_TEST(cell_at(result, kSuspectId).cause == "stale-port");
    expect_true(result);
    for (OverlayFacts& facts : measured) {
        facts.drops.clear();
    }
    const ScenarioResult unseen = concluded(measured);
    BOOST_TEST(!contains(unseen.cause, "dropped"), unseen.cause);
}

// T6
BOOST_AUTO_TEST_CASE(cells_that_fail_from_another_cause_are_named_and_nothing_is_said_to_be_right) {
    AllFacts measured = run_of(false);
    for (OverlayFacts& facts : measured) {
        if (facts.point.wire == softnic::WireMode::kHealthyNic && !facts.point.masquerade) {
            facts.dns_tcp = facts.transfer = {.ok = false, .outcome = "connect timed out"};
            facts.drops["NETFILTER_DROP"] = 12;
        }
    }
    const ScenarioResult result = concluded(measured);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
    BOOST_TEST(cell_at(result, kNoNatId).cause == "filter");
    BOOST_TEST(!contains(result.headline, "carries"), result.headline);
    BOOST_TEST((run_verdict(result) == RunVerdict::kIncomplete));
    expect_true(result);
}

// T7
BOOST_AUTO_TEST_CASE(a_cure_needs_the_stimulus_and_the_same_cause_again) {
    AllFacts measured = run_of(true);
    at(measured, kFlagOff).translated = 0;
    ScenarioResult result = concluded(measured);
    BOOST_TEST(!result.cure_shown, result.cure);
    BOOST_TEST((run_verdict(result) == RunVerdict::kIncomplete));
    expect_true(result);

    measured = run_of(true);
    OverlayFacts& back = at(measured, kFlagBack);
    back = clean(back.point, kFlagBack);
    back.bad_frames = back.checksums.frames = back.checksums.unexplained = 3;
    result = concluded(measured);
    BOOST_TEST(!result.cure_shown, result.cure);
    BOOST_TEST(contains(result.cure, "did NOT come back as it was"), result.cure);
    expect_true(result);

    measured = run_of(true);
    make_stale(at(measured, kFlagOff));
    result = concluded(measured);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST((run_verdict(result) == RunVerdict::kNotQualified),
               verdict::judge_run({result}).second.front());
    expect_true(result);
}

// T8, T9, T11
BOOST_AUTO_TEST_CASE(other_causes_are_named_from_their_own_counts) {
    struct Other {
        const char* word;
        void (*plant)(OverlayFacts&);
    };
    for (const Other& other :
         {Other{"link-down", [](OverlayFacts& facts) { facts.links_down = 1; }},
          {"mtu",
           [](OverlayFacts& facts) {
               facts.too_big = 7;
               facts.underlay_mtu = 1200;
           }},
          {"mtu", [](OverlayFacts& facts) { facts.drops["PKT_TOO_BIG"] = 7; }},
          {"mtu", [](OverlayFacts& facts) { facts.underlay_mtu = 1200; }},
          {"table-full",
           [](OverlayFacts& facts) {
               facts.table_full = 9;
               facts.drops["NETFILTER_DROP"] = 9;
           }},
          {"filter", [](OverlayFacts& facts) { facts.drops["NETFILTER_DROP"] = 4; }},
          {"queue", [](OverlayFacts& facts) { facts.drops["QDISC_DROP"] = 4; }},
          {"no-route", [](OverlayFacts& facts) { facts.drops["IP_OUTNOROUTES"] = 4; }},
          {"", [](OverlayFacts& facts) { facts.drops["TCP_OLD_DATA"] = 4; }}}) {
        AllFacts measured = run_of(false);
        OverlayFacts& facts = at(measured, kSuspectId);
        fail_tcp_and_dns(facts);
        other.plant(facts);
        const ScenarioResult result = concluded(measured);
        BOOST_TEST(cell_at(result, kSuspectId).cause == other.word);
        BOOST_TEST(result.unexplained == (*other.word == '\0' ? 3u : 0u));
        BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
        BOOST_TEST((run_verdict(result) == RunVerdict::kIncomplete));
        expect_true(result);
    }
}

// T12: with "tx" off nothing is handed over as partial, so nothing is completed, and what needs it
// is wrong.
BOOST_AUTO_TEST_CASE(a_partial_sum_that_nobody_left_to_the_nic_is_a_fault) {
    AllFacts measured = run_of(false);
    for (OverlayFacts& facts : measured) {
        if (!facts.point.underlay_tx) {
            make_partial(facts);
        }
    }
    const ScenarioResult result = concluded(measured);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
    BOOST_TEST(cell_at(result, kSuspectId).cause == "left-partial");
    BOOST_TEST((run_verdict(result) == RunVerdict::kIncomplete));
    expect_true(result);
}

BOOST_AUTO_TEST_CASE(a_wire_that_is_no_witness_makes_an_error) {
    for (void (*plant)(OverlayFacts&) :
         {+[](OverlayFacts& facts) { facts.not_carried = 1; },
          +[](OverlayFacts& facts) { facts.objection = "port u0 is gone"; },
          +[](OverlayFacts& facts) { facts.frames = 0; },
          +[](OverlayFacts& facts) { facts.completed_by_value = 1; }}) {
        AllFacts measured = run_of(true);
        plant(at(measured, kNoNatId));
        const ScenarioResult result = concluded(measured);
        BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
        BOOST_TEST((cell_at(result, kNoNatId).verdict == CellVerdict::kError));
        expect_true(result);
    }
}

BOOST_AUTO_TEST_CASE(a_part_says_no_more_than_it_measured) {
    const AllFacts whole = run_of(true);
    AllFacts part = {whole[3]};
    BOOST_REQUIRE(part.front().id == kSuspectId);
    ScenarioResult result = concluded(part);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(!contains(result.cause, "CHECKSUM_PARTIAL"), result.cause);
    BOOST_TEST(result.cure.empty());
    expect_true(result);
    result = concluded({clean(point_of(true, true, false, false))});
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
    BOOST_TEST((concluded({}).verdict == ScenarioVerdict::kInconclusive));
}

// Whatever the values are: no sentence against them, no PASS over a loss, no verdict against the
// cells.
BOOST_AUTO_TEST_CASE(no_set_of_values_gets_a_sentence_or_a_verdict_that_it_contradicts) {
    std::mt19937 draw(7);
    const auto below = [&](unsigned limit) { return static_cast<unsigned>(draw() % limit); };
    const std::vector<std::string> reasons = {"NETFILTER_DROP", "QDISC_DROP", "UDP_CSUM",
                                              "NO_SOCKET",      "XDP",        "PKT_TOO_BIG"};
    std::map<ScenarioVerdict, std::size_t> verdicts;
    for (int set = 0; set < 10'000; ++set) {
        AllFacts measured = run_of(below(2) != 0);
        for (unsigned change = below(4); change > 0; --change) {
            const bool everywhere = below(6) == 0;
            const std::size_t chosen = below(static_cast<unsigned>(measured.size()));
            const unsigned kind = below(16);
            const std::uint64_t count = below(40);
            const std::string& reason = reasons[below(static_cast<unsigned>(reasons.size()))];
            for (std::size_t index = 0; index < measured.size(); ++index) {
                OverlayFacts& facts = measured[index];
                if (!everywhere && index != chosen) {
                    continue;
                }
                switch (kind) {
                    case 0: facts.ping.ok = !facts.ping.ok; break;
                    case 1: facts.dns_udp.ok = !facts.dns_udp.ok; break;
                    case 2: facts.dns_tcp.ok = !facts.dns_tcp.ok; break;
                    case 3: facts.transfer.ok = !facts.transfer.ok; break;
                    case 4: facts.translated = std::min(facts.tunnel_flows, count); break;
                    case 5: make_stale(facts, count); break;
                    case 6: make_partial(facts); break;
                    case 7: facts = clean(facts.point, facts.id); break;
                    case 8: facts.links_down = count; break;
                    case 9: facts.table_full = count; break;
                    case 10: facts.drops[reason] = count; break;
                    case 11: facts.node_udp_errors = count; break;
                    case 12: facts.not_carried = count / 8; break;
                    case 13: facts.handed_partial = count; break;
                    case 14:
                        facts.bad_frames += count;
                        facts.checksums.frames += count;
                        facts.checksums.unexplained += count;
                        break;
                    default: facts.too_big = count; break;
                }
            }
        }
        if (below(8) != 0) {  // mostly without the points that differ in more than one toggle
            std::erase_if(measured, [](const OverlayFacts& facts) {
                return !facts.id.starts_with("cure") &&
                       (!facts.point.udp_checksum || !facts.point.vxlan_tx) &&
                       facts.id != "vx-tx-off.udpcsum.masquerade.eth0-tx-off";
            });
        }
        while (below(3) == 0 && !measured.empty()) {
            measured.erase(measured.begin() + below(static_cast<unsigned>(measured.size())));
        }
        for (OverlayFacts& facts : measured) {
            facts.frames = std::max(facts.frames, facts.bad_frames + facts.not_carried + 1);
        }
        const ScenarioResult result = concluded(measured);
        ++verdicts[result.verdict];
        const auto said = lies(result);
        BOOST_REQUIRE_MESSAGE(said.empty(), said.front());
        for (const OverlayFacts& facts : measured) {
            const Cell& cell = cell_at(result, facts.id);
            if (cell.verdict != CellVerdict::kPass) {
                BOOST_REQUIRE(!cell.reason.empty());
                continue;
            }
            BOOST_REQUIRE(facts.not_carried == 0u);
            BOOST_REQUIRE(facts.checksums.unexplained == 0u);
            BOOST_REQUIRE((!facts.point.masquerade ||
                           (facts.translated == facts.tunnel_flows && facts.translated != 0)));
            if (cell.role != Cell::Role::kDemonstration) {
                BOOST_REQUIRE(facts.probes_ok());
                BOOST_REQUIRE(facts.bad_frames == 0u);
            }
        }
        const bool reproduced = result.verdict == ScenarioVerdict::kReproduced;
        BOOST_REQUIRE(
            (reproduced || (result.cause.empty() && result.cure.empty() && !result.cure_shown)));
        if (result.cure_shown) {
            BOOST_REQUIRE((cell_at(result, kFlagOff).verdict == CellVerdict::kPass));
            BOOST_REQUIRE(
                (cell_at(result, kFlagBack).cause == cell_at(result, result.before_cell).cause));
        }
        if (reproduced) {
            BOOST_REQUIRE(std::ranges::any_of(measured, [](const OverlayFacts& facts) {
                return suspect(facts.point) && facts.checksums.stale_port_named &&
                       !facts.probes_ok();
            }));
        }
        if (run_verdict(result) == RunVerdict::kQualified) {
            for (const Cell& cell : result.cells) {
                BOOST_REQUIRE((cell.verdict == CellVerdict::kPass));
            }
        }
    }
    BOOST_TEST(verdicts[ScenarioVerdict::kReproduced] > 1000u);
    BOOST_TEST(verdicts[ScenarioVerdict::kNotReproduced] > 1000u);
    BOOST_TEST(verdicts[ScenarioVerdict::kInconclusive] > 1000u);
}

BOOST_AUTO_TEST_SUITE_END()
