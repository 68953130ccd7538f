#include "harness/lab/run_lock.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <optional>

#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(run_lock)

using namespace pathproof;
using namespace pathproof::lab;

BOOST_AUTO_TEST_CASE(a_second_run_is_refused_and_told_who_the_first_is) {
    const TempFolder folder;
    const std::string run = folder.path() + "/run";
    auto first = RunLock::take(run, "pathproof qualify --lab veth");
    BOOST_REQUIRE(first);
    const auto second = RunLock::take(run, "pathproof repro");
    BOOST_REQUIRE(!second);
    BOOST_TEST((second.error().code == ErrorCode::kBusy));
    const std::string& sentence = second.error().message;
    BOOST_TEST(sentence.find("pid " + std::to_string(getpid())) != std::string::npos);
    BOOST_TEST(sentence.find("'pathproof qualify --lab veth'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_next_run_gets_the_lock_and_nothing_is_left_after_it) {
    const TempFolder folder;
    for (int i = 0; i < 2; ++i) {
        const auto lock = RunLock::take(folder.path() + "/run", "pathproof");
        BOOST_REQUIRE(lock);
    }
    BOOST_TEST(!folder.has("run"));
}

BOOST_AUTO_TEST_CASE(a_folder_with_journals_in_it_stays) {
    const TempFolder folder;
    folder.write("run/aaaa.journal", "");
    { const auto lock = RunLock::take(folder.path() + "/run", "pathproof"); }
    BOOST_TEST(folder.has("run/aaaa.journal"));
    BOOST_TEST(!folder.has("run/lock"));
}

BOOST_AUTO_TEST_CASE(a_stale_lock_file_of_a_dead_run_holds_nobody_up) {
    const TempFolder folder;
    folder.write("run/lock", "pid 1, 'pathproof of old with a longer command line'\n");
    const auto lock = RunLock::take(folder.path() + "/run", "pathproof");
    BOOST_REQUIRE(lock);
    BOOST_TEST(folder.read("run/lock") == "pid " + std::to_string(getpid()) + ", 'pathproof'\n");
}

BOOST_AUTO_TEST_CASE(an_agent_that_ends_after_its_controller_leaves_no_folder) {
    const TempFolder folder;
    const std::string run = folder.path() + "/run";
    auto controller = std::make_optional(RunLock::take(run, "pathproof qualify"));
    auto agent = std::make_optional(RunLock::take_host(run, 4026532000, "pathproof agent"));
    auto other = std::make_optional(RunLock::take_host(run, 4026532001, "pathproof agent"));
    BOOST_REQUIRE((*controller && *agent && *other));
    BOOST_TEST(!RunLock::take_host(run, 4026532000, "pathproof agent"));
    controller.reset();
    agent.reset();
    BOOST_TEST(folder.has("run/host-4026532001/lock"));
    other.reset();
    BOOST_TEST(!folder.has("run"));
}

BOOST_AUTO_TEST_SUITE_END()
