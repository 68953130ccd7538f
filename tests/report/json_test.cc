#include "harness/report/json.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>

#include "harness/report/embedded.h"
#include "harness/verdict/preflight.h"
#include "samples.h"

using namespace pathproof;
using namespace pathproof::report;
using namespace pathproof::report::test;
using nlohmann::ordered_json;

namespace {

// The sample with one change made to it is refused, with words that name the place.
void refused(const std::string& pointer, const ordered_json& value, const std::string& words) {
    ordered_json document = ordered_json::parse(sample_text());
    document[ordered_json::json_pointer(pointer)] = value;
    const Status valid = validate(document.dump());
    BOOST_REQUIRE_MESSAGE(!valid, pointer << " = " << value << " was accepted");
    BOOST_TEST((valid.error().code == ErrorCode::kBadInput));
    BOOST_TEST(valid.error().message.find(words) != std::string::npos, valid.error().message);
}

// Removing the member at the end of the pointer is noticed.
void missed(const std::string& pointer) {
    ordered_json document = ordered_json::parse(sample_text());
    const ordered_json::json_pointer place(pointer);
    document[place.parent_pointer()].erase(place.back());
    BOOST_TEST(!validate(document.dump()), pointer << " may be missing");
}

void inconsistent(verdict::RunResult run, const std::string& words) {
    const Status sound = check_consistency(run);
    BOOST_REQUIRE_MESSAGE(!sound, "nothing wrong found, expected: " << words);
    BOOST_TEST(sound.error().message.find(words) != std::string::npos, sound.error().message);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_sample_goes_round_without_loss) {
    const auto run = from_json(sample_text());
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    BOOST_TEST((json_text(*run) == sample_text()), "it reads back otherwise");
    BOOST_TEST(check_consistency(*run).has_value());
}

BOOST_AUTO_TEST_CASE(the_report_and_its_parties_are_named_or_left_out) {
    verdict::RunResult run = sample();
    BOOST_TEST(json_text(run).find("\"parties\"") == std::string::npos);
    run.id = "0d1c2b3a-0000-4000-8000-000000000001";
    run.parties.laboratory = "Lab 7";
    const auto read = from_json(json_text(run));
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    BOOST_TEST(read->id == run.id);
    BOOST_TEST((read->parties == run.parties));
    refused("/id", "7", "id");
}

BOOST_AUTO_TEST_CASE(an_older_report_reads_as_conditionally_qualified) {
    ordered_json document = ordered_json::parse(sample_text());
    document["verdict"] = "QUALIFIED WITH EXCEPTIONS";
    document.erase("areas");
    for (ordered_json& scenario : document["scenarios"]) {
        scenario.erase("area");
    }
    const auto run = from_json(document.dump());
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    BOOST_TEST((run->verdict == verdict::RunVerdict::kConditionallyQualified));
}

BOOST_AUTO_TEST_CASE(roles_parts_and_exposure_go_round_without_loss) {
    using namespace verdict;
    RunResult run = sample();
    run.scenarios[0].verdict = ScenarioVerdict::kExposed;
    run.scenarios[0].part = "vx-*";
    run.scenarios[0].cells[0].role = Cell::Role::kDemonstration;
    run.scenarios[0].controls[0].role = Cell::Role::kCure;
    const auto read = from_json(json_text(run));
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    BOOST_TEST((json_text(*read) == json_text(run)));
    BOOST_TEST((read->scenarios[0].controls[0].role == Cell::Role::kCure));
    BOOST_TEST((read->scenarios[0].controls[1].role == Cell::Role::kControl));
}

BOOST_AUTO_TEST_CASE(a_preflight_goes_round_without_loss) {
    using namespace verdict;
    RunResult run = sample();
    run.preflight = std::make_shared<Preflight>(Preflight{
        .checks = {{"doubt", "DUT device ens1f0", "PCIe", "linked at 8 GT/s x4"}},
        .ports = {{.host = "tester", .name = "client0", .addresses = {"198.18.0.2/24"}},
                  {.host = "DUT root@dut1", .name = "ens1f0", .link_mbps = 25'000, .mtu = 1500}},
        .cables = {{"client0", "ens1f0", Preflight::Cable::Proof::kBothWays, "both saw it"}}});
    const auto read = from_json(json_text(run));
    BOOST_REQUIRE_MESSAGE(read.has_value(), (read ? std::string() : read.error().message));
    BOOST_TEST((*read->preflight == *run.preflight));
    BOOST_TEST(json_text(*read) == json_text(run));
    BOOST_TEST(json_text(run).find("<svg") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_certificate_goes_round_without_loss) {
    using namespace verdict;
    RunResult run = sample();
    run.id = "00112233-4455-6677-8899-aabbccddeeff";
    run.ended_at = "2026-11-28T10:00:00Z";
    run.issued_at = "2026-11-28T10:00:01Z";
    run.parties = {.laboratory = "Lab 7",
                   .operator_name = "A. Operator",
                   .plan_id = "NIC-CORE",
                   .plan_revision = "3",
                   .received = "2026-11-20",
                   .condition = "new"};
    run.amends = Amendment{.id = "old", .sha256 = std::string(64, 'a'), .reason = "the customer"};
    const Fact absent{.name = "signer", .source = "modinfo"};
    run.items = {{.device = "ens1f0",
                  .title = "DUT device ens1f0",
                  .identity = {{"maker", "ACME", Fact::Status::kRead, "pci.ids"}},
                  .firmware = {{"fw.mgmt", "4.90", "4.91"}},
                  .driver = {absent},
                  .module = {{"kind", "QSFP28", Fact::Status::kRead, "EEPROM"}},
                  .readings = {{"module temperature", "°C", 41.5, std::nullopt, "EEPROM"}}}};
    run.meanwhile = {{.host = "this machine",
                      .log = Fact::Status::kRead,
                      .lines = 5,
                      .messages = {{.seconds = 1.5,
                                    .kind = KernelMessage::Kind::kTxTimeout,
                                    .text = "NETDEV WATCHDOG",
                                    .trace = {"a", "b"},
                                    .subject = "ice",
                                    .against = true}},
                      .taint_before = 0,
                      .taint_after = 512}};
    Cell& cell = run.scenarios[0].cells[0];
    cell.known = "bug 7";
    cell.waiver = Waiver{.reason = "bug 7", .approver = "B. Approver", .until = "2027-01-01"};
    cell.evidence = {{"evidence/a.txt", "a", std::string(64, 'b')}};
    const auto read = from_json(json_text(run));
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    BOOST_TEST((json_text(*read) == json_text(run)));
    BOOST_TEST((read->parties == run.parties));
    BOOST_TEST((read->amends == run.amends));
    BOOST_TEST((read->scenarios[0].cells[0].waiver == cell.waiver));
    BOOST_TEST(!read->items[0].readings[0].end.has_value());
    BOOST_TEST((read->meanwhile[0].messages[0].kind == KernelMessage::Kind::kTxTimeout));
    BOOST_TEST(*read->meanwhile[0].taint_after == 512u);
}

BOOST_AUTO_TEST_CASE(areas_count_their_cells_and_failures_come_in_the_order_of_need) {
    using namespace verdict;
    RunResult run = sample();
    const auto scenario = [](const char* id, bool cured, const std::string& known, bool fresh) {
        return ScenarioResult{.id = id,
                              .title = id,
                              .area = Area::kDevice,
                              .verdict = ScenarioVerdict::kDefectFound,
                              .headline = "h",
                              .cause = "c",
                              .cure = "set it\nSide effects: none",
                              .cure_shown = cured,
                              .cells = {{.id = "a",
                                         .verdict = CellVerdict::kFail,
                                         .reason = "r",
                                         .known = known,
                                         .fresh = fresh},
                                        {.id = "b", .verdict = CellVerdict::kPass}}};
    };
    run.scenarios = {scenario("accepted", true, "bug 7", false),
                     scenario("conditional", true, "", false), scenario("open", false, "", false),
                     scenario("new", true, "", true)};
    const ordered_json document = to_json(run);
    const auto& findings = document["findings"];
    BOOST_TEST(findings.size() == 4u);
    for (std::size_t n = 0; n < 4; ++n) {
        const char* const states[] = {"open", "new", "conditional", "accepted"};
        BOOST_TEST(findings[n]["state"] == states[n]);
        BOOST_TEST(findings[n]["scenario"] == states[n]);
    }
    BOOST_TEST(findings[0]["cure"] == "set it");
    BOOST_TEST(findings[0]["price"] == "Side effects: none");
    const auto& cells = document["areas"][0]["cells"];
    BOOST_TEST(cells["executed"] == 8);
    BOOST_TEST(cells["failed"] == 4);
    BOOST_TEST(cells["passed"] == 4);
    BOOST_TEST(cells["known"] == 1);
    BOOST_TEST(cells["new"] == 1);
}

BOOST_AUTO_TEST_CASE(options_repetitions_and_expectations_go_round_without_loss) {
    using namespace verdict;
    RunResult run = sample();
    run.options = {.command = "repro",
                   .lab = {.name = "qemu", .guest = {.nic = "e1000e,rtl8139"}},
                   .scenarios = {"dns-race"},
                   .cells = {"cure.*", "late-*"},
                   .of_scenarios = {{"full", std::nullopt}, {"pairs", 500}},
                   .repeat = 5,
                   .device = "eth0"};
    run.scenarios[0].planned = {"a", "b"};
    run.scenarios[0].repetitions = {{4, ScenarioVerdict::kReproduced, "it fails"},
                                    {5, ScenarioVerdict::kInconclusive, "it may"}};
    run.scenarios[0].kept = 2;
    Cell& cell = run.scenarios[0].cells[0];
    cell.verdict = CellVerdict::kUnstable;
    cell.reason = "at times";
    cell.runs = Runs{5, 2, 3};
    cell.fresh = true;
    const auto read = from_json(json_text(run));
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    BOOST_TEST((json_text(*read) == json_text(run)));
    BOOST_TEST(
        repeat_command(read->options) ==
        "pathproof repro dns-race eth0 --full --pairs 500 --cells 'cure.*,late-*' --repeat 5");
    BOOST_TEST(read->scenarios[0].cells[0].runs->kept == 3u);
    // A run without repetitions, waivers and the like has none of their fields.
    const std::string scenarios = to_json(sample())["scenarios"].dump();
    for (const char* word : {"runs", "repetitions", "kept", "new", "planned", "waiver", "sha256"}) {
        BOOST_TEST(scenarios.find("\"" + std::string(word) + "\":") == std::string::npos);
    }
    for (const char* word : {"options", "amends", "items", "meanwhile", "parties"}) {
        BOOST_TEST(!to_json(sample()).contains(word));
    }
    BOOST_TEST(check_consistency(run).has_value());
    run.scenarios[0].cells[0].runs->failed = 5;
    inconsistent(run, "is UNSTABLE, but failed in 5 of 5 repetitions");
    run.scenarios[0].cells[0].runs = std::nullopt;
    inconsistent(run, "is UNSTABLE, but was run once");
}

BOOST_AUTO_TEST_CASE(truth_tables_and_calibration_go_round_without_loss) {
    using namespace verdict;
    using Score = CalibrationRow::Score;
    RunResult run = sample();
    ScenarioResult& scenario = run.scenarios[0];
    scenario.truth_tables = {{.title = "t",
                              .device = "d",
                              .conditions = {"c"},
                              .rows = {{"tx-checksum-ipv4",
                                        "Tx",
                                        "required",
                                        "on",
                                        {{Observed::kByDesign, 9, 2, {"PSEUDO"}, "cell", "note"}},
                                        "finding",
                                        {{"E1", "title", "do", "src", "sure"}}}},
                              .excluded = "3/n"}};
    const CalibrationRow row{
        "F01", "tx.outer.udp.NAT0", Score::kYes, Score::kNo, Score::kNotApplicable, "NAT0", 5, 4,
        "n"};
    scenario.calibration = Calibration{.instrument = "software NIC",
                                       .seed = 7,
                                       .faults = {row},
                                       .open_world = {row},
                                       .judge_mutants = {row},
                                       .healthy_frames = 3,
                                       .false_alarms = 2,
                                       .pairs = 9,
                                       .pairs_both_named = 4,
                                       .pairs_masked = 3,
                                       .pairs_missed = 2,
                                       .confusion = {{"NAT0", "UNKNOWN", 1}}};
    const std::string text = json_text(run);
    const auto again = from_json(text);
    BOOST_REQUIRE_MESSAGE(again, again.error().message);
    BOOST_TEST((json_text(*again) == text));
    BOOST_TEST(again->scenarios[0].calibration->faults[0].caught == 4u);
}

BOOST_AUTO_TEST_CASE(the_names_that_scripts_rely_on_are_there) {
    const ordered_json document = to_json(sample());
    for (const char* name : {"schema", "verdict", "evidence_class", "command", "seed"}) {
        BOOST_TEST(document.contains(name), name);
    }
    const ordered_json& scenario = document["scenarios"][0];
    for (const char* name : {"id", "verdict", "cause", "cure"}) {
        BOOST_TEST(scenario.contains(name), name);
    }
    const ordered_json& cell = scenario["cells"][0];
    BOOST_TEST(cell["id"] == "vx-on.udpcsum.no-snat.eth0-on");
    BOOST_TEST(cell["toggles"]["outer SNAT"] == "none");
    BOOST_TEST(cell["verdict"] == "PASS");
    BOOST_TEST(cell["measures"]["icmp"]["value"] == true);
    BOOST_TEST(scenario["controls"][0].contains("id"));
}

BOOST_AUTO_TEST_CASE(toggles_keep_their_display_order) {
    const auto again = from_json(json_text(sample()));
    BOOST_REQUIRE(again);
    const auto& toggles = again->scenarios[0].cells[0].toggles;
    BOOST_REQUIRE(toggles.size() == 4);
    BOOST_TEST(toggles[0].first == "vxlan tx");
    BOOST_TEST(toggles[3].first == "underlay tx");
}

BOOST_AUTO_TEST_CASE(hostile_strings_and_the_largest_seed_give_a_valid_document) {
    const std::string text = json_text(hostile());
    const auto run = from_json(text);
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    BOOST_TEST(run->seed == 0xFFFFFFFFFFFFFFFF);
    BOOST_TEST((json_text(*run) == text), "it reads back otherwise");
}

BOOST_AUTO_TEST_CASE(the_schema_refuses_what_it_does_not_know) {
    refused("/extra", 1, "extra");
    refused("/scenarios/0/extra", 1, "extra");
    refused("/scenarios/0/cells/3/extra", 1, "extra");
    refused("/scenarios/0/cells/3/measures/icmp/extra", 1, "extra");
    refused("/environment/0/facts/0/extra", 1, "extra");
    refused("/scenarios/1/charts/0/bars/0/extra", 1, "extra");
}

BOOST_AUTO_TEST_CASE(the_schema_refuses_wrong_words_and_types) {
    refused("/schema", "pathproof-report/2", "schema");
    refused("/verdict", "PASS", "verdict");
    refused("/evidence_class", "real", "evidence_class");
    refused("/started_at", "yesterday", "started_at");
    refused("/seed", "7", "seed");
    refused("/seconds", -1, "seconds");
    refused("/reasons", ordered_json::array(), "reasons");
    refused("/scenarios/0/verdict", "FAIL", "verdict");
    refused("/scenarios/0/cells/0/verdict", "REPRODUCED", "verdict");
    refused("/scenarios/0/cells/0/toggles/axis", 1, "axis");
    refused("/scenarios/0/cells/0/measures/icmp/value", ordered_json::array(), "value");
    refused("/scenarios/1/cells/0/measures/raced_share/interval", 5, "interval");
    refused("/scenarios/0/unexplained", -1, "unexplained");
    refused("/environment/0/facts/0/status", "guessed", "status");
    refused("/scenarios/1/charts/0/bars/0/kind", "red", "kind");
}

BOOST_AUTO_TEST_CASE(the_schema_asks_for_every_field) {
    const ordered_json document = ordered_json::parse(sample_text());
    for (const std::string place :
         {"", "/scenarios/0", "/scenarios/0/cells/0", "/scenarios/0/proofs/0",
          "/scenarios/1/charts/0", "/scenarios/1/charts/0/bars/0", "/scenarios/0/evidence/0",
          "/environment/0", "/environment/0/facts/0", "/scenarios/0/cells/0/measures/icmp"}) {
        for (const auto& member : document[ordered_json::json_pointer(place)].items()) {
            // Fields that follow from others are not in older reports.
            const std::string& key = member.key();
            if (!key.starts_with("area") && key != "findings" && key != "coverage" &&
                key != "meaning") {
                missed(place + "/" + member.key());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(text_that_is_no_report_is_refused) {
    for (const char* text : {"", "{", "[]", "null", "{}", "\xff"}) {
        BOOST_TEST(!from_json(text), text);
    }
}

BOOST_AUTO_TEST_CASE(damaged_documents_are_refused_or_read_but_never_crash) {
    std::mt19937 random(7);
    const std::string whole = sample_text();
    unsigned refusals = 0;
    for (int round = 0; round < 150; ++round) {
        std::string text = whole;
        for (int times = 0; times < 3; ++times) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        refusals += from_json(text) ? 0 : 1;
    }
    BOOST_TEST(refusals > 0);
    BOOST_TEST(!from_json(whole.substr(0, whole.size() / 2)));
}

BOOST_AUTO_TEST_CASE(names_that_would_be_lost_are_found) {
    auto run = sample();
    run.scenarios[0].cells[1].id = run.scenarios[0].cells[0].id;
    inconsistent(run, "two cells or controls named");
    run = sample();
    run.scenarios[0].cells[0].measures[1].name = run.scenarios[0].cells[0].measures[0].name;
    inconsistent(run, "measure 'icmp' twice");
    run = sample();
    run.scenarios[0].cells[0].toggles[1].first = run.scenarios[0].cells[0].toggles[0].first;
    inconsistent(run, "toggle 'vxlan tx' twice");
    run = sample();
    run.scenarios[1].id = run.scenarios[0].id;
    inconsistent(run, "two scenarios are named");
    run = sample();
    run.scenarios[0].after_cell = "nowhere";
    inconsistent(run, "compares cell 'nowhere'");
}

BOOST_AUTO_TEST_CASE(values_that_would_be_said_wrongly_are_found) {
    auto run = sample();
    auto& measure = run.scenarios[1].cells[0].measures[0];
    measure.interval = verdict::Interval{0.9994, 0.9996};  // a fraction beside a percentage
    inconsistent(run, "outside its own interval");
    measure.interval = verdict::Interval{99.96, 99.97};
    inconsistent(run, "outside its own interval");
    measure.interval.reset();
    measure.value = std::numeric_limits<double>::quiet_NaN();
    inconsistent(run, "not a finite number");
    run = sample();
    run.scenarios[1].charts[0].bars[0].value = std::numeric_limits<double>::infinity();
    inconsistent(run, "not a finite number");
    run = sample();
    run.scenarios[0].proofs[0].rows[0].pop_back();
    inconsistent(run, "row of 6 fields for 7 columns");
}
