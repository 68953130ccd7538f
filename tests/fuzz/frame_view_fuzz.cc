// Any bytes as a frame: nothing is read beyond them, offsets stay inside, and the fast judge says
// what the oracle says.
#include <cstdlib>

#include "dataplane/frame/view.h"
#include "dataplane/judge/checksum_names.h"
#include "dataplane/judge/verifier.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;

namespace {

constexpr std::uint16_t kTunnelPorts[] = {4789, 8472};

void check_inside(const frame::PacketView& packet, std::size_t size) {
    fuzz::require(packet.network_end + packet.trailer_length <= size, "IP packet beyond the frame");
    fuzz::require(packet.transport_offset + packet.transport_length <= size,
                  "transport beyond the frame");
    fuzz::require(packet.payload_offset + packet.payload_length <= size,
                  "payload beyond the frame");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const frame::Bytes bytes(data, size);
    const frame::FrameView view = frame::parse_frame(bytes, kTunnelPorts);
    check_inside(view.outer, size);
    check_inside(view.inner, size);
    const judge::FrameVerdict fast = judge::verify(bytes, kTunnelPorts);
    const judge::FrameVerdict slow = judge::verify_slowly(bytes, kTunnelPorts);
    fuzz::require(fast.malformed == slow.malformed && fast.count == slow.count,
                  "the judges read different frames");
    const judge::OriginalTuple original{{frame::IpAddress::v4(0xc6120001), 1},
                                        {frame::IpAddress::v4(0xc6120002), 2}};
    for (std::size_t i = 0; i < fast.count; ++i) {
        const judge::ChecksumFinding& finding = fast.findings[i];
        fuzz::require(finding == slow.findings[i], "the judges disagree");
        if (finding.state == judge::ChecksumState::kBad) {
            judge::matching_names(bytes, finding, original);
            judge::checksum_for_tuple(bytes, finding, original);
        }
    }
    return 0;
}
