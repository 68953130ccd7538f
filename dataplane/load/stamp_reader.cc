#include "dataplane/load/stamp_reader.h"

#include <algorithm>
#include <optional>

namespace pathproof::load {
namespace {

using frame::Bytes;
using frame::TrafficClass;

constexpr std::size_t kIcmpHeader = 8;
// A segment that acknowledges anything could be taken for an answer; TSecr tells by chance that it
// is none if it may be only so old.
constexpr std::uint64_t kOldestSyn = 60'000'000'000;

constexpr std::size_t kStampEnd = frame::kDnsHeaderBytes + frame::kDnsStampBytes;

}  // namespace

Result<StampReader> StampReader::make(const IntakePlan& plan) {
    if (plan.streams == 0 || plan.streams > frame::kMostStreams) {
        return fail(ErrorCode::kBadInput, "{} streams: 1 to {} can be told apart", plan.streams,
                    frame::kMostStreams);
    }
    const auto suffix =
        TRY(doing(frame::DnsName::from_text(plan.suffix), "suffix of tracked names"));
    return StampReader(plan, suffix);
}

StampReader::StampReader(const IntakePlan& plan, const frame::DnsName& suffix)
    : expects_(plan.expects),
      response_bit_(plan.expects == Expects::kAnswers ? 0x80 : 0),
      streams_(plan.streams),
      suffix_(suffix),
      question_end_(kStampEnd + suffix.wire().size() + 2 * sizeof(std::uint16_t)),
      oldest_syn_ns_(kOldestSyn + static_cast<std::uint64_t>(plan.late_after.count())) {
    for (unsigned stream = 0; stream < streams_; ++stream) {
        ids_.emplace_back(plan.seed, static_cast<std::uint8_t>(stream));
    }
    // The parts are laid out from the end, so that none reaches beyond the suffix; the first may
    // begin in the stamp.
    const Bytes wire = suffix_.wire();
    for (std::size_t end = wire.size(); end > 0;) {
        const std::size_t size = std::min<std::size_t>(end, 16);
        Part part{.at = kStampEnd + end - 16};
        std::copy_n(wire.begin() + static_cast<std::ptrdiff_t>(end - size), size,
                    part.value.end() - static_cast<std::ptrdiff_t>(size));
        std::fill_n(part.mask.rbegin(), size, std::uint8_t{0xff});
        suffix_parts_.push_back(part);
        end -= size;
    }
}

bool StampReader::read_upper_digits(std::uint32_t digits) noexcept {
    std::uint64_t bytes = 0;
    const std::uint64_t text = 0x3030'3030'0000'0000 | digits;
    const __m128i sixteen = _mm_set_epi64x(0x3030'3030'3030'3030, static_cast<long long>(text));
    if (!read_digits(sixteen, bytes)) {
        return false;
    }
    upper_digits_ = digits;
    upper_time_ = std::uint64_t{__builtin_bswap16(static_cast<std::uint16_t>(bytes))} << 32;
    return true;
}

bool StampReader::is_right_as_sent(Bytes segment, Tracked& tracked) noexcept {
    return segment.size() > kUdpHeader &&
           read_dns_as_sent(segment.subspan(kUdpHeader), 0, tracked) &&
           tracked.content == Tracked::Content::kRight;
}

bool StampReader::is_binary(Bytes segment, Tracked& tracked) const noexcept {
    return segment.size() > kUdpHeader && read_other_udp(segment.subspan(kUdpHeader), 0, tracked) &&
           tracked.traffic == TrafficClass::kUdp;
}

bool StampReader::read_other_udp(Bytes payload, std::uint64_t now_ns, Tracked& out) const noexcept {
    if (read_dns(payload, now_ns, out)) {
        return true;
    }
    out.traffic = TrafficClass::kUdp;
    return read_binary(payload, now_ns, out);
}

bool StampReader::read_dns(Bytes message, std::uint64_t now_ns, Tracked& out) const noexcept {
    const std::optional<frame::Stamp> stamp = frame::read_dns_stamp(message);
    if (!stamp || stamp->stream >= streams_) {
        return false;
    }
    frame::DnsReader reader(message);
    const auto question = reader.next_question();
    const bool other_type =
        question && question->type != frame::kDnsTypeA && question->type != frame::kDnsTypeAaaa;
    const bool ours = question && question->query_class == frame::kDnsClassIn &&
                      (!other_type || expects_ == Expects::kAnswers) &&
                      question->name.is_under(suffix_) && reader.header().questions == 1 &&
                      reader.header().response == (expects_ == Expects::kAnswers);
    if (!ours) {
        return false;
    }
    out = {.traffic =
               question->type == frame::kDnsTypeAaaa ? TrafficClass::kDnsAaaa : TrafficClass::kDnsA,
           .stream = stamp->stream,
           .other_type = other_type,
           .sequence = stamp->sequence,
           .age_ns = age(now_ns, stamp->sent_ns)};
    judge_message(message.data(), out);
    out.content = other_type ? Tracked::Content::kWrong : out.content;
    return true;
}

bool StampReader::read_tcp(Bytes segment, std::uint64_t now_ns, Tracked& out) const noexcept {
    // TSval counts 1024 ns in 32 bits: 42 bits of the time.
    constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << (32 + frame::kTcpTimeShift)) - 1;
    out.traffic = TrafficClass::kTcpSyn;
    out.content = Tracked::Content::kRight;
    std::optional<frame::SynAnswer> found;
    if (expects_ == Expects::kAnswers) {
        found = frame::read_syn_answer(segment);
    } else if (const auto syn = frame::read_syn_stamp(segment)) {
        found = {.stream = syn->stream, .sequence = syn->sequence, .sent_ns = syn->sent_ns};
    }
    if (!found || found->stream >= streams_) {
        return false;
    }
    out.stream = found->stream;
    out.sequence = found->sequence;
    out.time = found->sent_ns ? Tracked::Time::kKnown : Tracked::Time::kUnknown;
    out.age_ns = found->sent_ns ? (now_ns - *found->sent_ns) & kTimeMask : 0;
    return out.age_ns <= oldest_syn_ns_;
}

bool StampReader::read_icmp(Bytes segment, std::uint64_t now_ns, Tracked& out) const noexcept {
    constexpr std::uint8_t kRequest = 8;  // RFC 792
    constexpr std::uint8_t kReply = 0;
    constexpr std::uint8_t kRequest6 = 128;  // RFC 4443
    constexpr std::uint8_t kReply6 = 129;
    const bool expected = expects_ == Expects::kFrames
                              ? segment[0] == kRequest || segment[0] == kRequest6
                              : segment[0] == kReply || segment[0] == kReply6;
    out.traffic = TrafficClass::kIcmpEcho;
    return expected && read_binary(segment.subspan(kIcmpHeader), now_ns, out);
}

bool StampReader::read_binary(Bytes payload, std::uint64_t now_ns, Tracked& out) const noexcept {
    const std::optional<frame::Stamp> stamp = frame::read_binary_stamp(payload);
    if (!stamp || stamp->stream >= streams_) {
        return false;
    }
    out.stream = stamp->stream;
    out.content = Tracked::Content::kRight;
    out.time = Tracked::Time::kKnown;
    out.sequence = stamp->sequence;
    out.age_ns = age(now_ns, stamp->sent_ns);
    return true;
}

}  // namespace pathproof::load
