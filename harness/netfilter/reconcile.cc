#include "harness/netfilter/reconcile.h"

namespace pathproof::netfilter {
namespace {

Pending when_in_table(Pending pending) {
    switch (pending) {
        case Pending::kGone:
        case Pending::kGoneNew: return Pending::kGoneNew;
        case Pending::kNew:
        case Pending::kNewGone:
        case Pending::kEnded: return Pending::kNew;
        case Pending::kNothing:
        case Pending::kChanged: return pending;
    }
    return pending;
}

Pending when_not_in_table(Pending pending) {
    if (pending == Pending::kEnded) {
        return pending;
    }
    const bool untold = pending == Pending::kNew || pending == Pending::kNewGone;
    return untold ? Pending::kNewGone : Pending::kGone;
}

// Takes an event's fields over into a known entry, as FlowTable::update() does.
void take_over(Entry& known, const Entry& news) {
    known.status = news.status != 0 ? news.status : known.status;
    known.mark = news.mark;
    if (!news.protocol_state.empty()) {
        known.protocol_state = news.protocol_state;
    }
    if (!news.helper.empty()) {
        known.helper = news.helper;
    }
    if (!news.labels.empty()) {
        known.labels = news.labels;
    }
}

}  // namespace

void Reconciler::initial(const Entry& entry) {
    if (is_hidden(entry)) {
        return;
    }
    begun_ = false;
    // An event that came before may be older than what the table says now.
    if (Flow* known = flows_.find(entry)) {
        flows_.update(*known, entry);
        return;
    }
    flows_.insert(entry).earlier = 1;
}

void Reconciler::event(const Event& event, const MissedSink& missed) {
    if (is_hidden(event.entry)) {
        return;
    }
    Flow* flow = flows_.find(event.entry);
    switch (event.kind) {
        case EventKind::kNew: on_new(flow, event, missed); return;
        case EventKind::kUpdate: on_update(flow, event, missed); return;
        case EventKind::kDestroy: on_destroy(flow, event, missed); return;
    }
}

void Reconciler::on_new(Flow* flow, const Event& event, const MissedSink& missed) {
    if (flow == nullptr) {
        flows_.insert(event.entry);
        return;
    }
    if (has_ended(*flow)) {
        give(EventKind::kDestroy, *flow, missed);
        later_.erase(flow);
    }
    flow->pending = Pending::kNothing;
    flow->earlier = 0;
    flows_.update(*flow, event.entry);
}

// Returns whether the NEW event of a known flow means that the earlier flow ended without an event.
bool Reconciler::has_ended(const Flow& flow) const {
    if (flow.pending == Pending::kGone || flow.pending == Pending::kGoneNew) {
        return true;
    }
    // A flow that only a table has shown, and maybe not the last one, is this one or left no trace.
    if (flow.pending == Pending::kNew || flow.pending == Pending::kNewGone ||
        flow.pending == Pending::kEnded) {
        return false;
    }
    // It began while the table was read first, and that was quicker than the event.
    const bool first_told = flow.earlier && !begun_;
    return gap_open_ && !first_told;
}

void Reconciler::on_update(Flow* flow, const Event& event, const MissedSink& missed) {
    if (flow == nullptr) {
        Flow& added = flows_.insert(event.entry);
        if (gap_seen_) {
            give(EventKind::kNew, added, missed);
        }
        return;
    }
    if (flow->pending == Pending::kGoneNew) {
        // If it was about the earlier flow, its DESTROY and the later one's NEW follow.
        take_over(later_[flow], event.entry);
        return;
    }
    if (flow->pending == Pending::kNew || flow->pending == Pending::kNewGone ||
        flow->pending == Pending::kEnded) {
        give(EventKind::kNew, *flow, missed);  // it would have come before this
    }
    flow->pending = flow->pending == Pending::kNewGone ? Pending::kGone : Pending::kNothing;
    flows_.update(*flow, event.entry);
}

void Reconciler::on_destroy(Flow* flow, const Event& event, const MissedSink& missed) {
    if (flow == nullptr) {
        if (gap_seen_) {
            missed({EventKind::kNew, event.entry, false});
        }
        return;
    }
    switch (flow->pending) {
        case Pending::kNew:
        case Pending::kNewGone:
        case Pending::kEnded: give(EventKind::kNew, *flow, missed); break;
        case Pending::kGoneNew:
            renew(*flow);
            flow->pending = Pending::kEnded;
            return;
        case Pending::kNothing:
        case Pending::kChanged:
        case Pending::kGone: break;
    }
    flows_.erase(*flow);
}

void Reconciler::begin_table() {
    flows_.each([](Flow& flow) { flow.seen = 0; });
}

void Reconciler::in_table(const Entry& entry) {
    if (is_hidden(entry)) {
        return;
    }
    Flow* flow = flows_.find(entry);
    if (flow == nullptr) {
        Flow& added = flows_.insert(entry);
        added.pending = Pending::kNew;
        added.seen = 1;
        return;
    }
    flow->seen = 1;
    flow->pending = when_in_table(flow->pending);
    if (flow->pending == Pending::kNothing && flows_.is_other(*flow, entry)) {
        flow->pending = Pending::kGoneNew;
    }
    if (flow->pending == Pending::kGoneNew) {
        later_[flow] = entry;
        return;
    }
    if (flow->pending == Pending::kNothing && flows_.differs(*flow, entry)) {
        flow->pending = Pending::kChanged;
    }
    flows_.update(*flow, entry);
}

void Reconciler::end_table(Table table) {
    if (table == Table::kMayLackEntries) {
        return;
    }
    flows_.each([&](Flow& flow) {
        if (!flow.seen) {
            flow.pending = when_not_in_table(flow.pending);
            later_.erase(&flow);
        }
    });
}

void Reconciler::settle(const MissedSink& missed) {
    gap_open_ = false;
    flows_.each([&](Flow& flow) {
        if (flow.pending != Pending::kNothing) {
            settle(flow, missed);
        }
    });
}

void Reconciler::settle(Flow& flow, const MissedSink& missed) {
    const Pending pending = flow.pending;
    flow.pending = Pending::kNothing;
    switch (pending) {
        case Pending::kNothing: return;
        case Pending::kNew: give(EventKind::kNew, flow, missed); return;
        case Pending::kChanged: give(EventKind::kUpdate, flow, missed); return;
        case Pending::kGoneNew:
            give(EventKind::kDestroy, flow, missed);
            renew(flow);
            give(EventKind::kNew, flow, missed);
            return;
        case Pending::kEnded: flows_.erase(flow); return;
        case Pending::kNewGone: give(EventKind::kNew, flow, missed); break;
        case Pending::kGone: break;
    }
    give(EventKind::kDestroy, flow, missed);
    flows_.erase(flow);
}

// The flow becomes the later one of its id and tuples.
void Reconciler::renew(Flow& flow) {
    flow.earlier = 0;
    if (const auto later = later_.find(&flow); later != later_.end()) {
        flows_.update(flow, later->second);
        later_.erase(later);
    }
}

void Reconciler::give(EventKind kind, const Flow& flow, const MissedSink& missed) const {
    const bool unannounced = kind == EventKind::kDestroy && flow.earlier;
    missed({kind, flows_.entry(flow), unannounced});
}

}  // namespace pathproof::netfilter
