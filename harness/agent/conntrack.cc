#include <netinet/in.h>

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

// When the table was about to be emptied.
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
        auto events = std::make_unique<Events>();
        events->listener_ = TRY(netfilter::EventListener::start(options));
        events->births_only_ = wanted.births_only;
        return events;
    }

    Result<netfilter::EventLog> stop() {
        netfilter::EventLog log = TRY(listener_->stop());
        std::erase_if(log.events, [this](const netfilter::Event& event) {
            return births_only_ && event.kind != netfilter::EventKind::kNew;
        });
        return log;
    }

  private:
    std::unique_ptr<netfilter::EventListener> listener_;
    bool births_only_ = false;
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

void add_conntrack(Operations& operations) {
    operations.add("conntrack_dump", [](const ConntrackFilter& wanted) {
        return netfilter::dump_all(kOwnNamespace, to_filter(wanted));
    });
    operations.add("conntrack_flush", flush);
    operations.add("conntrack_table", [] { return netfilter::table_size(kOwnNamespace); });
    operations.add("conntrack_stats", [] { return netfilter::cpu_stats(kOwnNamespace); });
    operations.add("conntrack_fill", fill);
    operations.add_one<Events, ConntrackFilter>("events", "a listener to conntrack's events");
}

}  // namespace pathproof::agent
