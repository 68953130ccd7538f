#include "harness/monitor/pods.h"

namespace pathproof::monitor {

void PodTable::know(KnownPods pods) {
    std::map<Pod, PodCounts> counts;
    for (const auto& [address, pod] : pods.addresses) {
        const auto known = counts_.find(pod);
        counts[pod] = known == counts_.end() ? PodCounts{} : known->second;
    }
    counts_ = std::move(counts);
    known_ = std::move(pods);
}

PodCounts* PodTable::counts_of(const frame::IpAddress& client) {
    if (!known_) {
        return nullptr;
    }
    const auto pod = known_->addresses.find(client);
    return pod == known_->addresses.end() ? nullptr : &counts_[pod->second];
}

void PodTable::take(const netfilter::Event& event) {
    // Clashes report the fate of hidden entries.
    if (is_hidden(event.entry)) {
        return;
    }
    PodCounts* const counts = counts_of(event.entry.original.source.address);
    if (counts == nullptr) {
        return;
    }
    counts->flows += event.kind == netfilter::EventKind::kNew ? 1 : 0;
    counts->unanswered += event.kind == netfilter::EventKind::kDestroy && event.entry.status != 0 &&
                                  !seen_reply(event.entry)
                              ? 1
                              : 0;
}

void PodTable::take_clash(const netfilter::Clash& clash) {
    if (PodCounts* const counts = counts_of(clash.hidden.original.source.address)) {
        ++counts->clashes;
    }
}

void PodTable::take_late_answer(const netfilter::LateAnswer& late) {
    if (late.number < next_late_answer_) {
        return;
    }
    next_late_answer_ = late.number + 1;
    // It is a flow of its own, from the backend to the client.
    if (PodCounts* const counts = counts_of(late.event.entry.original.destination.address)) {
        ++counts->late_answers;
    }
}

}  // namespace pathproof::monitor
