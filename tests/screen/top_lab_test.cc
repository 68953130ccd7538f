// `pathproof inspect top` on a terminal, over a namespace with real flows.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>

#include "harness/process/program.h"
#include "tests/screen/pseudo_terminal.h"

using namespace pathproof;
using namespace pathproof::screen;

namespace {

// Sequences that make xterm show its other screen, and its own again.
constexpr const char* kEnter = "\x1b[?1049h";
constexpr const char* kLeave = "\x1b[?1049l";

std::string binary() {
    const char* path = std::getenv("PATHPROOF");
    BOOST_REQUIRE_MESSAGE(path != nullptr, "PATHPROOF must name the binary; meson test sets it");
    return path;
}

struct Namespace {
    std::string name = "pp-top-" + std::to_string(getpid());

    Namespace() { BOOST_REQUIRE(process::run_checked({"ip", "netns", "add", name})); }
    ~Namespace() { (void)process::run_program({"ip", "netns", "delete", name}); }

    void load(const std::string& lines) const {
        const auto loaded =
            process::run_checked({"conntrack", "-R", "-"}, {.netns = name, .input = lines});
        BOOST_REQUIRE_MESSAGE(loaded, (loaded ? "" : loaded.error().message));
    }
};

std::vector<std::string> top(const Namespace& space) {
    return {binary(), "inspect", "top", "--netns", space.name, "--interval", "0.2"};
}

// A flow to a service, answered by a backend.
std::string translated(unsigned port, const std::string& backend) {
    return "-A -t 600 -p udp -s 198.18.0.1 -d 198.51.100.10 --sport " + std::to_string(port) +
           " --dport 53 --dst-nat " + backend + " -u SEEN_REPLY\n";
}

void check_put_back(const PseudoTerminal& terminal) {
    const termios before = terminal.before();
    const termios now = terminal.now();
    BOOST_TEST(now.c_iflag == before.c_iflag);
    BOOST_TEST(now.c_oflag == before.c_oflag);
    BOOST_TEST(now.c_lflag == before.c_lflag);
    BOOST_TEST(now.c_cflag == before.c_cflag);
    const std::string& output = terminal.output();
    BOOST_TEST(output.rfind(kLeave) != std::string::npos);
    BOOST_TEST(
        (output.rfind(kEnter) == std::string::npos || output.rfind(kLeave) > output.rfind(kEnter)));
    BOOST_TEST(output.rfind("\x1b[?25h") > output.rfind("\x1b[?25l"));  // the cursor is back
}

bool has_changed(const PseudoTerminal& terminal) {
    return terminal.now().c_lflag != terminal.before().c_lflag;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(inspect_top)

BOOST_AUTO_TEST_CASE(the_screen_shows_the_table_its_services_and_what_happens) {
    const Namespace space;
    space.load(translated(1000, "203.0.113.2") + translated(1001, "203.0.113.2"));
    PseudoTerminal terminal(top(space), 80, 24);
    BOOST_TEST(terminal.shows(kEnter));
    BOOST_TEST(terminal.shows("2 of "));
    BOOST_TEST(terminal.shows("udp 198.51.100.10:53"));
    BOOST_TEST(terminal.shows("203.0.113.2:53"));
    BOOST_TEST(has_changed(terminal));
    space.load(translated(1002, "203.0.113.77"));
    BOOST_TEST(terminal.shows("203.0.113.77:53"));
    terminal.type("q");
    BOOST_TEST(terminal.wait() == 0);
    check_put_back(terminal);
}

BOOST_AUTO_TEST_CASE(keys_filter_pause_and_ask_for_help) {
    const Namespace space;
    space.load(translated(1000, "203.0.113.2") + translated(1001, "203.0.113.3"));
    PseudoTerminal terminal(top(space), 80, 24);
    BOOST_TEST(terminal.shows("203.0.113.3:53"));
    terminal.type("p");
    BOOST_TEST(terminal.shows("PAUSED"));
    terminal.type("p");
    terminal.type("/nonesuch\r");
    BOOST_TEST(terminal.shows("holds 'nonesuch'"));
    terminal.type("h");
    BOOST_TEST(terminal.shows("reverse the order"));
    terminal.type("q");
    BOOST_TEST(terminal.wait() == 0);
    check_put_back(terminal);
}

BOOST_AUTO_TEST_CASE(a_terminal_that_grows_shows_more) {
    const Namespace space;
    space.load(translated(1000, "203.0.113.2"));
    PseudoTerminal terminal(top(space), 80, 24);
    BOOST_TEST(terminal.shows("203.0.113.2:53"));
    BOOST_TEST(terminal.output().find("95 %") == std::string::npos);
    terminal.resize(140, 50);
    BOOST_TEST(terminal.shows("95 %"));
    terminal.resize(10, 2);
    BOOST_TEST(terminal.shows("too small"));
    terminal.type("q");
    BOOST_TEST(terminal.wait() == 0);
    check_put_back(terminal);
}

BOOST_AUTO_TEST_CASE(ctrl_c_and_signals_that_ask_put_the_terminal_back) {
    const Namespace space;
    for (const int signal_number : {0, SIGTERM, SIGHUP, SIGQUIT}) {
        PseudoTerminal terminal(top(space), 80, 24);
        BOOST_TEST(terminal.shows("SERVICES"));
        BOOST_TEST(has_changed(terminal));
        if (signal_number == 0) {
            terminal.type("\x03");
        } else {
            kill(terminal.pid(), signal_number);
        }
        BOOST_TEST(terminal.wait() == 0);
        check_put_back(terminal);
    }
}

BOOST_AUTO_TEST_CASE(a_crash_puts_the_terminal_back_and_stays_a_crash) {
    const Namespace space;
    PseudoTerminal terminal(top(space), 80, 24);
    BOOST_TEST(terminal.shows("SERVICES"));
    kill(terminal.pid(), SIGABRT);
    BOOST_TEST(terminal.wait() == 128 + SIGABRT);
    check_put_back(terminal);
}

BOOST_AUTO_TEST_CASE(without_a_terminal_it_says_what_to_do_instead) {
    const auto piped = process::run_program({binary(), "inspect", "top"});
    BOOST_REQUIRE(piped);
    BOOST_TEST(piped->exit_status == 2);
    BOOST_TEST(piped->err.find("inspect stats --json") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_shown_is_said_on_an_untouched_terminal) {
    const Namespace space;
    PseudoTerminal unknown(top(space), 80, 24, "no-such-terminal");
    BOOST_TEST(unknown.wait() == 2);
    BOOST_TEST(unknown.output().find("TERM='no-such-terminal' is not known") != std::string::npos);
    BOOST_TEST(!has_changed(unknown));
    PseudoTerminal nowhere({binary(), "inspect", "top", "--netns", "pp-no-such"}, 80, 24);
    BOOST_TEST(nowhere.wait() == 2);
    BOOST_TEST(nowhere.output().find("pp-no-such") != std::string::npos);
    BOOST_TEST(nowhere.output().find(kEnter) == std::string::npos);
    BOOST_TEST(!has_changed(nowhere));
}

BOOST_AUTO_TEST_SUITE_END()
