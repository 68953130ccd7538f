#include "harness/monitor/backend_table.h"

#include <netinet/in.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/monitor/backend_counts.h"
#include "harness/monitor/early_refusals.h"
#include "harness/netfilter/flow_memory.h"

namespace pathproof::monitor {
namespace {

using netfilter::Entry;
using netfilter::Event;
using netfilter::EventKind;
using netfilter::FlowMemory;
using netfilter::RecentFlow;
using netfilter::Tuple;
using Slot = FlowMemory::Slot;

bool seen_reply(const Entry& entry) {
    return (entry.status & netfilter::status::kSeenReply) != 0;
}

bool is_hidden(const Entry& entry) {
    return (entry.status & netfilter::status::kNatClash) != 0;
}

struct BackendKey {
    frame::Endpoint service;
    std::uint8_t protocol = 0;
    frame::Endpoint backend;
    auto operator<=>(const BackendKey&) const = default;
};

BackendKey key_of(const Entry& entry) {
    return {entry.original.destination, entry.original.protocol, entry.reply.source};
}

struct Backend {
    Backend(const BackendKey& of, std::int64_t window_ns) : key(of), window(window_ns) {}

    BackendKey key;
    std::uint64_t flows = 0;
    std::int64_t in_table = 0;
    std::uint32_t waiting = 0;  // records that name this backend
    std::int64_t last_ns = 0;   // something happened
    WindowCounts window;
    LastTimes answers;
    std::string last_refusal;
};

// A flow that waits for its answer carries the number of its backend and whether it was refused.
constexpr std::uint32_t kRefusedBit = 1u << 31;
constexpr std::uint32_t kNoBackend = kRefusedBit - 1;

std::uint32_t backend_of(const RecentFlow& flow) {
    return flow.tag & ~kRefusedBit;
}
bool refused(const RecentFlow& flow) {
    return (flow.tag & kRefusedBit) != 0;
}

// The backends by number and by key; numbers of removed ones are used again.
class Backends {
  public:
    Backends(std::size_t limit, std::int64_t window_ns)
        : limit_(std::clamp<std::size_t>(limit, 1, kNoBackend)), window_ns_(window_ns) {}

    std::uint32_t find(const BackendKey& key) const {
        const auto found = numbers_.find(key);
        return found == numbers_.end() ? kNoBackend : found->second;
    }

    // kNoBackend when there is no room.
    std::uint32_t find_or_add(const BackendKey& key, std::int64_t now_ns) {
        if (const std::uint32_t known = find(key); known != kNoBackend) {
            return known;
        }
        if (numbers_.size() == limit_) {
            remove_idle(now_ns);
        }
        if (numbers_.size() == limit_) {
            return kNoBackend;
        }
        const std::uint32_t number = take_number();
        all_[number] = std::make_unique<Backend>(key, window_ns_);
        numbers_.emplace(key, number);
        return number;
    }

    Backend& at(std::uint32_t number) { return *all_[number]; }
    const Backend& at(std::uint32_t number) const { return *all_[number]; }
    std::size_t numbers() const { return all_.size(); }
    const std::map<BackendKey, std::uint32_t>& by_key() const { return numbers_; }

  private:
    std::uint32_t take_number() {
        if (!free_.empty()) {
            const std::uint32_t number = free_.back();
            free_.pop_back();
            return number;
        }
        all_.emplace_back();
        return static_cast<std::uint32_t>(all_.size() - 1);
    }

    // Those without flows of which the window shows nothing any more; looked for once a second.
    void remove_idle(std::int64_t now_ns) {
        if (now_ns < next_removal_ns_) {
            return;
        }
        next_removal_ns_ = now_ns + 1'000'000'000;
        for (auto next = numbers_.begin(); next != numbers_.end();) {
            const auto one = next++;
            const Backend& backend = *all_[one->second];
            if (backend.in_table <= 0 && backend.waiting == 0 &&
                backend.last_ns + window_ns_ < now_ns) {
                all_[one->second].reset();
                free_.push_back(one->second);
                numbers_.erase(one);
            }
        }
    }

    std::size_t limit_;
    std::int64_t window_ns_;
    std::int64_t next_removal_ns_ = INT64_MIN;
    std::vector<std::unique_ptr<Backend>> all_;
    std::vector<std::uint32_t> free_;
    std::map<BackendKey, std::uint32_t> numbers_;
};

using StrayKey = std::tuple<frame::Endpoint, std::uint8_t, std::string>;

}  // namespace

struct BackendTable::Impl {
    explicit Impl(const BackendTableOptions& given)
        : options(given), backends(given.backends, given.rules.window_ns), waiting(given.waiting) {}

    bool wanted(const Entry& entry) const {
        return options.scope == BackendTableOptions::Scope::kAll ||
               entry.reply.source != entry.original.destination;
    }

    void begin(const Entry& entry, std::int64_t now_ns) {
        std::uint32_t number = kNoBackend;
        if (wanted(entry)) {
            number = backends.find_or_add(key_of(entry), now_ns);
            left_out += number == kNoBackend ? 1 : 0;
        }
        if (number != kNoBackend) {
            Backend& backend = backends.at(number);
            ++backend.flows;
            ++backend.in_table;
            backend.last_ns = now_ns;
        }
        if (seen_reply(entry)) {
            count(number, {.judged = 1}, now_ns);
        } else {
            wait_for_answer(entry, number, now_ns);
        }
    }

    void count(std::uint32_t number, const FlowCounts& counts, std::int64_t now_ns) {
        if (number != kNoBackend) {
            backends.at(number).window.add(counts, now_ns);
            backends.at(number).last_ns = now_ns;
        }
    }

    // Flows of no backend wait too: a refusal that belongs to one is no stray.
    void wait_for_answer(const Entry& entry, std::uint32_t number, std::int64_t now_ns) {
        if (waiting.full()) {
            push_out_oldest(now_ns);
        }
        RecentFlow flow = netfilter::flow_of(entry, now_ns);
        flow.tag = number;
        const Slot slot = waiting.add(flow);
        if (number != kNoBackend) {
            ++backends.at(number).waiting;
        }
        if (early.empty()) {
            return;
        }
        // First as the backend's host sent it, then as it went on to the client.
        for (const Tuple& tuple : {turned(entry.reply), entry.original}) {
            if (const auto refusal = early.take(tuple)) {
                mark_refused(slot, *refusal, now_ns);
            }
        }
    }

    void push_out_oldest(std::int64_t now_ns) {
        const Slot oldest = waiting.oldest();
        if (!judge_unanswered(waiting.at(oldest), now_ns)) {
            ++forgotten;
        }
        stop_waiting(oldest);
    }

    // Counts a flow that nobody has answered, if it has waited long enough or was refused.
    bool judge_unanswered(const RecentFlow& flow, std::int64_t now_ns) {
        if (!refused(flow) && now_ns - flow.time_ns < options.rules.patience_ns) {
            return false;
        }
        count(backend_of(flow), unanswered_counts(flow), now_ns);
        return true;
    }

    static FlowCounts unanswered_counts(const RecentFlow& flow) {
        return {.judged = 1, .unanswered = 1, .refused = refused(flow) ? 1U : 0U};
    }

    void stop_waiting(Slot slot) {
        const std::uint32_t number = backend_of(waiting.at(slot));
        if (number != kNoBackend) {
            --backends.at(number).waiting;
        }
        waiting.erase(slot);
    }

    Slot find_waiting(const Entry& entry) const {
        return waiting.find_by_original(entry.original, [&](const RecentFlow& flow) {
            return netfilter::same_entry(flow, entry);
        });
    }

    void take_new(const Event& event) {
        const bool known = find_waiting(event.entry) != FlowMemory::kNone ||
                           (!seeded.empty() && seeded.erase(hash(event.entry)) > 0);
        if (!known) {
            begin(event.entry, event.time_ns);
        }
    }

    void take_update(const Event& event) {
        const Slot slot = find_waiting(event.entry);
        if (slot != FlowMemory::kNone && seen_reply(event.entry)) {
            answered(slot, event);
        }
    }

    void answered(Slot slot, const Event& event) {
        const RecentFlow& flow = waiting.at(slot);
        const std::uint32_t number = backend_of(flow);
        count(number, {.judged = 1}, event.time_ns);
        // A destroyed entry, or one that a comparison found changed, was answered at some time.
        if (number != kNoBackend && event.kind == EventKind::kUpdate && !event.missed) {
            backends.at(number).answers.add(event.time_ns - flow.time_ns);
        }
        stop_waiting(slot);
    }

    void take_destroy(const Event& event) {
        const std::uint32_t number = backends.find(key_of(event.entry));
        if (number != kNoBackend && wanted(event.entry)) {
            --backends.at(number).in_table;
            backends.at(number).last_ns = event.time_ns;
        }
        const Slot slot = find_waiting(event.entry);
        if (slot == FlowMemory::kNone) {
            return;
        }
        if (seen_reply(event.entry)) {
            answered(slot, event);
            return;
        }
        // Somebody deleted it, or the events that told of an answer may be among those lost: then
        // only a refusal says how it ended.
        const RecentFlow& flow = waiting.at(slot);
        const bool ended_by_itself = event.cause_port == 0 && !event.missed;
        if (ended_by_itself || refused(flow)) {
            count(backend_of(flow), unanswered_counts(flow), event.time_ns);
        } else {
            ++forgotten;
        }
        stop_waiting(slot);
    }

    Slot find_refused(const Tuple& packet) const {
        const auto same = [&](const RecentFlow& flow) {
            return without_icmp(flow.original) == packet ||
                   without_icmp(turned(flow.reply)) == packet;
        };
        const Slot before_translation = waiting.find_by_original(packet, same);
        return before_translation != FlowMemory::kNone
                   ? before_translation
                   : waiting.find_by_client(packet.source, packet.protocol, same);
    }

    void mark_refused(Slot slot, const Refusal& refusal, std::int64_t now_ns) {
        RecentFlow& flow = waiting.at(slot);
        if (refused(flow)) {
            return;  // the same one on its way out, with translated addresses
        }
        flow.tag |= kRefusedBit;
        if (backend_of(flow) != kNoBackend) {
            Backend& backend = backends.at(backend_of(flow));
            backend.last_refusal = describe(refusal);
            backend.last_ns = now_ns;
        }
    }

    void give_up(const EarlyRefusals::Early& one) {
        if (one.sender != Sender::kHere) {
            return;
        }
        const StrayKey key{one.refusal.packet.destination, one.refusal.packet.protocol,
                           describe(one.refusal)};
        if (strays.size() < options.strays || strays.contains(key)) {
            ++strays[key];
        }
    }

    BackendHealth health(const Backend& backend, FlowCounts counts, std::int64_t now_ns) const {
        counts.add(backend.window.sum(now_ns));
        BackendHealth value{.address = backend.key.backend,
                            .flows = backend.flows,
                            .in_table = std::max<std::int64_t>(backend.in_table, 0),
                            .judged = counts.judged,
                            .unanswered = counts.unanswered,
                            .refused = counts.refused,
                            .median_answer_ns = backend.answers.quantile_ns(0.5),
                            .slowest_tenth_ns = backend.answers.quantile_ns(0.9),
                            .last_refusal = backend.last_refusal};
        judge(value, options.rules);
        return value;
    }

    // Of flows that still wait, by backend.
    std::vector<FlowCounts> waiting_counts(std::int64_t now_ns) const {
        std::vector<FlowCounts> counts(backends.numbers());
        for (Slot slot = waiting.oldest(); slot != FlowMemory::kNone;
             slot = waiting.younger_than(slot)) {
            const RecentFlow& flow = waiting.at(slot);
            const bool ripe = refused(flow) || now_ns - flow.time_ns >= options.rules.patience_ns;
            if (ripe && backend_of(flow) != kNoBackend) {
                counts[backend_of(flow)].add(unanswered_counts(flow));
            }
        }
        return counts;
    }

    const BackendTableOptions options;
    Backends backends;
    FlowMemory waiting;
    netfilter::TupleHash hash;
    std::unordered_set<std::uint64_t> seeded;  // hash(entry); until end_of_seeds()
    EarlyRefusals early;
    std::map<StrayKey, std::uint64_t> strays;
    std::uint64_t left_out = 0;
    std::uint64_t forgotten = 0;
};

BackendTable::BackendTable(const BackendTableOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
BackendTable::~BackendTable() = default;

void BackendTable::seed(const Entry& entry, std::int64_t now_ns) {
    if (is_hidden(entry) || !impl_->wanted(entry)) {
        return;
    }
    impl_->seeded.insert(impl_->hash(entry));
    impl_->begin(entry, now_ns);
}

void BackendTable::end_of_seeds() {
    std::unordered_set<std::uint64_t>().swap(impl_->seeded);
}

void BackendTable::take(const Event& event) {
    if (is_hidden(event.entry)) {
        return;
    }
    switch (event.kind) {
        case EventKind::kNew: impl_->take_new(event); return;
        case EventKind::kUpdate: impl_->take_update(event); return;
        case EventKind::kDestroy: impl_->take_destroy(event); return;
    }
}

void BackendTable::take(const Refusal& refusal, Sender sender, std::int64_t now_ns) {
    tick(now_ns);
    const Slot slot = impl_->find_refused(refusal.packet);
    if (slot != FlowMemory::kNone) {
        impl_->mark_refused(slot, refusal, now_ns);
    } else {
        impl_->early.add(refusal, sender, now_ns);
    }
}

void BackendTable::tick(std::int64_t now_ns) {
    impl_->early.expire(now_ns, [this](const auto& one) { impl_->give_up(one); });
}

BackendReport BackendTable::report(std::int64_t now_ns) const {
    BackendReport report;
    const std::vector<FlowCounts> waiting = impl_->waiting_counts(now_ns);
    // In the order of keys: the backends of a service follow one another.
    for (const auto& [key, number] : impl_->backends.by_key()) {
        if (report.services.empty() || report.services.back().address != key.service ||
            report.services.back().protocol != key.protocol) {
            report.services.push_back({.address = key.service, .protocol = key.protocol});
        }
        ServiceHealth& service = report.services.back();
        service.backends.push_back(
            impl_->health(impl_->backends.at(number), waiting[number], now_ns));
        const BackendHealth& health = service.backends.back();
        service.flows += health.flows;
        service.in_table += health.in_table;
        service.judged += health.judged;
        service.unanswered += health.unanswered;
    }
    for (ServiceHealth& service : report.services) {
        std::ranges::stable_sort(service.backends, std::greater(), &BackendHealth::flows);
    }
    std::ranges::stable_sort(report.services, std::greater(), &ServiceHealth::flows);
    for (const auto& [key, packets] : impl_->strays) {
        const auto& [destination, protocol, what] = key;
        report.stray_refusals.push_back({destination, protocol, what, packets});
    }
    report.flows_left_out = impl_->left_out;
    report.flows_forgotten = impl_->forgotten;
    return report;
}

}  // namespace pathproof::monitor
