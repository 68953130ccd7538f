// Keeps the state of a conntrack table from its events, and finds what lost events must have said
// by comparing the state with the table.
//
// The order of things after a gap: gap() at its place in the stream of events, or before; event()
// for those that follow; begin_table(), in_table() for each entry of the table read then,
// end_table(); event() for what came in before the table had been read and follows that place in
// the stream, and settle(). What the table shows and none of those events has explained is a missed
// event. A gap that comes before settle() needs a begin_table() to end_table() at a place behind
// it, however old it is.
#pragma once

#include <functional>
#include <unordered_map>

#include "harness/netfilter/entry.h"
#include "harness/netfilter/flow_table.h"

namespace pathproof::netfilter {

class Reconciler {
  public:
    struct Missed {
        EventKind kind = EventKind::kNew;
        Entry entry;               // as far as it is known
        bool unannounced = false;  // the end of a flow that was there before watching began
    };
    using MissedSink = std::function<void(const Missed&)>;

    // Adds an entry that the table holds when watching begins; it is not missed. Events may have
    // come before.
    void initial(const Entry& entry);

    // Applies an event. Gives to `missed` what must have happened before it and was not told: only
    // after a gap.
    void event(const Event& event, const MissedSink& missed);

    // All events about entries that initial() was given, of what was before, have been applied.
    void begin() { begun_ = true; }

    // From now on events may be missing, until settle().
    void gap() { gap_seen_ = gap_open_ = true; }
    void begin_table();
    void in_table(const Entry& entry);
    // A table that changed its size while it was read may lack entries that exist.
    enum class Table { kWhole, kMayLackEntries };
    void end_table(Table table);
    void settle(const MissedSink& missed);

    FlowTable& flows() { return flows_; }
    const FlowTable& flows() const { return flows_; }

  private:
    void on_new(Flow* flow, const Event& event, const MissedSink& missed);
    bool has_ended(const Flow& flow) const;
    void on_update(Flow* flow, const Event& event, const MissedSink& missed);
    void on_destroy(Flow* flow, const Event& event, const MissedSink& missed);
    void settle(Flow& flow, const MissedSink& missed);
    void renew(Flow& flow);
    void give(EventKind kind, const Flow& flow, const MissedSink& missed) const;

    FlowTable flows_;
    // Entries that the table shows for flows that are kGoneNew; the flow itself still holds the
    // earlier entry's state.
    std::unordered_map<const Flow*, Entry> later_;
    bool gap_seen_ = false;
    bool gap_open_ = false;
    bool begun_ = true;
};

}  // namespace pathproof::netfilter
