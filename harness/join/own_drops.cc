#include "harness/join/own_drops.h"

#include <fmt/format.h>

namespace pathproof::join {

OwnDrops own_drops(const Result<fate::Fates>& fates) {
    OwnDrops drops{.not_followed = fate::why_not_told(fates)};
    if (drops.by_packet() && fates->not_kept != 0) {
        drops.not_followed =
            fmt::format("the records of {} dropped packets found no room", fates->not_kept);
    }
    if (!drops.by_packet()) {
        return drops;
    }
    for (const fate::Packet& packet : fates->each) {
        const fate::End& end = fates->ends[packet.end].end;
        if (end.ending != fate::Ending::kDropped || end.netns != fates->netns ||
            packet.direction == fate::Direction::kError) {
            continue;
        }
        const OwnDrop drop{.cause = end.cause,
                           .text = end.device.empty()
                                       ? end.text
                                       : fmt::format("{}, device {}", end.text, end.device),
                           .hook = end.hook,
                           .counted_as = fmt::format("{} at {}", end.reason, end.place)};
        if (packet.direction == fate::Direction::kBack) {
            drops.answers.emplace(packet.last_destination, drop);
        } else {
            drops.queries.emplace(packet.last_source, drop);
        }
    }
    return drops;
}

}  // namespace pathproof::join
