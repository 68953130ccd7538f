// Both scenarios on the running kernel, run as a user runs them. The thresholds are lower than what
// a quiet machine shows; the controls are exact.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/scenario/dns_race_claims.h"
#include "tests/scenario/lab_run.h"

using namespace pathproof;
using nlohmann::json;

namespace {

json report_of(const std::string& folder) {
    std::ifstream file(folder + "/report.json");
    return json::parse(file);
}

// Runs one scenario, which reproduces and explains all that it sees; gives its part of the report.
json reproduced(const std::string& id, const std::string& folder) {
    const auto run = pathproof_run({"repro", id, "--out", folder, "--json"});
    BOOST_TEST_MESSAGE(run.err);
    BOOST_TEST(run.exit_status == 0);
    json scenario = scenario_named(json::parse(run.out), id);
    BOOST_TEST(scenario["verdict"] == "REPRODUCED");
    BOOST_TEST(scenario["unexplained"] == 0);
    BOOST_TEST(scenario["cure_shown"] == true);
    return scenario;
}

// Each cell is what its role says; `failing` are those of the matrix that fail.
void check_cells(const json& scenario, const std::set<std::string>& failing,
                 const std::string& folder) {
    for (const char* list : {"cells", "controls"}) {
        for (const json& cell : scenario[list]) {
            const std::string id = cell["id"];
            if (cell["role"] == "matrix") {
                // A clash that harms nobody is no failure.
                BOOST_TEST(cell["verdict"] == (failing.contains(id) ? "FAIL" : "PASS"), id);
            } else {
                BOOST_TEST(cell["verdict"] == "PASS", id);
                BOOST_TEST(measure(cell, "clash_resolve") == 0, id);
                // Two random draws of a port meet once in 64,512 pairs.
                const double chance = id == "cure.random-fully" ? 2 : 0;
                BOOST_TEST(measure(cell, "insert_failed") <= chance, id);
                BOOST_TEST(measure(cell, "queries_lost") == measure(cell, "insert_failed"), id);
            }
            const RaceSums sums = race_sums(cell);
            BOOST_TEST(false_claims(cell["reason"], sums).empty(), id << ": " << cell["reason"]);
            for (const json& file : cell["evidence"]) {
                BOOST_TEST(std::filesystem::exists(folder + "/" + file["path"].get<std::string>()),
                           file["path"]);
            }
        }
    }
    for (const std::string& claim : false_claims_of(scenario)) {
        BOOST_TEST(false, claim);
    }
}

}  // namespace

namespace {

// Every report has what was tested and what the host did meanwhile; nothing is invented of a veth device.
void check_certificate(const json& report) {
    BOOST_TEST(report["parties"]["operator"] == "A. Operator");
    BOOST_REQUIRE(report["items"].size() == 2u);
    for (const json& item : report["items"]) {
        BOOST_TEST(item["driver"][0]["value"] == (item["device"] == "vx" ? "vxlan" : "veth"));
        BOOST_TEST(item["firmware"].empty());
        BOOST_TEST(item["readings"].empty());
        for (const json& fact : item["identity"]) {
            BOOST_TEST((fact["value"].is_null() == (fact["status"] != "read")), fact);
        }
    }
    BOOST_REQUIRE(report["meanwhile"].size() == 1u);
    const json& host = report["meanwhile"][0];
    BOOST_TEST(host["host"] == "this machine");
    BOOST_TEST(host["log"] == "read");
    BOOST_TEST(host["taint_before"].is_number());
    BOOST_TEST(report["ended_at"] >= report["started_at"]);
}

// The stream has a diagnosis for each cell, each control and the scenario, and ends with the run.
void check_stream(const std::string& path, const json& report) {
    std::ifstream lines(path);
    std::size_t diagnoses = 0;
    json last;
    for (std::string line; std::getline(lines, line);) {
        last = json::parse(line);
        diagnoses += last.value("testStepArtifact", json::object()).contains("diagnosis") ? 1 : 0;
    }
    const json& scenario = report["scenarios"][0];
    BOOST_TEST(diagnoses == scenario["cells"].size() + scenario["controls"].size() + 1);
    BOOST_TEST(last["testRunArtifact"]["testRunEnd"]["result"] == "PASS");
}

}  // namespace

BOOST_AUTO_TEST_CASE(vxlan_checksum_finds_names_and_cures_the_stale_outer_checksum) {
    const MachineState before = MachineState::read();
    const Scratch out;
    const std::string stream = out.path() + "/run.jsonl";
    const auto run =
        pathproof_run({"repro", "vxlan-checksum", "--out", out.path() + "/report", "--ocp", stream,
                       "--operator", "A. Operator", "--bundle", out.path() + "/report.tar.zst"});
    BOOST_TEST(run.exit_status == 0);
    const json report = report_of(out.path() + "/report");
    check_certificate(report);
    check_stream(stream, report);
    BOOST_TEST(std::filesystem::file_size(out.path() + "/report.tar.zst") > 1000u);
    const json& scenario = scenario_named(report, "vxlan-checksum");
    BOOST_TEST(scenario["verdict"] == "REPRODUCED");
    BOOST_TEST(report["evidence_class"] == "virtual");

    for (const char* underlay : {"eth0-tx-on", "eth0-tx-off"}) {
        const json& cell =
            cell_named(scenario, std::string("vx-tx-on.udpcsum.masquerade.") + underlay);
        BOOST_TEST(cell["verdict"] == "FAIL");
        BOOST_TEST(cell["cause"] == "stale-port");
        BOOST_TEST(measure(cell, "probe_icmp") == 1);
        BOOST_TEST(measure(cell, "probe_dns_udp") == 0);
        BOOST_TEST(measure(cell, "probe_dns_tcp") == 0);
        BOOST_TEST(measure(cell, "probe_tcp_1mb") == 0);
        // The kernel's own count agrees with the judge's, and every wrong value is explained by
        // conntrack's tuple.
        BOOST_TEST(measure(cell, "wire_bad_outer_udp") == measure(cell, "peer_udp_in_csum_errors"));
        BOOST_TEST(measure(cell, "cause_stale_port") == measure(cell, "wire_bad_outer_udp"));
        BOOST_TEST(measure(cell, "unexplained") == 0);
    }
    std::size_t healthy = 0;
    for (const json& cell : scenario["cells"]) {
        healthy += cell["verdict"] == "PASS" ? 1 : 0;
    }
    BOOST_TEST(healthy == 14 + 4 + 1);  // of the matrix, the demonstrations, the cure

    const json& partial =
        cell_named(scenario, "vx-tx-on.udpcsum.no-nat.eth0-tx-on.wire-leaves-partial");
    BOOST_TEST(partial["cause"] == "left-partial");
    BOOST_TEST(measure(partial, "probe_icmp") == 0);
    const json& both =
        cell_named(scenario, "vx-tx-on.udpcsum.masquerade.eth0-tx-on.wire-leaves-partial");
    BOOST_TEST(both["cause"] == "stale-port+left-partial");
    BOOST_TEST(cell_named(scenario, "cure.flag-off")["verdict"] == "PASS");
    BOOST_TEST(cell_named(scenario, "cure.flag-back-on")["verdict"] == "FAIL");
    for (const json& control : scenario["controls"]) {
        BOOST_TEST(control["verdict"] == "PASS", control["id"]);
    }
    BOOST_TEST(MachineState::read() == before);
}

BOOST_AUTO_TEST_CASE(an_outside_referee_finds_exactly_the_wrong_checksums_that_the_report_names) {
    const Scratch out;
    const std::string id = "vx-tx-on.udpcsum.masquerade.eth0-tx-off";
    pathproof_run({"repro", "vxlan-checksum", "--cells", id, "--out", out.path()});
    const json report = report_of(out.path());
    const json& cell = cell_named(scenario_named(report, "vxlan-checksum"), id);
    const std::string capture = out.path() + "/evidence/" + id + ".pcapng";
    BOOST_REQUIRE(std::filesystem::exists(capture));
    const auto verdicts = process::run_checked(
        {"tshark", "-r", capture, "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
         "-o", "ip.check_checksum:TRUE", "-T", "fields", "-e", "udp.checksum.status"});
    BOOST_REQUIRE_MESSAGE(verdicts, verdicts.error().message);
    std::istringstream lines(*verdicts);
    double frames = 0;
    for (std::string line; std::getline(lines, line);) {
        // "0": bad; the first field is the outer UDP header's, the second (inner UDP) must not be
        // bad.
        BOOST_TEST(line.substr(0, 1) == "0", "outer UDP of frame " << frames << ": " << line);
        BOOST_TEST(line.find(",0") == std::string::npos,
                   "inner UDP of frame " << frames << ": " << line);
        ++frames;
    }
    BOOST_TEST(frames == measure(cell, "wire_bad_frames"));
}

BOOST_AUTO_TEST_CASE(dns_race_reproduces_both_races_with_clean_controls) {
    const MachineState before = MachineState::read();
    const Scratch out;
    const json scenario = reproduced("dns-race", out.path());

    for (const auto& [id, least] : {std::pair{"same-tuple.two-cpus", 50.0},
                                    {"same-tuple.vxlan-two-outer-ports", 50.0},
                                    {"same-tuple.list-receive", 50.0},
                                    {"same-tuple.vxlan-two-cpus", 0.1}}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(measure(cell, "raced_share") > least, id);
        BOOST_TEST(measure(cell, "queries_lost") == 0, id);
        BOOST_TEST(measure(cell, "hidden_entries") == measure(cell, "met_two_backends"), id);
    }
    BOOST_TEST(measure(cell_named(scenario, "late-answer.200ms"), "queries_misdelivered") == 0);
    BOOST_TEST(measure(cell_named(scenario, "late-answer.900ms"), "queries_misdelivered") == 0);
    const json& late = cell_named(scenario, "late-answer.1500ms");
    BOOST_TEST(measure(late, "queries_misdelivered") > 0);
    BOOST_TEST(measure(late, "queries_misdelivered") > 0.9 * measure(late, "met_two_backends"));
    BOOST_TEST(measure(late, "insert_failed") == 0);

    check_cells(scenario, {"late-answer.1500ms", "late-answer.after-cure"}, out.path());
    // The proof of the clashes is there, although no query was harmed.
    BOOST_TEST(
        std::filesystem::file_size(out.path() + "/evidence/same-tuple.two-cpus.events.json") > 0u);
    BOOST_TEST(MachineState::read() == before);
}

BOOST_AUTO_TEST_CASE(snat_race_reproduces_the_collision_of_source_ports) {
    const MachineState before = MachineState::read();
    const Scratch out;
    const json scenario = reproduced("snat-race", out.path());
    const json& collision = cell_named(scenario, "snat-collision");
    BOOST_TEST(measure(collision, "lost_pair_share") > 5);
    BOOST_TEST(measure(collision, "queries_lost") == measure(collision, "insert_failed"));
    BOOST_TEST(measure(collision, "drop") == measure(collision, "insert_failed"));
    check_cells(scenario, {"snat-collision", "snat-collision.after-cure"}, out.path());
    BOOST_TEST(MachineState::read() == before);
}
