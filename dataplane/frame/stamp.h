// What a tracked frame carries to be followed by: which stream it belongs to, its number in it, and
// when it left. It lies in what a DUT hands through or a server gives back, so that no record of
// single frames has to be kept.
//
// | traffic          | where | | DNS              | the first two labels of the question's name:
// qSSSSSSSS.xTTTTTTTTTTTT         | | ICMP echo, UDP   | the first 16 bytes of the payload: magic,
// stream, 0, sequence, sent_ns       | | TCP SYN          | sequence number (stream in the upper 4
// bits), TSval (sent_ns / 1024)         |
//
// S and T are hexadecimal digits; x is 'a' + stream. Every field of more than one byte lies at an
// even place of the frame, so that checksums can be kept up to date word by word.
#pragma once

#include <cstddef>
#include <cstdint>

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

// What kind of traffic a frame is; each is accounted for on its own.
enum class TrafficClass : std::uint8_t { kDnsA, kDnsAaaa, kTcpSyn, kIcmpEcho, kUdp, kReplay };
inline constexpr std::size_t kTrafficClasses = 6;
const char* name(
    TrafficClass traffic);  // "dns-a", "dns-aaaa", "tcp-syn", "icmp-echo", "udp", "replay"

}  // namespace pathproof::frame
