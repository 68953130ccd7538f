// A software NIC between two ports of the tester, with every defect of the receiving side and one
// of the sending side: what the check finds, names and locates; and that it finds nothing in a
// healthy one.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "dataplane/softnic/faults.h"
#include "harness/process/program.h"
#include "harness/truth/check.h"
#include "harness/truth/errata.h"
#include "harness/truth/port_exchange.h"

using namespace pathproof;
using namespace pathproof::truth;

BOOST_AUTO_TEST_SUITE(software_nic)

namespace {

std::unique_ptr<tester::Client> tester_with(const std::vector<std::string>& faults) {
    auto client = tester::Client::start(
        {.worker_cpus = {0, 0}, .software_nic = tester::SoftwareNic{.faults = faults}});
    BOOST_REQUIRE_MESSAGE(client, client.error().message);
    return std::move(*client);
}

struct Found {
    RowsRun run;
    Findings findings;
};

Found find(const std::vector<std::string>& faults, Directions directions) {
    const auto client = tester_with(faults);
    PortExchange cable(*client);
    auto run = run_rows(
        cable.path(),
        {.directions = directions, .strength = matrix::Strength::kPairs, .probes = 4, .mtu = 9216},
        [](std::size_t, std::size_t) {});
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    BOOST_TEST(run->objections.empty());
    const auto report = client->stop_software_nic();
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    Findings findings = find_defects(*run, client->ports().front(),
                                     {{"rx_csum_bad", report->directions[1].nic.rx_csum_bad}});
    return {std::move(*run), std::move(findings)};
}

std::string all_of(const Findings& findings) {
    std::string text;
    for (const Defect& defect : findings.defects) {
        text += defect.signature() + " (" + defect.where + "); ";
    }
    return text;
}

bool names(const Findings& findings, const std::string& title) {
    return std::ranges::any_of(findings.defects,
                               [&](const Defect& defect) { return defect.title == title; });
}

// Titles that the judge gives to each mechanism of the receiving side.
const std::map<std::string, std::vector<std::string>>& titles() {
    static const std::map<std::string, std::vector<std::string>> kTitles = {
        {"GOOD_ON_BAD", {"RX_GOOD_ON_BAD"}},
        {"L4_LOST", {"RX_GOOD_ON_BAD"}},
        {"BAD_ON_GOOD", {"RX_BAD_ON_GOOD", "RX_LAYER_SWAP"}},
        {"LAYER_SWAP", {"RX_LAYER_SWAP"}},
        {"DEFAULT_GOOD", {"RX_GOOD_UNCHECKED"}},
        {"UNKNOWN_ALWAYS", {"RX_UNKNOWN_ALWAYS"}},
        {"HEALED", {"RX_HEALED"}},
        {"DROP_BAD", {"RX_DROP_BAD"}},
        {"DROP", {"DROP"}},
        {"COUNT_HEALTHY", {"COUNTER_LIES"}},
        {"STUCK_ZERO", {"COUNTER_LIES"}},
    };
    return kTitles;
}

std::vector<std::string> receive_faults() {
    std::vector<std::string> texts = {"rx.any.l4.UNKNOWN_ALWAYS", "rx.any.ip.UNKNOWN_ALWAYS"};
    for (const softnic::FaultModel& model : softnic::fault_models()) {
        if (model.text.starts_with("rx.")) {
            texts.emplace_back(model.text);
        }
    }
    return texts;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_healthy_one_raises_no_alarm_in_either_direction) {
    const Found found = find({}, Directions::kBoth);
    BOOST_TEST(found.findings.defects.empty(), all_of(found.findings));
    BOOST_TEST(found.findings.refusals.empty());
    std::uint64_t sent = 0;
    for (const TxRow& row : found.run.sent) {
        BOOST_TEST(row.lacking.empty());
        sent += row.result.exact;
    }
    BOOST_TEST(sent > 400u);
    BOOST_TEST(found.run.received.size() > 50u);
    BOOST_TEST(found.run.called_bad > 100u);  // it did speak
}

BOOST_AUTO_TEST_CASE(a_partial_checksum_off_the_known_port_is_named_and_located) {
    const Found found = find({"tx.inner.tcp.PSEUDO@dport!=4789!1"}, Directions::kBoth);
    BOOST_TEST_CONTEXT(all_of(found.findings)) {
        BOOST_REQUIRE(found.findings.defects.size() == 1u);
        const Defect& defect = found.findings.defects.front();
        BOOST_TEST(defect.signature() == "tx.inner.tcp.PSEUDO");
        BOOST_TEST(defect.where == "tunnel port other than 4789");
        BOOST_TEST(defect.wire_value != defect.right_value);
        BOOST_TEST(!defect.specimen.wire.empty());
    }
}

// Frames are bad in the receiver's reading: a plain datagram that looks like a tunnel's is bad if
// its apparent inner checksum is.
BOOST_AUTO_TEST_CASE(only_rows_with_bad_frames_lose_any_where_bad_frames_are_dropped) {
    const Found found = find({"rx.any.frame.DROP_BAD"}, Directions::kReceived);
    BOOST_TEST_CONTEXT(all_of(found.findings)) {
        BOOST_REQUIRE(found.findings.defects.size() == 1u);
        for (const std::size_t row : found.findings.defects.front().rows) {
            BOOST_TEST(found.run.received[row].result.bad > 0u,
                       matrix::describe(found.run.received[row].row));
        }
    }
}

BOOST_AUTO_TEST_CASE(each_defect_of_the_receiving_side_is_found_and_named) {
    for (const std::string& text : receive_faults()) {
        const auto fault = softnic::parse_fault(text);
        BOOST_REQUIRE(fault);
        const Found found = find({text}, Directions::kReceived);
        BOOST_TEST_CONTEXT(text << " found: " << all_of(found.findings)) {
            const auto& wanted = titles().at(std::string(softnic::mechanism_name(*fault)));
            BOOST_TEST(std::ranges::any_of(
                wanted, [&](const std::string& title) { return names(found.findings, title); }));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_scenario_says_what_was_planted_and_where_it_fails) {
    // The fault is confined to TCP: plain UDP to a tunnel's port may look like a tunnel and be hit,
    // too.
    const std::string fault = "rx.inner.l4.GOOD_ON_BAD@encap,tcp";
    const auto client = tester_with({fault});
    auto errata = profile::load_errata(profile::profile_directory());
    BOOST_REQUIRE(errata);
    CheckSettings settings;
    settings.rows.directions = Directions::kReceived;
    settings.rows.strength = matrix::Strength::kPairs;
    settings.rows.probes = 3;
    settings.rows.mtu = 1500;
    settings.truth.device = "software NIC";
    settings.errata = std::move(*errata);
    settings.planted = {fault};
    settings.progress = [](std::size_t, std::size_t) {};
    const auto result = check_ports(*client, settings);
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    const auto failing =
        std::ranges::find(result->cells, verdict::CellVerdict::kFail, &verdict::Cell::verdict);
    BOOST_REQUIRE((failing != result->cells.end()));
    BOOST_TEST(failing->reason.find("RX_GOOD_ON_BAD") != std::string::npos);
    const auto plain =
        std::ranges::find(result->cells, std::string("rx.plain"), &verdict::Cell::id);
    BOOST_REQUIRE((plain != result->cells.end()));
    BOOST_TEST((plain->verdict == verdict::CellVerdict::kPass));
    BOOST_TEST(result->proofs.back().rows.front().front() == fault);
    BOOST_TEST(result->proofs.back().rows.front().back() != "0");
    const auto [verdict, reasons] = verdict::judge_run({*result});
    BOOST_TEST((verdict == verdict::RunVerdict::kNotQualified));
}

BOOST_AUTO_TEST_CASE(the_frames_behind_a_defect_are_kept_as_a_capture_that_explains_itself) {
    char folder[] = "/tmp/pathproof-evidence-XXXXXX";
    BOOST_REQUIRE(mkdtemp(folder) != nullptr);
    std::filesystem::create_directory(std::string(folder) + "/evidence");
    const std::string fault = "tx.inner.tcp.PSEUDO@dport!=4789!1";
    const auto client = tester_with({fault});
    CheckSettings settings{.rows = {.directions = Directions::kSent,
                                    .strength = matrix::Strength::kPairs,
                                    .probes = 3},
                           .planted = {fault},
                           .out_dir = folder,
                           .progress = [](std::size_t, std::size_t) {}};
    const auto result = check_ports(*client, settings);
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    const std::string capture = std::string(folder) + "/evidence/tx.inner.tcp.PSEUDO.pcapng";
    const auto frames = process::run_checked({"tshark", "-r", capture});
    BOOST_REQUIRE_MESSAGE(frames, frames.error().message);
    BOOST_TEST(std::ranges::count(*frames, '\n') > 1);
    std::ifstream file(capture, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    BOOST_TEST(bytes.find("tx.inner.tcp.PSEUDO\nwhere: tunnel port other than 4789") !=
               std::string::npos);
    BOOST_TEST(std::filesystem::exists(std::string(folder) + "/evidence/tx.inner.tcp.PSEUDO.txt"));
    std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(a_fault_that_is_none_is_refused_with_its_text) {
    const auto client = tester::Client::start(
        {.worker_cpus = {0, 0}, .software_nic = tester::SoftwareNic{.faults = {"tx.nonsense"}}});
    BOOST_REQUIRE(!client);
    BOOST_TEST(client.error().message.find("nonsense") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_erratum_is_told_with_all_its_commands_and_where_to_read_of_it) {
    const profile::Source named{.reference = "linux 0123456789ab", .url = "", .says = ""};
    profile::Source linked = named;
    linked.url = "https://example.org/1";
    profile::ErratumMatch match{.id = "E99",
                                .title = "a title",
                                .certainty = profile::Certainty::kDriver,
                                .why = "",
                                .workaround = {"ethtool -K DEV tx off", "ethtool -K DEV rx off"},
                                .advice = "another driver",
                                .sources = {linked, named}};
    const verdict::KnownErratum known = known_erratum(match);
    BOOST_TEST(known.id == "E99");
    BOOST_TEST(known.title == "a title");
    BOOST_TEST(known.certainty == "driver");
    BOOST_TEST(known.workaround == "`ethtool -K DEV tx off`; `ethtool -K DEV rx off`");
    BOOST_TEST(known.source == "https://example.org/1");
    match.workaround.clear();
    match.sources = {named};
    BOOST_TEST(known_erratum(match).workaround == "another driver");
    BOOST_TEST(known_erratum(match).source == "linux 0123456789ab");
}

BOOST_AUTO_TEST_SUITE_END()
