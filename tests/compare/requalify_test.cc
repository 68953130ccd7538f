#include "harness/compare/requalify.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sstream>

using namespace pathproof;
using namespace pathproof::compare;

namespace {

Consequence of(const std::string& where, const std::string& what) {
    return requalify({{where, what, "a", "b"}}).consequence;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(certificates)

BOOST_AUTO_TEST_CASE(a_certificate_holds_where_nothing_that_matters_differs) {
    BOOST_TEST((requalify({}).consequence == Consequence::kHolds));
    BOOST_TEST((of("Run", "seed") == Consequence::kHolds));
    BOOST_TEST((of("DUT device eth0", "bus") == Consequence::kHolds));
}

BOOST_AUTO_TEST_CASE(kernel_driver_firmware_and_what_is_not_known_void_it) {
    for (const auto& [where, what] : std::vector<std::pair<std::string, std::string>>{
             {"Kernel", "release"},
             {"DUT: Kernel", "release"},
             {"DUT device eth0", "driver"},
             {"DUT device eth0", "firmware"},
             {"DUT device eth0", "tx-checksum-ip-generic"},
             {"Underlay device eth0 in node A", "driver version"},
             {"Connection tracking (sysctls of the controller's namespace)",
              "net.netfilter.nf_conntrack_max"},
             {"Something new", "whatever"}}) {
        BOOST_TEST((of(where, what) == Consequence::kVoid), where << ": " << what);
    }
}

BOOST_AUTO_TEST_CASE(what_changes_rates_alone_voids_the_figures) {
    for (const auto& [where, what] :
         std::vector<std::pair<std::string, std::string>>{{"DUT device eth0", "PCIe link"},
                                                          {"CPU", "frequency governor of CPU 0"},
                                                          {"Board", "BIOS version"},
                                                          {"Memory", "hugepages, total"},
                                                          {"Kernel", "command line"},
                                                          {"Software", "DPDK"}}) {
        BOOST_TEST((of(where, what) == Consequence::kFigures), where << ": " << what);
    }
}

BOOST_AUTO_TEST_CASE(the_gravest_difference_decides_and_stands_first) {
    const Requalification all = requalify({{"Run", "seed", "1", "2"},
                                           {"CPU", "model", "x", "y"},
                                           {"Kernel", "release", "6.1", "6.9"}});
    BOOST_TEST((all.consequence == Consequence::kVoid));
    BOOST_TEST(all.items[0].difference.what == "release");
    BOOST_TEST(all.items[2].difference.what == "seed");
    const std::string said = text(all);
    BOOST_TEST(said.starts_with("Certificate: VOID: 1 difference"), said);
    BOOST_TEST(said.find("void: Kernel: release: 6.1 -> 6.9 (another kernel)") != std::string::npos,
               said);
}

BOOST_AUTO_TEST_CASE(the_readme_has_the_table_of_rules_as_it_is) {
    std::ostringstream readme;
    readme << std::ifstream(COMPARE_README).rdbuf();
    for (const RequalifyRule& rule : requalify_rules()) {
        const std::string row = fmt::format("| `{}` | `{}` | {} | {} |", rule.where, rule.what,
                                            name(rule.consequence), rule.why);
        BOOST_TEST(readme.str().find(row) != std::string::npos, "missing: " << row);
    }
}

BOOST_AUTO_TEST_SUITE_END()
