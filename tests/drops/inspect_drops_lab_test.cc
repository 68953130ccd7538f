#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "harness/process/program.h"
#include "tests/drops/senders.h"
#include "tests/netfilter/lab_namespace.h"

BOOST_AUTO_TEST_SUITE(inspect_drops)

using namespace pathproof;
using netfilter::lab::Namespace;
using nlohmann::json;

namespace {

constexpr const char* kAddress = "198.18.52.1";
constexpr std::uint16_t kRefusedPort = 5353;

// `pathproof inspect drops` of a namespace while packets are being dropped there.
process::ProgramOutput inspect_drops(const std::vector<std::string>& prefix,
                                     const std::vector<std::string>& words) {
    std::vector<std::string> argv = prefix;
    argv.insert(argv.end(), {std::getenv("PATHPROOF"), "inspect", "drops"});
    argv.insert(argv.end(), words.begin(), words.end());
    const auto ran = process::run_program(argv);
    BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
    return *ran;
}

struct Place : Namespace {
    explicit Place(const std::string& word) : Namespace(word) {
        run(fmt::format("ip address add {}/32 dev lo", kAddress));
        run(fmt::format("iptables -A INPUT -p udp --dport {} -j DROP", kRefusedPort));
    }
    // Packets that come for a while, so that a program that is still starting sees some of them.
    void keep_dropping() const {
        for (int i = 0; i < 30; ++i) {
            drops::lab::send_udp(name(), kAddress, kRefusedPort, 1);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
};

process::ProgramOutput inspect_while_dropping(const Place& place,
                                              const std::vector<std::string>& prefix,
                                              std::vector<std::string> words) {
    words.insert(words.end(), {"--netns", place.name()});
    process::ProgramOutput output;
    std::thread inspector([&] { output = inspect_drops(prefix, words); });
    place.keep_dropping();
    inspector.join();
    return output;
}

}  // namespace

BOOST_AUTO_TEST_CASE(lines_and_totals_of_inspect_drops_tell_the_same) {
    const Place place("lines");
    const auto output =
        inspect_while_dropping(place, {}, {"--json", "--duration", "1.2", "--interval", "0.3"});
    BOOST_TEST(output.exit_status == 0, output.err);
    std::istringstream lines(output.out);
    std::uint64_t of_intervals = 0;
    json last;
    for (std::string line; std::getline(lines, line); last = json::parse(line)) {
        of_intervals += last.is_null() ? 0 : last.at("drops").get<std::uint64_t>();
    }
    BOOST_REQUIRE(last.is_object());
    BOOST_TEST(last.at("scope") == "namespace");
    BOOST_TEST(last.at("netns") == place.name());
    const auto drops = last.at("drops").get<std::uint64_t>();
    // The kernel may drop a packet of its own in a new namespace (an IPv6 multicast report).
    const auto by_rules = last.at("reasons").at("NETFILTER_DROP").get<std::uint64_t>();
    BOOST_TEST(by_rules > 0U);
    BOOST_TEST(by_rules <= drops);
    BOOST_TEST(by_rules + 2 >= drops);
    BOOST_TEST(last.at("counts").at(0).at("protocol") == "ip/udp");
    BOOST_TEST(of_intervals <= drops);
    BOOST_TEST(of_intervals > 0U);
    BOOST_TEST(last.at("conntrack").at("agree") == true);
    BOOST_TEST(last.at("conntrack").at("by_rules") == by_rules);
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_with_the_summary) {
    const Place place("interrupt");
    const auto output = inspect_while_dropping(place, {"timeout", "-s", "INT", "1"}, {});
    BOOST_TEST(output.out.find("packets dropped for a reason in ") != std::string::npos,
               output.out);
    BOOST_TEST(output.out.find("NETFILTER_DROP  ") != std::string::npos, output.out);
    BOOST_TEST(output.out.find("NETFILTER_DROP beside conntrack's counters: they agree") !=
                   std::string::npos,
               output.out);
}

BOOST_AUTO_TEST_CASE(without_rights_one_sentence_says_what_is_missing) {
    const auto output =
        inspect_drops({"setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set=-all"}, {});
    BOOST_TEST(output.exit_status == 2, output.err);
    BOOST_TEST(output.out == "");
    BOOST_TEST(output.err.find("pathproof: drop reasons need ") == 0U, output.err);
    BOOST_TEST(std::count(output.err.begin(), output.err.end(), '\n') == 1, output.err);
}

BOOST_AUTO_TEST_SUITE_END()
