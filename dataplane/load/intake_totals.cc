#include <algorithm>

#include "dataplane/load/tracked_intake.h"

namespace pathproof::load {
namespace {

void add(judge::ReceiveTally& to, const judge::ReceiveTally& more) {
    to.received += more.received;
    to.answers += more.answers;
    to.bad_checksum += more.bad_checksum;
    to.malformed += more.malformed;
    to.other_traffic += more.other_traffic;
    to.icmp_errors += more.icmp_errors;
}

void add(judge::ChecksumCounts& to, const judge::ChecksumCounts& more) {
    for (std::size_t layer = 0; layer < to.size(); ++layer) {
        for (std::size_t state = 0; state < to[layer].size(); ++state) {
            to[layer][state] += more[layer][state];
        }
    }
}

void add(RxFlagCounts& to, const RxFlagCounts& more) {
    to.good_on_good += more.good_on_good;
    to.good_on_bad += more.good_on_bad;
    to.bad_on_good += more.bad_on_good;
    to.bad_on_bad += more.bad_on_bad;
    to.unknown += more.unknown;
}

void add(ClassTotals& to, const ClassTotals& more) {
    to.unique += more.unique;
    to.duplicates += more.duplicates;
    to.reordered += more.reordered;
    to.late += more.late;
    to.wrong += more.wrong;
    to.latency.merge(more.latency);
}

}  // namespace

IntakeTotals sum(const IntakeTotals& a, const IntakeTotals& b) {
    IntakeTotals both = a;
    add(both.received, b.received);
    add(both.checksums, b.checksums);
    add(both.ip_flags, b.ip_flags);
    add(both.l4_flags, b.l4_flags);
    for (std::size_t i = 0; i < both.classes.size(); ++i) {
        add(both.classes[i], b.classes[i]);
    }
    both.streams.resize(std::max(a.streams.size(), b.streams.size()));
    for (std::size_t i = 0; i < b.streams.size(); ++i) {
        both.streams[i] = judge::sum(both.streams[i], b.streams[i]);
    }
    both.quick += b.quick;
    both.known += b.known;
    both.stale += b.stale;
    return both;
}

}  // namespace pathproof::load
