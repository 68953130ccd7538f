// SCTP's CRC32c. It is no sum: what changed cannot be taken out of the right value, so each
// hypothesis is computed anew.
#include "dataplane/frame/crc32c.h"
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

// Returns the CRC32c over bytes [from, to) of the frame; a checksum field within them counts as 0.
std::uint32_t crc_of(const Suspect& suspect, std::size_t from, std::size_t to) {
    frame::Crc32c crc;
    crc.add(without_field(suspect, from, to));
    return crc.sctp_checksum();
}

void predict_range(const Suspect& suspect, Predictions& out) {
    const PacketView& packet = suspect.packet;
    const std::size_t start = suspect.start();
    const std::size_t end = suspect.end();
    const std::size_t frame_end = packet.network_end + packet.trailer_length;
    if (frame_end > end) {
        out.push_back({ChecksumName::kPadData, crc_of(suspect, start, frame_end)});
    }
    if ((end - start) % 2 != 0) {
        out.push_back({ChecksumName::kOddLastDropped, crc_of(suspect, start, end - 1)});
    }
    const bool ipv6 = packet.network == frame::Network::kIpv6;
    const std::size_t fixed = packet.network_offset + (ipv6 ? 40u : 20u);
    if (fixed < start) {
        out.push_back({ipv6 ? ChecksumName::kExthdrStart : ChecksumName::kOptionsStart,
                       crc_of(suspect, fixed, end)});
    }
    const std::size_t fragment_end = suspect.evidence->first_fragment_end;
    if (fragment_end > start && fragment_end < end) {
        out.push_back({ChecksumName::kFragmentOnly, crc_of(suspect, start, fragment_end)});
    }
}

void predict_buffers(const Suspect& suspect, Predictions& out) {
    const std::vector<std::size_t> starts = buffer_starts(suspect);
    if (!starts.empty()) {
        out.push_back(
            {ChecksumName::kFirstBufferOnly, crc_of(suspect, suspect.start(), starts.front())});
        out.push_back(
            {ChecksumName::kLastBufferOnly, crc_of(suspect, starts.back(), suspect.end())});
    }
}

}  // namespace

void predict_crc(const Suspect& suspect, Predictions& out) {
    out.push_back({ChecksumName::kFieldZero, 0});
    const auto handed = same_checksum(suspect, suspect.evidence->handed_over);
    if (handed && handed->wire != 0 && handed->state != ChecksumState::kGood) {
        out.push_back({ChecksumName::kFieldKeep, handed->wire});
    }
    out.push_back({ChecksumName::kComplement, ~suspect.right});
    out.push_back({ChecksumName::kSwapped, __builtin_bswap32(suspect.right)});
    predict_range(suspect, out);
    predict_buffers(suspect, out);
    const auto whole = same_checksum(suspect, suspect.evidence->super_frame);
    if (whole && whole->state != ChecksumState::kUnverifiable) {
        out.push_back({ChecksumName::kSuperPacket, whole->right});
    }
}

}  // namespace pathproof::judge
