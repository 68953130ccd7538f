#include "dataplane/load/first_frames.h"

#include <rte_mbuf.h>

#include "dataplane/load/frame_source.h"

namespace pathproof::load {

Result<std::vector<frame::ByteVector>> first_frames(const SourcePlan& plan, std::size_t count) {
    constexpr std::size_t kSpare = 64;  // copies are of whole cache lines
    auto source = TRY(FrameSource::make(plan));
    std::vector<std::uint8_t> room(RTE_PKTMBUF_HEADROOM + source.longest_frame() + kSpare);
    std::vector<frame::ByteVector> frames;
    frames.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        rte_mbuf mbuf{};
        mbuf.buf_addr = room.data();
        rte_mbuf* burst[] = {&mbuf};
        source.fill(burst, 0);
        const std::uint8_t* const bytes = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
        frames.emplace_back(bytes, bytes + mbuf.pkt_len);
    }
    return frames;
}

}  // namespace pathproof::load
