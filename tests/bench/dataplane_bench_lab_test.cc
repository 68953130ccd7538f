// The data plane's benchmark in small: every lane that can run gives figures, and the counts in
// them are right. Times are nobody's business here.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bench/bench_command.h"

using namespace pathproof::bench;
using nlohmann::json;

namespace {

json run_short(const std::string& only, const Folder& folder) {
    const std::string out = folder.path() / "out";
    const auto ran = run_bench({"dataplane", "--only", only, "--rounds", "1", "--seconds", "0.3",
                                "--packets", "300000", "--contended", "use", "--out", out});
    BOOST_REQUIRE_MESSAGE(ran.exit_status == 0, ran.err);
    BOOST_TEST(ran.err.find("this takes about") != std::string::npos);
    std::ifstream file(std::filesystem::path(out) / "bench.json");
    return json::parse(file);
}

bool is_absent(const json& experiment, const std::string& lane) {
    return by_id(experiment["lanes"], lane)["absent"].is_string();
}

// A peer's lane is absent where the peer is not installed, and says so.
void check_peer(const json& experiment, const std::string& lane, const std::string& figure) {
    if (is_absent(experiment, lane)) {
        const std::string why = by_id(experiment["lanes"], lane)["absent"];
        BOOST_TEST(why.find("not measured: install") == 0U);
        return;
    }
    BOOST_TEST(median(experiment, lane, figure) > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dataplane_bench)

BOOST_AUTO_TEST_CASE(generator_and_loop_give_cycles_of_ours_and_of_the_peers) {
    const Folder folder;
    const json result = run_short("generator,loop", folder);
    BOOST_TEST(result["bench"] == "dataplane");
    BOOST_TEST(result["experiments"].size() == 2U);
    const json& generator = by_id(result["experiments"], "generator");
    for (const char* lane : {"dns", "dns-again", "dns-vxlan"}) {
        BOOST_TEST(median(generator, lane, "cycles") > 0);
    }
    for (const char* lane : {"txonly", "txonly-multi-flow", "flowgen"}) {
        check_peer(generator, lane, "cycles");
    }
    const json& loop = by_id(result["experiments"], "loop");
    for (const json& reading : by_id(loop["lanes"], "dns")["readings"]) {
        BOOST_TEST(reading["figures"]["missing_share"] == 0);
        BOOST_TEST(reading["figures"]["sent"].get<double>() > 1000);
    }
    check_peer(loop, "flowgen", "mpps");
    BOOST_TEST(by_id(generator["findings"], "control")["value"].get<double>() > 0);
    BOOST_TEST(result["environment"]["Clocks"]["tsc_mhz"].is_string());
    BOOST_TEST(result["environment"]["Clocks"]["core_mhz"].is_string());
    BOOST_TEST(result["environment"]["CPU"]["model"].is_string());
    BOOST_TEST(result["tools"]["dpdk-testpmd"].is_string());
}

BOOST_AUTO_TEST_CASE(judging_is_told_apart_from_receiving_and_the_ledger_has_no_errors) {
    const Folder folder;
    const json result = run_short("verify,ledger", folder);
    const json& verify = by_id(result["experiments"], "verify");
    for (const char* lane : {"dns", "dns-vxlan"}) {
        BOOST_TEST(median(verify, lane, "loop") > 0);
        BOOST_TEST(median(verify, lane, "judged") > median(verify, lane, "loop"));
    }
    const json& ledger = by_id(result["experiments"], "ledger");
    BOOST_TEST(by_id(ledger["findings"], "errors")["value"] == 0);
}

BOOST_AUTO_TEST_CASE(frames_that_a_program_says_it_sent_are_those_that_the_sink_counted) {
    const Folder folder;
    const json result = run_short("veth", folder);
    const json& veth = by_id(result["experiments"], "veth");
    for (const char* lane : {"xdp-valid", "xdp-zero", "packet-valid"}) {
        BOOST_TEST(median(veth, lane, "frames_per_second") > 0);
        BOOST_TEST(median(veth, lane, "frame_bytes") == 98, boost::test_tools::tolerance(0.01));
        BOOST_TEST(median(veth, lane, "claimed_share") == 1, boost::test_tools::tolerance(0.01));
    }
    for (const char* lane : {"ceiling", "kxdpgun-10", "kxdpgun-32", "kxdpgun-64", "trafgen"}) {
        check_peer(veth, lane, "frames_per_second");
    }
    if (!is_absent(veth, "kxdpgun-32")) {
        BOOST_TEST(median(veth, "kxdpgun-32", "frame_bytes") == 98,
                   boost::test_tools::tolerance(0.01));
    }
}

BOOST_AUTO_TEST_CASE(answers_are_counted_for_ours_and_for_the_peers) {
    const Folder folder;
    const json result = run_short("answers", folder);
    const json& answers = by_id(result["experiments"], "answers");
    if (is_absent(answers, "ring")) {
        BOOST_TEST_MESSAGE("one CPU: nothing can ask and answer at once");
        return;
    }
    for (const char* lane : {"xdp", "xdp-open", "xdp-whole", "packet", "ring", "ring-whole"}) {
        BOOST_TEST(median(answers, lane, "answers_per_second") > 0);
    }
    for (const char* lane : {"xdp-whole", "ring-whole"}) {
        BOOST_TEST(median(answers, lane, "unanswered_share") <=
                   median(answers, lane, "loss_bound"));
    }
    BOOST_TEST(median(answers, "one-way", "queries_per_second") > 0);
    check_peer(answers, "round-trip", "answers_per_second");
    check_peer(answers, "dnsperf", "answers_per_second");
    check_peer(answers, "kxdpgun", "answers_per_second");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_used_is_said_before_anything_is_measured) {
    const Folder folder;
    BOOST_TEST(run_bench({"dataplane", "--only", "everything"}).exit_status == 2);
    BOOST_TEST(run_bench({"dataplane", "--seconds", "0"}).exit_status == 2);
    const auto nowhere = run_bench({"dataplane", "--only", "loop", "--out", "/proc/nowhere"});
    BOOST_TEST(nowhere.exit_status == 2);
    BOOST_TEST(nowhere.err.find("/proc/nowhere") != std::string::npos);
    BOOST_TEST(run_bench({"worker", "load", "{}"}).exit_status == 2);
}

BOOST_AUTO_TEST_SUITE_END()
