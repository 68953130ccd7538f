// The stamp by which a tracked frame is followed: its stream, its number in the stream, and its
// time of departure. It lies in bytes that a DUT forwards or a server returns, so that no record of
// single frames has to be kept.
//
// - DNS: the first two labels of the question's name, qSSSSSSSS.xTTTTTTTTTTTT
// - ICMP echo and UDP: the first 16 bytes of the payload: magic, stream, 0, sequence, sent_ns
// - TCP SYN: sequence number (stream in the upper 4 bits) and TSval (sent_ns / 1024)
//
// S and T are hexadecimal digits; x is 'a' + stream. Every field of more than one byte lies at an
// even place of the frame, so that checksums can be kept up to date word by word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace pathproof::frame {

struct Stamp {
    std::uint8_t stream = 0;     // 0 .. kMostStreams - 1
    std::uint32_t sequence = 0;  // wraps: a receiver takes it relative to what it has seen
    std::uint64_t sent_ns = 0;   // of the run's clock; 48 bits (TCP: 42, wrapping)
    bool operator==(const Stamp&) const = default;
};

inline constexpr unsigned kMostStreams = 16;
inline constexpr std::size_t kBinaryStampBytes = 16;
// The two labels with their length bytes, in front of the suffix.
inline constexpr std::size_t kDnsStampBytes = 1 + 9 + 1 + 13;
inline constexpr std::uint16_t kStampMagic = 0x7070;
// A TCP SYN's sequence number has 28 bits for the stamp's.
inline constexpr unsigned kTcpSequenceBits = 28;
inline constexpr std::uint64_t kStampTimeMask = (std::uint64_t{1} << 48) - 1;
// TSval counts units of 1024 ns.
inline constexpr unsigned kTcpTimeShift = 10;

// Traffic class of a frame; each is accounted for on its own.
enum class TrafficClass : std::uint8_t { kDnsA, kDnsAaaa, kTcpSyn, kIcmpEcho, kUdp, kReplay };
inline constexpr std::size_t kTrafficClasses = 6;
const char* name(
    TrafficClass traffic);  // "dns-a", "dns-aaaa", "tcp-syn", "icmp-echo", "udp", "replay"

// The DNS ids of one stream: from seed, stream and sequence alone, so that who receives an answer
// knows the id that was asked with.
class StampIds {
  public:
    StampIds(std::uint64_t seed, std::uint8_t stream) noexcept;
    // Host order. The mixing steps are those of MurmurHash3's finaliser, cut to 16 bits.
    std::uint16_t of(std::uint32_t sequence) const noexcept {
        std::uint32_t x = (sequence ^ key_) * 0x85ebca6bu;
        x ^= x >> 13;
        x *= 0xc2b2ae35u;
        return static_cast<std::uint16_t>(x >> 16);
    }

  private:
    std::uint32_t key_;
};

// Readers: nothing if the bytes are too few or no stamp. Hexadecimal digits and letters are read in
// either case, as DNS names are (RFC 4343).
//
// A whole DNS message, query or answer, with the question's name right behind the header.
std::optional<Stamp> read_dns_stamp(std::span<const std::uint8_t> message) noexcept;
// The payload of ICMP echo (request or reply) or UDP.
std::optional<Stamp> read_binary_stamp(std::span<const std::uint8_t> payload) noexcept;
// A TCP segment that starts with its header. Its time is the 42 bits of TSval, in nanoseconds.
std::optional<Stamp> read_syn_stamp(std::span<const std::uint8_t> segment) noexcept;
// Stamp in the answer to a SYN (SYN-ACK or RST): the acknowledgement number is one more than the
// SYN's sequence number. A RST, or a server without timestamps, brings no time back: sent_ns is
// nothing.
struct SynAnswer {
    std::uint8_t stream = 0;
    std::uint32_t sequence = 0;
    std::optional<std::uint64_t> sent_ns;
    bool operator==(const SynAnswer&) const = default;
};
std::optional<SynAnswer> read_syn_answer(std::span<const std::uint8_t> segment) noexcept;

}  // namespace pathproof::frame
