// Any bytes as a frame: nothing is read beyond them, offsets stay inside, the fast judge says what
// the oracle says, and what names, compares and explains takes any frame.
#include <cstdlib>
#include <vector>

#include "dataplane/frame/view.h"
#include "dataplane/judge/bad_checksums.h"
#include "dataplane/judge/checksum_names.h"
#include "dataplane/judge/explain.h"
#include "dataplane/judge/frame_difference.h"
#include "dataplane/judge/quick_verifier.h"
#include "dataplane/judge/reassembly.h"
#include "dataplane/judge/segment_audit.h"
#include "dataplane/judge/verifier.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;

namespace {

constexpr std::uint16_t kVxlanPorts[] = {4789, 8472};
constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

void check_inside(const frame::PacketView& packet, std::size_t size) {
    fuzz::require(packet.network_end + packet.trailer_length <= size, "IP packet beyond the frame");
    fuzz::require(packet.transport_offset + packet.transport_length <= size,
                  "transport beyond the frame");
    fuzz::require(packet.covered_length <= packet.transport_length, "more covered than there is");
    fuzz::require(packet.payload_offset + packet.payload_length <= size,
                  "payload beyond the frame");
}

void check_view(const frame::FrameView& view, std::size_t size) {
    check_inside(view.outer, size);
    check_inside(view.inner, size);
    fuzz::require(view.tunnel_offset + view.tunnel_length <= size, "tunnel beyond the frame");
}

void check_alike(const judge::FrameVerdict& fast, const judge::FrameVerdict& slow) {
    fuzz::require(fast.malformed == slow.malformed && fast.count == slow.count,
                  "the judges read different frames");
    for (std::size_t i = 0; i < fast.count; ++i) {
        fuzz::require(fast.findings[i] == slow.findings[i], "the judges disagree");
    }
}

// The quick verifier says the same of what it takes on, layer by layer.
void check_quick(frame::Bytes bytes, const judge::FrameVerdict& slow) {
    static const judge::QuickVerifier kQuick{kVxlanPorts};
    judge::QuickFrame quick;
    if (!kQuick.judge(bytes, quick)) {
        return;
    }
    const judge::QuickLayers layers = judge::layers_of(quick.code);
    fuzz::require(slow.malformed == judge::Malformed::kNone && layers.count == slow.count,
                  "the quick verifier reads a different frame");
    for (std::size_t i = 0; i < layers.count; ++i) {
        const bool same = layers.layers[i].layer == slow.findings[i].layer &&
                          layers.layers[i].state == slow.findings[i].state;
        fuzz::require(same, "the quick verifier disagrees");
    }
}

void check_fields(frame::Bytes bytes) {
    std::size_t at = 0;
    for (const judge::Field& field : judge::fields_of(bytes, frame::parse_frame(bytes, kTunnels))) {
        fuzz::require(field.offset == at, "fields with a hole or an overlap");
        at += field.length;
    }
    fuzz::require(at == bytes.size(), "fields that do not cover the frame");
}

// Everything that takes frames from outside must bear any.
void use(frame::Bytes bytes) {
    std::vector<std::uint8_t> other(bytes.begin(), bytes.end());
    for (std::size_t i = 20; i < other.size(); i += 11) {
        other[i] ^= 0x10;
    }
    const std::uint32_t cuts[] = {45, 60};
    const judge::Evidence evidence{
        .tunnels = kTunnels,
        .original = judge::OriginalTuple{{frame::IpAddress::v4(0xc6120001), 1},
                                         {frame::IpAddress::v4(0xc6120002), 2}},
        .before = other,
        .handed_over = other,
        .buffer_starts = cuts,
        .super_frame = other,
        .first_fragment_end = 70};
    for (const judge::BadChecksum& bad : judge::bad_checksums(bytes, kTunnels)) {
        judge::matching_names(bad.frame, bad.finding, evidence);
        judge::matching_names(bad.frame, bad.finding, evidence.original);
        judge::checksum_for_tuple(bad.frame, bad.finding, *evidence.original);
    }
    judge::explain(bytes, evidence);
    judge::compare_frames(bytes, other, kTunnels);
    judge::compare_frames(other, bytes.first(bytes.size() / 2), kTunnels, bytes);
    const frame::Bytes both[] = {bytes, other};
    (void)judge::reassemble(both, kTunnels);
    (void)judge::audit_segments({.bytes = bytes, .mss = 9, .tunnels = kTunnels}, both);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const frame::Bytes bytes(data, size);
    check_view(frame::parse_frame(bytes, kTunnels), size);
    check_view(frame::parse_frame(bytes, kVxlanPorts), size);
    check_alike(judge::verify(bytes, kTunnels), judge::verify_slowly(bytes, kTunnels));
    const judge::FrameVerdict slow = judge::verify_slowly(bytes, kVxlanPorts);
    check_alike(judge::verify(bytes, kVxlanPorts), slow);
    check_quick(bytes, slow);
    check_fields(bytes);
    use(bytes);
    return 0;
}
