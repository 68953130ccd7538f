#include "dataplane/traffic/reflect.h"

#include <netinet/in.h>
#include <rte_icmp.h>
#include <rte_tcp.h>

#include <cstddef>
#include <cstring>
#include <optional>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/frame/stamp.h"
#include "dataplane/traffic/turn.h"

namespace pathproof::traffic {
namespace {

using frame::PacketView;
using frame::PartialSum;
using Room = std::span<std::uint8_t>;

// Writes `value` at an even place of the segment and takes the difference into `sum`.
template <typename Word>
void replace(std::uint8_t* at, Word value, PartialSum& sum) noexcept {
    const auto old = *frame::view<Word>({at, sizeof(Word)}, 0);
    constexpr bool kLong = sizeof(Word) == 4;
    const auto word = [](Word of, unsigned shift) {
        return static_cast<std::uint16_t>(of.value() >> shift);
    };
    if constexpr (kLong) {
        sum += frame::without_word(word(old, 16)) + frame::sum_word(word(value, 16));
    }
    sum += frame::without_word(word(old, 0)) + frame::sum_word(word(value, 0));
    std::memcpy(at, &value, sizeof value);
}

void put_checksum(std::uint8_t* field, PartialSum change) noexcept {
    const auto old = *frame::view<Be16>({field, sizeof(Be16)}, 0);
    const Be16 updated(frame::checksum_of(frame::without_word(old.value()) + change));
    std::memcpy(field, &updated, sizeof updated);
}

// Finds the values of the timestamps option (RFC 7323 section 3.2), if they lie at an even place.
std::optional<std::size_t> timestamps_at(Room segment, std::size_t header_bytes) noexcept {
    constexpr std::uint8_t kEnd = 0;
    constexpr std::uint8_t kNop = 1;
    constexpr std::uint8_t kTimestamps = 8;
    constexpr std::size_t kBytes = 10;
    std::size_t at = sizeof(rte_tcp_hdr);
    while (at + 1 < header_bytes && segment[at] != kEnd) {
        if (segment[at] == kNop) {
            ++at;
            continue;
        }
        const std::size_t length = segment[at + 1];
        if (length < 2 || length > header_bytes - at) {
            return std::nullopt;
        }
        if (segment[at] == kTimestamps && length == kBytes) {
            return at % 2 == 0 ? std::optional(at + 2) : std::nullopt;
        }
        at += length;
    }
    return std::nullopt;
}

// RFC 9293 section 3.10.7.2 (LISTEN state) and RFC 7323 section 3.2.
bool acknowledge(Room segment) noexcept {
    const auto header = frame::view<rte_tcp_hdr>(segment, 0);
    const std::size_t header_bytes = header ? (header->data_off >> 4) * 4u : 0;
    const auto at = timestamps_at(segment, std::min(header_bytes, segment.size()));
    if (!at) {
        return false;
    }
    PartialSum change = 0;
    const auto asked = *frame::view<Be32>(segment, offsetof(rte_tcp_hdr, sent_seq));
    const auto value = *frame::view<Be32>(segment, *at);
    replace(segment.data() + offsetof(rte_tcp_hdr, sent_seq), Be32(0), change);
    replace(segment.data() + offsetof(rte_tcp_hdr, recv_ack), Be32(asked.value() + 1), change);
    const auto offset_and_flags = *frame::view<Be16>(segment, offsetof(rte_tcp_hdr, data_off));
    replace(segment.data() + offsetof(rte_tcp_hdr, data_off),
            Be16(static_cast<std::uint16_t>(offset_and_flags.value() | RTE_TCP_ACK_FLAG)), change);
    replace(segment.data() + *at, value, change);
    replace(segment.data() + *at + sizeof(Be32), value, change);
    put_checksum(segment.data() + offsetof(rte_tcp_hdr, cksum), change);
    return true;
}

bool reply_to_echo(Room segment, std::uint8_t request, std::uint8_t reply) noexcept {
    const auto head = frame::view<Be16>(segment, 0);  // type and code
    if (!head || head->value() != request << 8) {
        return false;
    }
    PartialSum change = 0;
    replace(segment.data(), Be16(static_cast<std::uint16_t>(reply << 8)), change);
    put_checksum(segment.data() + offsetof(rte_icmp_hdr, icmp_cksum), change);
    return true;
}

bool has_stamp(Room frame, const PacketView& packet) noexcept {
    return frame::read_binary_stamp(packet.payload(frame)).has_value();
}

// The transport alone.
bool answer(Room frame, const PacketView& packet) noexcept {
    constexpr std::uint8_t kEchoRequest = 8;  // RFC 792
    constexpr std::uint8_t kEchoReply = 0;
    constexpr std::uint8_t kEchoRequestV6 = 128;  // RFC 4443 section 4
    constexpr std::uint8_t kEchoReplyV6 = 129;
    const Room segment = frame.subspan(packet.transport_offset, packet.transport_length);
    switch (packet.transport) {
        case frame::Transport::kTcp:
            if (!frame::read_syn_stamp(segment) || !acknowledge(segment)) {
                return false;
            }
            exchange_ports(frame.data(), packet);
            return true;
        case frame::Transport::kUdp:
            if (!has_stamp(frame, packet)) {
                return false;
            }
            exchange_ports(frame.data(), packet);
            return true;
        case frame::Transport::kIcmp:
            return has_stamp(frame, packet) && reply_to_echo(segment, kEchoRequest, kEchoReply);
        case frame::Transport::kIcmpv6:
            return has_stamp(frame, packet) && reply_to_echo(segment, kEchoRequestV6, kEchoReplyV6);
        case frame::Transport::kNone:
        case frame::Transport::kOther:
        case frame::Transport::kSctp:
        case frame::Transport::kUdpLite:
        case frame::Transport::kGre: return false;
    }
    return false;
}

void turn(Room frame, const PacketView& packet) noexcept {
    exchange_link(frame.data() + packet.ethernet_offset);
    exchange_addresses(frame.data(), packet);
}

}  // namespace

bool reflect(Room frame, const frame::FrameView& view) noexcept {
    const PacketView& packet = view.innermost();
    const bool followed = !view.to_tunnel || view.has_inner;
    if (!followed || packet.fragment != frame::Fragment::kWhole || !packet.has_ethernet ||
        !packet.final_destination_known || packet.destination != packet.final_destination ||
        !answer(frame, packet)) {
        return false;
    }
    turn(frame, packet);
    if (view.has_inner) {
        // The outer checksum stays right: each word that changed inside did so together with a
        // checksum over it, and exchanged words add up to the same.
        turn(frame, view.outer);
    }
    return true;
}

}  // namespace pathproof::traffic
