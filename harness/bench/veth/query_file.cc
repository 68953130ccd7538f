#include "harness/bench/veth/query_file.h"

#include "dataplane/frame/template.h"

namespace pathproof::bench {
namespace {

// The label with the time and the stream of a stamped query (frame/stamp.h), then the usual suffix.
constexpr const char* kSuffix = "a000000000000.pathproof.test";
constexpr std::uint16_t kFirstQueryPort = 10'000;

}  // namespace

std::string query_lines(unsigned queries) {
    std::string lines;
    for (unsigned i = 0; i < queries; ++i) {
        lines += fmt::format("q{:08x}.{} {}\n", i, kSuffix, i % 2 == 0 ? "A" : "AAAA");
    }
    return lines;
}

Result<std::vector<std::vector<std::uint8_t>>> query_frames(const VethPair& pair, unsigned queries,
                                                            LoadJob::UdpChecksum checksum) {
    frame::FrameSpec spec;
    spec.packet.source_mac = pair.client.mac;
    spec.packet.destination_mac = pair.server.mac;
    spec.packet.source = {pair.client.address, kFirstQueryPort};
    spec.packet.destination = {pair.server.address, 53};
    spec.packet.transport_checksum = checksum == LoadJob::UdpChecksum::kZero
                                         ? frame::ChecksumMode::kZero
                                         : frame::ChecksumMode::kSoftware;
    const auto a = TRY(frame::FrameTemplate::make_dns(spec, kSuffix, frame::kDnsTypeA));
    const auto aaaa = TRY(frame::FrameTemplate::make_dns(spec, kSuffix, frame::kDnsTypeAaaa));
    std::vector<std::vector<std::uint8_t>> frames;
    for (unsigned i = 0; i < queries; ++i) {
        const frame::FrameTemplate& kind = i % 2 == 0 ? a : aaaa;
        frame::FramePatch patch;
        patch.source_port = static_cast<std::uint16_t>(kFirstQueryPort + i);
        patch.dns = {.id = static_cast<std::uint16_t>(i), .sequence = i};
        frames.push_back(kind.render(patch));
    }
    return frames;
}

}  // namespace pathproof::bench
