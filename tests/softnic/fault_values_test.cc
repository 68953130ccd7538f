// The values that faults leave, against frames and sums made without the software NIC.
#include <boost/test/unit_test.hpp>

#include "dataplane/frame/checksum_oracle.h"
#include "dataplane/frame/template.h"
#include "dataplane/softnic/soft_nic.h"
#include "tests/softnic/frames.h"
#include "tests/softnic/nic_frames.h"

using namespace pathproof;
using namespace pathproof::softnic;
using frame::ChecksumMode;
using frame::FrameSpec;
using frame::OracleSum;

BOOST_AUTO_TEST_SUITE(fault_values)

namespace {

FrameSpec plain(std::size_t payload) {
    FrameSpec spec;
    spec.packet.source = *frame::parse_endpoint("198.18.0.1:1000");
    spec.packet.destination = *frame::parse_endpoint("198.18.0.2:80");
    spec.packet.transport_checksum = ChecksumMode::kOffload;
    spec.payload = bytes(payload);
    return spec;
}

FrameSpec vxlan_spec(std::size_t payload, ChecksumMode outer) {
    FrameSpec spec = plain(payload);
    spec.packet.transport = frame::Transport::kTcp;
    spec.tunnel.emplace();
    spec.tunnel->vni = 42;
    spec.tunnel->outer.source = *frame::parse_endpoint("10.0.10.14:7103");
    spec.tunnel->outer.destination = *frame::parse_endpoint("10.0.10.10:4789");
    spec.tunnel->outer.transport_checksum = outer;
    return spec;
}

Frame sent_with(std::string_view fault, const TxFrame& frame) {
    auto parsed = parse_fault(fault);
    BOOST_REQUIRE_MESSAGE(parsed, parsed.error().message);
    SoftNic nic({}, {*parsed});
    TxResult sent;
    nic.transmit(frame, sent);
    BOOST_REQUIRE(sent.refusal == Refusal::kNone && sent.frames.size() == 1);
    BOOST_REQUIRE(nic.fault_hits().front() == 1u);
    return sent.frames[0];
}

Frame sent_with(std::string_view fault, const FrameSpec& spec) {
    return sent_with(fault, handed_over(spec));
}

constexpr std::size_t kOuterUdp = 34 + 6;
constexpr std::size_t kInner = 14 + 20 + 8 + 8;
constexpr std::size_t kInnerTcp = kInner + 34 + 16;
constexpr std::size_t kPlainUdp = 34 + 6;
constexpr std::size_t kPlainData = 34 + 8;

// The checksum of plain UDP over `data` as it would be, with a pseudo-header of `length`.
std::uint16_t plain_udp_sum(const Frame& frame, Bytes data, std::size_t length) {
    OracleSum sum;
    sum.add(Bytes(frame).subspan(26, 8));
    const Frame rest = {0, 17, static_cast<std::uint8_t>(length >> 8),
                        static_cast<std::uint8_t>(length)};
    sum.add(rest);
    sum.add(Bytes(frame).subspan(34, 6));
    sum.add(data);
    return sum.checksum();
}

Bytes data_of(const Frame& frame) {
    return Bytes(frame).subspan(kPlainData);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_nat_that_updates_no_checksum_leaves_ffff_if_the_address_stays) {
    for (const std::size_t payload : {3u, 40u, 700u}) {
        TxFrame frame = handed_over(vxlan_spec(payload, ChecksumMode::kZero));
        frame.source_before_nat = *frame::parse_endpoint("10.0.10.14:44246");
        BOOST_TEST(raw::get(sent_with("tx.outer.udp.NAT0@nat", frame), kOuterUdp) == 0xffff);
        frame.source_before_nat = *frame::parse_endpoint("10.244.1.5:44246");
        // ~0x0af4 + ~0x0105 + 0x0a00 + 0x0a0e
        BOOST_TEST(raw::get(sent_with("tx.outer.udp.NAT0@nat", frame), kOuterUdp) == 0x0815);
    }
}

BOOST_AUTO_TEST_CASE(a_stale_port_is_the_checksum_of_the_frame_before_nat) {
    for (const std::size_t payload : {3u, 40u, 700u}) {
        const FrameSpec spec = vxlan_spec(payload, ChecksumMode::kSoftware);
        FrameSpec before = spec;
        before.tunnel->outer.source.port = 44246;
        TxFrame frame = handed_over(spec);
        frame.source_before_nat = before.tunnel->outer.source;
        const std::uint16_t stale = raw::get(in_software(before), kOuterUdp);
        BOOST_TEST(raw::get(sent_with("tx.outer.udp.STALE_SPORT@nat:port", frame), kOuterUdp) ==
                   stale);
        // Without a change of address the other mistake of NAT gives the same.
        BOOST_TEST(raw::get(sent_with("tx.outer.udp.NAT_LCO", frame), kOuterUdp) == stale);
    }
}

BOOST_AUTO_TEST_CASE(lco_under_nat_is_off_by_the_port_and_twice_the_address) {
    const FrameSpec spec = vxlan_spec(40, ChecksumMode::kSoftware);
    TxFrame frame = handed_over(spec);
    frame.source_before_nat = *frame::parse_endpoint("10.0.9.1:44246");
    const std::uint64_t right = raw::get(in_software(spec), kOuterUdp);
    const std::uint64_t port = 7103u + 0xffffu - 44246u;
    const std::uint64_t address = 0x0a0eu + 0xffffu - 0x0901u;
    const std::uint64_t wire =
        raw::get(sent_with("tx.outer.udp.NAT_LCO@nat:addr", frame), kOuterUdp);
    BOOST_TEST(wire % 0xffff == (right + port + 2 * address) % 0xffff);
}

BOOST_AUTO_TEST_CASE(a_nat_fault_leaves_alone_what_the_nic_sums_anew) {
    TxFrame frame = handed_over(vxlan_spec(40, ChecksumMode::kOffload));
    frame.source_before_nat = *frame::parse_endpoint("10.0.10.14:44246");
    BOOST_TEST(
        (effect_on(*parse_fault("tx.outer.udp.STALE_SPORT"), frame) == FaultEffect::kNotHit));
}

BOOST_AUTO_TEST_CASE(a_pseudo_sum_is_what_a_template_leaves_for_the_nic) {
    const TxFrame frame = handed_over(vxlan_spec(40, ChecksumMode::kSoftware));
    BOOST_TEST(raw::get(sent_with("tx.inner.l4.PSEUDO", frame), kInnerTcp) ==
               raw::get(frame.bytes, kInnerTcp));
    const TxFrame udp = handed_over(plain(40));
    BOOST_TEST(raw::get(sent_with("tx.plain.udp.PSEUDO", udp), kPlainUdp) ==
               raw::get(udp.bytes, kPlainUdp));
    BOOST_TEST(raw::get(sent_with("tx.plain.udp.PSEUDO_INV", udp), kPlainUdp) ==
               static_cast<std::uint16_t>(~raw::get(udp.bytes, kPlainUdp)));
    // 198.18.0.1, 198.18.0.2, UDP
    BOOST_TEST(raw::get(sent_with("tx.plain.udp.PSEUDO_NOLEN", udp), kPlainUdp) ==
               0xc612 + 0xc612 - 0xffff + 1 + 2 + 17);
}

BOOST_AUTO_TEST_CASE(an_outer_checksum_made_by_the_nic_is_right_over_a_wrong_inner_one) {
    const FrameSpec spec = vxlan_spec(40, ChecksumMode::kOffload);
    Frame expected = in_software(spec);
    const Frame spoilt = sent_with("tx.inner.tcp.FIELD_ZERO", spec);
    BOOST_TEST(raw::get(spoilt, kInnerTcp) == 0);
    Frame datagram(spoilt.begin() + 34, spoilt.end());
    OracleSum sum;
    sum.add(Bytes(spoilt).subspan(26, 8));
    const Frame rest = {0, 17, datagram[4], datagram[5]};
    sum.add(rest);
    sum.add(datagram);
    BOOST_TEST(sum.sum() == 0xffff);
    BOOST_TEST(raw::get(spoilt, kOuterUdp) != raw::get(expected, kOuterUdp));
}

BOOST_AUTO_TEST_CASE(an_outer_checksum_made_before_the_inner_one_differs_by_that_field) {
    const FrameSpec spec = vxlan_spec(40, ChecksumMode::kSoftware);
    const Frame right = in_software(spec);
    const std::uint64_t inner = raw::get(right, kInnerTcp);
    const std::uint64_t outer = raw::get(right, kOuterUdp);
    const std::uint64_t partial = raw::get(handed_over(spec).bytes, kInnerTcp);
    const auto wire = [&](std::string_view fault) -> std::uint64_t {
        return raw::get(sent_with(fault, spec), kOuterUdp);
    };
    // The inner field goes into the sum, of which the outer field is the complement.
    BOOST_TEST(wire("tx.outer.udp.OUTER_BEFORE_INNER_ZERO") % 0xffff == (outer + inner) % 0xffff);
    BOOST_TEST(wire("tx.outer.udp.OUTER_BEFORE_INNER_PSEUDO") % 0xffff ==
               (outer + inner + 0xffff - partial) % 0xffff);
    BOOST_TEST(wire("tx.outer.udp.OUTER_BEFORE_INNER_OLD") % 0xffff ==
               (outer + inner + 0xffff - partial) % 0xffff);
}

BOOST_AUTO_TEST_CASE(padding_is_summed_as_data_or_as_length) {
    for (const std::size_t payload : {4u, 5u}) {
        FrameSpec spec = plain(payload);
        spec.packet.trailer = {0x11, 0x22, 0x33};
        const Frame data = sent_with("tx.plain.udp.PAD_DATA@used<60,trailer", spec);
        BOOST_TEST(raw::get(data, kPlainUdp) == plain_udp_sum(data, data_of(data), 8 + payload));
        const Frame length = sent_with("tx.plain.udp.PAD_LEN", spec);
        BOOST_TEST(raw::get(length, kPlainUdp) ==
                   plain_udp_sum(length, data_of(length).first(payload), 8 + payload + 3));
    }
}

BOOST_AUTO_TEST_CASE(an_odd_last_byte_is_lost_or_in_the_wrong_half) {
    const FrameSpec spec = plain(41);
    const Frame dropped = sent_with("tx.plain.udp.ODD_LAST_DROPPED", spec);
    BOOST_TEST(raw::get(dropped, kPlainUdp) ==
               plain_udp_sum(dropped, data_of(dropped).first(40), 49));
    const Frame lane = sent_with("tx.plain.udp.ODD_LANE", spec);
    Frame moved(lane.begin() + kPlainData, lane.end());
    moved.insert(moved.end() - 1, std::uint8_t{0});
    BOOST_TEST(raw::get(lane, kPlainUdp) == plain_udp_sum(lane, moved, 49));
}

BOOST_AUTO_TEST_CASE(buffers_are_summed_alone_or_shifted) {
    TxFrame frame = handed_over(plain(60));
    frame.buffers = {50, 11, 41};  // data 0..8, 8..19, 19..60
    const Frame first = sent_with("tx.plain.udp.FIRST_SEG_ONLY@mbufs>=3", frame);
    BOOST_TEST(raw::get(first, kPlainUdp) == plain_udp_sum(first, data_of(first).first(8), 68));
    const Frame last = sent_with("tx.plain.udp.LAST_SEG_ONLY@mbufs>=3", frame);
    OracleSum sum;
    sum.add(Bytes(last).subspan(26, 8));
    const Frame rest = {0, 17, 0, 68, 0};  // and the odd lane in which the last buffer begins
    sum.add(rest);
    sum.add(data_of(last).subspan(19));
    BOOST_TEST(raw::get(last, kPlainUdp) == sum.checksum());
    const Frame shifted = sent_with("tx.plain.udp.ODD_BUFFER", frame);
    Frame spaced(shifted.begin() + kPlainData, shifted.end());
    spaced.insert(spaced.begin() + 19, std::uint8_t{0});
    BOOST_TEST(raw::get(shifted, kPlainUdp) == plain_udp_sum(shifted, spaced, 68));
}

BOOST_AUTO_TEST_CASE(a_lost_carry_makes_the_value_one_too_great) {
    FrameSpec spec = plain(600);  // some 150 carries: one sum in 400 gives another one
    int carries = 0;
    for (unsigned word = 0; word < 0x10000; word += 0x51) {
        spec.payload[0] = static_cast<std::uint8_t>(word >> 8);
        spec.payload[1] = static_cast<std::uint8_t>(word);
        const std::uint16_t right = raw::get(in_software(spec), kPlainUdp);
        const std::uint16_t wire = raw::get(sent_with("tx.plain.udp.CARRY", spec), kPlainUdp);
        BOOST_REQUIRE(wire == right || wire == static_cast<std::uint16_t>(right + 1) ||
                      (right == 0xffff && wire == 0));
        carries += wire == static_cast<std::uint16_t>(right + 1) && right != 0xffff ? 1 : 0;
    }
    BOOST_TEST(carries > 0);
}

BOOST_AUTO_TEST_CASE(a_checksum_for_tcp_is_written_behind_the_udp_header) {
    const FrameSpec spec = plain(20);
    const TxFrame frame = handed_over(spec);
    const Frame wire = sent_with("tx.plain.udp.TCP_OFFSET@payload>=10", frame);
    BOOST_TEST(raw::get(wire, kPlainUdp) == raw::get(frame.bytes, kPlainUdp));
    BOOST_TEST(raw::get(wire, 34 + 16) == raw::get(in_software(spec), kPlainUdp));
}

// The field at `field` is left alone; the sum from `start` on stands at `written`.
void check_misplaced(std::string_view fault, const FrameSpec& spec, std::size_t field,
                     std::size_t start, std::size_t written) {
    const TxFrame frame = handed_over(spec);
    Frame expected = in_software(spec);
    const Frame wire = sent_with(fault, frame);
    expected[field] = frame.bytes[field];
    expected[field + 1] = frame.bytes[field + 1];
    OracleSum sum;
    sum.add(Bytes(expected).subspan(start));
    const std::uint16_t value = sum.checksum() == 0 ? 0xffff : sum.checksum();
    expected[written] = static_cast<std::uint8_t>(value >> 8);
    expected[written + 1] = static_cast<std::uint8_t>(value);
    BOOST_TEST((wire == expected), fault);
}

BOOST_AUTO_TEST_CASE(a_sum_begun_at_the_wrong_place_is_written_at_the_wrong_place) {
    check_misplaced("tx.inner.l4.TUNNEL_START@encap", vxlan_spec(40, ChecksumMode::kZero),
                    kInnerTcp, 50, 66);
    FrameSpec spec = plain(40);
    spec.packet.ipv4_option_bytes = 8;
    check_misplaced("tx.plain.l4.IPOPT_START@ipopt", spec, 48, 34, 40);
    spec = plain(40);
    spec.packet.vlans = 1;
    check_misplaced("tx.plain.l4.VLAN_START@vlan==1", spec, 44, 34, 40);
    check_misplaced("tx.plain.l4.VLAN_START_LATE@vlan==1", spec, 44, 42, 48);
    spec.packet.vlans = 2;
    check_misplaced("tx.plain.l4.QINQ_START@vlan==2", spec, 48, 34, 40);
    spec = plain(40);
    spec.packet.source.address = *frame::parse_ip("2001:db8::1");
    spec.packet.destination.address = *frame::parse_ip("2001:db8::2");
    spec.packet.extensions = {frame::Extension::kHopByHop};
    check_misplaced("tx.plain.l4.EXTHDR_START@exthdr", spec, 68, 54, 60);
}

BOOST_AUTO_TEST_CASE(an_extension_header_in_the_pseudo_header_changes_length_and_protocol) {
    FrameSpec spec = plain(40);
    spec.packet.source.address = *frame::parse_ip("2001:db8::1");
    spec.packet.destination.address = *frame::parse_ip("2001:db8::2");
    spec.packet.extensions = {frame::Extension::kDestination};
    const std::uint64_t right = raw::get(in_software(spec), 68);
    const std::uint64_t wire = raw::get(sent_with("tx.plain.l4.EXTHDR_PSEUDO", spec), 68);
    // 8 bytes more, protocol 60 for 17: the complement is that much less.
    BOOST_TEST((wire + 8 + 60 - 17) % 0xffff == right % 0xffff);
}

BOOST_AUTO_TEST_CASE(swapped_layers_swap_both_ways) {
    Frame frame = in_software(vxlan_spec(40, ChecksumMode::kSoftware));
    frame[kOuterUdp] ^= 1;
    frame[24] ^= 1;
    SoftNic nic({}, {*parse_fault("rx.inner.l4.LAYER_SWAP@encap")});
    RxResult got;
    nic.receive(frame, got);
    BOOST_TEST(
        (got.verdict == RxVerdict{RxClaim::kGood, RxClaim::kBad, RxClaim::kBad, RxClaim::kGood}));
    SoftNic headers({}, {*parse_fault("rx.inner.ip.LAYER_SWAP@encap")});
    headers.receive(frame, got);
    BOOST_TEST(
        (got.verdict == RxVerdict{RxClaim::kBad, RxClaim::kGood, RxClaim::kGood, RxClaim::kBad}));
}

BOOST_AUTO_TEST_CASE(every_segment_gets_the_super_frames_checksum_if_it_is_not_made_anew) {
    FrameSpec spec = plain(300);
    spec.packet.transport = frame::Transport::kTcp;
    spec.packet.ip_checksum = ChecksumMode::kOffload;
    const std::uint16_t of_all = raw::get(in_software(spec), 34 + 16);
    spec.segment_bytes = 100;
    SoftNic nic({}, {*parse_fault("tx.plain.tcp.SUPERPKT@seg")});
    TxResult sent;
    nic.transmit(handed_over(spec), sent);
    BOOST_REQUIRE(sent.frames.size() == 3u);
    for (const Frame& segment : sent.frames) {
        BOOST_TEST(raw::get(segment, 34 + 16) == of_all);
    }
}

BOOST_AUTO_TEST_CASE(segments_keep_the_super_frames_header_fields) {
    struct Row {
        const char* fault;
        std::size_t v4;  // where the field lies in plain TCP over IPv4, and over IPv6
        std::size_t v6;
        std::size_t length;
    };
    for (const Row& row :
         {Row{"tx.plain.seg.SEG_TOT_LEN", 16, 18, 2}, Row{"tx.plain.seg.SEG_ID_STUCK", 18, 0, 2},
          Row{"tx.plain.seg.SEG_SEQ", 38, 58, 4}, Row{"tx.plain.seg.SEG_PSH", 47, 67, 1}}) {
        for (const auto family : {frame::Family::kIpv4, frame::Family::kIpv6}) {
            const bool v4 = family == frame::Family::kIpv4;
            const std::size_t field = v4 ? row.v4 : row.v6;
            if (field == 0) {
                continue;
            }
            FrameSpec spec = plain(300);
            spec.packet.source.address = *frame::parse_ip(v4 ? "198.18.0.1" : "2001:db8::1");
            spec.packet.destination.address = *frame::parse_ip(v4 ? "198.18.0.2" : "2001:db8::2");
            spec.packet.transport = frame::Transport::kTcp;
            spec.packet.ip_checksum = v4 ? ChecksumMode::kOffload : ChecksumMode::kSoftware;
            spec.segment_bytes = 100;
            const TxFrame super = handed_over(spec);
            SoftNic nic({}, {*parse_fault(row.fault)});
            TxResult sent;
            nic.transmit(super, sent);
            BOOST_REQUIRE(sent.frames.size() == 3u && nic.fault_hits().front() == 3u);
            for (const Frame& segment : sent.frames) {
                BOOST_TEST(std::equal(segment.begin() + field, segment.begin() + field + row.length,
                                      super.bytes.begin() + field),
                           row.fault << " over " << (v4 ? "IPv4" : "IPv6"));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_healed_payload_is_wrong_with_right_checksums) {
    const FrameSpec spec = vxlan_spec(40, ChecksumMode::kSoftware);
    const Frame right = in_software(spec);
    const Frame healed = sent_with("wire.innermost.payload.HEALED", spec);
    const std::size_t data = kInnerTcp + 4;
    BOOST_TEST(!std::equal(right.begin() + data, right.end(), healed.begin() + data));
    SoftNic nic;
    RxResult got;
    nic.receive(healed, got);
    BOOST_TEST(
        (got.verdict == RxVerdict{RxClaim::kGood, RxClaim::kGood, RxClaim::kGood, RxClaim::kGood}));
    nic.receive(sent_with("wire.innermost.payload.FLIP", spec), got);
    BOOST_TEST((got.verdict.l4 == RxClaim::kBad));
}

BOOST_AUTO_TEST_CASE(a_receiver_that_heals_hands_on_a_right_checksum) {
    Frame bad = ethernet(0x0800, ipv4(6, tcp(4, 1, 2, bytes(9), Field::kRight)));
    bad.back() ^= 1;
    SoftNic nic({}, {*parse_fault("rx.innermost.payload.HEALED")});
    RxResult got;
    nic.receive(bad, got);
    BOOST_TEST((got.verdict.l4 == RxClaim::kGood));
    Frame payload = bytes(9);
    payload.back() ^= 1;
    BOOST_TEST((got.bytes == ethernet(0x0800, ipv4(6, tcp(4, 1, 2, payload, Field::kRight)))));
}

BOOST_AUTO_TEST_SUITE_END()
