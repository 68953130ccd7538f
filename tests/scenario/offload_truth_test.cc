// The cells of the offload truth table: flags put back, counters, and confirmed traffic.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "harness/scenario/offload_truth/between.h"
#include "harness/scenario/offload_truth/counters.h"
#include "harness/scenario/offload_truth/feature_switch.h"
#include "harness/scenario/offload_truth/part.h"

BOOST_AUTO_TEST_SUITE(offload_truth)

using namespace pathproof;
using namespace pathproof::scenario;
using truth::KindCount;
using truth::KindCounts;

namespace {

using Words = std::vector<std::string>;

KindCount counted(std::uint64_t accepted, std::uint64_t refused) {
    return {.why_not = "", .good = 32, .bad = 32, .accepted = accepted, .refused = refused};
}

}  // namespace

BOOST_AUTO_TEST_CASE(flags_that_are_not_as_before_fail_their_cell) {
    BOOST_TEST((put_back_cell("x", {}).verdict == verdict::CellVerdict::kPass));
    const verdict::Cell cell = put_back_cell("x", {{"tx-a", true, false, false}});
    BOOST_TEST((cell.verdict == verdict::CellVerdict::kFail));
    BOOST_TEST(cell.reason == "tx-a was on and is off");
}

BOOST_AUTO_TEST_CASE(a_lying_counter_fails_its_cell_and_a_silent_namespace_skips_it) {
    KindCounts counts;
    counts.fill(counted(32, 32));
    BOOST_TEST((judge_counters(counts, "as-found", "as found").cell.verdict ==
                verdict::CellVerdict::kPass));
    counts[3] = counted(64, 0);
    const CounterVerdict lying = judge_counters(counts, "as-found", "as found");
    BOOST_TEST((lying.cell.verdict == verdict::CellVerdict::kFail));
    BOOST_TEST(lying.cell.id == "rx.as-found.counters");
    BOOST_TEST(lying.cell.reason.find("TCP over IPv4: RX_GOOD_ON_BAD") != std::string::npos);
    BOOST_TEST(lying.kernel.observed[3].cell == lying.cell.id);
    counts.fill(counted(0, 0));
    const verdict::Cell silent = judge_counters(counts, "as-found", "as found").cell;
    BOOST_TEST((silent.verdict == verdict::CellVerdict::kSkip));
    BOOST_TEST(!silent.reason.empty());
}

BOOST_AUTO_TEST_CASE(what_a_second_observation_does_not_show_again_is_not_confirmed) {
    using verdict::CellVerdict;
    const auto traffic = [](CellVerdict verdict, const Words& names) {
        TrafficSeen made;
        made.cell = {.id = "x", .verdict = verdict, .reason = "3 wrong", .cause = "PSEUDO"};
        made.seen.names = names;
        return made;
    };
    const TrafficSeen first = traffic(CellVerdict::kFail, {"PSEUDO"});
    BOOST_TEST((confirmed(first, first).cell.verdict == CellVerdict::kFail));
    BOOST_TEST(confirmed(first, first).cell.cause == "PSEUDO");
    for (const TrafficSeen& second :
         {traffic(CellVerdict::kPass, {}), traffic(CellVerdict::kFail, {"ZERO(outer.udp)"})}) {
        const verdict::Cell cell = confirmed(first, second).cell;
        BOOST_TEST((cell.verdict == CellVerdict::kInconclusive));
        BOOST_TEST(cell.reason == "seen once, not confirmed: 3 wrong");
        BOOST_TEST(cell.cause.empty());
    }
    TrafficSeen more = first;
    more.frames_of["PSEUDO"] = 2;
    BOOST_TEST((confirmed(first, more).cell.verdict == CellVerdict::kInconclusive));
    // Frames that the tester lost say nothing of the device, whatever came before.
    const verdict::Cell lost = confirmed(first, traffic(CellVerdict::kError, {})).cell;
    BOOST_TEST((lost.verdict == CellVerdict::kError));
}

BOOST_AUTO_TEST_CASE(two_ends_of_a_veth_pair_are_told_from_two_that_somebody_joins) {
    const auto end = [](const char* name, int index, const std::string& peer,
                        const char* kind = "veth") {
        return fmt::format(R"([{{"ifname":"{}","ifindex":{},{},"linkinfo":{{"info_kind":"{}"}}}}])",
                           name, index, peer, kind);
    };
    const std::string e0 = end("e0", 2, R"("link_index":3,"link_netnsid":0)");
    const std::string u0 = end("u0", 3, R"("link_index":2,"link_netnsid":0)");
    BOOST_TEST(are_peers(e0, u0));
    BOOST_TEST(are_peers(end("a", 5, R"("link":"b")"), end("b", 6, R"("link":"a")")));
    BOOST_TEST(!are_peers(e0, end("u0", 3, R"("link_index":4,"link_netnsid":0)")));
    BOOST_TEST(!are_peers(e0, end("u0", 7, R"("link_index":2,"link_netnsid":0)")));
    BOOST_TEST(!are_peers(e0, end("u0", 3, R"("link_index":2)", "macvlan")));
    for (const char* other : {"", "[]", "[1]", "{}", R"([{"link":7,"linkinfo":[]}])"}) {
        BOOST_TEST(!are_peers(e0, other), other);
    }
}

BOOST_AUTO_TEST_SUITE_END()
