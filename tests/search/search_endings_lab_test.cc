// Searches that end before they have found: what they have is printed, and why.
#include <boost/test/unit_test.hpp>

#include "tests/search/kernel_device.h"

using namespace pathproof;
using nlohmann::json;

namespace {

// The only search that is running is waited for, then the link is changed.
std::string after_trials(const KernelDevice& device, const std::string& change) {
    return "sleep 3; ip -n " + device.tester() + " link " + change;
}

void check_cut_short(const SearchOutput& search, const std::string& port, const std::string& how) {
    BOOST_TEST(search.code == 3);
    BOOST_REQUIRE(!search.lines.empty());
    const json& result = search.lines.back();
    BOOST_REQUIRE(result["type"] == "result");
    BOOST_TEST(result["verdict"] == "PARTIAL");
    const json& size = result["sizes"][0];
    BOOST_TEST(size["ending"] == "cut short");
    const std::string reasons = size["reasons"].dump();
    BOOST_TEST(reasons.find("port " + port) != std::string::npos, reasons);
    BOOST_TEST(reasons.find(how) != std::string::npos, reasons);
    // The trials before are kept, and the one that was cut short is marked and counted.
    BOOST_REQUIRE(search.lines.size() >= 3);
    const json& last = search.lines[search.lines.size() - 2];
    BOOST_TEST(last["partial"] == true);
    BOOST_TEST(search.lines.front()["partial"] == false);
    BOOST_TEST(search.lines.front()["sent"].get<std::uint64_t>() > 0);
    BOOST_TEST(size["trials"] == search.lines.size() - 1);
}

const std::string kLong =
    "mlr c0 --max-load 20000 --no-latency --retries 0 --goal "
    "loss=0.05,trial=0.5,sum=30,initial=0.5,width=0.01";

}  // namespace

BOOST_AUTO_TEST_SUITE(search_endings)

BOOST_AUTO_TEST_CASE(a_search_that_is_interrupted_prints_what_it_has) {
    const KernelDevice device;
    const auto [code, lines, said] =
        device.search("mlr c0 --preset rfc2544 --sizes 64,128 --max-load 20000",
                      "timeout --preserve-status -s INT 6");
    BOOST_TEST(code == 3);
    BOOST_REQUIRE(!lines.empty());
    const json& result = lines.back();
    BOOST_TEST(result["verdict"] == "PARTIAL");
    BOOST_REQUIRE(result["sizes"].size() == 2);
    BOOST_TEST(result["sizes"][0]["ending"] == "stopped");
    BOOST_TEST(result["sizes"][1]["verdict"] == "NOT MEASURED");
}

BOOST_AUTO_TEST_CASE(a_sending_interface_that_goes_down_ends_the_search_with_its_name) {
    const KernelDevice device;
    const SearchOutput search = device.search(kLong, "", after_trials(device, "set dev c0 down"));
    check_cut_short(search, "c0", "down");
}

BOOST_AUTO_TEST_CASE(a_receiving_interface_that_disappears_ends_the_search_with_its_name) {
    const KernelDevice device;
    const SearchOutput search =
        device.search(kLong + " --sizes 64,128", "", after_trials(device, "del dev s0"));
    check_cut_short(search, "s0", "no longer exists");
    BOOST_TEST(search.lines.back()["sizes"][1]["verdict"] == "NOT MEASURED");
}

BOOST_AUTO_TEST_SUITE_END()
