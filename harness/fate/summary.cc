#include "harness/fate/summary.h"

namespace pathproof::fate {

const char* name(Ending ending) {
    switch (ending) {
        case Ending::kDelivered: return "delivered";
        case Ending::kSent: return "sent";
        case Ending::kDropped: return "dropped";
        case Ending::kMerged: return "merged";
        case Ending::kCut: return "cut";
        case Ending::kReassembled: return "reassembled";
        case Ending::kConsumed: return "consumed";
        case Ending::kHeld: return "held";
        case Ending::kUnseen: return "unseen";
    }
    return "unseen";
}

const char* name(Direction direction) {
    switch (direction) {
        case Direction::kThere: return "there";
        case Direction::kBack: return "back";
        case Direction::kError: return "error";
    }
    return "there";
}

std::uint64_t dropped(const Fates& fates, Direction direction, const std::string& cause) {
    std::uint64_t packets = 0;
    for (const EndCount& count : fates.ends) {
        if (count.direction == direction && count.end.ending == Ending::kDropped &&
            count.end.cause == cause) {
            packets += count.packets;
        }
    }
    return packets;
}

}  // namespace pathproof::fate
