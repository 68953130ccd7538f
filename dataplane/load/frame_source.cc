#include "dataplane/load/frame_source.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dataplane/frame/dns.h"
#include "dataplane/frame/transport_shape.h"
#include "dataplane/load/fill_run.h"
#include "dataplane/load/flow_walk.h"
#include "dataplane/load/mix_pattern.h"
#include "dataplane/load/prepared_frame.h"

namespace pathproof::load {
namespace {

using frame::TrafficClass;
using Pairing = SourcePlan::Pairing;

constexpr std::uint32_t kLowSequences = 256;  // as many as the lowest 8 bits tell apart

Status check_flows(const FlowPlan& flow) {
    if (flow.flows == 0 || flow.ports == 0) {
        return fail(ErrorCode::kBadInput, "{} flows over {} source ports; both are 1 at least",
                    flow.flows, flow.ports);
    }
    if (std::uint32_t{flow.first_port} + flow.ports > 65'536) {
        return fail(ErrorCode::kBadInput,
                    "{} source ports from {} on go beyond 65535; choose fewer or begin lower",
                    flow.ports, flow.first_port);
    }
    return {};
}

// Source addresses are the first and those behind it: they must not wrap, nor be the
// destination's.
Status check_addresses(const SourcePlan& plan) {
    const frame::PacketSpec& packet = plan.spec.packet;
    const std::uint64_t rows = (plan.flow.flows - 1) / plan.flow.ports;
    const std::uint64_t first = host_part(packet.source.address);
    if (first + rows > 0xffffffff) {
        return fail(ErrorCode::kBadInput,
                    "{} flows over {} source ports need {} source addresses from {} on, more than "
                    "there are; use more ports or fewer flows",
                    plan.flow.flows, plan.flow.ports, rows + 1, to_string(packet.source.address));
    }
    const std::uint64_t destination = host_part(packet.destination.address);
    const bool same_network =
        packet.source.address.plus(static_cast<std::uint32_t>(destination - first)) ==
        packet.destination.address;
    if (same_network && destination >= first && destination <= first + rows) {
        return fail(ErrorCode::kBadInput,
                    "the destination {} is one of the {} source addresses from {} on; choose "
                    "addresses further apart",
                    to_string(packet.destination.address), rows + 1,
                    to_string(packet.source.address));
    }
    return {};
}

Status check_share(const SourcePlan& plan) {
    if (plan.flow_step == 0 || plan.first_flow >= plan.flow.flows) {
        return fail(ErrorCode::kBadInput,
                    "flow {} of {}, every {}: this sender has no flow; use fewer senders or more "
                    "flows",
                    plan.first_flow, plan.flow.flows, plan.flow_step);
    }
    if (plan.stream >= frame::kMostStreams) {
        return fail(ErrorCode::kBadInput, "stream {}: frames tell {} streams apart, 0 to {}",
                    plan.stream, frame::kMostStreams, frame::kMostStreams - 1);
    }
    return {};
}

Status check_envelope(const SourcePlan& plan) {
    const bool has_ports = plan.spec.tunnel && frame::over_udp(plan.spec.tunnel->kind);
    if (!plan.outer_source_ports.empty() && !has_ports) {
        return fail(ErrorCode::kBadInput,
                    "outer source ports need an envelope over UDP: VXLAN, VXLAN-GPE or GENEVE");
    }
    return {};
}

Status check_pairs(const SourcePlan& plan) {
    const auto is_aaaa = [](const MixPart& part) { return part.traffic == TrafficClass::kDnsAaaa; };
    if (plan.pairing == Pairing::kPairs && std::ranges::any_of(plan.mix, is_aaaa)) {
        return fail(ErrorCode::kBadInput,
                    "in pairs, dns-a stands for both queries; leave dns-aaaa out of the mix");
    }
    return {};
}

Status check_plan(const SourcePlan& plan) {
    TRY(check_flows(plan.flow));
    TRY(check_addresses(plan));
    TRY(check_share(plan));
    TRY(check_envelope(plan));
    return check_pairs(plan);
}

bool in_pairs(const SourcePlan& plan, const MixPart& part) {
    return plan.pairing == Pairing::kPairs && part.traffic == TrafficClass::kDnsA;
}

RunShape shape_of_part(const SourcePlan& plan, const MixPart& part) {
    switch (part.traffic) {
        case TrafficClass::kDnsA:
        case TrafficClass::kDnsAaaa:
            return in_pairs(plan, part) ? RunShape::kQueryPairs : RunShape::kQueries;
        case TrafficClass::kIcmpEcho: return RunShape::kEcho;
        case TrafficClass::kTcpSyn:
        case TrafficClass::kUdp:
        case TrafficClass::kReplay: break;
    }
    return RunShape::kBinary;
}

std::size_t index_of(TrafficClass traffic) {
    return static_cast<std::size_t>(traffic);
}

// One part of the mix: its prepared frame, and where it is in its flows.
struct Part {
    PreparedFrame prepared;
    FlowWalk walk;
    FillRun fill;
    TrafficClass traffic;
    bool pairs;
    bool second_next = false;  // of a pair

    // Frames from here on that can be one run, were there no end to sequences.
    std::uint64_t frames_in_row() const noexcept {
        return pairs ? 2 * walk.left_in_row() - (second_next ? 1 : 0) : walk.left_in_row();
    }
    void advance(std::size_t frames) noexcept {
        if (!pairs) {
            walk.advance(frames);
            return;
        }
        const std::size_t members = frames + (second_next ? 1 : 0);
        second_next = members % 2 != 0;
        if (members >= 2) {
            walk.advance(members / 2);
        }
    }
    void seek(std::uint64_t frames) noexcept {
        second_next = pairs && frames % 2 != 0;
        walk.seek(pairs ? frames / 2 : frames);
    }
    // Of `frames` frames from here on, how many are the second of a pair.
    std::size_t seconds_among(std::size_t frames) const noexcept {
        return pairs ? (frames + (second_next ? 1 : 0)) / 2 : 0;
    }
};

}  // namespace

struct FrameSource::Impl {
    Impl(std::vector<Part> frames, std::vector<MixRun> runs, const SourcePlan& plan)
        : parts(std::move(frames)), pattern(std::move(runs)), ids(plan.seed, plan.stream) {
        for (const std::uint16_t port : plan.outer_source_ports) {
            outer_ports.push_back(__builtin_bswap16(port));
        }
        left_in_turn = pattern.front().frames;
        frames_before.resize(parts.size());
        for (const MixRun& run : pattern) {
            period += run.frames;
            frames_before[run.part] += run.frames;
        }
    }

    void seek(std::uint64_t number) noexcept;
    void skip(Part& part, std::size_t frames) noexcept;
    void fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept;
    std::size_t fill_turn(Part& part, std::span<rte_mbuf*> mbufs, std::uint64_t sent_ns) noexcept;
    void count(const Part& part, std::size_t frames) noexcept;
    void step_outer_port(std::size_t frames) noexcept;
    void next_turn() noexcept {
        turn = turn + 1 == pattern.size() ? 0 : turn + 1;
        left_in_turn = pattern[turn].frames;
    }
    TrafficClass class_of(const rte_mbuf& mbuf) const noexcept;

    std::vector<Part> parts;
    std::vector<MixRun> pattern;
    std::vector<std::uint16_t> outer_ports;
    std::vector<std::uint64_t> frames_before;  // by part: in one period of the pattern
    std::uint64_t period = 0;
    std::array<std::uint64_t, 256> frames_met{};  // scratch of seek()
    frame::StampIds ids;
    std::size_t turn = 0;
    std::uint32_t left_in_turn = 0;
    std::uint32_t sequence = 0;
    std::size_t outer_port = 0;
    ClassCounts made{};
};

void FrameSource::Impl::fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept {
    while (!burst.empty()) {
        const std::size_t wanted = std::min<std::size_t>(burst.size(), left_in_turn);
        const std::size_t filled =
            fill_turn(parts[pattern[turn].part], burst.first(wanted), sent_ns);
        burst = burst.subspan(filled);
        left_in_turn -= static_cast<std::uint32_t>(filled);
        if (left_in_turn == 0) {
            next_turn();
        }
    }
}

std::size_t FrameSource::Impl::fill_turn(Part& part, std::span<rte_mbuf*> mbufs,
                                         std::uint64_t sent_ns) noexcept {
    const std::uint64_t same_upper = kLowSequences - sequence % kLowSequences;
    const auto frames = static_cast<std::size_t>(
        std::min({std::uint64_t{mbufs.size()}, same_upper, part.frames_in_row()}));
    part.prepared.set_time(sent_ns);
    part.prepared.set_upper(sequence / kLowSequences);
    part.prepared.set_row(part.walk.row());
    part.fill(
        part.prepared, ids,
        {.mbufs = mbufs.first(frames),
         .sequence = sequence,
         .port = part.walk.port(),
         .port_step = part.walk.port_step(),
         .begins = part.second_next ? FrameRun::Begins::kWithSecond : FrameRun::Begins::kWithFirst,
         .outer_ports = outer_ports,
         .next_outer_port = outer_port});
    count(part, frames);
    skip(part, frames);
    return frames;
}

void FrameSource::Impl::skip(Part& part, std::size_t frames) noexcept {
    part.advance(frames);
    step_outer_port(frames);
    sequence += static_cast<std::uint32_t>(frames);
}

void FrameSource::Impl::seek(std::uint64_t number) noexcept {
    const std::uint64_t periods = number / period;
    std::uint64_t left = number % period;
    for (std::size_t n = 0; n < parts.size(); ++n) {
        frames_met[n] = periods * frames_before[n];
    }
    for (turn = 0; left >= pattern[turn].frames; ++turn) {
        left -= pattern[turn].frames;
        frames_met[pattern[turn].part] += pattern[turn].frames;
    }
    frames_met[pattern[turn].part] += left;
    left_in_turn = pattern[turn].frames - static_cast<std::uint32_t>(left);
    for (std::size_t n = 0; n < parts.size(); ++n) {
        parts[n].seek(frames_met[n]);
    }
    outer_port = outer_ports.empty() ? 0 : number % outer_ports.size();
    sequence = static_cast<std::uint32_t>(number);
}

void FrameSource::Impl::count(const Part& part, std::size_t frames) noexcept {
    const std::size_t seconds = part.seconds_among(frames);
    made[index_of(part.traffic)] += frames - seconds;
    made[index_of(TrafficClass::kDnsAaaa)] += seconds;
}

void FrameSource::Impl::step_outer_port(std::size_t frames) noexcept {
    if (outer_ports.empty()) {
        return;
    }
    outer_port += frames;
    while (outer_port >= outer_ports.size()) {
        outer_port -= outer_ports.size();
    }
}

TrafficClass FrameSource::Impl::class_of(const rte_mbuf& mbuf) const noexcept {
    const Part& part = parts[mbuf.hash.usr];
    if (!part.pairs) {
        return part.traffic;
    }
    const auto* const bytes = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    const std::uint8_t type = bytes[part.prepared.frame().places.query_type + 1];
    return type == frame::kDnsTypeAaaa ? TrafficClass::kDnsAaaa : TrafficClass::kDnsA;
}

Result<FrameSource> FrameSource::make(const SourcePlan& plan) {
    TRY(check_plan(plan));
    std::vector<MixShare> shares;
    for (const MixPart& part : plan.mix) {
        shares.push_back({part.weight, static_cast<std::uint8_t>(in_pairs(plan, part) ? 2 : 1)});
    }
    std::vector<MixRun> pattern = TRY(mix_pattern(shares));
    std::vector<Part> parts;
    for (const MixPart& part : plan.mix) {
        PreparedFrame prepared =
            TRY(PreparedFrame::make(plan, part, static_cast<std::uint32_t>(parts.size())));
        parts.push_back({.prepared = std::move(prepared),
                         .walk = FlowWalk(plan.flow, plan.first_flow, plan.flow_step),
                         .fill = fill_run_for(shape_of_part(plan, part)),
                         .traffic = part.traffic,
                         .pairs = in_pairs(plan, part)});
    }
    return FrameSource(std::make_unique<Impl>(std::move(parts), std::move(pattern), plan));
}

FrameSource::FrameSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FrameSource::FrameSource(FrameSource&&) noexcept = default;
FrameSource& FrameSource::operator=(FrameSource&&) noexcept = default;
FrameSource::~FrameSource() = default;

std::size_t FrameSource::fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept {
    impl_->fill(burst, sent_ns);
    return burst.size();
}

void FrameSource::seek(std::uint64_t number) noexcept {
    impl_->seek(number);
}

FlowRun FrameSource::ahead() const noexcept {
    const Impl& impl = *impl_;
    const std::uint32_t index = impl.pattern[impl.turn].part;
    const Part& part = impl.parts[index];
    std::uint64_t frames = std::min<std::uint64_t>(impl.left_in_turn, part.frames_in_row());
    const std::size_t ports = impl.outer_ports.size();
    frames = ports > 0 ? std::min<std::uint64_t>(frames, ports - impl.outer_port) : frames;
    return {.first = impl.sequence,
            .frames = static_cast<std::uint32_t>(frames),
            .part = index,
            .port = part.walk.port(),
            .port_step = part.walk.port_step(),
            .address = part.prepared.address_word(part.walk.row()),
            .pairs = part.pairs,
            .member = part.second_next ? std::uint8_t{1} : std::uint8_t{0},
            .outer_ports = ports > 0 ? &impl.outer_ports[impl.outer_port] : nullptr};
}

void FrameSource::skip(std::uint32_t frames) noexcept {
    Impl& impl = *impl_;
    impl.skip(impl.parts[impl.pattern[impl.turn].part], frames);
    impl.left_in_turn -= frames;
    if (impl.left_in_turn == 0) {
        impl.next_turn();
    }
}

std::size_t FrameSource::parts() const noexcept {
    return impl_->parts.size();
}

const PreparedFrame& FrameSource::part(std::size_t index) const noexcept {
    return impl_->parts[index].prepared;
}

void FrameSource::restamp(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept {
    for (rte_mbuf* const mbuf : burst) {
        impl_->parts[mbuf->hash.usr].prepared.restamp(rte_pktmbuf_mtod(mbuf, std::uint8_t*),
                                                      sent_ns);
    }
}

const ClassCounts& FrameSource::made() const noexcept {
    return impl_->made;
}

void FrameSource::take_back(std::span<rte_mbuf* const> burst) noexcept {
    for (const rte_mbuf* const mbuf : burst) {
        --impl_->made[index_of(impl_->class_of(*mbuf))];
    }
}

std::uint16_t FrameSource::longest_frame() const noexcept {
    std::uint16_t longest = 0;
    for (const Part& part : impl_->parts) {
        longest = std::max(longest, part.prepared.size());
    }
    return longest;
}

double FrameSource::mean_frame_bytes() const noexcept {
    double frames = 0;
    double bytes = 0;
    for (const MixRun& run : impl_->pattern) {
        frames += run.frames;
        bytes += static_cast<double>(run.frames) * impl_->parts[run.part].prepared.size();
    }
    return bytes / frames;
}

std::uint64_t FrameSource::port_offloads() const noexcept {
    std::uint64_t offloads = 0;
    for (const Part& part : impl_->parts) {
        offloads |= part.prepared.port_offloads();
    }
    return offloads;
}

}  // namespace pathproof::load
