// Searches that make no sense: nothing is sent, the exit code is 2, and the sentence names what is
// wrong.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "harness/process/program.h"
#include "tests/search/kernel_device.h"

using namespace pathproof;

namespace {

struct Refusal {
    std::string arguments;
    std::vector<std::string> words;  // of the sentence
};

void check(const KernelDevice& device, const Refusal& refusal) {
    BOOST_TEST_CONTEXT(refusal.arguments) {
        const auto [code, lines, said] = device.search(refusal.arguments);
        BOOST_TEST(code == 2);
        BOOST_TEST(lines.empty());
        BOOST_TEST(said.find("trial 1") == std::string::npos);
        for (const std::string& word : refusal.words) {
            BOOST_TEST(said.find(word) != std::string::npos, word << " is not in: " << said);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(search_refusals)

BOOST_AUTO_TEST_CASE(goals_presets_and_ports_that_there_are_not_are_refused) {
    const KernelDevice device;
    for (const Refusal& refusal :
         std::vector<Refusal>{{"mlr c0 --goal loss=2", {"--goal loss=2", "loss ratio"}},
                              {"mlr c0 --goal depth=1", {"depth"}},
                              {"mlr c0 --goal trial=nan", {"--goal trial=nan"}},
                              {"mlr c0 --goal sum=1e9", {"--goal sum=1e9", "86400"}},
                              {"mlr c0 --preset mrr", {"mrr", "rfc2544"}},
                              {"mlr nowhere", {"nowhere"}},
                              {"loss c0 --step 0.5", {"--step", "0.5"}},
                              {"latency c0 --trial 1e300", {"--trial", "1e300"}},
                              {"mlr c0 --offered-tolerance 0.2", {"--offered-tolerance", "0.2"}},
                              {"mlr c0 --offered-tolerance nan", {"--offered-tolerance", "nan"}}}) {
        check(device, refusal);
    }
}

BOOST_AUTO_TEST_CASE(loads_that_no_tester_can_apply_are_refused_by_their_option) {
    const KernelDevice device;
    for (const std::string load :
         {"1e300", "2e9", "2G", "0", "-1", "nan", "inf", "many", "10%", "1Gbit", "max"}) {
        check(device, {"mlr c0 --max-load=" + load, {"--max-load", "'" + load + "'"}});
        check(device, {"throughput c0 --min-load=" + load, {"--min-load", "'" + load + "'"}});
        check(device, {"recovery c0 --throughput=" + load, {"--throughput", "'" + load + "'"}});
    }
}

BOOST_AUTO_TEST_CASE(a_least_load_that_is_not_below_the_greatest_is_refused) {
    const KernelDevice device;
    check(device, {"mlr c0 --min-load 100 --max-load 50", {"--min-load 100", "--max-load 50"}});
    check(device, {"loss c0 --min-load 50 --max-load 50", {"--min-load 50", "--max-load 50"}});
    // The greatest is what the tester can send.
    check(device, {"mlr c0 --min-load 1e9", {"--min-load 1000000000", "greatest load", "tester"}});
}

BOOST_AUTO_TEST_CASE(frames_that_a_port_cannot_carry_are_refused_before_any_size_is_searched) {
    const KernelDevice device;
    check(device, {"mlr c0 --sizes 63", {"--sizes", "63"}});
    check(device, {"mlr c0 --sizes sixty", {"--sizes", "sixty"}});
    check(device, {"throughput c0 --sizes 64,1600 --max-load 1000",
                   {"--sizes 1600", "port c0", "MTU of 1500", "at most 1518 bytes"}});
    check(device, {"mlr c0 --vlan 5 --sizes 1523 --max-load 1000", {"at most 1522 bytes"}});
    const std::string links = "ip -n " + device.tester() + " link set dev ";
    const auto greater = process::run_checked({"sh", "-ec", links + "c0 mtu 9000"});
    BOOST_REQUIRE_MESSAGE(greater, greater.error().message);
    check(device, {"mlr c0 --sizes 1600 --max-load 1000", {"port s0", "MTU of 1500"}});
    const auto both = process::run_checked({"sh", "-ec", links + "s0 mtu 9000"});
    BOOST_REQUIRE_MESSAGE(both, both.error().message);
    check(device, {"mlr c0 --sizes 9000 --max-load 1000", {"whole"}});
}

BOOST_AUTO_TEST_CASE(more_queues_than_a_port_has_are_refused) {
    const KernelDevice device;
    check(device, {"mlr c0 --queues 17 --max-load 1000", {"--queues 17", "16"}});
    check(device, {"mlr af_xdp:c0 --queues 2 --max-load 1000", {"c0", "2"}});
    check(device, {"mlr c0 --queues 0 --max-load 1000", {"--queues"}});
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_written_is_refused) {
    const KernelDevice device;
    const std::string file = "/tmp/" + device.tester() + "-file";
    std::ofstream(file) << "no folder\n";
    check(device, {"mlr c0 --max-load 1000 --out " + file, {"--out " + file}});
    check(device, {"mlr c0 --max-load 1000 --out " + file + "/below", {"--out " + file}});
    check(device, {"mlr c0 --max-load 1000 --out /proc/nowhere", {"--out /proc/nowhere"}});
    std::filesystem::remove(file);
}

BOOST_AUTO_TEST_SUITE_END()
