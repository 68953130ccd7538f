// Defects of what was sent: a port's findings and those of a kernel device come to the same names
// and the same errata.
#include <boost/test/unit_test.hpp>

#include "harness/truth/errata.h"
#include "harness/truth/kernel_rows.h"
#include "harness/truth/kernel_table.h"
#include "harness/truth/port_table.h"

using namespace pathproof;
using namespace pathproof::truth;
using judge::ChecksumName;
using matrix::FindingKind;
using matrix::Row;
using matrix::TxFinding;

namespace {

const Row kPlainUdp{.handover = matrix::Handover::kInner};
const Row kOnHomePort{.encap = matrix::Encap::kVxlanOverIpv4,
                      .outer_checksum = matrix::OuterChecksum::kDisabled,
                      .tunnel_port = matrix::TunnelPort::k4789,
                      .transport = matrix::InnerTransport::kTcp,
                      .handover = matrix::Handover::kInner};

TxFinding checksum(const char* place, ChecksumName name, std::uint64_t frames = 3) {
    return {.kind = FindingKind::kChecksum,
            .place = place,
            .title = judge::name(name),
            .frames = frames,
            .checksum = name};
}

TxFinding misplaced(std::uint64_t frames) {
    return {.kind = FindingKind::kField,
            .place = "plain.udp.source_port",
            .title = "VLAN_START",
            .frames = frames};
}

struct Sent {
    Row row;
    std::vector<TxFinding> findings;
};

matrix::TxCellResult result_of(const Sent& sent) {
    return {.probes = 3, .intended = 3, .seen = 3, .findings = sent.findings};
}

std::vector<Defect> of_port(const std::vector<Sent>& rows) {
    RowsRun run;
    for (const Sent& sent : rows) {
        run.sent.push_back({.row = sent.row, .result = result_of(sent)});
    }
    return find_defects(run, {}, {}).defects;
}

std::vector<Defect> of_kernel(const std::vector<Sent>& rows) {
    ProbeSet set{.maker = matrix::ProbeMaker(matrix::kernel_device_limits(1500),
                                             matrix::Direction::kTransmit, {}, 1),
                 .matrix = {},
                 .probes = {}};
    SettingOutcome outcome;
    for (const Sent& sent : rows) {
        outcome.rows[set.matrix.rows.size()].wire = result_of(sent);
        set.matrix.rows.push_back(sent.row);
    }
    return judge_rows(outcome, set, WireKind::kCable, [](std::size_t) { return true; }).defects;
}

// `frames` of a row's class came with a checksum that was left to the device, and so many unfinished.
struct Left {
    Row row;
    std::uint64_t frames = 0;
    std::uint64_t unfinished = 0;
};

bool finishes_some_of(const std::vector<Left>& rows, bool any_family = true) {
    ProbeSet set{.maker = matrix::ProbeMaker(matrix::kernel_device_limits(1500),
                                             matrix::Direction::kTransmit, {}, 1),
                 .matrix = {},
                 .probes = {}};
    SettingOutcome outcome;
    outcome.taken.features.push_back({.name = "tx-checksum-ip-generic", .active = any_family});
    for (const Left& left : rows) {
        RowOutcome& row = outcome.rows[set.matrix.rows.size()];
        row.asked = left.frames;
        row.unfinished = left.unfinished;
        set.matrix.rows.push_back(left.row);
    }
    return finishes_some(outcome, set);
}

using Signatures = std::vector<std::string>;

Signatures signatures(const std::vector<Defect>& defects) {
    Signatures all;
    for (const Defect& defect : defects) {
        all.push_back(defect.signature());
    }
    return all;
}

void come_to(const std::vector<Sent>& rows, const Signatures& expected) {
    BOOST_TEST(signatures(of_port(rows)) == expected, boost::test_tools::per_element());
    BOOST_TEST(signatures(of_kernel(rows)) == expected, boost::test_tools::per_element());
}

profile::Erratum erratum(const char* signature, profile::Affected affected) {
    const auto parsed = profile::parse_signature(signature);
    BOOST_REQUIRE(parsed);
    profile::Erratum made{.id = "E99", .title = "", .file = "", .signatures = {*parsed}};
    made.affected = {std::move(affected)};
    return made;
}

// Ids and certainties of what the catalogue says of a kernel device's rows and a port's.
void are_explained(const std::vector<Sent>& rows, const profile::Erratum& known,
                   const std::string& certainty) {
    const Circumstances circumstances{.driver = "ixgbe", .kernel = "6.1.0", .dpdk = ""};
    for (std::vector<Defect> defects : {of_port(rows), of_kernel(rows)}) {
        explain_by_errata(defects, {known}, circumstances);
        const auto errata = errata_of(defects);
        BOOST_TEST((errata.empty() ? "" : errata.front().certainty) == certainty);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(defects, *boost::unit_test::label("unit"))

// A device that leaves work to the next by design has all frames of a class come unfinished.
BOOST_AUTO_TEST_CASE(a_device_that_finishes_some_frames_is_told_from_one_that_leaves_all) {
    const Row plain{.handover = matrix::Handover::kInner};
    Row tagged = plain;
    tagged.vlan = matrix::Vlan::kOne;
    Row ipv6 = plain;
    ipv6.network = matrix::InnerNetwork::kIpv6;
    Row super_frame = plain;
    super_frame.segmentation = matrix::Segmentation::kTcpTwo;
    BOOST_TEST(!finishes_some_of({{plain, 60, 60}, {tagged, 60, 60}}));
    BOOST_TEST(finishes_some_of({{plain, 60, 48}}));
    BOOST_TEST(finishes_some_of({{plain, 30, 30}, {plain, 30, 0}}));
    // Tagged ones are finished by the kernel where the device cannot, IPv6 where it does one family.
    BOOST_TEST(!finishes_some_of({{plain, 60, 60}, {tagged, 60, 0}}));
    BOOST_TEST(finishes_some_of({{plain, 60, 60}, {ipv6, 60, 0}}));
    BOOST_TEST(!finishes_some_of({{plain, 60, 60}, {ipv6, 60, 0}}, false));
    BOOST_TEST(!finishes_some_of({{plain, 60, 60}, {super_frame, 60, 0}}));
    // Two may be frames of another setting that came late.
    BOOST_TEST(!finishes_some_of({{plain, 60, 58}}));
}

BOOST_AUTO_TEST_CASE(a_checksum_in_the_wrong_place_is_the_cause_of_the_unfinished_one) {
    come_to({{kPlainUdp, {checksum("plain.udp", ChecksumName::kPseudo), misplaced(3)}}},
            {"tx.plain.udp.source_port.VLAN_START"});
}

BOOST_AUTO_TEST_CASE(frames_too_few_for_a_name_are_wrong_all_the_same) {
    come_to({{kPlainUdp, {misplaced(2)}}}, {"tx.plain.udp.source_port.UNKNOWN"});
}

BOOST_AUTO_TEST_CASE(a_row_that_fits_several_names_gets_the_one_of_other_rows) {
    TxFinding open = checksum("plain.udp", ChecksumName::kUnknown);
    open.candidates = {ChecksumName::kComplement, ChecksumName::kPseudo};
    come_to({{kPlainUdp, {open}}, {kPlainUdp, {checksum("plain.udp", ChecksumName::kPseudo)}}},
            {"tx.plain.udp.PSEUDO"});
    come_to({{kPlainUdp, {open}}}, {"tx.plain.udp.UNKNOWN"});
    // Each row has too few frames for a name, and all of them have one in common.
    TxFinding other = open;
    other.candidates = {ChecksumName::kPseudo, ChecksumName::kFieldKeep};
    come_to({{kPlainUdp, {open}}, {kPlainUdp, {other}}, {kPlainUdp, {open}}},
            {"tx.plain.udp.PSEUDO"});
    come_to({{kPlainUdp, {open}}, {kPlainUdp, {other}}}, {"tx.plain.udp.UNKNOWN"});
}

BOOST_AUTO_TEST_CASE(a_ports_table_and_its_findings_use_the_same_names) {
    TxFinding open = checksum("plain.udp", ChecksumName::kUnknown);
    open.candidates = {ChecksumName::kComplement, ChecksumName::kPseudo};
    RowsRun run;
    for (const TxFinding& finding : {open, checksum("plain.udp", ChecksumName::kPseudo)}) {
        run.sent.push_back({.row = kPlainUdp,
                            .offloads = {"UDP_CKSUM"},
                            .result = result_of({kPlainUdp, {finding}})});
    }
    const auto table = truth_table(run, find_defects(run, {}, {}), {}, {});
    const auto row = std::ranges::find(table.rows, "UDP_CKSUM", &verdict::TruthRow::offload);
    BOOST_REQUIRE((row != table.rows.end()));
    BOOST_TEST(row->observed.front().names == Signatures{"PSEUDO"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_erratum_of_other_ports_explains_no_defect_on_the_home_port) {
    const auto known = erratum("tx.inner.tcp.PSEUDO", {.kernel_driver = {"ixgbe"}});
    auto elsewhere = known;
    elsewhere.affected.front().except_ports = {4789};
    const std::vector<Sent> rows = {{kOnHomePort, {checksum("inner.tcp", ChecksumName::kPseudo)}}};
    are_explained(rows, known, "driver and version");
    are_explained(rows, elsewhere, "");
}

BOOST_AUTO_TEST_CASE(errata_of_strangers_and_of_other_conditions_explain_nothing) {
    const std::vector<Sent> rows = {{kPlainUdp, {checksum("plain.udp", ChecksumName::kPseudo)}}};
    are_explained(rows, erratum("tx.plain.udp.PSEUDO", {.kernel_driver = {"r8169"}}), "");
    are_explained(rows, erratum("tx.plain.udp.PSEUDO", {.kernel_driver = {"*"}}),
                  "driver and version");
    auto tagged = erratum("tx.plain.udp.PSEUDO", {.kernel_driver = {"ixgbe"}});
    tagged.conditions = {"vlan=inserted"};
    are_explained(rows, tagged, "");
    const std::vector<Sent> nameless = {
        {kPlainUdp, {checksum("plain.udp", ChecksumName::kUnknown)}}};
    are_explained(nameless, erratum("tx.plain.udp.UNKNOWN", {.kernel_driver = {"ixgbe"}}), "");
}

BOOST_AUTO_TEST_CASE(a_frame_of_another_length_is_called_by_what_became_of_it) {
    const matrix::FrameBytes sent = {1, 2, 3, 4, 5, 6, 7, 8};
    struct Case {
        matrix::FrameBytes wire;
        const char* name;
    };
    const Case cases[] = {
        {{1, 2, 3, 4}, "CUT(4)"},
        {{1, 2, 3, 4, 5, 6, 7, 8, 0, 0}, "PADDED(2)"},
        {{1, 2, 9, 9, 3, 4, 5, 6, 7, 8}, "SHIFTED(2)"},
    };
    for (const Case& each : cases) {
        TxFinding finding{.kind = FindingKind::kLength, .place = "frame", .title = "LENGTH"};
        finding.specimen.wire = each.wire;
        finding.specimen.intended = sent;
        BOOST_TEST(name_of(finding) == each.name);
    }
    BOOST_TEST(name_of({.kind = FindingKind::kSurplus, .title = "SURPLUS"}) == "DOUBLED");
}

BOOST_AUTO_TEST_CASE(a_field_is_looked_up_under_its_layer) {
    const TxFinding flags{.kind = FindingKind::kField,
                          .place = "plain.tcp.flags",
                          .title = "FIELD_KEEP",
                          .frames = 3};
    const auto known = erratum("tx.plain.tcp.FIELD_KEEP", {.kernel_driver = {"ixgbe"}});
    are_explained({{kPlainUdp, {flags}}}, known, "driver and version");
    BOOST_TEST(of_kernel({{kPlainUdp, {flags}}}).front().name == "FIELD_KEEP(plain.tcp.flags)");
}

BOOST_AUTO_TEST_CASE(two_ports_that_take_turns_are_not_one) {
    Row both = kOnHomePort;
    both.tunnel_port = matrix::TunnelPort::kTwo;
    BOOST_TEST(tunnel_port_of(kOnHomePort) == 4789);
    BOOST_TEST(tunnel_port_of(both) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
