// Commands whose output or messages cannot be written, or whose reader goes away: they stop, they
// say so by their exit code, and the machine is as it was found.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "harness/process/program.h"
#include "tests/cli/on_streams.h"
#include "tests/lab/support.h"
#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(streams)

using namespace pathproof;
using namespace pathproof::lab;
using on_streams::name;
using on_streams::run;
using on_streams::Sink;

namespace {

constexpr int kIncomplete = 3;

// c0 in namespace ppa is joined to d0 in ppb, and a stray thing of a run is looked for.
class Pair {
  public:
    Pair() : before_(machine()) {
        shell("",
              "ip netns add ppa; ip netns add ppb; "
              "for n in ppa ppb; do "
              "ip netns exec $n sysctl -qw net.ipv6.conf.default.disable_ipv6=1; done; "
              "ip -n ppa link add c0 address 02:70:70:00:01:00 type veth "
              "peer name d0 address 02:70:70:00:01:01 netns ppb; "
              "ip -n ppa link set c0 up; ip -n ppb link set d0 up");
        // The kernel tells of a carrier up to a second late.
        link_ = link();
        for (int look = 0; look < 100 && contains(link_, "DOWN"); ++look) {
            usleep(50'000);
            link_ = link();
        }
        features_ = shell("", "ip netns exec ppa ethtool -k c0");
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
    ~Pair() {
        shell("", "ip netns del ppa; ip netns del ppb; umount /run/netns && rmdir /run/netns");
        BOOST_TEST(machine() == before_);
        check_nothing_left();
    }

    void check_as_found() const {
        BOOST_TEST(link() == link_);
        BOOST_TEST(shell("", "ip netns exec ppa ethtool -k c0") == features_);
        BOOST_TEST(!std::filesystem::exists("/run/pathproof"));
        BOOST_TEST(netns_names().size() == 2U);
        BOOST_TEST(machine() == before_);
    }

  private:
    static std::string link() {
        return shell("",
                     "for p in 'ppa c0' 'ppb d0'; do set -- $p; ip -d -n $1 link show $2; done");
    }
    static std::string machine() {
        return shell("", "grep -E 'HugePages_(Total|Surp)' /proc/meminfo");
    }

    std::string before_;
    std::string link_;
    std::string features_;
};

std::string binary_path() {
    return std::getenv("PATHPROOF");
}

// The exit code of a command whose output a reader takes one line of.
std::string status_before_head(const std::string& words, const std::string& redirection) {
    return shell("", "{ { " + binary_path() + " " + words + " " + redirection +
                         "; echo $? >&3; } | head -1 >/dev/null; } 3>&1");
}

const std::string kGenerate =
    "generate c0 --netns ppa --destination 203.0.113.2 --destination-mac 02:70:70:00:01:01 "
    "--rate 1000 ";

}  // namespace

BOOST_AUTO_TEST_CASE(commands_of_root_end_in_order_on_any_streams) {
    const Pair pair;
    shell("ppa", "conntrack -A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport 1 --dport 53");
    constexpr std::array kBroken = {Sink::kClosed, Sink::kFull, Sink::kNobody};
    std::size_t number = 0;
    for (const std::string& words :
         {std::string("restore"), std::string("lab list"),
          std::string("offload show c0 --netns ppa"),
          std::string("offload set c0 --netns ppa tx=on"), std::string("inspect dump --netns ppa"),
          std::string("inspect stats --netns ppa"), std::string("inspect backends --netns ppa"),
          std::string("inspect watch --duration 0.05 --netns ppa"),
          std::string("inspect clashes --duration 0.05 --netns ppa"),
          std::string("inspect drops --duration 0.05 --netns ppa"),
          std::string("inspect export --duration 0.05 --netns ppa --listen 127.0.0.1:0"),
          kGenerate + "--count 5 --drain 0 --json",
          std::string("respond c0 --netns ppa --duration 0.05 --rule address=192.0.2.1")}) {
        const Sink broken = kBroken[number++ % kBroken.size()];
        // A busy machine makes a run say more in one run than in the next: then both are run again.
        const auto ends_so = [&](const on_streams::Streams& streams,
                                 std::string on_streams::Ran::*lost) {
            on_streams::Ran ran;
            for (int attempt = 0; attempt < 5; ++attempt) {
                const auto whole = run(words, {});
                BOOST_TEST_REQUIRE((whole.status == 0 || whole.status == kIncomplete),
                                   words << "\n"
                                         << whole.err);
                ran = run(words, streams);
                if (ran.status == ((whole.*lost).empty() ? whole.status : kIncomplete)) {
                    return std::string();
                }
            }
            return fmt::format("exit status {}: {}", ran.status, ran.err);
        };
        BOOST_TEST_CONTEXT(words << ", " << name(broken)) {
            BOOST_TEST(ends_so({.out = broken}, &on_streams::Ran::out) == "");
            BOOST_TEST(ends_so({.err = broken}, &on_streams::Ran::err) == "");
        }
        pair.check_as_found();
    }
}

BOOST_AUTO_TEST_CASE(a_reader_that_takes_one_line_stops_the_run) {
    const Pair pair;
    BOOST_TEST(status_before_head(kGenerate + "--json --duration 60", "") == "3\n");
    pair.check_as_found();
    BOOST_TEST(status_before_head(kGenerate + "--duration 60", "2>&1") == "3\n");
    pair.check_as_found();
    BOOST_TEST(status_before_head("generate af_xdp:" + kGenerate.substr(9) + "--json --duration 60",
                                  "") == "3\n");
    pair.check_as_found();
    BOOST_TEST(status_before_head("offload check c0 --netns ppa --quick", "2>&1") == "3\n");
    pair.check_as_found();
    // Events come as long as it watches.
    shell("",
          "(while sleep 0.1; do ip netns exec ppa conntrack -F; done) >/dev/null 2>&1 & a=$!; "
          "(while sleep 0.02; do ip netns exec ppa conntrack -A -t 9 -p udp -s 198.18.0.1 "
          "-d 198.18.0.2 --sport 1 --dport 53; done) >/dev/null 2>&1 & "
          "echo $a $! >/run/children");
    BOOST_TEST(status_before_head("inspect watch --duration 60 --netns ppa", "") == "3\n");
    shell("", "kill $(cat /run/children); rm /run/children");
    pair.check_as_found();
}

BOOST_AUTO_TEST_CASE(a_run_of_scenarios_that_nobody_reads_puts_all_back) {
    const Pair pair;
    const TempFolder folder;
    const std::string out = " --out " + folder.path() + "/report";
    for (const std::string& words :
         {std::string("repro dns-race"), "qualify --only vxlan-checksum" + out}) {
        const auto ran = run(words, {.out = Sink::kNobody, .err = Sink::kNobody});
        BOOST_TEST(ran.status == kIncomplete, words);
        pair.check_as_found();
    }
}

BOOST_AUTO_TEST_SUITE_END()
