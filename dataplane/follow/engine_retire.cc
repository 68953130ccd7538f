// Frames that leave the window: each is counted in its class.
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>

#include "dataplane/base/plural.h"
#include "dataplane/follow/engine.h"

namespace pathproof::follow {
namespace {

constexpr std::size_t kMostFlows = 1u << 20;

}  // namespace

void Follower::Engine::retire(std::int64_t frontier_ns, bool all) {
    const std::int64_t window = options_.window_ns >> hurry_;
    for (OneSide& side : sides_) {
        while (!side.records.empty()) {
            Record& record = side.records.front();
            const bool stepped = side.stepped[kSteps - 1] > side.base;
            const bool old = frontier_ns - time_of(record) >= window;
            if (!stepped || (!all && (!old || record.pins != 0))) {
                break;
            }
            const Direction direction = guess_direction(record);
            outcome_.forced += hurry_ > 0 && record.state == State::kPending ? 1 : 0;
            if (was_sent(record, direction)) {
                retire_sent(record, direction);
            } else {
                retire_received(record, direction);
            }
            held_bytes_ -= kRecordBytes + record.packet.bytes.size();
            remove(record);
            side.records.pop_front();
            ++side.base;
        }
        if (side.flows.size() > kMostFlows) {
            for (auto entry = side.flows.begin(); entry != side.flows.end();) {
                Flow& flow = entry->second;
                if (frontier_ns - flow.last_ns < options_.window_ns) {
                    ++entry;
                    continue;
                }
                const bool forward = &side == &sides_[0];
                conclude_flow(flow, forward ? Direction::kForward : Direction::kBackward);
                outcome_.flows += forward ? 1 : 0;
                entry = side.flows.erase(entry);
            }
        }
    }
}

// Takes every pointer to it out of the tables.
void Follower::Engine::remove(Record& record) {
    OneSide& side = of(record.side);
    const bool seen = record.state != State::kPending;
    if (record.first_node != Record::kNoNode) {
        (seen ? side.seen : side.pending).erase(record.first_node);
    }
    if (record.second_node != Record::kNoNode) {
        (seen ? side.seen_loose : side.pending_loose).erase(record.second_node);
    }
    if (record.third_node != Record::kNoNode) {
        side.content.erase(record.third_node);
    }
    for (const std::uint32_t node : record.header_nodes) {
        if (node != Record::kNoNode) {
            side.headers.erase(node);
        }
    }
    if (record.streamed) {
        leave_stream(record);
    }
    // They leave in the order in which they came.
    if (!side.leftovers.empty() && side.leftovers.front() == &record) {
        side.leftovers.pop_front();
    }
    if (!side.swollen.empty()) {
        std::erase(side.swollen, &record);
    }
    if (record.packet.fragment != frame::Fragment::kWhole && !record.virtual_datagram) {
        const auto group = side.fragments.find(record.packet.flow);
        if (group != side.fragments.end()) {
            std::erase(group->second.pieces, &record);
            if (group->second.pieces.empty() && group->second.datagram == nullptr) {
                side.fragments.erase(group);
            }
        }
    }
    if (record.datagram != nullptr) {
        Record& datagram = *record.datagram;
        std::erase(datagram.members, &record);
        if (datagram.members.empty()) {
            side.fragments.erase(record.packet.flow);
            remove(datagram);
            std::erase_if(side.datagrams, [&](const Record& one) { return &one == &datagram; });
        }
    }
}

Follower::Engine::Coverage Follower::Engine::coverage_of(const Record& record) const {
    // A frame that takes as long as the slowest one so far would have come out behind the end.
    constexpr std::int64_t kLeastNs = 2'000'000;
    const std::int64_t delay = std::clamp(outcome_.longest_delay_ns, kLeastNs, options_.late_ns);
    const OneSide& there = sides_[record.side == Side::kIn ? 1 : 0];
    const std::int64_t now = time_of(record);
    if (!there.any) {
        return Coverage::kCovered;
    }
    // The other capture saw nothing before and behind these.
    if (!was_sent(record, record.direction)) {
        if (now > there.last_ns) {
            return Coverage::kBehind;
        }
        return now < there.first_ns + delay ? Coverage::kBefore : Coverage::kCovered;
    }
    if (now + delay >= there.last_ns) {
        return Coverage::kBehind;
    }
    const std::int64_t least =
        std::clamp(outcome_.shortest_delay_ns, std::int64_t{0}, options_.late_ns);
    const bool before = record.links == 0 && now + least < there.first_ns;
    return before ? Coverage::kBefore : Coverage::kCovered;
}

void Follower::Engine::leave_outside(Record& record, Coverage coverage) {
    record.found = Class::kOutside;
    const OneSide& there = of(other(record.side));
    const bool before = coverage == Coverage::kBefore;
    if (before ? there.begin_known : there.end_known) {
        return;
    }
    Stretch& stretch =
        (before ? outcome_.heads : outcome_.tails)[static_cast<std::size_t>(record.direction)];
    const std::int64_t now = time_of(record);
    stretch.since_ns = stretch.frames == 0 ? now : std::min(stretch.since_ns, now);
    stretch.until_ns = stretch.frames == 0 ? now : std::max(stretch.until_ns, now);
    ++stretch.frames;
}

void Follower::Engine::retire_sent(Record& record, Direction direction) {
    Totals& totals = outcome_.totals[static_cast<std::size_t>(direction)];
    ++totals.sent;
    record.direction = direction;
    const Coverage coverage =
        record.state == State::kPending ? coverage_of(record) : Coverage::kCovered;
    if (record.state == State::kPending && record.links == 0) {
        if (record.packet.headless) {
            record.found = Class::kUntold;
        } else if (is_local(record, true)) {
            record.found = Class::kLocal;
        } else if (is_refused(record)) {
            record.found = Class::kRefused;
        } else if (coverage != Coverage::kCovered) {
            leave_outside(record, coverage);
        } else if (record.packet.cut) {
            record.found = Class::kUntold;
        } else {
            mark(record, nullptr, Class::kMissing, "missing", "went in and never came out");
        }
    } else if (record.state == State::kPending) {
        std::uint64_t bytes = 0;
        for (const Interval& open : record.open) {
            bytes += open.end - open.begin;
        }
        if (coverage != Coverage::kCovered) {
            leave_outside(record, coverage);
        } else if (record.packet.protocol == IPPROTO_UDP && record.links == 1) {
            mark(record, nullptr, Class::kDamaged, "cut in part",
                 fmt::format("cut: {} of its {} of payload are left out", bytes,
                             plural(record.packet.payload_length(), "byte")));
        } else {
            mark(record, nullptr, Class::kMissing, "missing in part",
                 fmt::format("{} of its {} of payload never came out", bytes,
                             plural(record.packet.payload_length(), "byte")));
        }
    }
    ++totals.of(record.found);
    if (options_.on_fate) {
        options_.on_fate(record.side, {record.packet.file, record.packet.number}, record.found);
    }
    if (record.found == Class::kAsSent) {
        findings_.add_right(direction, record.packet);
        if (record.variant != Record::kNoNode) {
            Flow& flow = of(record.side).flows[record.packet.flow];
            if (flow.epoch == record.epoch && record.variant < flow.variants.size()) {
                ++flow.variants[record.variant].clean;
            }
        }
    }
    if (is_fault(record.found)) {
        findings_.add({.direction = direction,
                       .fault = record.found,
                       .key = record.note->key,
                       .text = record.note->text,
                       .in = &record.packet,
                       .out = record.note->has_out ? &record.note->out : nullptr,
                       .place = totals.sent});
    }
}

void Follower::Engine::retire_received(Record& record, Direction direction) {
    Totals& totals = outcome_.totals[static_cast<std::size_t>(direction)];
    ++totals.received;
    record.direction = direction;
    if (record.state == State::kPaired) {
        ++totals.arrived;
    } else if (record.state == State::kCopy) {
        ++totals.copies;
    } else if (record.packet.headless) {
        ++totals.untold;
    } else if (is_local(record, false)) {
        ++totals.local;
    } else if (coverage_of(record) != Coverage::kCovered) {
        ++totals.outside;
    } else if (record.packet.cut) {
        ++totals.untold;
    } else {
        ++totals.unknown;
        findings_.add({.direction = direction,
                       .unknown = true,
                       .key = "unknown " + protocol_text(record.packet),
                       .text = "came out and never went in",
                       .out = &record.packet});
    }
}

}  // namespace pathproof::follow
