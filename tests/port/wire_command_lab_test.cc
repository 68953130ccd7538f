// `pathproof wire` as a program on a kernel interface.
#include <boost/test/unit_test.hpp>

#include "tests/port/responder_rig.h"

using namespace pathproof;

namespace {

// Runs a wire from r0 into nowhere while `meanwhile` is done to the cable.
process::ProgramOutput wire(const Cable& cable, const std::string& meanwhile) {
    return pathproof_run("wire r0 net_null0,no-rx=1 --netns " + cable.tester +
                         " --duration 2.5 --json & w=$!; sleep 1.2; " + meanwhile + "; wait $w");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(wire_command)

BOOST_AUTO_TEST_CASE(a_wire_whose_link_goes_down_or_away_prints_its_counts_as_partial) {
    for (const std::string event : {"link set r0 down", "link del r0"}) {
        const Cable cable;
        const auto out = wire(cable, "ip -n " + cable.tester + " " + event);
        BOOST_TEST_CONTEXT(event << "\n" << out.err) {
            BOOST_TEST(out.exit_status == 3);
            const auto report = nlohmann::json::parse(out.out);
            BOOST_TEST(report["partial"].get<bool>());
            BOOST_TEST(report["objections"].dump().find("port r0: ") != std::string::npos);
            BOOST_TEST(report["directions"].size() == 2U);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_wire_that_nothing_happened_to_is_whole) {
    const Cable cable;
    const auto out = wire(cable, "true");
    BOOST_TEST(out.exit_status == 0, out.err);
    BOOST_TEST(!nlohmann::json::parse(out.out)["partial"].get<bool>());
}

BOOST_AUTO_TEST_CASE(a_wire_between_an_interface_and_itself_is_refused) {
    const Cable cable;
    for (const std::string other : {"r0", "af_xdp:r0"}) {
        const auto out =
            pathproof_run("wire r0 " + other + " --netns " + cable.tester + " --duration 0.1");
        BOOST_TEST(out.exit_status == 2);
        BOOST_TEST(out.err.find("is named twice") != std::string::npos, out.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()
