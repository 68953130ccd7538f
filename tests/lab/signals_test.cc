#include "harness/lab/signals.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "harness/agent/ethtool.h"
#include "harness/lab/overlay.h"
#include "harness/process/children.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "tests/lab/support.h"

BOOST_AUTO_TEST_SUITE(signals)

using namespace pathproof;
using namespace pathproof::lab;

namespace {

// A run with a guard that is in the middle of something when the signal comes.
void guarded_run(const Forked::Say& say, const std::function<void()>& something) {
    const auto journal = Journal::open("pathproof guarded");
    const SignalGuard guard(journal->get(), [&](int signal, const std::string& machine) {
        say(strsignal(signal) + std::string("; ") + machine);
    });
    const auto overlay = Overlay::build(**journal);
    say(overlay ? (*journal)->run_id() : overlay.error().message);
    something();
    say("came back");
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_signal_undoes_the_run_and_ends_it_as_incomplete) {
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        Forked run([](const Forked::Say& say) { guarded_run(say, [] { pause(); }); });
        BOOST_REQUIRE(run.hear().size() == 4U);
        BOOST_TEST(netns_names().size() == 5U);
        run.signal(number);
        BOOST_TEST(run.hear() ==
                   strsignal(number) + std::string("; the machine is as it was found"));
        BOOST_TEST(run.wait() == 3);
        check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(a_hangup_that_is_ignored_stays_ignored) {
    Forked run([](const Forked::Say& say) {
        std::signal(SIGHUP, SIG_IGN);  // nohup(1)
        guarded_run(say, [&] {
            usleep(300'000);
            say("goes on");
        });
    });
    BOOST_REQUIRE(run.hear().size() == 4U);
    run.signal(SIGHUP);
    BOOST_TEST(run.hear() == "goes on");
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

BOOST_AUTO_TEST_CASE(a_signal_before_there_is_a_journal_waits_for_the_guard) {
    Forked run([](const Forked::Say& say) {
        const SignalHold hold;
        kill(getpid(), SIGTERM);
        guarded_run(say, [] { pause(); });
    });
    // The thread that builds the lab may report first that the run is being stopped.
    const std::string first = run.hear();
    BOOST_TEST(contains(first + "\n" + (contains(first, "as it was found") ? "" : run.hear()),
                        "the machine is as it was found"),
               first);
    BOOST_TEST(run.wait() == 3);
    check_nothing_left();
}

// An agent that changes features one after another, at whatever moment the signal comes. The last
// word is the guard's: a run that is stopped by another thread never comes back from undo().
BOOST_AUTO_TEST_CASE(no_agent_changes_anything_once_the_run_is_being_stopped) {
    const std::string netns = "pp-stop-test";
    shell("", "ip netns add " + netns + " && ip -n " + netns +
                  " link add f0 type veth peer name f1 && ip netns exec " + netns +
                  " ethtool -K f0 sg off");
    const std::string before = shell(netns, "ethtool -k f0");
    for (int delay_ms = 0; delay_ms < 24; delay_ms += 3) {
        Forked run([&](const Forked::Say& say) {
            const SignalHold hold;
            const auto journal = Journal::open("pathproof guarded");
            const SignalGuard guard(journal->get(), [&](int, const std::string& machine) {
                say(machine);
                usleep(50'000);
            });
            const auto features =
                process::in_netns(netns, [] { return agent::read_features("f0"); });
            say(features ? "begin" : features.error().message);
            for (bool on = false;; on = !on) {
                for (const agent::Feature& feature : *features) {
                    const Status changed =
                        (*journal)->set_features(netns, "f0", {{feature.name, on}});
                    if (!changed && !(*journal)->is_open()) {
                        static_cast<void>((*journal)->undo());
                        say("came back");
                        pause();
                    }
                }
            }
        });
        BOOST_REQUIRE(run.hear() == "begin");
        usleep(50'000 + static_cast<useconds_t>(delay_ms) * 1000);
        run.signal(SIGINT);
        std::string last;
        for (std::string said = run.hear(); !said.empty(); said = run.hear()) {
            last = said;
        }
        BOOST_TEST(last == "the machine is as it was found");
        BOOST_TEST(run.wait() == 3);
        BOOST_TEST(shell(netns, "ethtool -k f0") == before);
    }
    shell("", "ip netns del " + netns + "; umount /run/netns && rmdir /run/netns");
    check_nothing_left();
}

// The tester's part: a process that uses all of the pages until it is ended.
BOOST_AUTO_TEST_CASE(hugepages_go_back_once_nobody_of_the_run_uses_them) {
    const auto pages = [] { return shell("", "grep HugePages_ /proc/meminfo"); };
    const std::string before = pages();
    Forked run([](const Forked::Say& say) {
        const auto journal = Journal::open("pathproof guarded");
        const SignalGuard guard(journal->get(),
                                [&](int, const std::string& machine) { say(machine); });
        const auto mib = (*journal)->reserve_hugepages(64);
        if (process::fork_child() == 0) {
            const std::size_t bytes = std::size_t{mib.value_or(2)} << 20;
            void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
            std::memset(memory, 1, bytes);
            say("uses them");
            pause();
        }
        while ((*journal)->is_open()) {
            usleep(50);
        }
        static_cast<void>((*journal)->undo());  // it is the guard's: nobody else knows when
    });
    BOOST_REQUIRE(run.hear() == "uses them");
    BOOST_TEST(pages() != before);
    run.signal(SIGTERM);
    BOOST_TEST(run.hear() == "the machine is as it was found");
    BOOST_TEST(run.wait() == 3);
    BOOST_TEST(pages() == before);
    check_nothing_left();
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
    BOOST_TEST((std::chrono::steady_clock::now() - began < std::chrono::seconds(20)));  // not 60
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_signal_while_the_lab_is_being_built_leaves_nothing) {
    for (int delay_ms : {1, 5, 10, 20, 40, 80}) {
        Forked run([](const Forked::Say& say) {
            const auto journal = Journal::open("pathproof guarded");
            const SignalGuard guard(journal->get(), [](int, const std::string&) {});
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
            const SignalGuard guard(journal->get(), [](int, const std::string&) {});
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
