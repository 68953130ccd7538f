#include "harness/cli/gathered.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "dataplane/base/plural.h"

namespace pathproof::cli {
namespace {

const frame::TunnelPorts kWellKnown = frame::TunnelPorts::well_known();

// Payload of the innermost packet where it is TCP with data; 0: it is not.
std::uint32_t tcp_payload(frame::Bytes frame, std::uint32_t length) {
    const frame::FrameView view = frame::parse_frame(frame, kWellKnown);
    const frame::PacketView& packet = view.innermost();
    if (packet.transport != frame::Transport::kTcp || packet.payload_offset == 0) {
        return 0;
    }
    // A frame that a port cut has the rest of its payload behind the end.
    const std::uint32_t cut = length - static_cast<std::uint32_t>(frame.size());
    return packet.network_end > packet.payload_offset
               ? packet.network_end - packet.payload_offset + cut
               : 0;
}

// "1", "2 to 3", "32 and more".
std::string segments_text(std::size_t bin) {
    const std::uint32_t from = GatheredSizes::kFrom[bin];
    if (bin + 1 == GatheredSizes::kFrom.size()) {
        return fmt::format("{} and more", from);
    }
    return from == 1 ? "1" : fmt::format("{} to {}", from, GatheredSizes::kFrom[bin + 1] - 1);
}

}  // namespace

std::uint64_t GatheredSizes::all() const {
    return std::accumulate(frames.begin(), frames.end(), std::uint64_t{0});
}

void Gathering::add(frame::Bytes frame, std::uint32_t length) {
    const std::uint32_t payload = tcp_payload(frame, length);
    if (payload == 0) {
        return;
    }
    ++by_payload_[std::min<std::size_t>(payload, by_payload_.size() - 1)];
    longest_ = std::max(longest_, length);
}

GatheredSizes Gathering::sizes(std::uint32_t segment_bytes) const {
    GatheredSizes sizes{.longest = longest_};
    for (std::uint32_t payload = 1; payload < by_payload_.size(); ++payload) {
        if (by_payload_[payload] == 0) {
            continue;
        }
        const std::uint32_t segments = (payload + segment_bytes - 1) / segment_bytes;
        const auto above = std::ranges::upper_bound(GatheredSizes::kFrom, segments);
        sizes.frames[static_cast<std::size_t>(above - GatheredSizes::kFrom.begin()) - 1] +=
            by_payload_[payload];
        sizes.most_segments = std::max(sizes.most_segments, segments);
    }
    return sizes;
}

std::string gathered_text(const GatheredSizes& sizes) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < sizes.frames.size(); ++i) {
        if (sizes.frames[i] == 0) {
            continue;
        }
        const char* const unit = GatheredSizes::kFrom[i] == 1 ? " segment" : " segments";
        parts.push_back(fmt::format("{} of {}{}", sizes.frames[i], segments_text(i),
                                    parts.empty() ? unit : ""));
    }
    return parts.empty() ? "none with data"
                         : fmt::format("{}; the longest {}, {} bytes", fmt::join(parts, ", "),
                                       plural(sizes.most_segments, "segment"), sizes.longest);
}

}  // namespace pathproof::cli
