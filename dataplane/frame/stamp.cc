#include "dataplane/frame/stamp.h"

#include <rte_tcp.h>

#include "dataplane/base/be.h"
#include "dataplane/frame/dns_wire.h"
#include "dataplane/frame/view.h"

namespace pathproof::frame {
namespace {

constexpr std::uint8_t kFlagSyn = 0x02;
constexpr std::uint8_t kFlagRst = 0x04;
constexpr std::uint8_t kFlagAck = 0x10;
constexpr std::uint8_t kOptionEnd = 0;
constexpr std::uint8_t kOptionNop = 1;
constexpr std::uint8_t kOptionTimestamps = 8;  // RFC 7323 section 3.2
constexpr std::size_t kTimestampsBytes = 10;

struct WireStamp {
    Be16 magic;
    std::uint8_t stream;
    std::uint8_t zero;
    Be32 sequence;
    Be32 sent_high;
    Be32 sent_low;
};
static_assert(sizeof(WireStamp) == kBinaryStampBytes);

struct Timestamps {
    std::uint32_t value = 0;
    std::uint32_t echo = 0;
};

std::optional<Timestamps> timestamps_of(Bytes options) {
    std::size_t at = 0;
    while (at + 1 < options.size() && options[at] != kOptionEnd) {
        if (options[at] == kOptionNop) {
            ++at;
            continue;
        }
        const std::size_t length = options[at + 1];
        if (length < 2 || length > options.size() - at) {
            return std::nullopt;
        }
        if (options[at] == kOptionTimestamps && length == kTimestampsBytes) {
            return Timestamps{view<Be32>(options, at + 2)->value(),
                              view<Be32>(options, at + 6)->value()};
        }
        at += length;
    }
    return std::nullopt;
}

struct TcpHead {
    rte_tcp_hdr header;
    std::optional<Timestamps> timestamps;
};

std::optional<TcpHead> tcp_head(Bytes segment) {
    const auto header = view<rte_tcp_hdr>(segment, 0);
    if (!header) {
        return std::nullopt;
    }
    const std::size_t length = (header->data_off >> 4) * 4u;
    if (length < sizeof *header || length > segment.size()) {
        return std::nullopt;
    }
    return TcpHead{*header,
                   timestamps_of(segment.subspan(sizeof *header, length - sizeof *header))};
}

std::uint64_t nanoseconds(std::uint32_t timestamp) {
    return std::uint64_t{timestamp} << kTcpTimeShift;
}

struct TcpNumber {
    std::uint8_t stream;
    std::uint32_t sequence;
};

TcpNumber taken_apart(std::uint32_t number) {
    return {static_cast<std::uint8_t>(number >> kTcpSequenceBits),
            number & ((1u << kTcpSequenceBits) - 1)};
}

}  // namespace

const char* name(TrafficClass traffic) {
    switch (traffic) {
        case TrafficClass::kDnsA: return "dns-a";
        case TrafficClass::kDnsAaaa: return "dns-aaaa";
        case TrafficClass::kTcpSyn: return "tcp-syn";
        case TrafficClass::kIcmpEcho: return "icmp-echo";
        case TrafficClass::kUdp: return "udp";
        case TrafficClass::kReplay: break;
    }
    return "replay";
}

// SplitMix64's last step: seeds and streams that are neighbours get keys with nothing in common.
StampIds::StampIds(std::uint64_t seed, std::uint8_t stream) noexcept {
    std::uint64_t z = (seed * kMostStreams + stream) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    key_ = static_cast<std::uint32_t>(z >> 32);
}

std::optional<Stamp> read_dns_stamp(std::span<const std::uint8_t> message) noexcept {
    if (message.size() < kDnsHeaderBytes + kDnsStampBytes) {
        return std::nullopt;
    }
    const Bytes labels = message.subspan(kDnsHeaderBytes, kDnsStampBytes);
    const bool shaped = labels[0] == 9 && (labels[1] | 0x20) == 'q' && labels[10] == 13;
    const auto stream = static_cast<std::uint8_t>((labels[11] | 0x20) - 'a');
    if (!shaped || stream >= kMostStreams) {
        return std::nullopt;
    }
    const std::optional<std::uint64_t> sequence = hexadecimal(labels.subspan(2, 8));
    const std::optional<std::uint64_t> sent = hexadecimal(labels.subspan(12, 12));
    if (!sequence || !sent) {
        return std::nullopt;
    }
    return Stamp{stream, static_cast<std::uint32_t>(*sequence), *sent};
}

std::optional<Stamp> read_binary_stamp(std::span<const std::uint8_t> payload) noexcept {
    const auto wire = view<WireStamp>(payload, 0);
    if (!wire || wire->magic.value() != kStampMagic || wire->stream >= kMostStreams ||
        wire->zero != 0) {
        return std::nullopt;
    }
    const std::uint64_t sent =
        std::uint64_t{wire->sent_high.value()} << 32 | wire->sent_low.value();
    return Stamp{wire->stream, wire->sequence.value(), sent};
}

std::optional<Stamp> read_syn_stamp(std::span<const std::uint8_t> segment) noexcept {
    const std::optional<TcpHead> head = tcp_head(segment);
    if (!head || (head->header.tcp_flags & (kFlagSyn | kFlagAck)) != kFlagSyn ||
        !head->timestamps) {
        return std::nullopt;
    }
    const TcpNumber number = taken_apart(__builtin_bswap32(head->header.sent_seq));
    return Stamp{number.stream, number.sequence, nanoseconds(head->timestamps->value)};
}

std::optional<SynAnswer> read_syn_answer(std::span<const std::uint8_t> segment) noexcept {
    const std::optional<TcpHead> head = tcp_head(segment);
    if (!head || (head->header.tcp_flags & kFlagAck) == 0 ||
        (head->header.tcp_flags & (kFlagSyn | kFlagRst)) == 0) {
        return std::nullopt;
    }
    const TcpNumber number = taken_apart(__builtin_bswap32(head->header.recv_ack) - 1);
    SynAnswer answer{number.stream, number.sequence, std::nullopt};
    // RFC 7323 section 3.2: TSecr counts only where ACK is set, as it is here.
    if (head->timestamps && head->timestamps->echo != 0) {
        answer.sent_ns = nanoseconds(head->timestamps->echo);
    }
    return answer;
}

}  // namespace pathproof::frame
