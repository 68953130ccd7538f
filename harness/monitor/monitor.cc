#include "harness/monitor/monitor.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "dataplane/base/clock.h"
#include "harness/drops/tracer.h"
#include "harness/monitor/backend_table.h"
#include "harness/monitor/refusal_listener.h"
#include "harness/netfilter/watcher.h"

namespace pathproof::monitor {
namespace {

using Clock = std::chrono::steady_clock;
using netfilter::Event;

// How long the thread waits for events before it looks at everything else.
constexpr auto kWait = std::chrono::milliseconds(100);
// By then the events about entries that the first dump listed have come.
constexpr auto kSeedsSettle = std::chrono::seconds(2);

double seconds_between(Clock::time_point from, Clock::time_point until) {
    return std::chrono::duration<double>(until - from).count();
}

// What a late answer shares with the clash that it belongs to.
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
    explicit Last(std::size_t limit) : limit_(limit) {}

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
        if (kept_.size() > limit_) {
            kept_.pop_back();
        }
    }
    std::vector<T> all() const { return {kept_.begin(), kept_.end()}; }

  private:
    std::size_t limit_;
    std::deque<T> kept_;
};

Gap gap_of(const netfilter::Gap& gap) {
    return {.from_ns = gap.from_ns,
            .until_ns = gap.until_ns,
            .reconciled = gap.stage == netfilter::Gap::Stage::kReconciled};
}

// What rates are made of, at one moment.
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

}  // namespace

struct Monitor::Impl {
    explicit Impl(const MonitorOptions& given)
        : options(given),
          last_clashes(given.last),
          last_late_answers(given.last),
          last_gaps(given.last),
          clashes(clash_sink(), {}, given.filter),
          backends(BackendTableOptions{.rules = given.rules,
                                       .scope = given.untranslated == Part::kFollow
                                                    ? BackendTableOptions::Scope::kAll
                                                    : BackendTableOptions::Scope::kTranslated}) {}

    netfilter::ClashSink clash_sink() {
        const auto keep = [this](const netfilter::Clash& clash) { last_clashes.put(clash); };
        return {.found =
                    [this](const netfilter::Clash& clash) {
                        last_clashes.put(clash);
                        pods.take_clash(clash);
                    },
                .settled = keep,
                .destroyed = keep,
                .late_answer =
                    [this](const netfilter::LateAnswer& late) {
                        last_late_answers.put(late);
                        pods.take_late_answer(late);
                    }};
    }

    Status begin() {
        auto stats = netfilter::cpu_stats(options.netns);
        auto size = netfilter::table_size(options.netns);
        if (!stats || !size) {
            return pass_on(!stats ? stats.error() : size.error());
        }
        follow_refusals();
        watcher = TRY(netfilter::Watcher::start(
            {.netns = options.netns, .filter = common_part(options.filter)}));
        table = *size;
        first = Sample{.time = Clock::now(), .cpus = *stats};
        latest = first;
        seed();
        follow_drops();
        thread = std::thread([this] { run(); });
        return {};
    }

    void follow_refusals() {
        if (options.backends == Part::kLeave || options.refusals == Part::kLeave) {
            refusals_source = "refusals are not looked for";
            return;
        }
        auto listening = RefusalListener::start(options.netns);
        if (!listening) {
            refusals_source = listening.error().message;
            return;
        }
        refusals = std::move(*listening);
        refusals_source = "ICMP errors and TCP resets that passed a packet socket";
    }

    void follow_drops() {
        if (options.drops == Part::kLeave) {
            return;
        }
        auto tracing = drops::DropTracer::start({.netns = options.netns});
        if (!tracing) {
            drops_missing = tracing.error().message;
            return;
        }
        tracer = std::move(*tracing);
    }

    void seed() {
        if (options.backends == Part::kLeave) {
            return;
        }
        const std::int64_t now_ns = realtime_ns();
        watcher->each_flow([&](const netfilter::Entry& entry) {
            if (matches(options.filter, entry)) {
                backends.seed(entry, now_ns);
            }
        });
        seeds_until = Clock::now() + kSeedsSettle;
    }

    void run() {
        const netfilter::WatchSink sink{
            .event = [this](const Event& event) { take(event); },
            .gap = [this](const netfilter::Gap& gap) { take(gap); },
        };
        Clock::time_point next_sample = first.time + options.counters_every;
        while (!stopping) {
            const auto polled = watcher->poll(kWait, sink);
            if (!polled) {
                const std::scoped_lock lock(mutex);
                failure = polled.error().message;
                return;
            }
            look_around();
            if (Clock::now() >= next_sample) {
                next_sample = std::max(next_sample + options.counters_every, Clock::now());
                sample();
            }
        }
    }

    void take(const Event& event) {
        const std::scoped_lock lock(mutex);
        // What was refused before this event was read is in the packet socket already: a reset
        // comes before the end of the entry that it causes.
        if (event.time_ns > refusals_drained_ns) {
            drain_refusals();
        }
        clashes.take(event);
        if (!matches(options.filter, event.entry)) {
            return;
        }
        ++count_of(event.kind);
        totals.missed += event.missed ? 1 : 0;
        pods.take(event);
        if (options.backends == Part::kFollow) {
            backends.take(event);
        }
    }

    std::uint64_t& count_of(netfilter::EventKind kind) {
        switch (kind) {
            case netfilter::EventKind::kNew: return totals.created;
            case netfilter::EventKind::kUpdate: return totals.updated;
            case netfilter::EventKind::kDestroy: return totals.destroyed;
        }
        return totals.updated;
    }

    void take(const netfilter::Gap& gap) {
        const std::scoped_lock lock(mutex);
        last_gaps.put(gap);
    }

    void drain_refusals() {
        refusals_drained_ns = realtime_ns();
        if (refusals == nullptr) {
            return;
        }
        refusals->drain([this](const Refusal& refusal, Sender sender) {
            backends.take(refusal, sender, refusals_drained_ns);
        });
    }

    void look_around() {
        const std::scoped_lock lock(mutex);
        drain_refusals();
        backends.tick(refusals_drained_ns);
        totals.overruns = watcher->totals().overruns;
        totals.unreadable = watcher->totals().unreadable;
        if (seeds_until && Clock::now() >= *seeds_until) {
            backends.end_of_seeds();
            seeds_until.reset();
        }
    }

    void sample() {
        auto stats = netfilter::cpu_stats(options.netns);
        auto size = netfilter::table_size(options.netns);
        const std::scoped_lock lock(mutex);
        if (!stats || !size) {
            failure = (!stats ? stats.error() : size.error()).message;
            return;
        }
        failure.clear();
        table = *size;
        Sample now{Clock::now(), totals, clashes.counts().hidden, std::move(*stats)};
        rates = rates_between(latest, now);
        latest = std::move(now);
    }

    Snapshot snapshot() {
        // The tracer has threads of its own, and may be asked only once at a time.
        const std::scoped_lock drops_lock(drops_mutex);
        std::optional<drops::DropSummary> dropped;
        if (tracer != nullptr) {
            dropped = tracer->poll();
        }
        const std::scoped_lock lock(mutex);
        const std::int64_t now_ns = realtime_ns();
        Snapshot value{.netns = options.netns,
                       .kernel = netfilter::running_kernel_release(),
                       .time_ns = now_ns,
                       .seconds = seconds_between(first.time, Clock::now()),
                       .table = table,
                       .cpus = latest.cpus,
                       .cpus_since_start = netfilter::delta(first.cpus, latest.cpus),
                       .events = totals,
                       .unheard = watcher->unheard(),
                       .rates = rates,
                       .clashes = clashes.counts(),
                       .last_clashes = last_clashes.all(),
                       .last_late_answers = last_late_answers.all(),
                       .backends = backends.report(now_ns),
                       .known_pods = pods.known(),
                       .pods = pods.counts(),
                       .drops = std::move(dropped),
                       .drops_missing = drops_missing,
                       .failure = failure};
        for (const netfilter::Gap& gap : last_gaps.all()) {
            value.gaps.push_back(gap_of(gap));
        }
        value.backends.refusals_watched = refusals != nullptr;
        value.backends.refusals_source = refusals_source;
        value.backends.refusals_lost = refusals != nullptr ? refusals->lost() : 0;
        return value;
    }

    ~Impl() {
        stopping = true;
        if (thread.joinable()) {
            thread.join();
        }
    }

    const MonitorOptions options;
    std::unique_ptr<netfilter::Watcher> watcher;  // the thread's
    std::unique_ptr<RefusalListener> refusals;
    std::string refusals_source;
    std::string drops_missing;

    std::mutex drops_mutex;  // guards the tracer
    std::unique_ptr<drops::DropTracer> tracer;

    std::mutex mutex;  // guards what follows
    Last<netfilter::Clash> last_clashes;
    Last<netfilter::LateAnswer> last_late_answers;
    Last<netfilter::Gap> last_gaps;
    netfilter::ClashTracker clashes;
    BackendTable backends;
    PodTable pods;
    std::optional<Clock::time_point> seeds_until;
    std::int64_t refusals_drained_ns = 0;
    EventTotals totals;
    netfilter::TableSize table;
    Sample first;
    Sample latest;
    Rates rates;
    std::string failure;

    std::atomic<bool> stopping = false;
    std::thread thread;
};

Monitor::Monitor() = default;
Monitor::~Monitor() = default;

Result<std::unique_ptr<Monitor>> Monitor::start(const MonitorOptions& options) {
    std::unique_ptr<Monitor> monitor(new Monitor());
    monitor->impl_ = std::make_unique<Impl>(options);
    TRY(monitor->impl_->begin());
    return monitor;
}

void Monitor::know_pods(KnownPods known) {
    const std::scoped_lock lock(impl_->mutex);
    impl_->pods.know(std::move(known));
}

Snapshot Monitor::snapshot() const {
    return impl_->snapshot();
}

}  // namespace pathproof::monitor
