#include "harness/lab/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstring>

#include "harness/lab/veth_lab.h"
#include "harness/process/program.h"
#include "tests/lab/support.h"

using namespace pathproof;
using namespace pathproof::lab;

namespace {

// A run with a guard that is in the middle of something when the signal comes.
void guarded_run(const Forked::Say& say, const std::function<void()>& something) {
    const auto journal = Journal::open("pathproof guarded");
    const SignalGuard guard(**journal, [&](int signal, const Status& undone) {
        say(undone ? strsignal(signal) : undone.error().message);
    });
    const auto overlay = Overlay::build(**journal);
    say(overlay ? (*journal)->run_id() : overlay.error().message);
    something();
    say("came back");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(signals)

BOOST_AUTO_TEST_CASE(each_signal_undoes_the_run_and_ends_it_as_incomplete) {
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        Forked run([](const Forked::Say& say) { guarded_run(say, [] { pause(); }); });
        BOOST_REQUIRE(run.hear().size() == 4U);
        BOOST_TEST(netns_names().size() == 5U);
        run.signal(number);
        BOOST_TEST(run.hear() == strsignal(number));
        BOOST_TEST(run.wait() == 3);
        check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(a_hangup_that_was_ignored_before_stays_so) {
    Forked run([](const Forked::Say& say) {
        std::signal(SIGHUP, SIG_IGN);
        guarded_run(say, [] { usleep(500'000); });
    });
    BOOST_REQUIRE(run.hear().size() == 4U);
    run.signal(SIGHUP);
    BOOST_TEST(run.hear() == "came back");
    BOOST_TEST(run.wait() == 0);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(programs_that_a_run_starts_die_of_a_closed_pipe_again) {
    std::signal(SIGPIPE, SIG_IGN);
    const auto mask = process::run_checked({"sh", "-c", "grep SigIgn: /proc/self/status"});
    BOOST_REQUIRE(mask);
    const std::uint64_t ignored = std::stoull(mask->substr(mask->find('\t')), nullptr, 16);
    BOOST_TEST((ignored & (1U << (SIGPIPE - 1))) == 0U);
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_for_a_program_in_the_lab_is_ended_at_once) {
    Forked run([](const Forked::Say& say) {
        guarded_run(say, [] {
            const std::string netns = netns_names().front();
            const auto slept = process::run_program({"sleep", "60"}, {.netns = netns});
            (void)slept;
            pause();
        });
    });
    BOOST_REQUIRE(run.hear().size() == 4U);
    usleep(100'000);
    const auto began = std::chrono::steady_clock::now();
    run.signal(SIGTERM);
    BOOST_TEST(run.wait() == 3);
    BOOST_TEST((std::chrono::steady_clock::now() - began < std::chrono::seconds(2)));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_signal_while_the_lab_is_being_built_leaves_nothing) {
    for (int delay_ms : {1, 5, 10, 20, 40, 80}) {
        Forked run([](const Forked::Say& say) {
            const auto journal = Journal::open("pathproof guarded");
            const SignalGuard guard(**journal, [](int, const Status&) {});
            say("begin");
            for (;;) {
                const auto overlay = Overlay::build(**journal);
            }
        });
        BOOST_REQUIRE(run.hear() == "begin");
        usleep(static_cast<useconds_t>(delay_ms) * 1000);
        run.signal(SIGTERM);
        BOOST_TEST(run.wait() == 3);
        check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(after_the_guard_a_signal_is_what_it_was) {
    Forked run([](const Forked::Say& say) {
        {
            const auto journal = Journal::open("pathproof guarded");
            const SignalGuard guard(**journal, [](int, const Status&) {});
        }
        say("over");
        pause();
    });
    BOOST_REQUIRE(run.hear() == "over");
    run.signal(SIGTERM);
    BOOST_TEST(run.wait() == 128 + SIGTERM);
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()
