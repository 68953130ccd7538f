#include "dataplane/load/known_shape.h"

#include <algorithm>

#include "dataplane/frame/dns.h"

namespace pathproof::load {
namespace {

using Upper = judge::QuickCode::Upper;
using Envelope = judge::QuickCode::Envelope;

constexpr std::uint32_t kUdpHeader = 8;
constexpr std::uint8_t kUdpProtocol = 17;

// As QuickVerifier adds it up: the length as a word of the frame lies in memory, and the protocol.
std::uint64_t pseudo_of(std::size_t udp_bytes) {
    return std::uint64_t{__builtin_bswap16(static_cast<std::uint16_t>(udp_bytes))} +
           (std::uint64_t{kUdpProtocol} << 8);
}

void open(std::span<std::uint8_t> mask, std::size_t at, std::size_t bytes) {
    std::ranges::fill(mask.subspan(at, bytes), std::uint8_t{0});
}

// All that routers change or that differs from packet to packet.
void open_ipv4(std::span<std::uint8_t> mask, std::size_t at) {
    constexpr std::uint8_t kFragment = 0x3f;  // without the flag not to fragment
    open(mask, at + 1, 1);                    // DSCP, ECN
    open(mask, at + 4, 2);                    // identification
    mask[at + 6] = kFragment;
    open(mask, at + 8, 1);    // TTL
    open(mask, at + 10, 10);  // checksum, addresses
}

void open_ipv6(std::span<std::uint8_t> mask, std::size_t at) {
    constexpr std::uint8_t kVersion = 0xf0;
    mask[at] = kVersion;
    open(mask, at + 1, 3);   // traffic class, flow label
    open(mask, at + 7, 33);  // hop limit, addresses
}

// Id, number, stream and time; the time's first four digits stay, as does the type's upper byte.
void open_message(std::span<std::uint8_t> mask, std::size_t at, std::size_t question_end) {
    const std::size_t name = at + frame::kDnsHeaderBytes;
    open(mask, at, 2);
    open(mask, name + 2, 8);
    open(mask, name + 11, 1);
    open(mask, name + 16, 8);
    open(mask, at + question_end - 3, 1);
}

// Stream, number and the time's lower half.
void open_stamp(std::span<std::uint8_t> mask, std::size_t at) {
    open(mask, at + 2, 1);
    open(mask, at + 4, 4);
    open(mask, at + 12, 4);
}

// A payload whose bytes up to there are known, but for those of a binary stamp, can be no DNS message
// of a run: that has its second label's length there.
constexpr std::size_t kSecondLabel = frame::kDnsHeaderBytes + 10;
constexpr std::size_t kKnownBytes = 2 * frame::kBinaryStampBytes;
bool may_be_dns(frame::Bytes payload) {
    return payload.size() > kSecondLabel && payload[kSecondLabel] == 13;
}

}  // namespace

std::optional<KnownShape::Kind> KnownShape::kind_of(frame::Bytes frame,
                                                    const judge::QuickFrame& judged) noexcept {
    const judge::QuickCode code = judged.code;
    if (code.bad() != 0 || code.upper() != Upper::kUdp) {
        return std::nullopt;
    }
    if (code.envelope() == Envelope::kNone) {
        return code.ipv6() ? Kind::kIpv6 : Kind::kIpv4;
    }
    const bool usual =
        !code.ipv6() && judged.transport == kInnerTransport && judged.end == frame.size();
    if (usual && code.envelope() == Envelope::kIpv4) {
        return Kind::kVxlan;
    }
    return usual && code.envelope() == Envelope::kIpv4Zero ? std::optional(Kind::kVxlanZero)
                                                           : std::nullopt;
}

// Closes fields again that are open for frames of any sender, but known of the frames that were
// sent.
void KnownShape::close(std::span<std::uint8_t> mask, const judge::QuickFrame& judged,
                       const Sent& sent) const noexcept {
    const auto shut = [&](std::size_t at, std::size_t bytes) {
        std::ranges::fill(mask.subspan(at, bytes), std::uint8_t{0xff});
    };
    if (!sent.common.empty()) {
        const std::size_t known = std::min(mask.size(), sent.common.size());
        std::copy_n(sent.common.begin(), known, mask.begin());
        return;
    }
    const bool ipv4 = kind_ != Kind::kIpv6;
    const std::size_t bytes = ipv4 ? 4 : 16;
    const std::size_t source = judged.network + (ipv4 ? 12u : 8u);
    if (sent.from_one) {
        shut(source, bytes);
        shut(judged.transport, 2);
    }
    shut(source + bytes, bytes - 4);
}

void KnownShape::learn(frame::Bytes frame, const Descriptor& descriptor,
                       const judge::QuickFrame& judged, const Payload& payload,
                       const Sent* sent) noexcept {
    descriptor_ = {};
    const std::optional<Kind> kind = kind_of(frame, judged);
    if (!kind) {
        return;
    }
    const std::uint32_t message = judged.transport + kUdpHeader;
    const frame::Bytes bytes = frame.subspan(message, judged.end - message);
    const std::optional<frame::Stamp> stamp =
        payload.dns ? frame::read_dns_stamp(bytes) : frame::read_binary_stamp(bytes);
    if (!stamp || (!payload.dns && may_be_dns(bytes))) {
        return;
    }
    std::size_t end =
        message + (payload.dns ? payload.question_end : std::min(bytes.size(), kKnownBytes));
    const bool whole = sent != nullptr && (!sent->common.empty() || sent->whole);
    // A vector is the least that a tail can be.
    const bool short_tail = whole && frame.size() - end < kVector;
    end = short_tail ? frame.size() : end;
    from_ = sent != nullptr && !sent->common.empty() ? 0 : kFrom;
    tail_size_ = whole && !short_tail ? static_cast<std::uint32_t>(frame.size() - end) : 0;
    if (end > from_ + kMost * kVector || tail_size_ > kLongestTail) {
        return;
    }
    std::array<std::uint8_t, kFrom + kMost * kVector> masks{};
    const std::span<std::uint8_t> mask(masks);
    std::ranges::fill(mask.subspan(from_, end - from_), std::uint8_t{0xff});
    if (*kind == Kind::kIpv6) {
        open_ipv6(mask, judged.network);
    } else {
        open_ipv4(mask, judged.network);
    }
    open(mask, judged.transport, 4);
    open(mask, judged.transport + 6, 2);
    kind_ = *kind;
    const bool tunnel = *kind == Kind::kVxlan || *kind == Kind::kVxlanZero;
    if (tunnel) {
        open_ipv4(mask, kOuterNetwork);
        open(mask, kOuterTransport, 2);
        open(mask, kOuterTransport + 6, *kind == Kind::kVxlan ? 2 : 0);
        open(mask, kOuterTransport + kUdpHeader + 4, 4);   // VNI
        open(mask, kOuterTransport + kUdpHeader + 8, 12);  // inner Ethernet addresses
    }
    if (sent != nullptr) {
        close(mask, judged, *sent);
        places_ = sent->places;
        // The upper half of the time changes with each learning only.
        const std::size_t time = payload.dns ? frame::kDnsHeaderBytes + 12 : 8;
        std::ranges::fill(mask.subspan(message + time, 4), std::uint8_t{0xff});
    }
    binary_ = !payload.dns;
    if (payload.dns) {
        open_message(mask, message, payload.question_end);
    } else {
        open_stamp(mask, message);
    }
    code_ = judged.code;
    transport_ = judged.transport;
    summed_ = judged.end - judged.transport;
    const std::uint32_t tail = summed_ % kVector;
    for (std::uint32_t i = 0; i < kVector; ++i) {
        constexpr std::uint8_t kNothing = 0x80;
        tail_[i] = i < tail ? static_cast<std::uint8_t>(kVector - tail + i) : kNothing;
    }
    type_at_ = payload.dns ? static_cast<std::uint32_t>(payload.question_end - 3) : 0;
    pseudo_ = pseudo_of(summed_);
    outer_pseudo_ = tunnel ? pseudo_of(judged.end - kOuterTransport) : 0;
    constexpr std::uint64_t kLowerTime = 0xffff'ffff;
    upper_time_ = stamp->sent_ns & ~kLowerTime;
    descriptor_ = descriptor;
    remember(frame, mask, static_cast<std::uint32_t>(end));
}

// Two vectors from the start, then pairs of them that end with the question: they may overlap.
void KnownShape::remember(frame::Bytes frame, std::span<const std::uint8_t> mask,
                          std::uint32_t end) noexcept {
    constexpr std::uint32_t kPair = 2 * kVector;
    const std::uint32_t pairs = (end - from_ - 1) / kPair;
    tail_at_ = end;
    std::copy_n(frame.begin() + end, tail_size_, tail_bytes_.begin());
    used_ = 2 + 2 * pairs;
    rest_ = end - pairs * kPair;
    const auto set = [&](Vector& vector, std::uint32_t at) {
        std::copy_n(frame.begin() + at, kVector, vector.value.begin());
        std::copy_n(mask.begin() + at, kVector, vector.mask.begin());
    };
    set(vectors_[0], from_);
    set(vectors_[1], from_ + kVector);
    for (std::uint32_t i = 2; i < used_; ++i) {
        set(vectors_[i], rest_ + (i - 2) * kVector);
    }
}

}  // namespace pathproof::load
