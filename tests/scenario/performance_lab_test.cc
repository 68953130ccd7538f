// A short measurement of the built-in lab's path, held against limits, as a user makes it. Times and rates are this
// machine's: only what is true of any is asked.
#define BOOST_TEST_MODULE performance_lab
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "tests/contains.h"
#include "tests/scenario/lab_run.h"

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

pathproof::process::ProgramOutput qualify(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {binary(), "qualify", "--only", "performance"});
    auto run = pathproof::process::run_program(arguments, {.timeout = 150s});
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    BOOST_TEST_MESSAGE(run->out << run->err);
    return std::move(*run);
}

void write(const std::string& file, const std::string& text) {
    std::ofstream(file) << text;
}

const std::string kSchema = "schema = \"pathproof-limits/1\"\n";

}  // namespace

BOOST_AUTO_TEST_CASE(a_short_measurement_is_held_against_limits_and_clauses) {
    const Scratch scratch;
    setenv("XDG_STATE_HOME", (scratch.path() + "/state").c_str(), 1);
    write(scratch.path() + "/limits.toml",
          kSchema +
              "[[limit]]\nclause = \"1\"\nfigure = \"performance/throughput.64/bad_checksums\"\n"
              "exactly = 0\n"
              "[[limit]]\nclause = \"2\"\nfigure = \"performance/throughput.64/ndr_pps\"\n"
              "at_least = 1\nunit = \"frames/s\"\n");
    write(
        scratch.path() + "/plan.toml",
        "schema = \"pathproof-requirements/1\"\nplan = \"trial\"\n"
        "[[requirement]]\nclause = \"a\"\ncells = [\"performance/throughput.64\", \"limits/1.*\"]\n"
        "[[requirement]]\nclause = \"b\"\ncells = [\"performance/throughput.9000\"]\n");
    const MachineState before = MachineState::read();
    qualify({"--trial-ms", "100", "--trials", "3", "--limits", scratch.path() + "/limits.toml",
             "--requirements", scratch.path() + "/plan.toml", "--out", scratch.path() + "/report",
             "--cells",
             "control.path,throughput.64,throughput.9000,latency.50,loss-curve,cost.64,offload.rx-"
             "gro"});
    BOOST_TEST((MachineState::read() == before));
    std::ifstream file(scratch.path() + "/report/report.json");
    if (!file) {
        file.open(scratch.path() + "/report/incomplete/report.json");
    }
    const json report = json::parse(file);
    const json& performance = scenario_named(report, "performance");
    BOOST_TEST(cell_named(performance, "control.path")["verdict"] == "PASS");
    const json& rate = cell_named(performance, "throughput.64");
    BOOST_TEST(measure(rate, "bad_checksums") == 0);
    const json& ndr = rate["measures"]["ndr_pps"];
    if (rate["verdict"] == "PASS") {
        BOOST_TEST(ndr["value"].get<double>() > 0);
        BOOST_TEST(ndr["interval"]["high"].get<double>() >= ndr["value"].get<double>());
    }
    // No medium, no line rate.
    BOOST_TEST(!rate["measures"].contains("ndr_line_share"));
    BOOST_TEST(cell_named(performance, "throughput.9000")["verdict"] == "SKIP");
    BOOST_TEST(pathproof::test::contains(performance["explanation"].dump(), "nothing of a NIC"));
    const json& off = cell_named(performance, "offload.rx-gro");
    BOOST_TEST((off["verdict"] == "PASS" || off["verdict"] == "SKIP"));
    BOOST_TEST(!performance["charts"].empty());
    const json& limits = scenario_named(report, "limits");
    BOOST_TEST(cell_named(limits, "1.performance.throughput.64.bad_checksums")["verdict"] ==
               "PASS");
    const json& clauses = scenario_named(report, "requirements");
    BOOST_TEST(cell_named(clauses, "b")["verdict"] == "SKIP");
    BOOST_TEST(clauses["proofs"][0]["rows"].size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_wrong_name_is_refused_before_anything_is_made) {
    const Scratch scratch;
    write(scratch.path() + "/limits.toml",
          kSchema +
              "[[limit]]\nclause = \"1\"\nfigure = \"performance/latency.50/p97_us\"\n"
              "at_most = 1\nunit = \"us\"\n");
    const auto run =
        qualify({"--limits", scratch.path() + "/limits.toml", "--out", scratch.path() + "/report"});
    BOOST_TEST(run.exit_status == 2);
    BOOST_TEST(pathproof::test::contains(run.err, "limits.toml:2: clause 1"));
    BOOST_TEST(!std::ifstream(scratch.path() + "/report/report.json"));
}

BOOST_AUTO_TEST_CASE(a_plan_names_cells_and_time_and_changes_nothing) {
    const MachineState before = MachineState::read();
    const auto run = qualify({"--plan", "--json"});
    BOOST_TEST(run.exit_status == 0);
    const json plan = json::parse(run.out);
    BOOST_TEST(plan["scenarios"][0]["scenario"] == "performance");
    BOOST_TEST(plan["scenarios"][0]["seconds"].get<double>() > 10);
    BOOST_TEST(!plan["changes"].empty());
    BOOST_TEST((MachineState::read() == before));
}

BOOST_AUTO_TEST_CASE(a_soak_goes_on_where_it_ended) {
    const Scratch scratch;
    setenv("XDG_STATE_HOME", (scratch.path() + "/state").c_str(), 1);
    const std::string out = scratch.path() + "/soak";
    const std::vector<std::string> words{"--trial-ms", "100",     "--trials", "3",     "--soak",
                                         "6",          "--cells", "soak",     "--out", out};
    qualify(words);
    std::ifstream first(out + "/soak.jsonl");
    std::string head;
    std::string line;
    std::getline(first, head);
    std::vector<std::string> samples;
    while (std::getline(first, line)) {
        samples.push_back(line);
    }
    BOOST_REQUIRE_MESSAGE(samples.size() >= 20, samples.size() << " samples");
    // The file looks as if the run had been ended after half of the samples.
    std::string half = head + "\n";
    for (std::size_t n = 0; n < samples.size() / 2; ++n) {
        half += samples[n] + "\n";
    }
    write(out + "/soak.jsonl", half + "{\"at_s\":");
    const auto run = qualify(words);
    BOOST_TEST(pathproof::test::contains(run.err, "soak: goes on after 3 of 6 s"));
    std::ifstream again(out + "/soak.jsonl");
    std::getline(again, head);
    BOOST_TEST(json::parse(head)["sittings"] == 2);
    std::size_t lines = 0;
    while (std::getline(again, line)) {
        ++lines;
    }
    BOOST_TEST(lines == samples.size());
}
