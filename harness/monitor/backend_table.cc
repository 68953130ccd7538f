#include "harness/monitor/backend_table.h"

#include <netinet/in.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "harness/monitor/backend_counts.h"
#include "harness/monitor/early_refusals.h"
#include "harness/netfilter/flow_memory.h"
#include "harness/netfilter/names.h"

namespace pathproof::monitor {
namespace {

using netfilter::Entry;
using netfilter::Event;
using netfilter::EventKind;
using netfilter::RecentFlow;
using netfilter::Tuple;

constexpr std::string_view kReset = "reset";  // of parse_refusal()

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
    explicit Backend(std::int64_t window_ns) : window(window_ns) {}

    std::uint64_t flows = 0;
    std::int64_t in_table = 0;
    std::uint32_t waiting = 0;  // flows that name this backend
    std::int64_t last_ns = 0;   // something happened
    WindowCounts window;
    LastTimes answers;
    std::string last_refusal;
    bool answered = false;  // at some time
    std::uint64_t astray = 0;
    std::string astray_from;
};

// Note on a flow that waits for its answer.
struct Waiting {
    Backend* backend = nullptr;  // null: none that is kept
    bool refused = false;
    bool is_answer = false;  // whose question is not known
};
using Flows = netfilter::FlowMemory<Waiting>;
using Flow = Flows::Kept;
using Slot = Flows::Slot;

class Backends {
  public:
    Backends(std::size_t limit, std::int64_t window_ns)
        : limit_(std::max<std::size_t>(limit, 1)), window_ns_(window_ns) {}

    // Null: there is none.
    Backend* find(const BackendKey& key) {
        const auto found = all_.find(key);
        return found == all_.end() ? nullptr : &found->second;
    }

    // Null when there is no room.
    Backend* find_or_add(const BackendKey& key, std::int64_t now_ns) {
        if (Backend* const known = find(key)) {
            return known;
        }
        if (all_.size() == limit_) {
            remove_idle(now_ns);
        }
        return all_.size() == limit_ ? nullptr : &all_.try_emplace(key, window_ns_).first->second;
    }

    const std::map<BackendKey, Backend>& all() const { return all_; }

  private:
    // Removes backends without flows of which the window shows nothing any more. Looks for them
    // once a second.
    void remove_idle(std::int64_t now_ns) {
        if (now_ns < next_removal_ns_) {
            return;
        }
        next_removal_ns_ = now_ns + 1'000'000'000;
        std::erase_if(all_, [&](const auto& one) {
            const Backend& backend = one.second;
            return backend.in_table <= 0 && backend.waiting == 0 &&
                   backend.last_ns + window_ns_ < now_ns;
        });
    }

    std::size_t limit_;
    std::int64_t window_ns_;
    std::int64_t next_removal_ns_ = INT64_MIN;
    std::map<BackendKey, Backend> all_;
};

using StrayKey = std::tuple<frame::Endpoint, std::uint8_t, std::string>;

}  // namespace

struct BackendTable::Impl {
    explicit Impl(const BackendTableOptions& given)
        : options(given), backends(given.backends, given.rules.window_ns), waiting(given.waiting) {}

    bool wanted(const Entry& entry) const {
        const bool has_ends = netfilter::has_ports(entry.original.protocol) || entry.original.icmp;
        return has_ends && (options.scope == BackendTableOptions::Scope::kAll ||
                            entry.reply.source != entry.original.destination);
    }

    // The flow that waits for what this entry was made of: an answer that conntrack took for a flow of
    // its own, in another zone.
    Slot find_asked(const Entry& entry) const {
        const Tuple asked = turned(entry.original);
        return entry.reply != asked && entry.reply != entry.original
                   ? Flows::kNone
                   : waiting.find_by_original(asked, [](const RecentFlow&) { return true; });
    }

    // Ports tell who asked in two entries that mirror each other, where one port is a service's and the other
    // is drawn (from 32768 on, as the kernel does); else the one that was heard of first has.
    static bool asks(const Entry& entry) {
        constexpr std::uint16_t kDrawn = 32'768, kReserved = 1024;
        const std::uint16_t to = entry.original.destination.port, from = entry.original.source.port;
        return to < from && (to < kReserved || from >= kDrawn);
    }

    // The flow that waits for an answer and gets one from another port of the end that it asked.
    Slot find_asked_elsewhere(const Entry& entry) const {
        const Tuple& answer = entry.original;
        return answer.protocol != IPPROTO_UDP
                   ? Flows::kNone
                   : waiting.find_by_client(
                         answer.destination, answer.protocol, [&](const RecentFlow& flow) {
                             return flow.reply.source.address == answer.source.address &&
                                    flow.reply.source.port != answer.source.port;
                         });
    }

    // A packet from a known end to a drawn port is an answer: late, or heard of before its question.
    bool is_answer(const Entry& entry) const {
        const Tuple& tuple = entry.original;
        return tuple.source.port < tuple.destination.port &&
               traffic.follows(tuple.source, tuple.protocol);
    }

    // An answer that no entry expects is nobody's service. Where nothing translates it reaches who asked.
    bool take_astray(const Entry& entry, std::int64_t now_ns) {
        const Slot asked = find_asked_elsewhere(entry);
        if (asked == Flows::kNone || waiting.at(asked).note.is_answer) {
            return false;
        }
        const Flow& flow = waiting.at(asked);
        if (Backend* const backend = flow.note.backend; backend != nullptr) {
            ++backend->astray;
            backend->astray_from = frame::to_string(entry.original.source);
        }
        if (flow.reply.source == flow.original.destination) {
            count(flow.note.backend, {.judged = 1}, now_ns);
            stop_waiting(asked);
        }
        return true;
    }

    // Returns whether the entry, or the one that it mirrors, is an answer: the flow that asked is
    // answered then.
    bool take_mirrored(const Entry& entry, std::int64_t now_ns) {
        const Slot other = find_asked(entry);
        if (other == Flows::kNone) {
            return false;
        }
        Backend* const backend = waiting.at(other).note.backend;
        if (!asks(entry)) {
            count(backend, {.judged = 1}, now_ns);
            stop_waiting(other);
            return true;
        }
        // The answer's entry came first: it is no service's flow.
        if (backend != nullptr) {
            --backend->flows;
            --backend->in_table;
        }
        stop_waiting(other);
        return false;
    }

    void begin(const Entry& entry, std::int64_t now_ns) {
        const bool mirrors = find_asked(entry) != Flows::kNone;
        if (take_mirrored(entry, now_ns) || take_astray(entry, now_ns)) {
            return;
        }
        Backend* backend = nullptr;
        if (wanted(entry) && !is_answer(entry)) {
            backend = backends.find_or_add(key_of(entry), now_ns);
            left_out += backend == nullptr ? 1 : 0;
        }
        if (backend != nullptr) {
            traffic.follow(entry.original.destination, entry.original.protocol);
            traffic.follow(entry.reply.source, entry.reply.protocol);
            ++backend->flows;
            ++backend->in_table;
            backend->last_ns = now_ns;
        }
        if (seen_reply(entry) || mirrors) {
            count(backend, {.judged = 1}, now_ns);
        } else {
            wait_for_answer(entry, backend, now_ns);
        }
    }

    static void count(Backend* backend, const FlowCounts& counts, std::int64_t now_ns) {
        if (backend != nullptr) {
            backend->window.add(counts, now_ns);
            backend->answered |= counts.judged > counts.unanswered;
            backend->last_ns = now_ns;
        }
    }

    // Flows of no backend wait too: a refusal that belongs to one is no stray.
    void wait_for_answer(const Entry& entry, Backend* backend, std::int64_t now_ns) {
        if (waiting.full()) {
            push_out_oldest(now_ns);
        }
        const Slot slot = waiting.add(netfilter::flow_of(entry, now_ns),
                                      {.backend = backend, .is_answer = is_answer(entry)});
        if (backend != nullptr) {
            ++backend->waiting;
        }
        if (early.empty()) {
            return;
        }
        // First as the backend's host sent it, then as it went on to the client.
        for (const Tuple& tuple : {turned(entry.reply), entry.original}) {
            if (const auto one = early.take(tuple)) {
                mark_refused(slot, one->refusal, one->sender, now_ns);
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
    bool judge_unanswered(const Flow& flow, std::int64_t now_ns) const {
        if (!is_ripe(flow, now_ns)) {
            return false;
        }
        count(flow.note.backend, unanswered_counts(flow), now_ns);
        return true;
    }

    bool is_ripe(const Flow& flow, std::int64_t now_ns) const {
        return flow.note.refused || now_ns - flow.time_ns >= options.rules.patience_ns;
    }

    static FlowCounts unanswered_counts(const Flow& flow) {
        return {.judged = 1, .unanswered = 1, .refused = flow.note.refused ? 1U : 0U};
    }

    void stop_waiting(Slot slot) {
        if (Backend* const backend = waiting.at(slot).note.backend) {
            --backend->waiting;
        }
        waiting.erase(slot);
    }

    Slot find_waiting(const Entry& entry) const {
        return waiting.find_by_original(entry.original, [&](const RecentFlow& flow) {
            return netfilter::same_entry(flow, entry);
        });
    }

    void take_new(const Event& event) {
        const bool known = find_waiting(event.entry) != Flows::kNone ||
                           (!seeded.empty() && seeded.erase(hash(event.entry)) > 0);
        if (!known) {
            begin(event.entry, event.time_ns);
        }
    }

    void take_update(const Event& event) {
        const Slot slot = find_waiting(event.entry);
        if (slot != Flows::kNone && seen_reply(event.entry)) {
            answered(slot, event);
        }
    }

    void answered(Slot slot, const Event& event) {
        const Flow& flow = waiting.at(slot);
        Backend* const backend = flow.note.backend;
        count(backend, {.judged = 1}, event.time_ns);
        // A destroyed entry, or one that a comparison found changed, was answered at some time.
        if (backend != nullptr && event.kind == EventKind::kUpdate && !event.missed) {
            backend->answers.add(event.time_ns - flow.time_ns);
        }
        stop_waiting(slot);
    }

    void take_destroy(const Event& event) {
        Backend* const backend = backends.find(key_of(event.entry));
        if (backend != nullptr && wanted(event.entry)) {
            --backend->in_table;
            backend->last_ns = event.time_ns;
        }
        const Slot slot = find_waiting(event.entry);
        if (slot == Flows::kNone) {
            return;
        }
        if (seen_reply(event.entry)) {
            answered(slot, event);
            return;
        }
        // Somebody deleted it, or the events that told of an answer may be among those lost: then
        // only a refusal says how it ended.
        const Flow& flow = waiting.at(slot);
        const bool ended_by_itself = event.cause_port == 0 && !event.missed;
        if (ended_by_itself || flow.note.refused) {
            count(flow.note.backend, unanswered_counts(flow), event.time_ns);
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
        return before_translation != Flows::kNone
                   ? before_translation
                   : waiting.find_by_client(packet.source, packet.protocol, same);
    }

    // Returns whether the refusal comes from the endpoint itself. It does not if this host sent it (no
    // neighbour, a rule of its own), or if it comes from the service's address: NAT puts that on any
    // error that goes on to the client, so its sender is hidden.
    static bool is_word_of_backend(const Flow& flow, const Refusal& refusal, Sender sender) {
        const frame::IpAddress& backend = flow.reply.source.address;
        if (refusal.what == kReset || refusal.by == backend) {
            return true;
        }
        return sender != Sender::kHere && refusal.by != flow.original.destination.address;
    }

    void mark_refused(Slot slot, const Refusal& refusal, Sender sender, std::int64_t now_ns) {
        Waiting& of = waiting.at(slot).note;
        // A refusal that was counted is seen again on its way out, with translated addresses.
        if (of.refused || !is_word_of_backend(waiting.at(slot), refusal, sender)) {
            return;
        }
        of.refused = true;
        if (of.backend != nullptr) {
            of.backend->last_refusal = describe(refusal);
            of.backend->last_ns = now_ns;
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

    // `packets`: of the backend, where all of them were seen.
    BackendHealth health(const BackendKey& key, const Backend& backend, FlowCounts counts,
                         std::int64_t now_ns, const std::optional<BackendTraffic>& packets) const {
        add_counts(counts, backend.window.sum(now_ns));
        BackendHealth value{.address = key.backend,
                            .flows = backend.flows,
                            .in_table = std::max<std::int64_t>(backend.in_table, 0),
                            .judged = counts.judged,
                            .unanswered = counts.unanswered,
                            .refused = counts.refused,
                            .median_answer_ns = backend.answers.quantile_ns(0.5),
                            .slowest_tenth_ns = backend.answers.quantile_ns(0.9),
                            .last_refusal = backend.last_refusal,
                            .protocol = key.protocol,
                            .translated = key.service != key.backend,
                            .answered_before = backend.answered,
                            .traffic = packets,
                            .astray = backend.astray,
                            .astray_from = backend.astray_from};
        judge(value, options.rules);
        return value;
    }

    // Counts the flows that still wait, by backend.
    std::unordered_map<const Backend*, FlowCounts> waiting_counts(std::int64_t now_ns) const {
        std::unordered_map<const Backend*, FlowCounts> counts;
        for (Slot slot = waiting.oldest(); slot != Flows::kNone;
             slot = waiting.younger_than(slot)) {
            const Flow& flow = waiting.at(slot);
            if (is_ripe(flow, now_ns)) {
                add_counts(counts[flow.note.backend], unanswered_counts(flow));
            }
        }
        return counts;
    }

    const BackendTableOptions options;
    Backends backends;
    Flows waiting;
    TrafficTable traffic;
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
    if (slot != Flows::kNone) {
        impl_->mark_refused(slot, refusal, sender, now_ns);
    } else {
        impl_->early.add(refusal, sender, now_ns);
    }
}

void BackendTable::take(const PassedPacket& packet) {
    impl_->traffic.take(packet);
}

void BackendTable::take_counted(const Entry& entry, std::uint64_t asked, std::uint64_t answered,
                                std::int64_t now_ns) {
    impl_->traffic.take(entry, asked, answered, now_ns);
}

void BackendTable::tick(std::int64_t now_ns) {
    impl_->early.expire(now_ns, [this](const auto& one) { impl_->give_up(one); });
}

BackendReport BackendTable::report(std::int64_t now_ns, bool traffic) const {
    BackendReport report;
    auto waiting = impl_->waiting_counts(now_ns);
    std::map<std::pair<frame::Endpoint, std::uint8_t>, std::size_t> of_service;
    for (const auto& each : impl_->backends.all()) {
        ++of_service[{each.first.service, each.first.protocol}];
    }
    // In the order of keys: the backends of a service follow one another.
    for (const auto& [key, backend] : impl_->backends.all()) {
        if (backend.flows == 0) {
            continue;  // all of them were answers
        }
        if (report.services.empty() || report.services.back().address != key.service ||
            report.services.back().protocol != key.protocol) {
            report.services.push_back({.address = key.service, .protocol = key.protocol});
        }
        const bool alone = of_service[{key.service, key.protocol}] == 1;
        const auto packets = traffic ? std::optional(impl_->traffic.of(key.service, key.backend,
                                                                       key.protocol, alone, now_ns))
                                     : std::nullopt;
        ServiceHealth& service = report.services.back();
        service.backends.push_back(impl_->health(key, backend, waiting[&backend], now_ns, packets));
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
