#include "dataplane/calibration/effects.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/calibration/names.h"
#include "dataplane/calibration/row_run.h"

using namespace pathproof;
using namespace pathproof::calibration;

namespace {

SendRow row_of(const matrix::Row& row) {
    SendRow made{.row = row, .nic = nic_for(row), .probes = {}};
    const matrix::ProbeMaker maker(matrix::software_nic_limits(), matrix::Direction::kTransmit, {},
                                   7);
    softnic::SoftNic healthy(made.nic);
    for (std::uint32_t index = 0; index < 8; ++index) {
        auto probe = make_sent(maker, row, {0, index}, healthy);
        BOOST_REQUIRE_MESSAGE(probe, probe.error().message);
        made.probes.push_back(std::move(*probe));
    }
    return made;
}

softnic::Fault fault(const char* text) {
    const auto parsed = softnic::parse_fault(text);
    BOOST_REQUIRE_MESSAGE(parsed, parsed.error().message);
    return *parsed;
}

const matrix::Row kPlain{.handover = matrix::Handover::kInner};
const matrix::Row kTso{.transport = matrix::InnerTransport::kTcp,
                       .segmentation = matrix::Segmentation::kTcpTwo,
                       .handover = matrix::Handover::kInner};

RowResult run(const SendRow& row, const char* text) {
    softnic::SoftNic nic(row.nic, {fault(text)});
    return run_row(row, nic, {});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(effects_of_faults)

BOOST_AUTO_TEST_CASE(what_a_fault_does_to_a_row_is_told_apart) {
    const SendRow plain = row_of(kPlain);
    const Effect partial = effect_on_row(fault("tx.plain.udp.PSEUDO"), plain);
    BOOST_TEST(partial.wrong == 8u);
    BOOST_TEST(effect_on_row(fault("tx.inner.udp.PSEUDO"), plain).hit == 0u);
    matrix::Row off = kPlain;
    off.transport = matrix::InnerTransport::kUdpZero;
    BOOST_TEST(!effect_on_row(fault("tx.plain.udp.CLEARED"), row_of(off)).shows());
}

BOOST_AUTO_TEST_CASE(an_identification_that_may_stand_still_is_harmless) {
    const char* stuck = "tx.plain.seg.SEG_ID_STUCK@seg";
    BOOST_TEST(effect_on_row(fault(stuck), row_of(kTso)).shows());
    matrix::Row mangled = kTso;
    mangled.segmentation = matrix::Segmentation::kTcpMangledId;
    const Effect effect = effect_on_row(fault(stuck), row_of(mangled));
    BOOST_TEST(effect.harmless == 8u);
    BOOST_TEST(effect.wrong == 0u);
    BOOST_TEST(effect_on_row(fault("tx.plain.seg.SEG_PSH@tso"), row_of(mangled)).shows());
}

BOOST_AUTO_TEST_CASE(two_faults_with_the_same_bytes_are_the_same_on_the_wire) {
    const SendRow plain = row_of(kPlain);
    BOOST_TEST(same_on_wire(fault("tx.plain.udp.PSEUDO"), fault("tx.innermost.l4.PSEUDO"), plain));
    BOOST_TEST(
        !same_on_wire(fault("tx.plain.udp.PSEUDO"), fault("tx.plain.udp.FIELD_KEEP"), plain));
}

BOOST_AUTO_TEST_CASE(a_row_is_clean_named_exactly_or_left_open) {
    const SendRow plain = row_of(kPlain);
    softnic::SoftNic healthy(plain.nic);
    BOOST_TEST(run_row(plain, healthy, {}).clean());
    const RowResult exact = run(plain, "tx.plain.udp.PSEUDO");
    BOOST_TEST((naming_of(fault("tx.plain.udp.PSEUDO"), exact.verdicts, &plain) == Naming::kExact));
    BOOST_TEST(
        (naming_of(fault("tx.plain.udp.FIELD_ZERO"), exact.verdicts, &plain) == Naming::kWrong));
    BOOST_TEST(exact.caught == 8u);
    matrix::Row constant = kTso;
    constant.values = matrix::PayloadValues::kAllZero;
    const SendRow zeros = row_of(constant);
    const RowResult open = run(zeros, "tx.plain.tcp.PSEUDO_NOLEN");
    BOOST_TEST(
        (naming_of(fault("tx.plain.tcp.PSEUDO_NOLEN"), open.verdicts, &zeros) == Naming::kOpen));
}

BOOST_AUTO_TEST_CASE(a_misplaced_checksum_is_named_in_segments_too) {
    matrix::Row row = kTso;
    row.vlan = matrix::Vlan::kOne;
    const SendRow tagged = row_of(row);
    const RowResult result = run(tagged, "tx.plain.l4.VLAN_START@vlan==1");
    BOOST_REQUIRE(!result.clean());
    BOOST_TEST((naming_of(fault("tx.plain.l4.VLAN_START@vlan==1"), result.verdicts, &tagged) ==
                Naming::kExact),
               titles_of(result.verdicts));
}

// Ethernet, a tag and IPv6 outside are as long as UDP, VXLAN, Ethernet, and IPv4 with options
// inside: counted without the outer headers, the inner checksum lands in the outer one's field.
BOOST_AUTO_TEST_CASE(a_misplaced_checksum_is_named_where_it_hits_the_outer_one) {
    const char* text = "tx.inner.l4.TUNNEL_START@encap";
    matrix::Row row{.encap = matrix::Encap::kVxlanOverIpv6,
                    .outer_checksum = matrix::OuterChecksum::kDisabled,
                    .tunnel_port = matrix::TunnelPort::k4789,
                    .vlan = matrix::Vlan::kOne,
                    .network = matrix::InnerNetwork::kIpv4Options,
                    .handover = matrix::Handover::kInner};
    for (const auto segmentation : {matrix::Segmentation::kNone, matrix::Segmentation::kUdp}) {
        row.segmentation = segmentation;
        const SendRow made = row_of(row);
        const RowResult result = run(made, text);
        BOOST_REQUIRE_MESSAGE(result.verdicts.size() == 1u, titles_of(result.verdicts));
        BOOST_TEST(result.verdicts[0].title == "NO_OUTER_LENGTHS");
        BOOST_TEST(result.verdicts[0].place == "outer.udp.checksum");
        BOOST_TEST((naming_of(fault(text), result.verdicts, &made) == Naming::kExact));
    }
}

// One byte of 0xff: what is added twice and what is left out give one value, so that a name would
// be a guess however many frames with other trailers show it.
BOOST_AUTO_TEST_CASE(frames_that_differ_in_their_trailers_alone_get_no_name_but_a_trailers) {
    const SendRow row = row_of({.network = matrix::InnerNetwork::kIpv6,
                                .length = matrix::Length::k1,
                                .trailer = matrix::Trailer::kNonZero,
                                .values = matrix::PayloadValues::kAllOnes,
                                .handover = matrix::Handover::kInner});
    for (const char* text : {"tx.innermost.l4.DATA_TWICE", "tx.plain.udp.ODD_LAST_DROPPED"}) {
        const RowResult result = run(row, text);
        BOOST_REQUIRE_MESSAGE(result.verdicts.size() == 1u, titles_of(result.verdicts));
        BOOST_TEST(result.verdicts[0].title == "UNKNOWN");
        const std::vector<std::string> fits = {"ODD_LAST_DROPPED"};
        BOOST_TEST(result.verdicts[0].candidates == fits, boost::test_tools::per_element());
    }
    BOOST_TEST(titles_of(run(row, "tx.plain.udp.PAD_DATA").verdicts) == "PAD_DATA");
}

BOOST_AUTO_TEST_SUITE_END()
