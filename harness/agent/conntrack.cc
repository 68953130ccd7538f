#include <netinet/in.h>

#include <thread>
#include <unordered_set>

#include "dataplane/base/clock.h"
#include "harness/agent/operations.h"
#include "harness/netfilter/create.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/events.h"
#include "harness/netfilter/stats.h"

namespace pathproof::agent {
namespace {

const std::string kOwnNamespace;  // the agent already lives in the namespace it speaks of

netfilter::Filter to_filter(const ConntrackFilter& wanted) {
    netfilter::Filter filter;
    filter.protocol = wanted.protocol;
    filter.original.destination_port = wanted.original_destination_port;
    return filter;
}

Status fill(const ConntrackFill& what) {
    constexpr std::uint32_t kPortsOfASource = 60'000;
    constexpr std::uint32_t kFirstSourcePort = 1024;
    TRY(netfilter::create_entries(kOwnNamespace, what.count, [&](std::uint64_t index) {
        const auto i = static_cast<std::uint32_t>(index);
        netfilter::NewEntry entry{
            .source = {what.from.plus(i / kPortsOfASource),
                       static_cast<std::uint16_t>(kFirstSourcePort + i % kPortsOfASource)},
            .destination = {what.to.address,
                            static_cast<std::uint16_t>(what.to.port + i % what.ports)},
            .protocol = IPPROTO_UDP,
            .translated = {},
            .timeout_s = 600};
        entry.status = what.assured ? netfilter::kAnsweredFlow : entry.status;
        return entry;
    }));
    return {};
}

// Empties the table, and gives the time just before.
Result<std::int64_t> flush() {
    const std::int64_t before = realtime_ns();
    TRY(netfilter::flush(kOwnNamespace));
    return before;
}

// Conntrack's events.
class Events {
  public:
    static Result<std::unique_ptr<Events>> start(const ConntrackFilter& wanted) {
        netfilter::ListenOptions options;
        options.filter = to_filter(wanted);
        options.updates = !wanted.brief;
        options.receive_buffer_bytes =
            wanted.buffer_bytes == 0 ? options.receive_buffer_bytes : wanted.buffer_bytes;
        auto events = std::make_unique<Events>();
        events->wanted_ = wanted;
        events->listener_ = TRY(netfilter::EventListener::start(options));
        return events;
    }

    Result<netfilter::EventLog> stop() {
        TRY(listener_->stop(sink()));
        log_.overruns = listener_->overruns();
        log_.unreadable = listener_->unreadable();
        return std::move(log_);
    }

    // Finds lost NEW events by the table, empties it, and ends.
    Result<FlowEvents> finish(std::chrono::milliseconds settle) {
        TRY(repair());
        // Entries that end from here on end by our flush.
        const std::int64_t flushed = TRY(flush());
        flushed_ns_ = flushed;
        std::this_thread::sleep_for(settle);
        return FlowEvents{.log = TRY(stop()), .flushed_ns = flushed};
    }

  private:
    netfilter::EventSink sink() {
        return {.event =
                    [this](const netfilter::Event& event) {
                        if (is_wanted(event)) {
                            log_.events.push_back(event);
                        }
                    },
                .overrun = [](const netfilter::Overrun&) {},
                .mark = [this](std::uint64_t) { marked_ = true; }};
    }

    bool is_wanted(const netfilter::Event& event) const {
        if (wanted_.births_only) {
            return event.kind == netfilter::EventKind::kNew;
        }
        return !wanted_.brief || event.kind != netfilter::EventKind::kDestroy ||
               event.time_ns < flushed_ns_ || netfilter::is_hidden(event.entry);
    }

    // The kernel's id of an entry is a hash of 32 bits: of 20,000 entries two share one in every twentieth run.
    static std::uint64_t key_of(const netfilter::Entry& entry) {
        return std::uint64_t{entry.id} << 32 | std::uint32_t{entry.original.source.port} << 16 |
               entry.original.destination.port;
    }

    // An entry of the table without a NEW since the table was empty: its message was lost. Hidden entries are in no
    // table.
    Status repair() {
        if (listener_->overruns() == 0) {
            return {};
        }
        listener_->request_mark(1);
        const auto until = std::chrono::steady_clock::now() + kMarkTime;
        while (!marked_ && std::chrono::steady_clock::now() < until) {
            TRY(listener_->deliver(std::chrono::milliseconds(10), sink()));
        }
        std::unordered_set<std::uint64_t> known;
        for (const netfilter::Event& event : log_.events) {
            if (event.kind == netfilter::EventKind::kNew) {
                known.insert(key_of(event.entry));
            }
        }
        const auto table = TRY(netfilter::dump_all(kOwnNamespace, to_filter(wanted_)));
        for (const netfilter::Entry& entry : table) {
            if (!known.contains(key_of(entry))) {
                log_.events.push_back({.kind = netfilter::EventKind::kNew,
                                       .time_ns = realtime_ns(),
                                       .entry = entry,
                                       .cause_port = 0,
                                       .kernel_time_ns = std::nullopt,
                                       .missed = true});
                ++log_.repaired;
            }
        }
        return {};
    }

    static constexpr std::chrono::seconds kMarkTime{10};

    ConntrackFilter wanted_;
    netfilter::EventLog log_;
    bool marked_ = false;
    std::int64_t flushed_ns_ = INT64_MAX;
    std::unique_ptr<netfilter::EventListener> listener_;  // its sink is above
};

}  // namespace

Status check(const ConntrackFill& fill) {
    if (fill.ports == 0 || fill.from.family != fill.to.address.family) {
        return fail(ErrorCode::kBadInput,
                    "entries need at least one port, and two addresses of one family");
    }
    return {};
}

Result<std::vector<netfilter::Entry>> Client::conntrack_dump(const ConntrackFilter& filter) {
    return impl_->ask_for<std::vector<netfilter::Entry>>(kBulkTime, "conntrack_dump", filter);
}

Result<std::int64_t> Client::conntrack_flush() {
    return impl_->ask_for<std::int64_t>(kBulkTime, "conntrack_flush");
}

Result<netfilter::TableSize> Client::conntrack_table() {
    return impl_->ask<netfilter::TableSize>("conntrack_table");
}

Result<std::vector<netfilter::CpuStats>> Client::conntrack_stats() {
    return impl_->ask<std::vector<netfilter::CpuStats>>("conntrack_stats");
}

Status Client::conntrack_fill(const ConntrackFill& what) {
    return impl_->ask_for<void>(kBulkTime, "conntrack_fill", what);
}

Status Client::start_events(const ConntrackFilter& filter) {
    return impl_->ask<void>("start_events", filter);
}

Result<netfilter::EventLog> Client::stop_events() {
    return impl_->ask_for<netfilter::EventLog>(kBulkTime, "stop_events");
}

Result<FlowEvents> Client::finish_events(milliseconds settle) {
    return impl_->ask_for<FlowEvents>(kBulkTime, "finish_events", settle);
}

Status Client::drop_events() {
    return impl_->ask<void>("drop_events");
}

void add_conntrack(Operations& operations) {
    operations.add("conntrack_dump", [](const ConntrackFilter& wanted) {
        return netfilter::dump_all(kOwnNamespace, to_filter(wanted));
    });
    operations.add("conntrack_flush", flush);
    operations.add("conntrack_table", [] { return netfilter::table_size(kOwnNamespace); });
    operations.add("conntrack_stats", [] { return netfilter::cpu_stats(kOwnNamespace); });
    operations.add("conntrack_fill", fill);
    const auto events = std::make_shared<One<Events>>("a listener to conntrack's events");
    operations.add("start_events",
                   [events](const ConntrackFilter& wanted) { return events->start(wanted); });
    operations.add("stop_events", [events] { return events->stop(); });
    operations.add("drop_events", [events]() -> Status {
        events->drop();
        return {};
    });
    operations.add("finish_events", [events](milliseconds settle) {
        auto seen = events->look([settle](Events& part) { return part.finish(settle); });
        events->drop();
        return seen;
    });
}

}  // namespace pathproof::agent
