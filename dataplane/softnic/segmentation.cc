#include "dataplane/softnic/segmentation.h"

#include <netinet/in.h>

#include "dataplane/softnic/bytes.h"

namespace pathproof::softnic {
namespace {

constexpr std::uint8_t kFin = 0x01;
constexpr std::uint8_t kPush = 0x08;
constexpr std::uint8_t kCwr = 0x80;

void shorten_field(std::span<std::uint8_t> frame, std::uint32_t at, std::uint32_t by) {
    put16(frame, at, get16(frame, at) - by);
}

void edit_network(std::span<std::uint8_t> frame, const PacketPlace& packet, std::uint32_t shorter,
                  std::uint32_t segment) {
    shorten_field(frame, packet.length_at(), shorter);
    if (packet.family == 4) {
        put16(frame, packet.l3 + 4, get16(frame, packet.l3 + 4) + segment);
    }
    if (packet.transport == IPPROTO_UDP) {
        shorten_field(frame, packet.l4 + 4, shorter);
    }
}

void edit_tcp(std::span<std::uint8_t> frame, const PacketPlace& packet, const Cut& cut,
              std::uint32_t segment) {
    put32(frame, packet.l4 + 4, get32(frame, packet.l4 + 4) + cut.offset(segment));
    std::uint8_t& flags = frame[packet.l4 + 13];
    if (segment + 1 != cut.segments()) {
        flags &= static_cast<std::uint8_t>(~(kFin | kPush));
    }
    if (segment != 0) {
        flags &= static_cast<std::uint8_t>(~kCwr);
    }
}

}  // namespace

Cut cut_of(const Places& super, std::uint32_t mss) noexcept {
    const PacketPlace& packet = super.innermost();
    return {.header = packet.payload, .payload = packet.payload_length(), .mss = mss};
}

void edit_headers(std::span<std::uint8_t> frame, const Places& super, const Cut& cut,
                  std::uint32_t segment) noexcept {
    const std::uint32_t shorter = cut.payload - cut.length(segment);
    edit_network(frame, super.outer, shorter, segment);
    if (super.tunnel != TunnelKind::kNone) {
        edit_network(frame, super.inner, shorter, segment);
    }
    if (super.innermost().transport == IPPROTO_TCP) {
        edit_tcp(frame, super.innermost(), cut, segment);
    }
}

}  // namespace pathproof::softnic
