#include <algorithm>

#include "dataplane/load/tracked_intake.h"

namespace pathproof::load {
namespace {

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
    to.damaged += more.damaged;
    to.latency.merge(more.latency);
}

}  // namespace

IntakeTotals sum(const IntakeTotals& a, const IntakeTotals& b) {
    IntakeTotals both = a;
    judge::add(both.received, b.received);
    judge::add(both.checksums, b.checksums);
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
    if (both.wrong_fields.empty()) {
        both.wrong_fields = b.wrong_fields;
        return both;
    }
    // Intakes of one run have the same fields.
    for (std::size_t i = 0; i < b.wrong_fields.size(); ++i) {
        both.wrong_fields[i].frames += b.wrong_fields[i].frames;
    }
    return both;
}

}  // namespace pathproof::load
