#include "dataplane/load/frame_source.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "dataplane/frame/dns.h"
#include "dataplane/frame/transport_shape.h"

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

}  // namespace

FrameSource::FrameSource(std::vector<Part> parts, std::vector<MixRun> pattern,
                         const SourcePlan& plan)
    : parts_(std::move(parts)),
      pattern_(std::move(pattern)),
      frames_before_(parts_.size()),
      frames_met_(parts_.size()),
      ids_(plan.seed, plan.stream),
      left_in_turn_(pattern_.front().frames) {
    for (const std::uint16_t port : plan.outer_source_ports) {
        outer_ports_.push_back(__builtin_bswap16(port));
    }
    for (const MixRun& run : pattern_) {
        period_ += run.frames;
        frames_before_[run.part] += run.frames;
    }
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
    return FrameSource(std::move(parts), std::move(pattern), plan);
}

std::size_t FrameSource::fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept {
    for (std::span<rte_mbuf*> left = burst; !left.empty();) {
        left = left.subspan(make_run(left, sent_ns));
    }
    return burst.size();
}

std::size_t FrameSource::make_run(std::span<rte_mbuf*> mbufs, std::uint64_t sent_ns) noexcept {
    Part& part = parts_[pattern_[turn_].part];
    const std::uint32_t same_upper = kLowSequences - sequence_ % kLowSequences;
    const std::uint64_t frames =
        std::min<std::uint64_t>({mbufs.size(), left_in_turn_, same_upper, part.frames_in_row()});
    part.prepared.set_time(sent_ns);
    part.prepared.set_upper(sequence_ / kLowSequences);
    part.prepared.set_row(part.walk.row());
    part.fill(
        part.prepared, ids_,
        {.mbufs = mbufs.first(frames),
         .sequence = sequence_,
         .port = part.walk.port(),
         .port_step = part.walk.port_step(),
         .begins = part.second_next ? FrameRun::Begins::kWithSecond : FrameRun::Begins::kWithFirst,
         .outer_ports = outer_ports_,
         .next_outer_port = outer_port_});
    const std::size_t seconds = part.seconds_among(frames);
    made_[index_of(part.traffic)] += frames - seconds;
    made_[index_of(TrafficClass::kDnsAaaa)] += seconds;
    skip(static_cast<std::uint32_t>(frames));
    return frames;
}

void FrameSource::seek(std::uint64_t number) noexcept {
    const std::uint64_t periods = number / period_;
    std::uint64_t left = number % period_;
    for (std::size_t n = 0; n < parts_.size(); ++n) {
        frames_met_[n] = periods * frames_before_[n];
    }
    for (turn_ = 0; left >= pattern_[turn_].frames; ++turn_) {
        left -= pattern_[turn_].frames;
        frames_met_[pattern_[turn_].part] += pattern_[turn_].frames;
    }
    frames_met_[pattern_[turn_].part] += left;
    left_in_turn_ = pattern_[turn_].frames - static_cast<std::uint32_t>(left);
    for (std::size_t n = 0; n < parts_.size(); ++n) {
        parts_[n].seek(frames_met_[n]);
    }
    outer_port_ = outer_ports_.empty() ? 0 : number % outer_ports_.size();
    sequence_ = static_cast<std::uint32_t>(number);
}

TrafficClass FrameSource::class_of(const rte_mbuf& mbuf) const noexcept {
    const Part& part = parts_[mbuf.hash.usr];
    if (!part.pairs) {
        return part.traffic;
    }
    const auto* const bytes = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    const std::uint8_t type = bytes[part.prepared.frame().places.query_type + 1];
    return type == frame::kDnsTypeAaaa ? TrafficClass::kDnsAaaa : TrafficClass::kDnsA;
}

FlowRun FrameSource::ahead() const noexcept {
    const std::uint32_t index = pattern_[turn_].part;
    const Part& part = parts_[index];
    std::uint64_t frames = std::min<std::uint64_t>(left_in_turn_, part.frames_in_row());
    const std::size_t ports = outer_ports_.size();
    frames = ports > 0 ? std::min<std::uint64_t>(frames, ports - outer_port_) : frames;
    return {.first = sequence_,
            .frames = static_cast<std::uint32_t>(frames),
            .part = index,
            .port = part.walk.port(),
            .port_step = part.walk.port_step(),
            .address = part.prepared.address_word(part.walk.row()),
            .pairs = part.pairs,
            .member = part.second_next ? std::uint8_t{1} : std::uint8_t{0},
            .outer_ports = ports > 0 ? &outer_ports_[outer_port_] : nullptr};
}

void FrameSource::skip(std::uint32_t frames) noexcept {
    parts_[pattern_[turn_].part].advance(frames);
    sequence_ += frames;
    if (!outer_ports_.empty()) {
        for (outer_port_ += frames; outer_port_ >= outer_ports_.size();) {
            outer_port_ -= outer_ports_.size();
        }
    }
    left_in_turn_ -= frames;
    if (left_in_turn_ == 0) {
        turn_ = turn_ + 1 == pattern_.size() ? 0 : turn_ + 1;
        left_in_turn_ = pattern_[turn_].frames;
    }
}

void FrameSource::restamp(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept {
    for (rte_mbuf* const mbuf : burst) {
        parts_[mbuf->hash.usr].prepared.restamp(rte_pktmbuf_mtod(mbuf, std::uint8_t*), sent_ns);
    }
}

void FrameSource::take_back(std::span<rte_mbuf* const> burst) noexcept {
    for (const rte_mbuf* const mbuf : burst) {
        --made_[index_of(class_of(*mbuf))];
    }
}

std::uint16_t FrameSource::longest_frame() const noexcept {
    std::uint16_t longest = 0;
    for (const Part& part : parts_) {
        longest = std::max(longest, part.prepared.size());
    }
    return longest;
}

double FrameSource::mean_frame_bytes() const noexcept {
    double frames = 0;
    double bytes = 0;
    for (const MixRun& run : pattern_) {
        frames += run.frames;
        bytes += static_cast<double>(run.frames) * parts_[run.part].prepared.size();
    }
    return bytes / frames;
}

std::uint64_t FrameSource::port_offloads() const noexcept {
    std::uint64_t offloads = 0;
    for (const Part& part : parts_) {
        offloads |= part.prepared.port_offloads();
    }
    return offloads;
}

}  // namespace pathproof::load
