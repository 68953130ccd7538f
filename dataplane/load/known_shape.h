// The bytes that the frames of a run have in common, learned from one of them. In a frame of that
// length with the same common bytes, only the sums, the number, the time and the DNS id are left to
// check. A frame that differs is not wrong; it is left to the general way.
//
// It knows DNS as it was sent, right in all, and UDP, both plain over IPv4 or IPv6 or in VXLAN over
// IPv4.
#pragma once

#include <smmintrin.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/frame/dns.h"
#include "dataplane/frame/stamp.h"
#include "dataplane/frame/view.h"
#include "dataplane/judge/quick_verifier.h"
#include "dataplane/load/hex_digits.h"
#include "dataplane/load/sent_frames.h"

namespace pathproof::load {

struct Known {
    std::uint32_t sequence = 0;
    std::uint32_t sent_low_ns = 0;  // the rest of the time is the shape's
    std::uint8_t stream = 0;
    std::uint8_t aaaa = 0;  // 1: asks for AAAA; 0: for A
};

class KnownShape {
  public:
    // The port's description of a frame: its length, and its claims of checksums that count.
    struct Descriptor {
        std::uint64_t length_and_type = 0;         // of the mbuf, packet_type in the lower half
        std::uint64_t claims = ~std::uint64_t{0};  // that many no frame has
        bool operator==(const Descriptor&) const = default;
    };

    // Knowledge of the frames as they were sent: with it nothing is left open but what follows from
    // number and flow.
    struct Sent {
        std::span<const std::uint8_t> common;  // see SentFrames; empty: they are answers
        FlowPlaces places;
        bool from_one = false;  // answers: all from one address and port
        bool whole = false;     // answers: to the last byte
    };

    // The frames' payload.
    struct Payload {
        bool dns = true;               // or UDP with a binary stamp
        std::size_t question_end = 0;  // of the DNS message
    };

    // `judged` says that all is right with the frame, and its payload has been read as it was sent.
    // Without a common shape that this class knows nothing is learned.
    void learn(frame::Bytes frame, const Descriptor& descriptor, const judge::QuickFrame& judged,
               const Payload& payload, const Sent* sent) noexcept;

    // Returns whether the general way would judge a frame with the same `descriptor()` like those
    // learned from: all checksums right, and a right payload of one of `streams`.
    [[gnu::always_inline]] bool read(const std::uint8_t* frame,
                                     const judge::QuickVerifier& verifier,
                                     std::span<const frame::StampIds> streams,
                                     Known& out) const noexcept;

    const Descriptor& descriptor() const noexcept { return descriptor_; }
    judge::QuickCode code() const noexcept { return code_; }
    const FlowPlaces& flow_places() const noexcept { return places_; }
    // Returns the part of a stamp's time above its lower 32 bits.
    std::uint64_t upper_time_ns() const noexcept { return upper_time_; }
    frame::TrafficClass traffic(bool aaaa) const noexcept {
        if (binary_) {
            return frame::TrafficClass::kUdp;
        }
        return aaaa ? frame::TrafficClass::kDnsAaaa : frame::TrafficClass::kDnsA;
    }

  private:
    enum class Kind : std::uint8_t { kIpv4, kIpv6, kVxlan, kVxlanZero };

    static constexpr std::uint32_t kVector = 16;
    static constexpr std::size_t kMost = 14;
    // Offset of the frame's EtherType. The addresses before it are not compared where it is unknown
    // what was sent.
    static constexpr std::uint32_t kFrom = 12;
    static constexpr std::uint32_t kLongestTail = 1'536;
    // IPv4 in VXLAN in IPv4 without VLAN tags.
    static constexpr std::uint32_t kOuterNetwork = 14;
    static constexpr std::uint32_t kOuterTransport = kOuterNetwork + 20;
    static constexpr std::uint32_t kInnerNetwork = kOuterTransport + 8 + 8 + 14;
    static constexpr std::uint32_t kInnerTransport = kInnerNetwork + 20;

    struct alignas(kVector) Vector {
        std::array<std::uint8_t, kVector> value{};
        std::array<std::uint8_t, kVector> mask{};
    };

    bool looks_alike(const std::uint8_t* frame) const noexcept;
    std::uint64_t segment_sum(const std::uint8_t* segment) const noexcept;
    template <int count>
    static std::uint64_t dwords(const std::uint8_t* at) noexcept {
        std::uint64_t sum = 0;
        for (int i = 0; i < count; ++i) {
            sum += judge::load<std::uint32_t>(at + 4 * i);
        }
        return sum;
    }
    bool sums_are_right(const std::uint8_t* frame,
                        const judge::QuickVerifier& verifier) const noexcept;
    bool read_message(const std::uint8_t* message, std::span<const frame::StampIds> streams,
                      Known& out) const noexcept;
    static bool read_stamp(const std::uint8_t* payload, std::size_t streams, Known& out) noexcept;
    static std::optional<Kind> kind_of(frame::Bytes frame,
                                       const judge::QuickFrame& judged) noexcept;
    void remember(frame::Bytes frame, std::span<const std::uint8_t> mask,
                  std::uint32_t end) noexcept;
    void close(std::span<std::uint8_t> mask, const judge::QuickFrame& judged,
               const Sent& sent) const noexcept;

    std::array<Vector, kMost> vectors_;
    std::array<std::uint8_t, kLongestTail> tail_bytes_{};  // behind the vectors
    std::uint32_t tail_at_ = 0;
    std::uint32_t tail_size_ = 0;  // 0, or a vector at least
    std::uint32_t from_ = kFrom;
    FlowPlaces places_;
    // Brings the bytes behind the last whole vector of the segment to the front.
    alignas(kVector) std::array<std::uint8_t, kVector> tail_{};
    Descriptor descriptor_;   // nothing was learned: of no frame
    std::uint32_t used_ = 0;  // of the vectors; the first two lie at from_
    std::uint32_t rest_ = 0;  // where the others do, which end with the question
    std::uint32_t transport_ = 0;
    std::uint32_t summed_ = 0;   // bytes of the transport segment
    std::uint32_t type_at_ = 0;  // of the lower byte of the question's type
    Kind kind_ = Kind::kIpv4;
    bool binary_ = false;  // the stamp
    judge::QuickCode code_;
    // Sums of the pseudo headers without the addresses.
    std::uint64_t pseudo_ = 0;
    std::uint64_t outer_pseudo_ = 0;
    std::uint64_t upper_time_ = 0;
};

inline bool KnownShape::looks_alike(const std::uint8_t* frame) const noexcept {
    const auto wrong = [](const std::uint8_t* at, const Vector& vector) {
        return _mm_and_si128(
            _mm_xor_si128(judge::load<__m128i>(at), judge::load<__m128i>(vector.value.data())),
            judge::load<__m128i>(vector.mask.data()));
    };
    __m128i any = _mm_or_si128(wrong(frame + from_, vectors_[0]),
                               wrong(frame + from_ + kVector, vectors_[1]));
    const std::uint8_t* at = frame + rest_;
    for (std::size_t i = 2; i < used_; i += 2, at += 2 * kVector) {
        any = _mm_or_si128(
            any, _mm_or_si128(wrong(at, vectors_[i]), wrong(at + kVector, vectors_[i + 1])));
    }
    if (tail_size_ != 0) {
        const auto changed = [&](std::uint32_t behind) {
            return _mm_xor_si128(judge::load<__m128i>(frame + tail_at_ + behind),
                                 judge::load<__m128i>(tail_bytes_.data() + behind));
        };
        any = _mm_or_si128(any, changed(tail_size_ - kVector));
        for (std::uint32_t behind = 0; behind + kVector < tail_size_; behind += kVector) {
            any = _mm_or_si128(any, changed(behind));
        }
    }
    return _mm_testz_si128(any, any) != 0;
}

// Sums the transport segment, in lanes of 32 bits without carries: see quick_sum.cc.
inline std::uint64_t KnownShape::segment_sum(const std::uint8_t* segment) const noexcept {
    if (summed_ > judge::kShort) [[unlikely]] {
        return judge::long_sum(segment, summed_);
    }
    __m128i whole = _mm_shuffle_epi8(judge::load<__m128i>(segment + summed_ - kVector),
                                     judge::load<__m128i>(tail_.data()));
    __m128i upper = _mm_srli_epi32(whole, 16);
    const auto add = [&](const std::uint8_t* at) {
        const __m128i words = judge::load<__m128i>(at);
        whole = _mm_add_epi32(whole, words);
        upper = _mm_add_epi32(upper, _mm_srli_epi32(words, 16));
    };
    const std::uint8_t* const end = segment + (summed_ & ~(2 * kVector - 1));
    if ((summed_ & kVector) != 0) {
        add(end);
    }
    for (; segment != end; segment += 2 * kVector) {
        add(segment);
        add(segment + kVector);
    }
    const __m128i lower = _mm_sub_epi32(whole, _mm_slli_epi32(upper, 16));
    const __m128i lanes = _mm_add_epi32(lower, upper);
    const __m128i two = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0x4e));
    const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(two));
    return (both >> 32) + (both & 0xffff'ffff);
}

// Sums of 32-bit words in 64 bits need no carries. None is 0: a version or a length is in each.
inline bool KnownShape::sums_are_right(const std::uint8_t* frame,
                                       const judge::QuickVerifier& verifier) const noexcept {
    using judge::load;
    using judge::multiple_of_ones;
    const std::uint8_t* const segment = frame + transport_;
    const std::uint64_t sum = segment_sum(segment) + pseudo_;
    if (load<std::uint16_t>(segment + 6) == 0) [[unlikely]] {
        return false;
    }
    if (kind_ == Kind::kIpv6) {
        return multiple_of_ones(sum + dwords<8>(segment - 32)) &&
               !verifier.to_tunnel(load<std::uint16_t>(segment + 2));
    }
    const std::uint64_t addresses = dwords<2>(segment - 8);
    const std::uint64_t header = dwords<3>(segment - 20) + addresses;
    if (!multiple_of_ones(header) || !multiple_of_ones(sum + addresses) ||
        load<std::uint16_t>(segment - 10) == 0xffff) [[unlikely]] {
        return false;
    }
    if (kind_ == Kind::kIpv4) {
        return !verifier.to_tunnel(load<std::uint16_t>(segment + 2));
    }
    const std::uint8_t* const outer = frame + kOuterNetwork;
    const std::uint64_t outer_addresses = dwords<2>(outer + 12);
    if (!multiple_of_ones(dwords<3>(outer) + outer_addresses) ||
        load<std::uint16_t>(outer + 10) == 0xffff) [[unlikely]] {
        return false;
    }
    if (kind_ == Kind::kVxlanZero) {
        return true;
    }
    // Sum of the bytes from the UDP header to the inner IP header.
    const std::uint64_t between = outer_addresses + dwords<7>(frame + kOuterTransport) +
                                  load<std::uint16_t>(frame + kInnerNetwork - 2);
    return load<std::uint16_t>(frame + kOuterTransport + 6) != 0 &&
           multiple_of_ones(sum - pseudo_ + header + between + outer_pseudo_);
}

inline bool KnownShape::read_message(const std::uint8_t* message,
                                     std::span<const frame::StampIds> streams,
                                     Known& out) const noexcept {
    using judge::load;
    // With A's type taken away there is 0 for A, and for AAAA a number with one bit above the
    // fourth.
    constexpr std::uint8_t kA = 1;
    constexpr std::uint8_t kAaaa = 28 ^ kA;
    const std::uint8_t* const name = message + frame::kDnsHeaderBytes;
    // The number's eight digits and the time's last eight.
    const __m128i digits = _mm_set_epi64x(load<long long>(name + 16), load<long long>(name + 2));
    std::uint64_t bytes = 0;
    const unsigned type = message[type_at_] ^ unsigned { kA };
    const unsigned aaaa = type >> 4;
    const unsigned stream = static_cast<unsigned>(name[11]) - 'a';
    if (!read_digits(digits, bytes) || stream >= streams.size() || type != aaaa * kAaaa)
        [[unlikely]] {
        return false;
    }
    out.sequence = __builtin_bswap32(static_cast<std::uint32_t>(bytes));
    out.sent_low_ns = __builtin_bswap32(static_cast<std::uint32_t>(bytes >> 32));
    out.stream = static_cast<std::uint8_t>(stream);
    out.aaaa = static_cast<std::uint8_t>(aaaa);
    return __builtin_bswap16(load<std::uint16_t>(message)) == streams[stream].of(out.sequence);
}

inline bool KnownShape::read_stamp(const std::uint8_t* payload, std::size_t streams,
                                   Known& out) noexcept {
    out.sequence = __builtin_bswap32(judge::load<std::uint32_t>(payload + 4));
    out.sent_low_ns = __builtin_bswap32(judge::load<std::uint32_t>(payload + 12));
    out.stream = payload[2];
    out.aaaa = 0;
    return out.stream < streams;
}

inline bool KnownShape::read(const std::uint8_t* frame, const judge::QuickVerifier& verifier,
                             std::span<const frame::StampIds> streams, Known& out) const noexcept {
    constexpr std::uint32_t kUdpHeader = 8;
    const std::uint8_t* const payload = frame + transport_ + kUdpHeader;
    return looks_alike(frame) && sums_are_right(frame, verifier) &&
           (binary_ ? read_stamp(payload, streams.size(), out)
                    : read_message(payload, streams, out));
}

}  // namespace pathproof::load
