#include "harness/netfilter/clashes.h"

#include <netinet/in.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "harness/netfilter/flow_memory.h"

namespace pathproof::netfilter {
namespace {

using TupleInZone = std::pair<Tuple, std::uint16_t>;
using Fate = Clash::Fate;

// Far more backends than one namespace translates to; beyond, they are learnt anew.
constexpr std::size_t kMostBackends = 65'536;

bool is_translated(const Tuple& original, const Tuple& reply) {
    return reply.source != original.destination || reply.destination != original.source;
}

// Returns whether the kernel may resolve a clash of two packets of this protocol
// (nf_conntrack_l4proto.allow_clash). It never does for those listed; every other protocol is
// followed, for kernels to come.
bool may_clash(std::uint8_t protocol) {
    switch (protocol) {
        case IPPROTO_TCP:
        case IPPROTO_SCTP:
        case IPPROTO_DCCP:
        case IPPROTO_ICMP:
        case IPPROTO_ICMPV6: return false;
        default: return true;
    }
}

// Note on a remembered flow: whether it is a late answer, its number, and whether its clash is
// known.
struct Late {
    bool is_late = false;
    bool joined = false;
    std::uint32_t number = 0;
};
using Flows = FlowMemory<Late>;
using Slot = Flows::Slot;

template <typename Value>
void tell(const std::function<void(const Value&)>& listener, const Value& value) {
    if (listener) {
        listener(value);
    }
}

// The last clashes, by number and by the tuple that their hidden entry expects replies with.
class RecentClashes {
  public:
    explicit RecentClashes(std::size_t limit) : limit_(std::max<std::size_t>(limit, 1)) {}

    // `not_before_ns`: an answer that came earlier was not for this clash.
    Clash& add(Clash clash, std::int64_t not_before_ns) {
        if (kept_.size() == limit_) {
            forget_oldest();
        }
        by_reply_[key(clash.hidden)].push_back(clash.number);
        kept_.push_back({std::move(clash), not_before_ns});
        return kept_.back().clash;
    }

    Clash* find(std::size_t number) {
        const std::size_t first = kept_.empty() ? number + 1 : kept_.front().clash.number;
        return number < first ? nullptr : &kept_[number - first].clash;
    }

    std::int64_t not_before_ns(std::size_t number) const {
        return kept_[number - kept_.front().clash.number].not_before_ns;
    }

    // The last clash whose hidden entry expects this flow's packets as replies and which was not
    // after the flow.
    const Clash* answered_by(const Event& event) const {
        const auto found = by_reply_.find({event.entry.original, event.entry.zone});
        if (found == by_reply_.end()) {
            return nullptr;
        }
        for (auto number = found->second.rbegin(); number != found->second.rend(); ++number) {
            const Kept& kept = kept_[*number - kept_.front().clash.number];
            if (kept.not_before_ns <= event.time_ns) {
                return &kept.clash;
            }
        }
        return nullptr;
    }

  private:
    struct Kept {
        Clash clash;
        std::int64_t not_before_ns;
    };

    static TupleInZone key(const Entry& hidden) { return {hidden.reply, hidden.zone}; }

    void forget_oldest() {
        const auto found = by_reply_.find(key(kept_.front().clash.hidden));
        found->second.pop_front();
        if (found->second.empty()) {
            by_reply_.erase(found);
        }
        kept_.pop_front();
    }

    std::size_t limit_;
    std::deque<Kept> kept_;  // numbers follow one another
    std::map<TupleInZone, std::deque<std::size_t>> by_reply_;
};

}  // namespace

const char* name(Clash::Fate fate) {
    switch (fate) {
        case Fate::kAnswered: return "answered";
        case Fate::kUnanswered: return "unanswered";
        case Fate::kOpen: return "open";
    }
    return "open";
}

struct ClashTracker::Impl {
    Impl(ClashSink told, const ClashLimits& bounds, Filter wanted)
        : sink(std::move(told)),
          filter(std::move(wanted)),
          most_undestroyed(bounds.undestroyed),
          flows(bounds.flows),
          clashes(bounds.clashes) {}

    void take(const Event& event) {
        const Entry& entry = event.entry;
        if (!may_clash(entry.original.protocol)) {
            return;
        }
        if (event.kind == EventKind::kNew) {
            begin_flow(event);
        } else if (is_hidden(entry) && matches(filter, entry) && !had_a_new_event(entry)) {
            take_hidden(event);
        }
        if (is_translated(entry.original, entry.reply)) {
            if (backends.size() >= kMostBackends) {
                backends.clear();
            }
            backends.insert({entry.reply.source, entry.reply.protocol});
        }
    }

    // A hidden entry leaves __nf_conntrack_confirm before the NEW event is cached; an entry that
    // had one carries the bit with another meaning.
    bool had_a_new_event(const Entry& entry) const {
        const auto same = [&](const RecentFlow& flow) { return same_entry(flow, entry); };
        return flows.find_by_original(entry.original, same) != Flows::kNone;
    }

    void begin_flow(const Event& event) {
        const Late late = judge_late(event);
        flows.add(flow_of(event.entry, event.time_ns), late);
    }

    // Tells of it if it is one.
    Late judge_late(const Event& event) {
        const Tuple& tuple = event.entry.original;
        if (tuple.source.port == 0) {
            return {};
        }
        LateAnswer late{.event = event, .number = counts.late_answers};
        if (const Clash* clash = clashes.answered_by(event)) {
            late.clash = clash->number;
            ++counts.late_after_a_clash;
        } else if (const Slot known = flow_answered_by(tuple); known != Flows::kNone) {
            late.known = entry_of(flows.at(known));
        } else {
            return {};
        }
        ++counts.late_answers;
        tell(sink.late_answer, late);
        return {.is_late = true,
                .joined = late.clash.has_value(),
                .number = static_cast<std::uint32_t>(late.number)};
    }

    // The translated flow whose client a backend now speaks to from its own address.
    Slot flow_answered_by(const Tuple& tuple) const {
        if (!backends.contains({tuple.source, tuple.protocol})) {
            return Flows::kNone;
        }
        const auto wanted = [this](const RecentFlow& flow) {
            return is_translated(flow.original, flow.reply) && matches(filter, entry_of(flow));
        };
        return flows.find_by_client(tuple.destination, tuple.protocol, wanted);
    }

    // A clash that the lists have no room for any more still has its fate counted.
    void take_hidden(const Event& event) {
        const std::uint64_t identity = hash(event.entry);
        const auto known = undestroyed.find(identity);
        const bool fresh = known == undestroyed.end();
        Progress progress = fresh ? begin_clash(event) : known->second;
        Clash* const clash = clashes.find(progress.number);
        if (clash != nullptr) {
            clash->hidden = event.entry;
        }
        if (fresh) {
            tell(sink.found, *clash);
        }
        settle(event, progress, clash);
        if (event.kind == EventKind::kDestroy) {
            undestroyed.erase(identity);
            end_clash(event, clash);
        } else if (!fresh || undestroyed.size() < most_undestroyed) {
            undestroyed.insert_or_assign(identity, progress);
        }
        if (fresh) {
            join_earlier_answer(*clash);
        }
    }

    struct Progress {
        std::size_t number = 0;
        Fate fate = Fate::kOpen;
    };

    Progress begin_clash(const Event& event) {
        Clash clash{.number = counts.hidden, .hidden = event.entry, .found_ns = event.time_ns};
        const Slot winner = flows.find_by_original(
            event.entry.original,
            [&](const RecentFlow& flow) { return flow.zone == event.entry.zone; });
        std::int64_t not_before_ns = INT64_MIN;
        if (winner != Flows::kNone) {
            clash.winner = entry_of(flows.at(winner));
            not_before_ns = flows.at(winner).time_ns;
            clash.winner_ns = not_before_ns;
        } else {
            ++counts.without_winner;
        }
        ++counts.hidden;
        ++counts.open;
        clashes.add(std::move(clash), not_before_ns);
        return {counts.hidden - 1, Fate::kOpen};
    }

    // `clash` is null when it has been forgotten.
    void settle(const Event& event, Progress& progress, Clash* clash) {
        const bool answered = seen_reply(event.entry);
        if (progress.fate != Fate::kOpen || (!answered && event.kind != EventKind::kDestroy)) {
            return;
        }
        progress.fate = answered ? Fate::kAnswered : Fate::kUnanswered;
        ++(answered ? counts.answered : counts.unanswered);
        --counts.open;
        if (clash == nullptr) {
            return;
        }
        clash->fate = progress.fate;
        if (answered) {
            clash->answered_ns = event.time_ns;
        }
        tell(sink.settled, *clash);
    }

    void end_clash(const Event& event, Clash* clash) {
        if (clash != nullptr) {
            clash->destroyed_ns = event.time_ns;
            tell(sink.destroyed, *clash);
        }
    }

    // An answer that came before its hidden entry was heard of passed for an ordinary flow.
    void join_earlier_answer(const Clash& clash) {
        const Entry& hidden = clash.hidden;
        const std::int64_t not_before_ns = clashes.not_before_ns(clash.number);
        const Slot slot = flows.find_by_original(hidden.reply, [&](const RecentFlow& flow) {
            return flow.zone == hidden.zone && flow.time_ns >= not_before_ns;
        });
        if (slot == Flows::kNone || hidden.reply.source.port == 0) {
            return;
        }
        auto& flow = flows.at(slot);
        const Late before = flow.note;
        if (before.joined && !clash.winner) {
            return;  // nothing says that this clash is the nearer one
        }
        const std::size_t number = before.is_late ? before.number : counts.late_answers++;
        counts.late_after_a_clash += before.joined ? 0 : 1;
        flow.note = {.is_late = true, .joined = true, .number = static_cast<std::uint32_t>(number)};
        tell(sink.late_answer,
             {.event = {.kind = EventKind::kNew, .time_ns = flow.time_ns, .entry = entry_of(flow)},
              .clash = clash.number,
              .number = number});
    }

    ClashSink sink;
    Filter filter;
    std::size_t most_undestroyed;
    TupleHash hash;
    Flows flows;  // NEW events
    RecentClashes clashes;
    std::unordered_map<std::uint64_t, Progress> undestroyed;  // by hash(entry)
    // The ends from which backends answer, of all translated flows.
    std::set<std::pair<frame::Endpoint, std::uint8_t>> backends;
    ClashCounts counts;
};

ClashTracker::ClashTracker(ClashSink sink, ClashLimits limits, Filter filter)
    : impl_(std::make_unique<Impl>(std::move(sink), limits, std::move(filter))) {}
ClashTracker::~ClashTracker() = default;

void ClashTracker::take(const Event& event) {
    impl_->take(event);
}
const ClashCounts& ClashTracker::counts() const {
    return impl_->counts;
}

std::uint64_t ClashReport::count(Clash::Fate fate) const {
    return static_cast<std::uint64_t>(std::ranges::count(clashes, fate, &Clash::fate));
}

ClashReport find_clashes(const EventLog& log) {
    ClashReport report;
    report.overruns = log.overruns;
    const auto keep = [&](const Clash& clash) {
        report.clashes.resize(std::max(report.clashes.size(), clash.number + 1));
        report.clashes[clash.number] = clash;
    };
    const auto keep_late = [&](const LateAnswer& late) {
        report.late_answers.resize(std::max(report.late_answers.size(), late.number + 1));
        report.late_answers[late.number] = late;
    };
    const std::size_t all = std::max<std::size_t>(log.events.size(), 1);
    ClashTracker tracker(
        {.found = keep, .settled = keep, .destroyed = keep, .late_answer = keep_late},
        {.flows = all, .clashes = all, .undestroyed = all});
    for (const Event& event : log.events) {
        tracker.take(event);
    }
    std::ranges::stable_sort(report.late_answers, {},
                             [](const LateAnswer& late) { return late.event.time_ns; });
    return report;
}

}  // namespace pathproof::netfilter
