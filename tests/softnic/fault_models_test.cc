// Every fault of the list: it acts on some frames, and changes there what it says and nothing else.
#include <rte_mbuf_core.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "dataplane/frame/view.h"
#include "dataplane/judge/verifier.h"
#include "dataplane/softnic/mechanisms.h"
#include "dataplane/softnic/soft_nic.h"
#include "tests/softnic/fault_corpus.h"
#include "tests/softnic/frames.h"

using namespace pathproof;
using namespace pathproof::softnic;

BOOST_AUTO_TEST_SUITE(fault_models_of_the_list)

namespace {

constexpr std::size_t kEnough = 25;  // differing frames looked at for each model

// Mechanisms that write where nothing should be written.
const std::set<std::string_view> kMisplaced = {"EXTHDR_START",    "IPOPT_START", "VLAN_START",
                                               "VLAN_START_LATE", "QINQ_START",  "TCP_OFFSET",
                                               "TUNNEL_START",    "AS_TUNNEL",   "FRAG_L4"};

using Offsets = std::set<std::size_t>;

void allow(Offsets& offsets, std::size_t at, std::size_t length) {
    for (std::size_t byte = 0; byte < length; ++byte) {
        offsets.insert(at + byte);
    }
}

void allow_transport_field(Offsets& offsets, const frame::PacketView& packet) {
    const std::size_t at = packet.transport_offset;
    switch (packet.transport) {
        case frame::Transport::kUdp: return allow(offsets, at + 6, 2);
        case frame::Transport::kTcp: return allow(offsets, at + 16, 2);
        case frame::Transport::kSctp: return allow(offsets, at + 8, 4);
        default: return;
    }
}

void allow_ip_field(Offsets& offsets, const frame::PacketView& packet) {
    if (packet.network == frame::Network::kIpv4) {
        allow(offsets, packet.network_offset + 10, 2);
    }
}

// The header field that a segment or length mechanism is about, with the sums that follow it.
void allow_header_field(Offsets& offsets, const frame::PacketView& packet, std::string_view what) {
    const bool v4 = packet.network == frame::Network::kIpv4;
    const std::size_t ip = packet.network_offset;
    const std::size_t l4 = packet.transport_offset;
    if (what == "SEG_TOT_LEN" || what == "TOT_LEN_PAD") {
        allow(offsets, ip + (v4 ? 2 : 4), 2);
        allow_ip_field(offsets, packet);
    } else if (what == "SEG_ID_STUCK") {
        allow(offsets, ip + 4, 2);
        allow_ip_field(offsets, packet);
    } else if (what == "SEG_UDP_LEN") {
        allow(offsets, l4 + 4, 2);
    } else if (what == "SEG_SEQ") {
        allow(offsets, l4 + 4, 4);
        allow_transport_field(offsets, packet);
    } else {
        allow(offsets, l4 + 13, 1);
        allow_transport_field(offsets, packet);
    }
}

// Bytes that the fault may change in a healthy frame.
Offsets allowed(const Fault& fault, const WireFrameBytes& healthy, const TxFrame& given) {
    const Places places = find_places(healthy, {}, told_by(given.request));
    const bool tunnel = places.tunnel != TunnelKind::kNone;
    const frame::FrameView view =
        frame::parse_frame(healthy, tunnel ? frame::TunnelPorts::well_known()
                                           : frame::TunnelPorts(frame::IpTunnels::kIgnored));
    BOOST_REQUIRE(view.has_inner == tunnel);
    Offsets offsets;
    const std::string_view what = mechanism_name(fault);
    const bool inner =
        fault.layer == FaultLayer::kInner || (fault.layer == FaultLayer::kInnermost && tunnel);
    const frame::PacketView& packet = inner ? view.inner : view.outer;
    if (fault.field == FaultField::kSegment || what == "TOT_LEN_PAD") {
        allow_header_field(offsets, packet, what);
    } else if (fault.field == FaultField::kIp) {
        allow_ip_field(offsets, packet);
    } else if (fault.field == FaultField::kPayload) {
        allow(offsets, packet.payload_offset, packet.payload_length);
        allow_transport_field(offsets, view.outer);
        allow_transport_field(offsets, packet);
    } else {
        allow_transport_field(offsets, packet);
    }
    if (inner) {
        allow_transport_field(offsets, view.outer);  // made by the NIC after the inner one
    }
    return offsets;
}

std::size_t differing(const WireFrameBytes& a, const WireFrameBytes& b) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < a.size(); ++at) {
        count += a[at] != b[at] ? 1 : 0;
    }
    return count;
}

void check_confined(const Fault& fault, const TxFrame& given, const WireFrameBytes& healthy,
                    const WireFrameBytes& spoilt) {
    BOOST_REQUIRE(healthy.size() == spoilt.size());
    if (kMisplaced.contains(mechanism_name(fault))) {
        // The misplaced field, the one left alone, and the outer one.
        BOOST_REQUIRE_LE(differing(healthy, spoilt), 6u);
        return;
    }
    const Offsets offsets = allowed(fault, healthy, given);
    for (std::size_t at = 0; at < healthy.size(); ++at) {
        BOOST_REQUIRE_MESSAGE(healthy[at] == spoilt[at] || offsets.contains(at),
                              to_string(fault) << " changed byte " << at);
    }
}

struct Tried {
    std::size_t hit = 0;
    std::size_t different = 0;
};

const std::vector<std::vector<WireFrameBytes>>& sent_healthily() {
    static const std::vector<std::vector<WireFrameBytes>> kSent = [] {
        std::vector<std::vector<WireFrameBytes>> all;
        SoftNic nic;
        for (const TxFrame& frame : sending_corpus()) {
            TxResult sent;
            nic.transmit(frame, sent);
            BOOST_REQUIRE_MESSAGE(sent.refusal == Refusal::kNone, sentence(sent.refusal));
            all.push_back(std::move(sent.frames));
        }
        return all;
    }();
    return kSent;
}

Tried try_on_sending(const Fault& model) {
    Fault fault = model;
    fault.rate = 1;
    fault.after = 0;
    Tried tried;
    TxResult wrong;
    SoftNic faulty({}, {fault});
    for (std::size_t which = 0; which < sending_corpus().size(); ++which) {
        const TxFrame& frame = sending_corpus()[which];
        const std::vector<WireFrameBytes>& right = sent_healthily()[which];
        const std::uint64_t before = faulty.fault_hits().front();
        faulty.transmit(frame, wrong);
        BOOST_REQUIRE(right.size() == wrong.frames.size());
        const bool hit = faulty.fault_hits().front() != before;
        const bool different = right != wrong.frames;
        BOOST_REQUIRE_MESSAGE(hit || !different, to_string(fault)
                                                     << " changed what it did not hit");
        tried.hit += hit ? 1 : 0;
        tried.different += different ? 1 : 0;
        if (!different) {
            continue;
        }
        for (std::size_t at = 0; at < right.size(); ++at) {
            check_confined(fault, frame, right[at], wrong.frames[at]);
        }
        if (tried.different == kEnough) {
            break;
        }
    }
    return tried;
}

// Masks the claims that the fault may change.
RxVerdict masked(const Fault& fault, RxVerdict verdict, bool tunnel) {
    const auto in = [&](std::initializer_list<FaultLayer> layers) {
        return fault.layer == FaultLayer::kAny ||
               std::find(layers.begin(), layers.end(), fault.layer) != layers.end();
    };
    const bool swap = mechanism_name(fault) == "LAYER_SWAP";
    const bool ip = fault.field == FaultField::kIp;
    const bool last =
        tunnel ? in({FaultLayer::kInner, FaultLayer::kInnermost})
               : in({FaultLayer::kPlain, FaultLayer::kInnermost, FaultLayer::kOutermost});
    const bool outer = tunnel && in({FaultLayer::kOuter, FaultLayer::kOutermost});
    if (last || swap) {
        (ip ? verdict.ip : verdict.l4) = RxClaim::kUnknown;
    }
    if (outer || swap) {
        (ip ? verdict.outer_ip : verdict.outer_l4) = RxClaim::kUnknown;
    }
    return verdict;
}

Tried try_on_receiving(const Fault& fault) {
    Tried tried;
    for (const WireFrameBytes& wire : wire_corpus()) {
        const FaultEffect effect = effect_on(fault, Bytes(wire));
        tried.hit += effect != FaultEffect::kNotHit ? 1 : 0;
        if (effect != FaultEffect::kDifferent) {
            continue;
        }
        ++tried.different;
        SoftNic healthy;
        SoftNic faulty({}, {fault});
        RxResult right;
        RxResult wrong;
        healthy.receive(wire, right);
        faulty.receive(wire, wrong);
        if (wrong.delivery == RxResult::Delivery::kDropped) {
            BOOST_REQUIRE(fault.field == FaultField::kFrame);
        } else if (fault.field == FaultField::kCounter) {
            BOOST_REQUIRE(right.verdict == wrong.verdict && right.bytes == wrong.bytes);
        } else if (fault.field == FaultField::kPayload) {
            BOOST_REQUIRE_LE(differing(right.bytes, wrong.bytes), 4u);
        } else {
            const bool tunnel = find_places(wire, {}).tunnel != TunnelKind::kNone;
            BOOST_REQUIRE(right.bytes == wrong.bytes);
            BOOST_REQUIRE(masked(fault, right.verdict, tunnel) ==
                          masked(fault, wrong.verdict, tunnel));
        }
        if (tried.different == kEnough) {
            break;
        }
    }
    return tried;
}

void check_models(std::span<const FaultModel> models) {
    for (const FaultModel& model : models) {
        const Fault fault = fault_of(model);
        const Tried tried = fault.direction == FaultDirection::kRx ? try_on_receiving(fault)
                                                                   : try_on_sending(fault);
        BOOST_TEST(tried.different >= 3u, model.id << " " << model.text << ": " << tried.hit
                                                   << " frames hit, " << tried.different
                                                   << " of them different");
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_spoils_some_frames_and_in_them_what_it_says) {
    check_models(fault_models());
}

BOOST_AUTO_TEST_CASE(so_do_those_of_the_open_world) {
    check_models(open_world_models());
}

BOOST_AUTO_TEST_CASE(a_healthy_nic_sends_the_whole_corpus_right) {
    std::size_t verified = 0;
    for (std::size_t which = 0; which < sending_corpus().size(); ++which) {
        const TxFrame& given = sending_corpus()[which];
        for (const WireFrameBytes& frame : sent_healthily()[which]) {
            const auto tunnels = frame::TunnelPorts::well_known();
            const bool taken_for_tunnel =
                find_places(frame, {}, told_by(given.request)).tunnel == TunnelKind::kNone &&
                frame::parse_frame(frame, tunnels).to_tunnel;
            if (!taken_for_tunnel) {
                BOOST_REQUIRE(!judge::verify_slowly(frame, tunnels).any_bad());
                ++verified;
            }
        }
    }
    BOOST_TEST(verified > sending_corpus().size());
}

BOOST_AUTO_TEST_CASE(an_effect_is_told_apart_from_a_miss_and_from_an_equivalent_one) {
    const Frame even = ethernet(0x0800, ipv4(17, udp(4, 1, 2, bytes(8), Field::kPartial)));
    TxFrame frame{.bytes = even};
    const Fault fault = *parse_fault("tx.plain.l4.FIELD_KEEP");
    BOOST_TEST((effect_on(fault, frame) == FaultEffect::kNotHit));
    frame.request.offload = {
        .mbuf_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, .l2_len = 14, .l3_len = 20};
    BOOST_TEST((effect_on(fault, frame) == FaultEffect::kDifferent));
    frame.bytes = ethernet(0x0800, ipv4(17, udp(4, 1, 2, bytes(8), Field::kRight)));
    BOOST_TEST((effect_on(fault, frame) == FaultEffect::kEquivalent));
    BOOST_TEST((effect_on(*parse_fault("rx.plain.l4.GOOD_ON_BAD"), Bytes(frame.bytes)) ==
                FaultEffect::kNotHit));
}

BOOST_AUTO_TEST_SUITE_END()
