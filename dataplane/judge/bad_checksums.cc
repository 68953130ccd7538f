#include "dataplane/judge/bad_checksums.h"

#include <optional>

namespace pathproof::judge {

std::vector<BadChecksum> bad_checksums(std::span<const std::uint8_t> frame,
                                       const frame::TunnelPorts& tunnels) {
    std::vector<BadChecksum> bad;
    std::vector<std::uint8_t> bytes(frame.begin(), frame.end());
    const FrameVerdict on_the_wire = verify(bytes, tunnels);
    for (std::size_t round = 0; round < FrameVerdict::kMost; ++round) {
        std::optional<ChecksumFinding> innermost;
        const FrameVerdict verdict = verify(bytes, tunnels);
        for (const ChecksumFinding& finding : verdict.all()) {
            if (finding.state == ChecksumState::kBad) {
                innermost = finding;
            }
        }
        if (!innermost) {
            break;
        }
        const ChecksumFinding* before = on_the_wire.find(innermost->layer);
        if (before != nullptr && before->state == ChecksumState::kBad) {
            bad.push_back({*innermost, bytes});
        }
        write_right(bytes, *innermost);
    }
    return bad;
}

}  // namespace pathproof::judge
