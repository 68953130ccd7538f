#include <algorithm>

#include "dataplane/base/counts.h"
#include "dataplane/load/tracked_intake.h"

namespace pathproof::load {
void add(ClassTotals& to, const ClassTotals& more) {
    to.unique += more.unique;
    to.duplicates += more.duplicates;
    to.reordered += more.reordered;
    to.late += more.late;
    to.wrong += more.wrong;
    to.damaged += more.damaged;
    to.latency.merge(more.latency);
}

ClassTotals all_classes(const IntakeTotals& intake) {
    ClassTotals all;
    for (const ClassTotals& one : intake.classes) {
        add(all, one);
    }
    return all;
}

std::uint64_t IntakeTotals::wrong_quotes() const {
    std::uint64_t wrong = 0;
    for (const IcmpErrorCount& count : icmp_errors) {
        wrong += count.wrong_quotes;
    }
    return wrong;
}

void add(IntakeTotals& to, const IntakeTotals& more) {
    add_counts(to.received, more.received);
    add_counts(to.checksums, more.checksums);
    add_counts(to.ip_flags, more.ip_flags);
    add_counts(to.l4_flags, more.l4_flags);
    for (std::size_t i = 0; i < to.classes.size(); ++i) {
        add(to.classes[i], more.classes[i]);
    }
    to.streams.resize(std::max(to.streams.size(), more.streams.size()));
    for (std::size_t i = 0; i < more.streams.size(); ++i) {
        to.streams[i] = judge::sum(to.streams[i], more.streams[i]);
    }
    add(to.icmp_errors, more.icmp_errors);
    to.quick += more.quick;
    to.known += more.known;
    to.stale += more.stale;
    if (to.wrong_fields.empty()) {
        to.wrong_fields = more.wrong_fields;
        return;
    }
    // Intakes of one run have the same fields.
    for (std::size_t i = 0; i < more.wrong_fields.size(); ++i) {
        to.wrong_fields[i].frames += more.wrong_fields[i].frames;
    }
}

}  // namespace pathproof::load
