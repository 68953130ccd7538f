// The kernel as receiver, on a veth device of the test's own: what it says of frames that came from
// outside, and what does not arrive.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "dataplane/port/device_name.h"
#include "harness/process/program.h"
#include "harness/truth/defects.h"
#include "harness/truth/kernel_rx.h"

using namespace pathproof;
using namespace pathproof::truth;

namespace {

void ip(const std::vector<std::string>& words) {
    std::vector<std::string> argv = {"ip"};
    argv.insert(argv.end(), words.begin(), words.end());
    const auto done = process::run_checked(argv);
    BOOST_REQUIRE_MESSAGE(done, done.error().message);
}

// A tester's namespace with interface u0, the device's with interface d0, a cable between.
struct Cable {
    std::string tester = "pp-s2t" + std::to_string(getpid());
    std::string device = "pp-s2d" + std::to_string(getpid());

    Cable() {
        ip({"netns", "add", tester});
        ip({"netns", "add", device});
        ip({"-n", tester, "link", "add", "u0", "type", "veth", "peer", "name", "d0", "netns",
            device});
        ip({"-n", tester, "link", "set", "u0", "up"});
        ip({"-n", device, "link", "set", "d0", "up"});
    }
    ~Cable() {
        for (const std::string& name : {tester, device}) {
            (void)process::run_program({"ip", "netns", "del", name});
        }
    }
};

RowsRun receive(const Cable& cable) {
    auto tester =
        tester::Client::start({.netns = cable.tester,
                               .ports = {{.name = "u0", .device = port::af_packet_device("u0")}},
                               .worker_cpus = {0}});
    BOOST_REQUIRE_MESSAGE(tester, tester.error().message);
    auto agent = agent::Client::start_in_netns(cable.device);
    BOOST_REQUIRE_MESSAGE(agent, agent.error().message);
    auto receipt = receive_by_kernel(**tester, **agent, "d0",
                                     {.strength = matrix::Strength::kPairs, .probes = 4});
    BOOST_REQUIRE_MESSAGE(receipt, receipt.error().message);
    return std::move(*receipt);
}

std::string all_of(const Findings& findings) {
    std::string text;
    for (const Defect& defect : findings.defects) {
        text += defect.signature() + " (" + defect.where + "); ";
    }
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_rx, *boost::unit_test::label("lab"))

BOOST_AUTO_TEST_CASE(veth_makes_no_claim_of_frames_from_outside_and_delivers_good_and_bad) {
    const Cable cable;
    const RowsRun run = receive(cable);
    const Findings findings = find_defects(run, {.driver = "kernel"}, {});
    BOOST_TEST(findings.defects.empty(), all_of(findings));
    BOOST_TEST(run.objections.empty());
    std::uint64_t frames = 0;
    std::uint64_t bad = 0;
    for (const RxRow& row : run.received) {
        frames += row.result.frames;
        bad += row.result.bad;
        for (const auto& layer : row.claims) {
            BOOST_TEST(std::ranges::all_of(
                layer, [](const ClaimCount& count) { return count.claimed == 0; }));
        }
    }
    BOOST_TEST(frames > 100u);
    BOOST_TEST(bad > 50u);
    BOOST_TEST(run.seen_bad > 0u);
}

BOOST_AUTO_TEST_CASE(frames_that_a_device_does_not_take_are_missed) {
    const Cable cable;
    ip({"-n", cable.device, "link", "set", "d0", "mtu", "1280"});
    const RowsRun run = receive(cable);
    const Findings findings = find_defects(run, {.driver = "kernel"}, {});
    BOOST_TEST_CONTEXT(all_of(findings)) {
        BOOST_REQUIRE(!findings.defects.empty());
        const Defect& defect = findings.defects.front();
        BOOST_TEST(defect.title == "DROP");
        BOOST_TEST(std::ranges::any_of(defect.rows, [&](std::size_t row) {
            return run.received[row].row.length == matrix::Length::kMtu;
        }));
    }
}

BOOST_AUTO_TEST_SUITE_END()
