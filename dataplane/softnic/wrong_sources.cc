#include "dataplane/softnic/wrong_sources.h"

#include "dataplane/base/be.h"

namespace pathproof::softnic {

std::uint32_t WrongSources::of(frame::Bytes bytes, const judge::FrameVerdict& verdict) noexcept {
    constexpr judge::Layer kOuterUdp{judge::Depth::kOuter, judge::Protocol::kUdp};
    constexpr std::size_t kChecksumInUdp = 6;  // RFC 768
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        if (finding.layer != kOuterUdp || finding.state != judge::ChecksumState::kBad ||
            finding.field_offset < kChecksumInUdp) {
            continue;
        }
        const auto port = frame::view<Be16>(bytes, finding.field_offset - kChecksumInUdp);
        if (port) {
            return std::uint32_t{port->value()} << 16 |
                   source_port_of_sum(port->value(), finding.wire, finding.right);
        }
    }
    return 0;
}

void WrongSources::add(Direction direction, std::uint32_t pair) noexcept {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(direction) + 1) << 32 | std::uint64_t{pair};
    std::size_t at = (key * 0x9e3779b97f4a7c15) >> 51;  // 13 bits: Knuth's multiplicative hash
    for (std::size_t tries = 0; tries < kTries; ++tries, at = (at + 1) % kSlots) {
        Slot& slot = slots_[at];
        if (slot.key == 0 || slot.key == key) {
            slot.key = key;
            ++slot.frames;
            return;
        }
    }
    ++left_out_;
}

std::vector<WrongSource> WrongSources::all() const {
    std::vector<WrongSource> found;
    for (const Slot& slot : slots_) {
        if (slot.key != 0) {
            found.push_back({.direction = static_cast<Direction>((slot.key >> 32) - 1),
                             .on_wire = static_cast<std::uint16_t>(slot.key >> 16),
                             .right_for = static_cast<std::uint16_t>(slot.key),
                             .frames = slot.frames});
        }
    }
    return found;
}

}  // namespace pathproof::softnic
