#include "harness/netfilter/clashes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace pathproof::netfilter {
namespace {

using TupleInZone = std::pair<Tuple, std::uint16_t>;
// CTA_ID is a hash over the entry's address and tuples, and may come again: the tuples tell entries
// apart.
using Identity = std::tuple<std::uint32_t, Tuple, Tuple>;

Identity identity(const Entry& entry) {
    return {entry.id, entry.original, entry.reply};
}

bool is_hidden(const Entry& entry) {
    return (entry.status & status::kNatClash) != 0;
}

bool is_translated(const Entry& entry) {
    return entry.reply.source != entry.original.destination ||
           entry.reply.destination != entry.original.source;
}

// The flows that the log has seen begin, and what was hidden behind them.
class Sorter {
  public:
    explicit Sorter(ClashReport& report) : report_(report) {}

    void take(const Event& event) {
        if (event.kind == EventKind::kNew) {
            begun_.insert(identity(event.entry));
            latest_[{event.entry.original, event.entry.zone}] = &event;
            return;
        }
        // A hidden entry leaves __nf_conntrack_confirm before the NEW event is cached.
        if (is_hidden(event.entry) && !begun_.contains(identity(event.entry))) {
            take_hidden(event);
        }
    }

    // The last clash whose hidden entry expects this flow's packets as replies and which was not
    // after the flow.
    std::optional<std::size_t> clash_answered_by(const Event& event) const {
        const auto found = clashes_by_reply_.find({event.entry.original, event.entry.zone});
        if (found == clashes_by_reply_.end()) {
            return std::nullopt;
        }
        const auto clash =
            std::find_if(found->second.rbegin(), found->second.rend(),
                         [&](std::size_t index) { return not_before_[index] <= event.time_ns; });
        return clash == found->second.rend() ? std::nullopt : std::optional(*clash);
    }

  private:
    void take_hidden(const Event& event) {
        const auto [found, fresh] =
            open_.try_emplace(identity(event.entry), report_.clashes.size());
        if (fresh) {
            begin_clash(event);
        }
        Clash& clash = report_.clashes[found->second];
        clash.hidden = event.entry;
        if ((event.entry.status & status::kSeenReply) != 0 &&
            clash.fate != Clash::Fate::kAnswered) {
            clash.fate = Clash::Fate::kAnswered;
            clash.answered_ns = event.time_ns;
        }
        if (event.kind == EventKind::kDestroy) {
            clash.destroyed_ns = event.time_ns;
            clash.fate =
                clash.fate == Clash::Fate::kAnswered ? clash.fate : Clash::Fate::kUnanswered;
            open_.erase(found);
        }
    }

    void begin_clash(const Event& event) {
        Clash clash;
        const auto winner = latest_.find({event.entry.original, event.entry.zone});
        if (winner != latest_.end()) {
            clash.winner = winner->second->entry;
        }
        not_before_.push_back(winner != latest_.end() ? winner->second->time_ns : INT64_MIN);
        clashes_by_reply_[{event.entry.reply, event.entry.zone}].push_back(report_.clashes.size());
        report_.clashes.push_back(std::move(clash));
    }

    ClashReport& report_;
    std::set<Identity> begun_;
    std::map<TupleInZone, const Event*> latest_;  // NEW event by original tuple
    std::map<Identity, std::size_t> open_;
    std::map<TupleInZone, std::vector<std::size_t>> clashes_by_reply_;
    // By clash: time of the winner's NEW event, if the log has it.
    std::vector<std::int64_t> not_before_;
};

// A client's end of a flow as a backend sees it, and the backends' own ends.
struct Backends {
    std::set<std::pair<frame::Endpoint, std::uint8_t>> endpoints;
    std::map<std::pair<frame::Endpoint, std::uint8_t>, const Event*> translated_by_client;

    void learn(const Event& event) {
        const Entry& entry = event.entry;
        if (!is_translated(entry)) {
            return;
        }
        endpoints.insert({entry.reply.source, entry.reply.protocol});
        translated_by_client[{entry.reply.destination, entry.reply.protocol}] = &event;
    }

    // The translated flow whose client a backend now speaks to from its own address, as a new flow.
    const Event* flow_answered_by(const Entry& entry) const {
        if (!endpoints.contains({entry.original.source, entry.original.protocol})) {
            return nullptr;
        }
        const auto found =
            translated_by_client.find({entry.original.destination, entry.original.protocol});
        return found == translated_by_client.end() ? nullptr : found->second;
    }
};

bool has_ports(const Entry& entry) {
    return entry.original.source.port != 0;
}

void find_late_answers(const EventLog& log, const Sorter& sorter, ClashReport& report) {
    Backends backends;
    for (const Event& event : log.events) {
        if (event.kind == EventKind::kNew && has_ports(event.entry)) {
            const auto clash = sorter.clash_answered_by(event);
            const Event* const known = backends.flow_answered_by(event.entry);
            if (clash) {
                report.late_answers.push_back({event, clash, std::nullopt});
            } else if (known != nullptr) {
                report.late_answers.push_back({event, std::nullopt, known->entry});
            }
        }
        backends.learn(event);
    }
}

}  // namespace

std::uint64_t ClashReport::count(Clash::Fate fate) const {
    return static_cast<std::uint64_t>(std::count_if(
        clashes.begin(), clashes.end(), [&](const Clash& clash) { return clash.fate == fate; }));
}

ClashReport find_clashes(const EventLog& log) {
    ClashReport report;
    report.overruns = log.overruns;
    Sorter sorter(report);
    for (const Event& event : log.events) {
        sorter.take(event);
    }
    find_late_answers(log, sorter, report);
    return report;
}

}  // namespace pathproof::netfilter
