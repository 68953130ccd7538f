#include "harness/lab/put_back.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(put_back)

using namespace pathproof::lab;
using Kind = UndoAction::Kind;

namespace {

PutBack of_device(Kind kind, const std::string& device, const std::string& what,
                  const std::string& netns = "") {
    return {.kind = kind, .netns = netns, .device = device, .what = what};
}

const std::vector<PutBack> kThings = {
    of_device(Kind::kXdp, "r0", "XDP program 7 (xsk_def_prog) taken off", "dut"),
    of_device(Kind::kFeature, "eth9", "tx-checksum-ipv4 on"),
    {.kind = Kind::kNetns, .netns = "", .device = "", .what = "deleted network namespace pp-1"},
    of_device(Kind::kFeature, "eth9", "rx-gro off"),
    of_device(Kind::kXdp, "eth9", "XDP program 8 (xsk_def_prog) taken off"),
    of_device(Kind::kFeature, "r0", "rx-gro off")};

}  // namespace

BOOST_AUTO_TEST_CASE(each_device_has_a_line_and_devices_of_one_name_are_kept_apart) {
    const std::vector<std::string> lines = {
        "r0 in network namespace dut: XDP program 7 (xsk_def_prog) taken off",
        "eth9: 2 features as before, XDP program 8 (xsk_def_prog) taken off",
        "deleted network namespace pp-1", "r0: 1 feature as before"};
    BOOST_TEST(in_short(kThings) == lines, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(in_full_each_thing_is_named) {
    BOOST_TEST(in_full(kThings[1]) == "eth9: tx-checksum-ipv4 on");
    BOOST_TEST(in_full(kThings[2]) == "deleted network namespace pp-1");
    BOOST_TEST(in_full(kThings[0]) ==
               "r0 in network namespace dut: XDP program 7 (xsk_def_prog) taken off");
}

BOOST_AUTO_TEST_CASE(a_line_says_whose_it_was_where_it_was_a_runs) {
    const std::vector<RestoredRun> runs = {
        {.run_id = "1a2b",
         .command = "pathproof x",
         .things = {kThings[1]},
         .left_alone = {"sysctl a is 7, set by somebody else since: left"}},
        {.run_id = "", .command = "", .things = {kThings[2]}}};
    const std::vector<std::string> lines = {
        "eth9: 1 feature as before, left by run 1a2b ('pathproof x')",
        "sysctl a is 7, set by somebody else since: left", "deleted network namespace pp-1"};
    BOOST_TEST(in_short(runs) == lines, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
