#include "harness/fate/tally.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace pathproof::fate {
namespace {

frame::Endpoint endpoint(const fate_tuple& tuple, const __u8 (&address)[16], std::uint16_t port) {
    frame::Endpoint end{.address = {}, .port = port};
    end.address.family = tuple.family == 6 ? frame::Family::kIpv6 : frame::Family::kIpv4;
    std::copy_n(address, end.address.size(), end.address.bytes.begin());
    return end;
}

}  // namespace

void EndTally::add(const fate_record& record, const Names& names, std::int64_t to_realtime_ns) {
    const Direction direction = direction_of(record);
    End end = end_of(record, names);
    const auto [place, is_new] = places_.emplace(std::pair(direction, end), fates_.ends.size());
    if (is_new) {
        fates_.ends.push_back(
            {.direction = direction, .end = std::move(end), .way = way_of(record, names)});
    }
    ++fates_.ends[place->second].packets;
    ++fates_.packets;
    // Dropped packets are kept all the same: they are asked about.
    if (fates_.each.size() >= most_packets_ &&
        fates_.ends[place->second].end.ending != Ending::kDropped) {
        ++fates_.not_kept;
        return;
    }
    const fate_tuple& first = record.first;
    const fate_tuple& last = record.last;
    Packet packet{.begin_ns = static_cast<std::int64_t>(record.begin_ns) + to_realtime_ns,
                  .end_ns = record.end_ns == 0
                                ? 0
                                : static_cast<std::int64_t>(record.end_ns) + to_realtime_ns,
                  .protocol = first.protocol,
                  .direction = direction,
                  .source = endpoint(first, first.source, first.source_port),
                  .destination = endpoint(first, first.destination, first.destination_port),
                  .last_source = endpoint(last, last.source, last.source_port),
                  .last_destination = endpoint(last, last.destination, last.destination_port),
                  .payload = record.payload,
                  .sequence = record.sequence,
                  .tcp_flags = record.tcp_flags,
                  .made_here = record.steps == 0 || record.way[0].place == FATE_QUEUED,
                  .clash_resolved = (record.flags & FATE_WAS_RESOLVED) != 0,
                  .end = place->second};
    if (record.steps > 0) {
        packet.first_netns = names.netns(record.way[0].netns);
        if (record.way[0].device != 0) {
            packet.first_device = names.device(record.way[0].netns, record.way[0].device);
        }
    }
    fates_.each.push_back(std::move(packet));
}

Fates EndTally::take() {
    std::vector<std::uint32_t> order(fates_.ends.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [this](std::uint32_t a, std::uint32_t b) {
        return fates_.ends[a].packets > fates_.ends[b].packets;
    });
    std::vector<std::uint32_t> place(order.size());
    std::vector<EndCount> ends;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        place[order[i]] = i;
        ends.push_back(std::move(fates_.ends[order[i]]));
    }
    fates_.ends = std::move(ends);
    for (Packet& packet : fates_.each) {
        packet.end = place[packet.end];
    }
    places_.clear();
    return std::move(fates_);
}

}  // namespace pathproof::fate
