#include "dataplane/matrix/tx_cell.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "dataplane/matrix/matrix.h"
#include "dataplane/softnic/soft_nic.h"

using namespace pathproof;
using namespace pathproof::matrix;

namespace {

constexpr std::uint32_t kProbes = 4;

softnic::NicLimits nic_limits() {
    softnic::NicLimits limits;
    limits.vxlan_ports = {4789, 8472, 8223};
    limits.geneve_ports = {6081};
    return limits;
}

std::vector<FrameBytes> through(softnic::SoftNic& nic, const Probe& probe, std::string& refusal) {
    std::vector<FrameBytes> wire;
    softnic::TxResult sent;
    for (const HandedFrame& handed : probe.handed) {
        nic.transmit(to_tx_frame(handed, probe), sent);
        if (sent.refusal != softnic::Refusal::kNone) {
            refusal = softnic::sentence(sent.refusal);
        }
        for (const FrameBytes& frame : sent.frames) {
            wire.push_back(frame);
        }
    }
    return wire;
}

TxCellResult run(softnic::SoftNic& nic, const ProbeMaker& maker, const Row& row,
                 std::uint32_t number) {
    TxCell cell(row);
    for (std::uint32_t index = 0; index < kProbes; ++index) {
        const Result<Probe> probe = maker.make(row, {number, index});
        BOOST_REQUIRE_MESSAGE(probe, probe.error().message);
        std::string refusal;
        const std::vector<FrameBytes> wire = through(nic, *probe, refusal);
        if (refusal.empty()) {
            cell.add(*probe, wire);
        } else {
            cell.refused(*probe, refusal);
        }
    }
    return cell.result();
}

std::string text(const TxCellResult& result) {
    std::string text;
    for (const TxFinding& finding : result.findings) {
        text += std::string(name(finding.kind)) + " " + finding.place + " " + finding.title + "; ";
    }
    return text;
}

const Row kVxlanTcp{.encap = Encap::kVxlanOverIpv4,
                    .outer_checksum = OuterChecksum::kComputed,
                    .tunnel_port = TunnelPort::k4789,
                    .transport = InnerTransport::kTcp,
                    .handover = Handover::kBoth};

TxCellResult broken(const char* fault, const Row& row) {
    const auto parsed = softnic::parse_fault(fault);
    BOOST_REQUIRE_MESSAGE(parsed, parsed.error().message);
    softnic::SoftNic nic(nic_limits(), {*parsed});
    return run(nic, ProbeMaker(software_nic_limits(), Direction::kTransmit, {}, 5), row, 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tx_cells)

BOOST_AUTO_TEST_CASE(a_healthy_nic_is_clean_in_every_row_of_the_pairs_matrix) {
    const DutLimits limits = software_nic_limits();
    const Matrix matrix = make_matrix(limits, Direction::kTransmit, Strength::kPairs, 1);
    const ProbeMaker maker(limits, Direction::kTransmit, {}, 5);
    softnic::SoftNic nic(nic_limits());
    for (std::uint32_t row = 0; row < matrix.rows.size(); ++row) {
        const TxCellResult result = run(nic, maker, matrix.rows[row], row);
        BOOST_TEST(result.clean(), describe(matrix.rows[row]) << ": " << text(result));
        BOOST_TEST(result.exact == result.intended);
    }
}

BOOST_AUTO_TEST_CASE(a_wrong_checksum_is_named_with_its_place_and_kept) {
    const TxCellResult result = broken("tx.inner.tcp.PSEUDO", kVxlanTcp);
    BOOST_REQUIRE_MESSAGE(!result.findings.empty(), text(result));
    bool found = false;
    for (const TxFinding& finding : result.findings) {
        if (finding.place == "inner.tcp") {
            found = true;
            BOOST_TEST(finding.title == "PSEUDO");
            BOOST_TEST(finding.frames == kProbes);
            BOOST_TEST(finding.specimen.wire.size() == finding.specimen.intended.size());
        }
    }
    BOOST_TEST(found, text(result));
    BOOST_TEST(!result.clean());
}

BOOST_AUTO_TEST_CASE(a_stale_port_is_proven_from_the_tuple_before_nat) {
    Row row = kVxlanTcp;
    row.nat = Nat::kSourcePort;
    row.handover = Handover::kInner;  // the outer sum is local checksum offload's, before NAT
    const TxCellResult result = broken("tx.outer.udp.STALE_SPORT@nat:port", row);
    BOOST_REQUIRE_MESSAGE(result.findings.size() == 1, text(result));
    BOOST_TEST(result.findings[0].place == "outer.udp");
    BOOST_TEST((result.findings[0].checksum == judge::ChecksumName::kStaleTuple ||
                result.findings[0].checksum == judge::ChecksumName::kStaleSourcePort),
               text(result));
}

BOOST_AUTO_TEST_CASE(an_outer_software_checksum_is_not_blamed_for_the_inner_one) {
    Row row = kVxlanTcp;
    row.handover = Handover::kInner;
    const TxCellResult result = broken("tx.inner.tcp.XOR_K", row);
    BOOST_REQUIRE_MESSAGE(result.findings.size() == 1, text(result));
    BOOST_TEST(result.findings[0].place == "inner.tcp");
    BOOST_TEST(result.findings[0].title == "UNKNOWN");
}

BOOST_AUTO_TEST_CASE(a_computed_zero_that_is_sent_as_zero_is_told_from_checksums_switched_off) {
    const Row row{.values = PayloadValues::kSumsToZero, .handover = Handover::kInner};
    softnic::SoftNic nic(nic_limits(), {*softnic::parse_fault("tx.plain.udp.ZERO_NOT_MANGLED")});
    const ProbeMaker maker(software_nic_limits(), Direction::kTransmit, {}, 5);
    TxCell cell(row);
    for (std::uint32_t index = 0; index < 8; ++index) {
        const auto probe = maker.make(row, {0, index});
        std::string refusal;
        cell.add(*probe, through(nic, *probe, refusal));
    }
    const TxCellResult result = cell.result();
    BOOST_REQUIRE_MESSAGE(result.findings.size() == 1, text(result));
    BOOST_TEST(result.findings[0].title == "ZERO_NOT_MANGLED");
    BOOST_TEST(result.findings[0].frames == 4u);
    BOOST_TEST(result.exact == 4u);
}

BOOST_AUTO_TEST_CASE(frames_that_never_come_are_missing) {
    TxCell cell(kVxlanTcp);
    const auto probe =
        ProbeMaker(software_nic_limits(), Direction::kTransmit, {}, 5).make(kVxlanTcp, {0, 0});
    cell.add(*probe, {});
    const TxCellResult result = cell.result();
    BOOST_REQUIRE(result.findings.size() == 1u);
    BOOST_TEST((result.findings[0].kind == FindingKind::kMissing));
}

BOOST_AUTO_TEST_CASE(a_changed_field_is_a_finding_unless_the_path_may_choose_it) {
    const auto probe =
        ProbeMaker(software_nic_limits(), Direction::kTransmit, {}, 5).make(kVxlanTcp, {0, 0});
    std::vector<FrameBytes> wire = probe->intended;
    const std::size_t ip_id = 14 + 4;
    const std::size_t checksum = 14 + 10;
    // Swapping two words leaves the header's sum as it is.
    std::swap_ranges(wire[0].begin() + ip_id, wire[0].begin() + ip_id + 2,
                     wire[0].begin() + ip_id + 2);
    BOOST_TEST(wire[0][checksum] == probe->intended[0][checksum]);
    TxCell strict(kVxlanTcp);
    strict.add(*probe, wire);
    BOOST_TEST(!strict.result().clean());
    TxCell lenient(kVxlanTcp, {"outer.ip."});
    lenient.add(*probe, wire);
    BOOST_TEST(lenient.result().clean(), text(lenient.result()));
}

// All fields behind it are four bytes off, and are not what is wrong.
BOOST_AUTO_TEST_CASE(a_tag_that_is_not_inserted_is_one_finding) {
    const ProbeMaker maker(software_nic_limits(), Direction::kTransmit, {}, 5);
    for (const InnerTransport transport : {InnerTransport::kUdp, InnerTransport::kTcp}) {
        const Row row{.vlan = Vlan::kOneInserted, .transport = transport};
        TxCell cell(row);
        for (std::uint32_t index = 0; index < kProbes; ++index) {
            const Result<Probe> probe = maker.make(row, {0, index});
            BOOST_REQUIRE_MESSAGE(probe, probe.error().message);
            BOOST_REQUIRE(probe->handed[0].vlan_tci != 0);
            FrameBytes bare = probe->intended[0];
            bare.erase(bare.begin() + 12, bare.begin() + 16);
            if (index == 0) {
                bare[12 + 2 + 8] ^= 1;  // TTL or hop limit, or a byte beside it
            }
            const std::vector<FrameBytes> wire{bare};
            cell.add(*probe, wire);
        }
        const TxCellResult result = cell.result();
        BOOST_TEST(result.exact == 0U);
        const auto tag = std::ranges::find(result.findings, "vlan", &TxFinding::place);
        BOOST_REQUIRE_MESSAGE(tag != result.findings.end(), text(result));
        BOOST_TEST(tag->title == "NOT_INSERTED");
        BOOST_TEST(tag->frames == kProbes);
        for (const TxFinding& finding : result.findings) {
            BOOST_TEST((finding.place == "vlan" || finding.frames == 1U), text(result));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
