#include "dataplane/pairs/warm_up.h"

#include <utility>

#include "dataplane/pairs/query_frames.h"

namespace pathproof::pairs {
namespace {

// Length of a query's message, and of the warm-up: a DNS response without question, which no
// responder takes for a query.
constexpr std::size_t kMessageBytes = 41;
constexpr std::size_t kFlagsOffset = 2;
constexpr std::uint8_t kResponseFlag = 0x80;
constexpr std::uint32_t kMartian = 0xffffffff;

}  // namespace

Result<std::optional<frame::FrameTemplate>> warm_up_frame(const PairPlan& plan,
                                                          std::size_t member) {
    if (!plan.warm_up || plan.service.address.family != frame::Family::kIpv4) {
        return std::optional<frame::FrameTemplate>();
    }
    frame::FrameSpec spec = frame_spec(plan.members[member], plan.service);
    spec.packet.source = {frame::IpAddress::v4(kMartian), plan.first_source_port};
    spec.payload.resize(kMessageBytes);
    spec.payload[kFlagsOffset] = kResponseFlag;
    frame::FrameTemplate made = TRY(frame::FrameTemplate::make(spec));
    return std::optional(std::move(made));
}

}  // namespace pathproof::pairs
