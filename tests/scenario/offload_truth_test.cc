// How the offload truth table chooses its settings and its columns, and what it makes of counters.
#include <boost/test/unit_test.hpp>

#include "dataplane/frame/template.h"
#include "harness/scenario/offload_truth/counters.h"
#include "harness/scenario/offload_truth/part.h"
#include "harness/scenario/offload_truth/rows.h"
#include "harness/scenario/offload_truth/segments.h"
#include "harness/scenario/offload_truth/settings.h"

BOOST_AUTO_TEST_SUITE(offload_truth)

using namespace pathproof;
using namespace pathproof::scenario;
using matrix::Row;
using verdict::Observed;

namespace {

agent::Feature feature(const std::string& name, bool active) {
    return {.name = name, .active = active, .requested = active, .available = true};
}

agent::Feature fixed(const std::string& name, bool active) {
    agent::Feature made = feature(name, active);
    made.available = false;
    made.never_changed = true;
    return made;
}

std::vector<std::string> ids(const std::vector<Setting>& settings) {
    std::vector<std::string> all;
    for (const Setting& setting : settings) {
        all.push_back(setting.id());
    }
    return all;
}

using Words = std::vector<std::string>;

bool same(const Words& seen, const Words& expected) {
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
    return seen == expected;
}

const CountedKind& kind(std::size_t number) {
    return counted_kinds()[number];
}

KindCount counted(std::uint64_t accepted, std::uint64_t refused) {
    return {.why_not = "", .good = 32, .bad = 32, .accepted = accepted, .refused = refused};
}

void says(const KindCount& count, Observed observed, const Words& names) {
    const verdict::Observation seen = observation_of(count, kind(1));
    BOOST_TEST(verdict::name(seen.observed) == std::string(verdict::name(observed)));
    BOOST_TEST(same(seen.names, names));
    BOOST_TEST(!seen.note.empty());
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_changeable_feature_is_alone_off_and_alone_on_where_that_says_something) {
    const std::vector<agent::Feature> features = {feature("tx-a", true), feature("tx-b", false),
                                                  fixed("tx-c", true)};
    const Words varied = {"tx-a", "tx-b", "tx-c"};
    same(ids(settings_for(varied, features, MatrixSize::kQuick)),
         {"as-found", "all-off", "all-on", "tx-a.off", "tx-b.off", "tx-b.on"});
    same(ids(settings_for(varied, features, MatrixSize::kFull)),
         {"as-found", "all-off", "all-on", "tx-a.off", "tx-a.on", "tx-b.off", "tx-b.on"});
}

BOOST_AUTO_TEST_CASE(what_is_fixed_or_unknown_is_left_as_it_is) {
    same(ids(settings_for({"tx-c", "tx-no-such"}, {fixed("tx-c", true)}, MatrixSize::kFull)),
         {"as-found"});
}

BOOST_AUTO_TEST_CASE(the_receive_side_is_set_off_where_it_is_on_and_all_on_where_it_is_off) {
    const auto settings = [](std::vector<agent::Feature> features) {
        features.push_back(feature("tx-a", true));
        return ids(receive_settings_for(features));
    };
    same(settings({feature("rx-checksum", true), feature("rx-gro", false)}),
         {"as-found", "rx-checksum.off", "all-on"});
    same(settings({feature("rx-checksum", true), feature("rx-gro", true)}),
         {"as-found", "rx-checksum.off", "rx-gro.off"});
    same(settings({fixed("rx-checksum", true), fixed("rx-gro", false)}), {"as-found"});
    same(settings({}), {"as-found"});
}

BOOST_AUTO_TEST_CASE(flags_that_are_not_as_before_fail_their_cell) {
    BOOST_TEST((put_back_cell("x", {}).verdict == verdict::CellVerdict::kPass));
    const verdict::Cell cell = put_back_cell("x", {{"tx-a", true, false, false}});
    BOOST_TEST((cell.verdict == verdict::CellVerdict::kFail));
    BOOST_TEST(cell.reason == "tx-a was on and is off");
}

BOOST_AUTO_TEST_CASE(every_row_belongs_to_the_first_column_that_fits) {
    using namespace matrix;
    const auto column = [](const Row& row) { return std::string(name(condition_of(row))); };
    const Row udp{.handover = Handover::kInner};
    BOOST_TEST(column(udp) == "plain UDP");
    Row row = udp;
    row.transport = InnerTransport::kTcp;
    BOOST_TEST(column(row) == "plain TCP");
    row.segmentation = Segmentation::kTcpExact;
    row.vlan = Vlan::kOne;
    BOOST_TEST(column(row) == "TSO");
    row.segmentation = Segmentation::kUdp;
    BOOST_TEST(column(row) == "USO");
    row = udp;
    row.handover = Handover::kSoftware;
    row.vlan = Vlan::kOne;
    BOOST_TEST(column(row) == "nothing offloaded");
    row.handover = Handover::kInner;
    BOOST_TEST(column(row) == "VLAN");
    row.vlan = Vlan::kNone;
    row.network = InnerNetwork::kIpv6HopByHop;
    BOOST_TEST(column(row) == "options");
    row.encap = Encap::kVxlanOverIpv4;
    BOOST_TEST(column(row) == "tunnel inner");
    row.handover = Handover::kOuter;
    row.outer_checksum = OuterChecksum::kComputed;
    BOOST_TEST(column(row) == "tunnel outer");
    row.fragmentation = Fragmentation::kThree;
    BOOST_TEST(column(row) == "fragments");
}

BOOST_AUTO_TEST_CASE(a_row_uses_the_features_that_do_its_work_and_that_the_device_has) {
    using namespace matrix;
    const std::vector<agent::Feature> features = {
        feature("tx-checksum-ip-generic", true), feature("tx-tcp-segmentation", true),
        feature("tx-tcp6-segmentation", true),   feature("tx-generic-segmentation", false),
        feature("tx-scatter-gather", true),      fixed("tx-checksum-ipv4", false)};
    Row row{.transport = InnerTransport::kTcp,
            .segmentation = Segmentation::kTcpExact,
            .handover = Handover::kInner};
    same(features_used(row, features), {"tx-checksum-ip-generic", "tx-tcp-segmentation",
                                        "tx-generic-segmentation", "tx-scatter-gather"});
    row.segmentation = Segmentation::kNone;
    same(features_used(row, features), {"tx-checksum-ip-generic"});
    row.handover = Handover::kSoftware;
    same(features_used(row, features), {});
}

BOOST_AUTO_TEST_CASE(counters_that_agree_with_the_judge_are_right) {
    says(counted(32, 32), Observed::kRight, {});
}

BOOST_AUTO_TEST_CASE(counters_that_differ_lie_and_what_became_of_the_frames_is_named) {
    says(counted(64, 0), Observed::kWrong, {"RX_GOOD_ON_BAD", "COUNTER_LIES"});
    says(counted(0, 64), Observed::kWrong, {"RX_BAD_ON_GOOD", "COUNTER_LIES"});
    says(counted(32, 20), Observed::kWrong, {"RX_DROP_BAD", "COUNTER_LIES"});
    says(counted(20, 32), Observed::kWrong, {"DROP"});
}

BOOST_AUTO_TEST_CASE(frames_that_the_kernel_never_saw_say_nothing) {
    says(counted(0, 0), Observed::kNotTested, {});
    KindCount off;
    off.why_not = "IPv6 is off";
    const verdict::Observation seen = observation_of(off, kind(2));
    BOOST_TEST((seen.observed == Observed::kNotTested));
    BOOST_TEST(seen.note == "IPv6 is off");
}

BOOST_AUTO_TEST_CASE(a_drivers_counter_counts_all_bad_frames_of_a_kind_or_none) {
    const auto of = [](std::uint64_t delta) {
        KindCount count = counted(32, 32);
        count.driver = {{"rx_csum_bad", delta}};
        return driver_observation(count);
    };
    BOOST_TEST((of(32).observed == Observed::kRight));
    BOOST_TEST((of(0).observed == Observed::kRight));
    BOOST_TEST((of(31).observed == Observed::kWrong));
    BOOST_TEST(of(64).names.front() == "COUNTER_LIES");
    BOOST_TEST((driver_observation(counted(32, 32)).observed == Observed::kNotTested));
}

BOOST_AUTO_TEST_CASE(only_counters_of_bad_checksums_are_held_against_the_judge) {
    for (const char* name : {"rx_csum_bad", "rx_csum_offload_errors", "hw_csum_rx_error",
                             "rx_hw_csum_fail", "RxL4ChecksumErrors"}) {
        BOOST_TEST(counts_bad_checksums(name), name);
    }
    for (const char* name : {"rx_csum_good", "tx_csum_error", "rx_errors", "rx_csum_complete"}) {
        BOOST_TEST(!counts_bad_checksums(name), name);
    }
}

BOOST_AUTO_TEST_CASE(a_lying_counter_fails_its_cell_and_a_silent_namespace_skips_it) {
    KindCounts counts;
    counts.fill(counted(32, 32));
    BOOST_TEST((judge_counters(counts, "as-found", "as found").cell.verdict ==
                verdict::CellVerdict::kPass));
    counts[3] = counted(64, 0);
    const CounterVerdict lying = judge_counters(counts, "as-found", "as found");
    BOOST_TEST((lying.cell.verdict == verdict::CellVerdict::kFail));
    BOOST_TEST(lying.cell.id == "rx.as-found.counters");
    BOOST_TEST(lying.cell.reason.find("TCP over IPv4: RX_GOOD_ON_BAD") != std::string::npos);
    BOOST_TEST(lying.kernel.observed[3].cell == lying.cell.id);
    counts.fill(counted(0, 0));
    const verdict::Cell silent = judge_counters(counts, "as-found", "as found").cell;
    BOOST_TEST((silent.verdict == verdict::CellVerdict::kSkip));
    BOOST_TEST(!silent.reason.empty());
}

namespace {

// A UDP super-frame of an inner packet in VXLAN, as a healthy NIC cuts it, and its payload.
struct Cut {
    std::vector<matrix::FrameBytes> frames;
    std::vector<std::uint8_t> payload;
};

constexpr std::uint16_t kMss = 100;

frame::FrameSpec in_vxlan(frame::ChecksumMode outer) {
    frame::FrameSpec spec;
    spec.packet.source = {frame::IpAddress::v4(0xc613fe01), 21000};
    spec.packet.destination = {frame::IpAddress::v4(0xc613fe02), 7000};
    spec.tunnel.emplace();
    spec.tunnel->vni = 45;
    spec.tunnel->outer.source = {frame::IpAddress::v4(0xc613ff01), 50000};
    spec.tunnel->outer.destination = {frame::IpAddress::v4(0xc613ff02), 4789};
    spec.tunnel->outer.transport_checksum = outer;
    return spec;
}

matrix::FrameBytes bytes_of(const frame::FrameSpec& spec) {
    const auto made = frame::FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    matrix::FrameBytes bytes(made->size());
    made->render(bytes.data(), {});
    return bytes;
}

Cut cut(frame::ChecksumMode outer, frame::ChecksumMode inner = frame::ChecksumMode::kSoftware) {
    Cut made;
    for (std::size_t at = 0; at < 3 * kMss + 7; ++at) {
        made.payload.push_back(static_cast<std::uint8_t>(at * 5 + 1));
    }
    for (std::size_t at = 0; at < made.payload.size(); at += kMss) {
        frame::FrameSpec spec = in_vxlan(outer);
        const auto number = static_cast<std::uint16_t>(at / kMss);
        spec.packet.identification = number;
        spec.tunnel->outer.identification = number;
        spec.packet.transport_checksum = inner;
        const std::size_t end = std::min(at + kMss, made.payload.size());
        spec.payload.assign(made.payload.begin() + static_cast<std::ptrdiff_t>(at),
                            made.payload.begin() + static_cast<std::ptrdiff_t>(end));
        made.frames.push_back(bytes_of(spec));
    }
    return made;
}

SegmentTally judged(const Cut& made, OuterSum outer, WireKind wire = WireKind::kCable) {
    SegmentTally tally{.sent = 1};
    judge_super_frame(made.frames, made.payload, kMss, outer, wire, tally);
    return tally;
}

}  // namespace

BOOST_AUTO_TEST_CASE(segments_in_a_tunnel_that_are_all_right_are_right) {
    using frame::ChecksumMode;
    const SegmentTally tally = judged(cut(ChecksumMode::kSoftware), OuterSum::kComputed);
    BOOST_TEST(tally.wrong == 0u, tally.explanation);
    BOOST_TEST(tally.frames == 4u);
    BOOST_TEST(tally.seen == 4u);
    BOOST_TEST((tally.observed(WireKind::kCable) == Observed::kRight));
    BOOST_TEST(judged(cut(ChecksumMode::kZero), OuterSum::kZero).wrong == 0u);
}

BOOST_AUTO_TEST_CASE(an_outer_checksum_that_is_not_as_it_was_set_is_wrong) {
    using frame::ChecksumMode;
    const SegmentTally zero = judged(cut(ChecksumMode::kZero), OuterSum::kComputed);
    BOOST_TEST(zero.names.at("ZERO(outer.udp)") == 4u);
    const SegmentTally there = judged(cut(ChecksumMode::kSoftware), OuterSum::kZero);
    BOOST_TEST(there.names.at("NOT_ZERO(outer.udp)") == 4u);
}

BOOST_AUTO_TEST_CASE(a_segment_that_is_missing_or_changed_is_wrong) {
    Cut made = cut(frame::ChecksumMode::kSoftware);
    made.frames.erase(made.frames.begin() + 1);
    BOOST_TEST(judged(made, OuterSum::kComputed).names.contains("MISSING"));
    made = cut(frame::ChecksumMode::kSoftware);
    made.frames.back().back() ^= 1;
    BOOST_TEST(judged(made, OuterSum::kComputed).wrong > 0u);
    made.frames.clear();
    BOOST_TEST((judged(made, OuterSum::kComputed).observed(WireKind::kCable) == Observed::kWrong));
}

BOOST_AUTO_TEST_CASE(unfinished_segments_are_by_design_in_memory_and_wrong_on_a_cable) {
    const Cut made = cut(frame::ChecksumMode::kZero, frame::ChecksumMode::kPseudo);
    const SegmentTally memory = judged(made, OuterSum::kZero, WireKind::kMemory);
    BOOST_TEST(memory.wrong == 0u, memory.explanation);
    BOOST_TEST(memory.unfinished == 4u);
    BOOST_TEST((memory.observed(WireKind::kMemory) == Observed::kByDesign));
    const SegmentTally cable = judged(made, OuterSum::kZero);
    BOOST_TEST((cable.observed(WireKind::kCable) == Observed::kWrong));
}

BOOST_AUTO_TEST_CASE(a_super_frame_handed_over_whole_is_cut_by_a_healthy_nic) {
    Cut made = cut(frame::ChecksumMode::kZero);
    frame::FrameSpec spec = in_vxlan(frame::ChecksumMode::kZero);
    spec.payload = made.payload;
    spec.packet.transport_checksum = frame::ChecksumMode::kPseudo;
    made.frames = {bytes_of(spec)};
    const SegmentTally tally = judged(made, OuterSum::kZero, WireKind::kMemory);
    BOOST_TEST(tally.wrong == 0u, tally.explanation);
    BOOST_TEST(tally.uncut == 1u);
    BOOST_TEST(tally.seen == 4u);
    BOOST_TEST(judged(made, OuterSum::kZero).wrong > 0u);  // on a cable it is no segment
}

BOOST_AUTO_TEST_CASE(what_a_second_observation_does_not_show_again_is_not_confirmed) {
    using verdict::CellVerdict;
    const auto traffic = [](CellVerdict verdict, const Words& names) {
        TrafficSeen made;
        made.cell = {.id = "x", .verdict = verdict, .reason = "3 wrong", .cause = "PSEUDO"};
        made.seen.names = names;
        return made;
    };
    const TrafficSeen first = traffic(CellVerdict::kFail, {"PSEUDO"});
    BOOST_TEST((confirmed(first, first).cell.verdict == CellVerdict::kFail));
    BOOST_TEST(confirmed(first, first).cell.cause == "PSEUDO");
    for (const TrafficSeen& second :
         {traffic(CellVerdict::kPass, {}), traffic(CellVerdict::kFail, {"ZERO(outer.udp)"})}) {
        const verdict::Cell cell = confirmed(first, second).cell;
        BOOST_TEST((cell.verdict == CellVerdict::kInconclusive));
        BOOST_TEST(cell.reason == "seen once, not confirmed: 3 wrong");
        BOOST_TEST(cell.cause.empty());
    }
    TrafficSeen more = first;
    more.frames_of["PSEUDO"] = 2;
    BOOST_TEST((confirmed(first, more).cell.verdict == CellVerdict::kInconclusive));
    // Frames that the tester lost say nothing of the device, whatever came before.
    const verdict::Cell lost = confirmed(first, traffic(CellVerdict::kError, {})).cell;
    BOOST_TEST((lost.verdict == CellVerdict::kError));
}

BOOST_AUTO_TEST_SUITE_END()
