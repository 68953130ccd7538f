// Tells the frames of a run from all others and reads what they carry, at a few cycles each. Only
// for frames whose checksums are right.
#pragma once

#include <smmintrin.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/dns.h"
#include "dataplane/frame/stamp.h"
#include "dataplane/frame/view.h"
#include "dataplane/judge/quick_sum.h"
#include "dataplane/load/hex_digits.h"
#include "dataplane/load/tracked_intake.h"

namespace pathproof::load {

// The innermost packet of a frame, unfragmented. Offsets count from the start of the frame.
struct Innermost {
    frame::Network network = frame::Network::kIpv4;
    enum class Upper : std::uint8_t { kUdp, kTcp, kIcmp } upper = Upper::kUdp;
    std::uint32_t transport = 0;
    std::uint32_t end = 0;
    std::uint32_t ip = 0;  // the header
};

struct Tracked {
    frame::TrafficClass traffic = frame::TrafficClass::kDnsA;
    std::uint8_t stream = 0;
    // Wrong: an answer with another id, or an rcode other than NOERROR.
    enum class Content : std::uint8_t { kRight, kWrong } content = Content::kRight;
    enum class Time : std::uint8_t { kKnown, kUnknown } time = Time::kKnown;
    bool as_sent = false;     // a DNS question that lies as it was sent, letters lower case
    bool other_type = false;  // a DNS answer that repeats a question of neither A nor AAAA
    std::uint32_t sequence = 0;
    std::uint64_t age_ns = 0;  // since it left; kAhead if that lies ahead
};

// No age: the frame says that it left later than now, by more than clocks of lcores may differ.
inline constexpr std::uint64_t kAhead = ~std::uint64_t{0};

class StampReader {
  public:
    // Errors (kBadInput): a suffix that is no name, a number of streams that is not in 1..16.
    static Result<StampReader> make(const IntakePlan& plan);

    // False: no frame of the run.
    [[gnu::always_inline]] bool read(frame::Bytes frame, const Innermost& packet,
                                     std::uint64_t now_ns, Tracked& out) noexcept {
        const frame::Bytes segment = frame.subspan(packet.transport, packet.end - packet.transport);
        if (packet.upper == Innermost::Upper::kUdp) [[likely]] {
            const frame::Bytes payload = segment.subspan(kUdpHeader);
            return read_dns_as_sent(payload, now_ns, out) || read_other_udp(payload, now_ns, out);
        }
        return packet.upper == Innermost::Upper::kTcp ? read_tcp(segment, now_ns, out)
                                                      : read_icmp(segment, now_ns, out);
    }

    // Returns whether a UDP segment carries a message of the run, right in all, whose question lies
    // as it was sent, letters lower case.
    bool is_right_as_sent(frame::Bytes segment, Tracked& tracked) noexcept;
    // Returns the end of the question in such a message.
    std::size_t question_end() const noexcept { return question_end_; }
    // Returns whether a UDP segment carries no message, but a binary stamp of the run.
    bool is_binary(frame::Bytes segment, Tracked& tracked) const noexcept;
    std::span<const frame::StampIds> ids() const noexcept { return ids_; }
    // Returns the time since `sent_ns`, of times that have 48 bits; 0 or kAhead if that lies ahead.
    static std::uint64_t age(std::uint64_t now_ns, std::uint64_t sent_ns) noexcept;

  private:
    static constexpr std::size_t kUdpHeader = 8;
    using Expects = IntakePlan::Expects;

    // Sixteen bytes that end in the suffix, as they must be where `mask` is set.
    struct Part {
        std::size_t at = 0;  // from the start of the message
        std::array<std::uint8_t, 16> mask{};
        std::array<std::uint8_t, 16> value{};
    };

    StampReader(const IntakePlan& plan, const frame::DnsName& suffix);

    // A message whose question lies as it was sent, letters lower case.
    [[gnu::always_inline]] bool read_dns_as_sent(frame::Bytes message, std::uint64_t now_ns,
                                                 Tracked& out) noexcept;
    bool fits_suffix(const std::uint8_t* message) const noexcept;
    bool read_upper_digits(std::uint32_t digits) noexcept;
    void judge_message(const std::uint8_t* message, Tracked& out) const noexcept;

    bool read_other_udp(frame::Bytes payload, std::uint64_t now_ns, Tracked& out) const noexcept;
    bool read_dns(frame::Bytes message, std::uint64_t now_ns, Tracked& out) const noexcept;
    bool read_tcp(frame::Bytes segment, std::uint64_t now_ns, Tracked& out) const noexcept;
    bool read_icmp(frame::Bytes segment, std::uint64_t now_ns, Tracked& out) const noexcept;
    bool read_binary(frame::Bytes payload, std::uint64_t now_ns, Tracked& out) const noexcept;

    Expects expects_;
    std::uint8_t response_bit_;  // of DNS messages that count
    unsigned streams_;
    frame::DnsName suffix_;
    std::vector<Part> suffix_parts_;
    std::size_t question_end_;  // of a message whose question lies as it was sent
    std::uint64_t oldest_syn_ns_;
    std::vector<frame::StampIds> ids_;  // by stream
    // The first four of the time's twelve digits: they change every four seconds.
    std::uint32_t upper_digits_ = 0;
    std::uint64_t upper_time_ = 0;
};

inline bool StampReader::fits_suffix(const std::uint8_t* message) const noexcept {
    for (const Part& part : suffix_parts_) {
        const __m128i there = judge::load<__m128i>(message + part.at);
        const __m128i wrong =
            _mm_xor_si128(_mm_and_si128(there, judge::load<__m128i>(part.mask.data())),
                          judge::load<__m128i>(part.value.data()));
        if (_mm_testz_si128(wrong, wrong) == 0) [[unlikely]] {
            return false;
        }
    }
    return true;
}

inline std::uint64_t StampReader::age(std::uint64_t now_ns, std::uint64_t sent_ns) noexcept {
    const std::uint64_t age_ns = (now_ns - sent_ns) & frame::kStampTimeMask;
    constexpr std::uint64_t kClocksApart = 1'000'000;
    if (age_ns > frame::kStampTimeMask / 2) [[unlikely]] {
        return frame::kStampTimeMask - age_ns < kClocksApart ? 0 : kAhead;
    }
    return age_ns;
}

inline void StampReader::judge_message(const std::uint8_t* message, Tracked& out) const noexcept {
    constexpr std::uint8_t kRcode = 0x0f;
    const std::uint16_t id = __builtin_bswap16(judge::load<std::uint16_t>(message));
    const bool right = id == ids_[out.stream].of(out.sequence) && (message[3] & kRcode) == 0;
    out.content = right ? Tracked::Content::kRight : Tracked::Content::kWrong;
}

inline bool StampReader::read_dns_as_sent(frame::Bytes message, std::uint64_t now_ns,
                                          Tracked& out) noexcept {
    using judge::load;
    constexpr std::size_t kName = frame::kDnsHeaderBytes;
    constexpr std::uint8_t kResponse = 0x80;
    // Words as they lie in memory.
    constexpr std::uint64_t kLabels = 0x0d'0000'7109;  // 9 q, and 13 ten bytes behind
    constexpr std::uint16_t kOneQuestion = 0x0100;
    constexpr std::uint32_t kA = 0x0100'0100;  // and class IN
    constexpr std::uint32_t kAaaa = 0x0100'1c00;
    if (message.size() < question_end_) [[unlikely]] {
        return false;
    }
    const std::uint8_t* const at = message.data();
    const auto first = load<std::uint64_t>(at + kName);       // 9 q S0 .. S5
    const auto second = load<std::uint64_t>(at + kName + 8);  // S6 S7 13 x T0 .. T3
    const auto third = load<std::uint64_t>(at + kName + 16);  // T4 .. T11
    const auto type = load<std::uint32_t>(at + question_end_ - sizeof(std::uint32_t));
    const auto stream = static_cast<unsigned>(second >> 24 & 0xff) - 'a';
    const std::uint64_t labels = (first & 0xffff) | (second & 0xff'0000) << 16;
    if (labels != kLabels || stream >= streams_ || load<std::uint16_t>(at + 4) != kOneQuestion ||
        (type != kA && type != kAaaa) || (at[2] & kResponse) != response_bit_ || !fits_suffix(at))
        [[unlikely]] {
        return false;
    }
    const auto upper = static_cast<std::uint32_t>(second >> 32);
    if (upper != upper_digits_ && !read_upper_digits(upper)) [[unlikely]] {
        return false;
    }
    std::uint64_t bytes = 0;
    const std::uint64_t sequence = first >> 16 | second << 48;
    if (!read_digits(
            _mm_set_epi64x(static_cast<long long>(third), static_cast<long long>(sequence)), bytes))
        [[unlikely]] {
        return false;
    }
    out.traffic = type == kA ? frame::TrafficClass::kDnsA : frame::TrafficClass::kDnsAaaa;
    out.stream = static_cast<std::uint8_t>(stream);
    out.time = Tracked::Time::kKnown;
    out.as_sent = true;
    out.sequence = __builtin_bswap32(static_cast<std::uint32_t>(bytes));
    out.age_ns =
        age(now_ns, upper_time_ | __builtin_bswap32(static_cast<std::uint32_t>(bytes >> 32)));
    judge_message(at, out);
    return true;
}

}  // namespace pathproof::load
