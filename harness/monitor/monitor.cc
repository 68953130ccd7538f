#include "harness/monitor/monitor.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "dataplane/base/clock.h"
#include "dataplane/base/file.h"
#include "harness/drops/tracer.h"
#include "harness/monitor/backend_table.h"
#include "harness/monitor/refusal_listener.h"
#include "harness/netfilter/dump.h"
#include "harness/process/netns.h"

namespace pathproof::monitor {
namespace {

using Clock = std::chrono::steady_clock;
using netfilter::Event;

// Time that the thread waits for events before it looks at everything else.
constexpr auto kWait = std::chrono::milliseconds(100);
// By then the events about entries that the first dump listed have come.
constexpr auto kSeedsSettle = std::chrono::seconds(2);
// Conntrack's counters are read by a dump of the table: not often, and not of a large one.
constexpr auto kCountersRead = std::chrono::seconds(5);
constexpr std::uint64_t kMostCounted = 200'000;

double seconds_between(Clock::time_point from, Clock::time_point until) {
    return std::chrono::duration<double>(until - from).count();
}

// Part of the filter that a late answer shares with the clash that it belongs to.
netfilter::Filter common_part(const netfilter::Filter& filter) {
    netfilter::Filter common;
    common.family = filter.family;
    common.protocol = filter.protocol;
    return common;
}

// The last few of something that is numbered as it comes, newest first. A value that comes again
// takes the place of the one before, if that is still kept.
template <typename T>
class Last {
  public:
    void put(const T& value) {
        for (T& kept : kept_) {
            if (kept.number == value.number) {
                kept = value;
                return;
            }
        }
        if (!kept_.empty() && value.number < kept_.front().number) {
            return;
        }
        kept_.push_front(value);
        if (kept_.size() > kMost) {
            kept_.pop_back();
        }
    }
    std::vector<T> all() const { return {kept_.begin(), kept_.end()}; }

  private:
    static constexpr std::size_t kMost = 64;
    std::deque<T> kept_;
};

// Counts at one moment, from which rates are made.
struct Sample {
    Clock::time_point time;
    EventTotals events;
    std::uint64_t clashes = 0;
    std::vector<netfilter::CpuStats> cpus;
};

Rates rates_between(const Sample& before, const Sample& after) {
    Rates rates{.seconds = seconds_between(before.time, after.time)};
    const auto change = netfilter::delta(before.cpus, after.cpus);
    const auto rate = [&](std::uint64_t count) {
        return rates.seconds > 0 ? static_cast<double>(count) / rates.seconds : 0;
    };
    rates.created = rate(after.events.created - before.events.created);
    rates.updated = rate(after.events.updated - before.events.updated);
    rates.destroyed = rate(after.events.destroyed - before.events.destroyed);
    rates.clashes = rate(after.clashes - before.clashes);
    rates.clash_resolve = rate(netfilter::total(change, "clash_resolve"));
    rates.insert_failed = rate(netfilter::total(change, "insert_failed"));
    rates.drop = rate(netfilter::total(change, "drop"));
    return rates;
}

class WatchingMonitor final : public Monitor {
  public:
    explicit WatchingMonitor(const MonitorOptions& options)
        : options_(options),
          clashes_(clash_sink(), {}, options.filter),
          backends_(BackendTableOptions{.rules = options.rules,
                                        .scope = options.untranslated == Part::kFollow
                                                     ? BackendTableOptions::Scope::kAll
                                                     : BackendTableOptions::Scope::kTranslated}) {}

    ~WatchingMonitor() override {
        stopping_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    Status begin() {
        const auto stats = TRY(netfilter::cpu_stats(options_.netns));
        const auto size = TRY(netfilter::table_size(options_.netns));
        follow_refusals();
        follow_packets();
        watcher_ = TRY(netfilter::Watcher::start(
            {.netns = options_.netns, .filter = common_part(options_.filter)}));
        table_ = size;
        first_ = Sample{.time = Clock::now(), .cpus = stats};
        latest_ = first_;
        seed();
        follow_drops();
        thread_ = std::thread([this] { run(); });
        return {};
    }

    void know_pods(KnownPods known) override {
        const std::scoped_lock lock(mutex_);
        pods_.know(std::move(known));
    }

    Snapshot snapshot() override {
        // The tracer has threads of its own, and may be asked only once at a time.
        const std::scoped_lock drops_lock(drops_mutex_);
        std::optional<drops::DropSummary> dropped;
        if (tracer_ != nullptr) {
            dropped = tracer_->poll();
        }
        const std::scoped_lock lock(mutex_);
        const std::int64_t now_ns = realtime_ns();
        Snapshot value{.netns = options_.netns,
                       .kernel = netfilter::running_kernel_release(),
                       .time_ns = now_ns,
                       .seconds = seconds_between(first_.time, Clock::now()),
                       .table = table_,
                       .cpus = latest_.cpus,
                       .cpus_since_start = netfilter::delta(first_.cpus, latest_.cpus),
                       .events = totals_,
                       .unheard = watcher_->unheard(),
                       .rates = rates_,
                       .gaps = last_gaps_.all(),
                       .clashes = clashes_.counts(),
                       .last_clashes = last_clashes_.all(),
                       .last_late_answers = last_late_answers_.all(),
                       .backends = backends_.report(now_ns, is_counting()),
                       .known_pods = pods_.known(),
                       .pods = pods_.counts(),
                       .drops = std::move(dropped),
                       .drops_missing = drops_missing_,
                       .failure = failure_};
        value.backends.refusals_watched = refusals_ != nullptr;
        value.backends.refusals_source = refusals_source_;
        value.backends.refusals_lost = refusals_ != nullptr ? refusals_->lost() : 0;
        value.backends.traffic_source = traffic_source_;
        value.backends.traffic_lost = packets_lost_;
        return value;
    }

  private:
    netfilter::ClashSink clash_sink() {
        const auto keep = [this](const netfilter::Clash& clash) { last_clashes_.put(clash); };
        return {.found =
                    [this](const netfilter::Clash& clash) {
                        last_clashes_.put(clash);
                        pods_.take_clash(clash);
                    },
                .settled = keep,
                .destroyed = keep,
                .late_answer =
                    [this](const netfilter::LateAnswer& late) {
                        last_late_answers_.put(late);
                        pods_.take_late_answer(late);
                    }};
    }

    void follow_refusals() {
        auto listening = RefusalListener::start(options_.netns);
        if (!listening) {
            refusals_source_ = listening.error().message;
            return;
        }
        refusals_ = std::move(*listening);
        refusals_source_ = "ICMP errors and TCP resets that passed a packet socket";
    }

    void follow_packets() {
        if (options_.packets == Packets::kDevices) {
            auto tapping = TrafficTap::start(options_.netns);
            if (tapping) {
                packets_ = std::move(*tapping);
                traffic_source_ = "packets each way that passed a packet socket";
                return;
            }
            traffic_source_ = tapping.error().message;
        }
        std::string on;
        (void)process::in_netns(options_.netns, [&]() -> Status {
            on = read_file("/proc/sys/net/netfilter/nf_conntrack_acct").value_or("");
            return {};
        });
        counts_entries_ = on.starts_with('1');
        if (counts_entries_) {
            traffic_source_ = "conntrack's counters (nf_conntrack_acct)";
        } else if (traffic_source_.empty()) {
            traffic_source_ = "not counted: net.netfilter.nf_conntrack_acct is 0";
        }
    }

    // Returns whether all packets that passed were counted.
    bool is_counting() const {
        return packets_ != nullptr ? packets_lost_ == 0 : counts_entries_ && counted_once_;
    }

    // By the thread, without the lock: the table is read.
    void read_counters() {
        if (!counts_entries_ || Clock::now() < next_counters_) {
            return;
        }
        if (table_.entries > kMostCounted) {
            const std::scoped_lock lock(mutex_);
            counted_once_ = false;
            traffic_source_ =
                fmt::format("not counted: the table has more than {} entries", kMostCounted);
            return;
        }
        const auto begun = Clock::now();
        const auto entries = netfilter::dump_all(options_.netns, options_.filter);
        if (!entries) {
            return;
        }
        std::unordered_map<std::uint32_t, Counted> now;
        const std::int64_t now_ns = realtime_ns();
        const std::scoped_lock lock(mutex_);
        for (const netfilter::Entry& entry : *entries) {
            const Counted whole{
                .asked = entry.original_counters ? entry.original_counters->packets : 0,
                .answered = entry.reply_counters ? entry.reply_counters->packets : 0};
            now[entry.id] = whole;
            const auto before = counted_.find(entry.id);
            const Counted last = before == counted_.end() ? Counted() : before->second;
            const bool is_same = last.asked <= whole.asked && last.answered <= whole.answered;
            if (counted_once_) {
                backends_.take_counted(entry, whole.asked - (is_same ? last.asked : 0),
                                       whole.answered - (is_same ? last.answered : 0), now_ns);
            }
        }
        counted_ = std::move(now);
        counted_once_ = true;
        traffic_source_ = "conntrack's counters (nf_conntrack_acct)";
        // A tenth of the time at most.
        next_counters_ =
            begun + std::max<Clock::duration>(kCountersRead, 10 * (Clock::now() - begun));
    }

    void follow_drops() {
        if (options_.drops == Part::kLeave) {
            return;
        }
        auto tracing = drops::DropTracer::start({.netns = options_.netns});
        if (!tracing) {
            drops_missing_ = tracing.error().message;
            return;
        }
        tracer_ = std::move(*tracing);
    }

    void seed() {
        const std::int64_t now_ns = realtime_ns();
        watcher_->each_flow([&](const netfilter::Entry& entry) {
            if (matches(options_.filter, entry)) {
                backends_.seed(entry, now_ns);
            }
        });
        seeds_until_ = Clock::now() + kSeedsSettle;
    }

    void run() {
        const netfilter::WatchSink sink{
            .event = [this](const Event& event) { take(event); },
            .gap = [this](const netfilter::Gap& gap) { take(gap); },
        };
        Clock::time_point next_sample = first_.time + options_.counters_every;
        while (!stopping_) {
            const auto polled = watcher_->poll(kWait, sink);
            if (!polled) {
                const std::scoped_lock lock(mutex_);
                failure_ = polled.error().message;
                return;
            }
            look_around();
            read_counters();
            if (Clock::now() >= next_sample) {
                next_sample = std::max(next_sample + options_.counters_every, Clock::now());
                sample();
            }
        }
    }

    void take(const Event& event) {
        const std::scoped_lock lock(mutex_);
        // Refusals from before this event was read are in the packet socket already: a reset comes
        // before the end of the entry that it causes.
        if (event.time_ns > refusals_drained_ns_) {
            drain_refusals();
        }
        clashes_.take(event);
        if (!matches(options_.filter, event.entry)) {
            return;
        }
        totals_.count(event.kind);
        totals_.missed += event.missed ? 1 : 0;
        pods_.take(event);
        backends_.take(event);
    }

    void take(const netfilter::Gap& gap) {
        const std::scoped_lock lock(mutex_);
        last_gaps_.put(gap);
    }

    void drain_refusals() {
        refusals_drained_ns_ = realtime_ns();
        if (refusals_ == nullptr) {
            return;
        }
        refusals_->drain([this](const Refusal& refusal, Sender sender) {
            backends_.take(refusal, sender, refusals_drained_ns_);
        });
    }

    void look_around() {
        const std::scoped_lock lock(mutex_);
        drain_refusals();
        // Behind the events: a flow's first packet passes before it is heard of.
        if (packets_ != nullptr) {
            packets_->drain([this](const PassedPacket& packet) { backends_.take(packet); });
            packets_lost_ = packets_->lost();
        }
        backends_.tick(refusals_drained_ns_);
        totals_.overruns = watcher_->totals().overruns;
        totals_.unreadable = watcher_->totals().unreadable;
        if (seeds_until_ && Clock::now() >= *seeds_until_) {
            backends_.end_of_seeds();
            seeds_until_.reset();
        }
    }

    void sample() {
        auto stats = netfilter::cpu_stats(options_.netns);
        auto size = netfilter::table_size(options_.netns);
        const std::scoped_lock lock(mutex_);
        if (!stats || !size) {
            failure_ = (!stats ? stats.error() : size.error()).message;
            return;
        }
        failure_.clear();
        table_ = *size;
        Sample now{Clock::now(), totals_, clashes_.counts().hidden, std::move(*stats)};
        rates_ = rates_between(latest_, now);
        latest_ = std::move(now);
    }

    struct Counted {
        std::uint64_t asked = 0, answered = 0;
    };

    const MonitorOptions options_;
    std::unique_ptr<netfilter::Watcher> watcher_;         // the thread's, with the next two
    std::unordered_map<std::uint32_t, Counted> counted_;  // by the entry's id
    Clock::time_point next_counters_;
    bool counts_entries_ = false;
    std::unique_ptr<RefusalListener> refusals_;
    std::string refusals_source_;
    std::string drops_missing_;

    std::mutex drops_mutex_;  // guards the tracer
    std::unique_ptr<drops::DropTracer> tracer_;

    std::mutex mutex_;  // guards what follows
    Last<netfilter::Clash> last_clashes_;
    Last<netfilter::LateAnswer> last_late_answers_;
    Last<netfilter::Gap> last_gaps_;
    netfilter::ClashTracker clashes_;
    BackendTable backends_;
    PodTable pods_;
    std::unique_ptr<TrafficTap> packets_;
    std::uint64_t packets_lost_ = 0;
    bool counted_once_ = false;
    std::string traffic_source_;
    std::optional<Clock::time_point> seeds_until_;
    std::int64_t refusals_drained_ns_ = 0;
    EventTotals totals_;
    netfilter::TableSize table_;
    Sample first_;
    Sample latest_;
    Rates rates_;
    std::string failure_;

    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Monitor>> Monitor::start(const MonitorOptions& options) {
    auto monitor = std::make_unique<WatchingMonitor>(options);
    TRY(monitor->begin());
    return monitor;
}

}  // namespace pathproof::monitor
