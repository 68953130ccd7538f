#include "harness/bench/measured_program.h"

#include <boost/test/unit_test.hpp>
#include <csignal>

using namespace pathproof;
using namespace pathproof::bench;
using namespace std::chrono_literals;

namespace {

Result<MeasuredRun> shell(const std::string& script) {
    return measure({.argv = {"sh", "-c", script}, .netns = "", .cpus = {}}, 20s);
}

std::vector<std::string> lines_of(const OutputFile& file) {
    std::vector<std::string> lines;
    BOOST_REQUIRE(file.each_line([&](std::string_view line) { lines.emplace_back(line); }));
    return lines;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(measured_program)

BOOST_AUTO_TEST_CASE(what_a_program_writes_can_be_read_back_line_by_line) {
    const auto run = shell("echo one; echo; printf last; echo wrong >&2");
    BOOST_REQUIRE_MESSAGE(run, (run ? "" : run.error().message));
    BOOST_TEST(lines_of(run->out) == (std::vector<std::string>{"one", "", "last"}),
               boost::test_tools::per_element());
    BOOST_TEST(run->err.text() == "wrong\n");
}

BOOST_AUTO_TEST_CASE(lines_are_whole_however_large_the_file_is) {
    const auto run = shell("seq 1 200000");
    BOOST_REQUIRE(run);
    std::uint64_t expected = 0;
    bool in_order = true;
    BOOST_REQUIRE(run->out.each_line(
        [&](std::string_view line) { in_order = in_order && line == std::to_string(++expected); }));
    BOOST_TEST(in_order);
    BOOST_TEST(expected == 200'000U);
}

BOOST_AUTO_TEST_CASE(the_cost_of_work_is_user_time_within_the_wall_time) {
    const auto run = shell("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done");
    BOOST_REQUIRE(run);
    BOOST_TEST(run->cost.user_s > 0.005);
    BOOST_TEST(run->cost.wall_s >= run->cost.user_s * 0.9);
    BOOST_TEST(run->cost.ran_s > 0.005);
    BOOST_TEST(run->cost.peak_rss_bytes > 100'000U);
    BOOST_TEST(run->cost.waiting_share() < 1.0);
}

BOOST_AUTO_TEST_CASE(memory_is_the_programs_own_and_not_ours) {
    const std::vector<char> ballast(64 << 20, 'x');
    const auto run = shell("sleep 0.1");
    BOOST_REQUIRE(run);
    BOOST_TEST(ballast[1 << 20] == 'x');
    BOOST_TEST(run->cost.peak_rss_bytes < 32U << 20);
    const auto large =
        measure({.argv = {"python3", "-c", "import time; x = b'x' * (48 << 20); time.sleep(0.2)"},
                 .netns = "",
                 .cpus = {}},
                20s);
    BOOST_REQUIRE(large);
    BOOST_TEST(large->cost.peak_rss_bytes > 48U << 20);
}

BOOST_AUTO_TEST_CASE(a_program_that_fails_is_an_error_with_what_it_said) {
    const auto run = shell("echo no table >&2; exit 3");
    BOOST_REQUIRE(!run);
    BOOST_TEST(run.error().message.find("failed with status 3: no table") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_and_a_namespace_that_is_not_are_errors) {
    const auto program = measure({.argv = {"no-such-program"}, .netns = "", .cpus = {}}, 20s);
    BOOST_REQUIRE(!program);
    BOOST_TEST((program.error().code == ErrorCode::kNotFound));
    const auto space = measure({.argv = {"true"}, .netns = "pp-none-here", .cpus = {}}, 20s);
    BOOST_REQUIRE(!space);
    BOOST_TEST(space.error().message.find("pp-none-here") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_can_be_ended_by_a_signal_and_says_so) {
    auto program = MeasuredProgram::start({.argv = {"sleep", "60"}, .netns = "", .cpus = {}});
    BOOST_REQUIRE(program);
    BOOST_TEST(program->runs_after(1ms));
    program->signal(SIGINT);
    const auto run = program->finish(20s);
    BOOST_REQUIRE(run);
    BOOST_TEST(run->exit_status == 128 + SIGINT);
}

BOOST_AUTO_TEST_CASE(a_program_is_told_what_to_do_while_it_runs) {
    auto program = MeasuredProgram::start({.argv = {"sed", "-u", "s/^/heard /;q"},
                                           .netns = "",
                                           .cpus = {},
                                           .input = ProgramToMeasure::Input::kTold});
    BOOST_REQUIRE(program);
    BOOST_TEST(program->runs_after(50ms));  // it waits to be told
    BOOST_TEST(program->said() == "");
    BOOST_REQUIRE(program->tell("stop\n"));
    const auto run = program->finish(10s);
    BOOST_REQUIRE(run);
    BOOST_TEST(run->out.text() == "heard stop\n");
}

BOOST_AUTO_TEST_CASE(a_signal_to_all_reaches_the_processes_of_a_program) {
    // The shell waits for its child, which only the signal ends.
    auto program = MeasuredProgram::start(
        {.argv = {"sh", "-c", "trap 'echo stopped' INT; sleep 60; echo over"},
         .netns = "",
         .cpus = {}});
    BOOST_REQUIRE(program);
    BOOST_TEST(program->runs_after(200ms));
    program->signal_all(SIGINT);
    const auto run = program->finish(10s);
    BOOST_REQUIRE(run);
    BOOST_TEST(run->out.text() == "stopped\nover\n");
}

BOOST_AUTO_TEST_CASE(what_is_written_to_a_file_can_be_opened_by_its_path) {
    const auto file = OutputFile::make();
    BOOST_REQUIRE(file);
    BOOST_REQUIRE(file->write("one\n"));
    BOOST_REQUIRE(file->write("two\n"));
    const auto run = measure({.argv = {"cat", file->path()}, .netns = "", .cpus = {}}, 10s);
    BOOST_REQUIRE(run);
    BOOST_TEST(run->out.text() == "one\ntwo\n");
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_end_is_given_up_and_killed) {
    pid_t pid = 0;
    {
        auto program = MeasuredProgram::start({.argv = {"sleep", "60"}, .netns = "", .cpus = {}});
        BOOST_REQUIRE(program);
        pid = program->pid();
        const auto run = program->finish(0s);
        BOOST_REQUIRE(!run);
        BOOST_TEST((run.error().code == ErrorCode::kUnavailable));
    }
    BOOST_TEST(kill(pid, 0) != 0);
}

BOOST_AUTO_TEST_CASE(costs_add_up_and_memory_is_the_larger) {
    const Cost first{.wall_s = 1,
                     .user_s = 0.5,
                     .system_s = 0.25,
                     .peak_rss_bytes = 10,
                     .ran_s = 3,
                     .waited_s = 1};
    const Cost both = sum(first, {.wall_s = 2, .user_s = 1, .peak_rss_bytes = 7, .ran_s = 1});
    BOOST_TEST(both.wall_s == 3);
    BOOST_TEST(both.user_s == 1.5);
    BOOST_TEST(both.peak_rss_bytes == 10U);
    BOOST_TEST(both.waiting_share() == 0.2);
}

BOOST_AUTO_TEST_SUITE_END()
