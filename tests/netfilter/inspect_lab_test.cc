#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/netfilter/entry.h"
#include "harness/process/program.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/watching.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using nlohmann::json;

namespace {

process::ProgramOutput inspect(const std::string& arguments) {
    const char* const binary = std::getenv("PATHPROOF");
    BOOST_REQUIRE_MESSAGE(binary != nullptr,
                          "PATHPROOF must hold the path of the pathproof binary");
    const auto output = process::run_program(
        {"/bin/sh", "-c", fmt::format("exec {} inspect {}", binary, arguments)});
    BOOST_REQUIRE_MESSAGE(output, output.error().message);
    return *output;
}

std::vector<json> json_lines(const std::string& text) {
    std::vector<json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(json::parse(line));
    }
    return lines;
}

const std::vector<std::string> kTwoEntries{
    "-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport 1 --dport 53 -m 3 -w 5",
    "-A -t 600 -p tcp -s 2001:db8::1 -d 2001:db8::2 --sport 2 --dport 80 --state ESTABLISHED -u "
    "ASSURED,SEEN_REPLY"};

}  // namespace

BOOST_AUTO_TEST_CASE(dump_prints_what_conntrack_prints) {
    const lab::Namespace space("cli");
    space.load(kTwoEntries);
    const auto output = inspect("dump --netns " + space.name());
    BOOST_TEST(output.exit_status == 0);
    BOOST_TEST(lab::comparable(output.out) == lab::comparable(space.run("conntrack -L")),
               boost::test_tools::per_element());
    BOOST_TEST(output.err == "pathproof: 2 entries shown\n");
    const auto columns = inspect("dump -o id,extended udp --netns " + space.name());
    BOOST_TEST(lab::comparable(columns.out) ==
                   lab::comparable(space.run("conntrack -L -o id,extended -p udp")),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(dump_gives_json_lines) {
    const lab::Namespace space("json");
    space.load(kTwoEntries);
    const auto lines = json_lines(inspect("dump --json zone=5 --netns " + space.name()).out);
    BOOST_REQUIRE_EQUAL(lines.size(), 1U);
    BOOST_TEST(lines[0]["zone"] == 5);
    BOOST_TEST(lines[0]["mark"] == 3);
    BOOST_TEST(lines[0]["status_names"] == json::array({"CONFIRMED"}));
}

BOOST_AUTO_TEST_CASE(watch_prints_events_until_its_count) {
    const lab::Namespace space("watch");
    lab::Watching watching("--count 2 --duration 20 --json --netns " + space.name());
    space.load(kTwoEntries);
    const auto output = watching.finish();
    BOOST_TEST(output.exit_status == 0);
    const auto lines = json_lines(output.out);
    BOOST_REQUIRE_EQUAL(lines.size(), 3U);
    BOOST_TEST(lines[0]["event"] == "NEW");
    BOOST_TEST(!lines[0].contains("missed"));
    BOOST_TEST(lines[2]["summary"]["events"]["new"] == 2);
    BOOST_TEST(lines[2]["summary"]["overruns"] == 0);
    BOOST_TEST(lines[0]["entry"]["mark"] == 3);
    BOOST_TEST(output.err.find("2 events shown, 0 overruns") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(dump_gives_csv_with_the_columns_asked_for) {
    const lab::Namespace space("csv");
    space.load(kTwoEntries);
    BOOST_TEST(
        inspect("dump --csv -o protocol,src,mark,state --netns " + space.name() + " udp").out ==
        "protocol,src,mark,state\r\nudp,198.18.0.1,3,\r\n");
    const std::string all = inspect("dump --csv --netns " + space.name()).out;
    BOOST_TEST(all.starts_with("family,protocol,"));
    BOOST_TEST(std::count(all.begin(), all.end(), '\n') == 3);
}

BOOST_AUTO_TEST_CASE(dump_counts_and_explains_who_filters) {
    const lab::Namespace space("count");
    space.load(kTwoEntries);
    const auto counted =
        inspect("dump --count --explain-filter mark=3 dst=198.18.0.0/16 --netns " + space.name());
    BOOST_TEST(counted.exit_status == 0);
    BOOST_TEST(counted.out == "1\n");
    BOOST_TEST(counted.err ==
               "pathproof: selected by the kernel: mark=0x3/0xffffffff\n"
               "pathproof: selected here: dst=198.18.0.0/16\n");
    BOOST_TEST(inspect("dump --count --json --netns " + space.name()).out == "{\"entries\":2}\n");
}

// A reader that is stopped while more happens than its socket keeps.
BOOST_AUTO_TEST_CASE(watch_marks_a_gap_and_lists_what_was_missed) {
    const lab::Namespace space("stop");
    space.load(kTwoEntries);
    lab::Watching watching("--json --buffer-size 4096 --duration 3 --netns " + space.name());
    kill(watching.pid(), SIGSTOP);
    std::vector<std::string> more;
    for (unsigned i = 1; i <= 100; ++i) {
        more.push_back(
            fmt::format("-A -t 600 -p udp -s 198.18.0.9 -d 198.18.0.2 --sport {} --dport 53", i));
    }
    space.load(more);
    space.run("conntrack -D -p tcp -f ipv6");
    kill(watching.pid(), SIGCONT);
    const auto output = watching.finish();
    const auto lines = json_lines(output.out);
    BOOST_REQUIRE(lines.size() > 100U);
    std::vector<std::string> stages;
    unsigned told = 0, missed_new = 0, missed_destroy = 0;
    for (const json& line : lines) {
        if (line.contains("gap")) {
            stages.push_back(line["gap"]["stage"]);
        } else if (line.contains("event")) {
            const bool missed = line.value("missed", false);
            told += missed ? 0 : 1;
            missed_new += missed && line["event"] == "NEW" ? 1 : 0;
            missed_destroy += missed && line["event"] == "DESTROY" ? 1 : 0;
            // Missed ones stand between the two marks of their gap.
            BOOST_TEST((!missed || stages.size() % 2 == 1));
        }
    }
    BOOST_TEST(missed_new > 0U);
    BOOST_TEST(told + missed_new + missed_destroy == 101U);
    BOOST_TEST(missed_destroy == 1U);
    BOOST_REQUIRE(stages.size() >= 2U);
    BOOST_TEST(stages[0] == "noticed");
    BOOST_TEST(stages.back() == "reconciled");
    BOOST_TEST(lines.back()["summary"]["gaps_open"] == 0);
    BOOST_TEST(output.exit_status == 3);
}

BOOST_AUTO_TEST_CASE(watch_ends_after_its_duration_and_on_an_interrupt) {
    const lab::Namespace space("end");
    BOOST_TEST(inspect("watch --duration 0.3 --netns " + space.name()).exit_status == 0);
    lab::Watching watching("--netns " + space.name());
    kill(watching.pid(), SIGINT);
    const auto interrupted = watching.finish();
    BOOST_TEST(interrupted.exit_status == 0);
    BOOST_TEST(interrupted.err.find("0 events shown") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_reader_that_goes_away_ends_it_quietly) {
    const lab::Namespace space("pipe");
    std::vector<std::string> lines;
    for (unsigned i = 0; i < 3000; ++i) {
        lines.push_back(fmt::format(
            "-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport {} --dport 53", i + 1));
    }
    space.load(lines);
    const char* const binary = std::getenv("PATHPROOF");
    const auto shell = [&](const std::string& script) {
        const auto output = process::run_checked({"/bin/sh", "-c", script});
        BOOST_REQUIRE_MESSAGE(output, output.error().message);
        return *output;
    };
    // The pipe holds 64 KiB, the table is larger.
    BOOST_TEST(shell(fmt::format("({{ env --default-signal=PIPE {} inspect dump --netns {} 2>&3; "
                                 "echo status $? >&3; }} | head -1 >&2) 3>&1",
                                 binary, space.name()))
                   .ends_with("then interrupted: the table was not read to its end\nstatus 3\n"));
    const std::string full = shell(fmt::format(
        "{} inspect dump --netns {} 2>&1 >/dev/full || echo status $?", binary, space.name()));
    BOOST_TEST(full.ends_with("\nstatus 3\n"));
    BOOST_TEST(
        full.starts_with("pathproof: standard output cannot be written (No space left on "
                         "device): output was lost\n"));
}

BOOST_AUTO_TEST_CASE(stats_prints_counters_and_their_meaning) {
    const lab::Namespace space("means");
    space.load(kTwoEntries);
    const auto text = inspect("stats --netns " + space.name());
    BOOST_TEST(text.exit_status == 0);
    BOOST_TEST(text.out.starts_with(space.run("conntrack -S")));
    BOOST_TEST(text.out.find("measured here: +1 with a packet refused for a clash") !=
               std::string::npos);
    const auto lines =
        json_lines(inspect("stats --json --interval 0.1 --count 1 --netns " + space.name()).out);
    BOOST_REQUIRE(lines.size() >= 3U);
    const std::size_t cpus = (lines.size() - 2) / 2;
    BOOST_TEST(lines[cpus]["totals"]["insert"] == 2);
    BOOST_TEST(lines[cpus]["entries"] == 2);
    BOOST_TEST(lines[cpus]["beside_conntrack"]["TcpExt.PAWSTimewait"] == 0);
    BOOST_TEST(lines[cpus]["beside_conntrack"]["arp.table_fulls"].is_null());
    BOOST_TEST(text.out.find("not readable here") != std::string::npos);
    BOOST_TEST(lines[cpus + 1]["totals"]["insert"]["change"] == 0);
    BOOST_TEST(lines.back()["counters"]["insert"] == 0);
    BOOST_TEST(lines.back().contains("interval_s"));
}

BOOST_AUTO_TEST_CASE(stats_ends_with_its_duration_whatever_its_interval) {
    const lab::Namespace space("ends");
    const auto began = std::chrono::steady_clock::now();
    const auto lines = json_lines(
        inspect("stats --json --interval 60 --duration 0.2 --netns " + space.name()).out);
    BOOST_TEST((std::chrono::steady_clock::now() - began < std::chrono::seconds(20)));
    BOOST_REQUIRE(lines.back().contains("interval_s"));
    BOOST_TEST(lines.back()["interval_s"].get<double>() < 20);
}

BOOST_AUTO_TEST_CASE(wrong_input_is_refused_with_a_sentence_and_exit_code_two) {
    const auto refused = [](const std::string& arguments, const std::string& sentence) {
        BOOST_TEST_CONTEXT(arguments) {
            const auto output = inspect(arguments);
            BOOST_TEST(output.exit_status == 2);
            BOOST_TEST(output.out.empty());
            BOOST_TEST(output.err.find(sentence) != std::string::npos, output.err);
        }
    };
    refused("dump --netns pp-nf-none", "network namespace 'pp-nf-none' does not exist");
    refused("watch --netns pp-nf-none", "network namespace 'pp-nf-none' does not exist");
    refused("dump dprt=53", "unknown filter word 'dprt=53'; allowed are family=");
    refused("watch status=sleepy", "unknown status 'sleepy'; allowed are expected, seen_reply");
    refused("dump -o colour", "allowed are id, extended");
    refused("dump --csv -o colour", "the columns of --csv are family");
    refused("dump --json -o id", "--json has all");
    refused("dump --json --csv", "--csv");
    refused("dump zone=65536", "'65536' is not a number from 0 to 65535");
    refused("watch --events born", "allowed are new, update, destroy");
    refused("watch --duration -1", "--duration");
    refused("stats --count 3", "--interval");
    refused("", "subcommand");
}

BOOST_AUTO_TEST_CASE(without_the_capability_it_says_which_is_missing) {
    const lab::Namespace space("caps");
    for (const std::string command : {"dump", "stats", "watch --duration 1"}) {
        const auto output = process::run_program(
            {"/bin/sh", "-c",
             fmt::format("exec setpriv --bounding-set=-net_admin --inh-caps=-net_admin "
                         "{} inspect {}",
                         std::getenv("PATHPROOF"), command)},
            {.netns = space.name()});
        BOOST_REQUIRE(output);
        BOOST_TEST_CONTEXT(command) {
            BOOST_TEST(output->exit_status == 2);
            BOOST_TEST(output->err.find("CAP_NET_ADMIN") != std::string::npos, output->err);
        }
    }
}
