#include "dataplane/base/clock.h"
#include "harness/agent/counters.h"
#include "harness/agent/operations.h"
#include "harness/agent/path_events.h"
#include "harness/drops/link_watch.h"
#include "harness/drops/tracer.h"

namespace pathproof::agent {
namespace {

// Dropped packets and lost links of this namespace.
class PathWatch {
  public:
    static Result<std::unique_ptr<PathWatch>> start() {
        auto watch = std::make_unique<PathWatch>();
        watch->links_ = TRY(drops::LinkWatch::start());
        watch->began_ns_ = realtime_ns();
        watch->backlog_ = backlog_drops();
        auto tracer = drops::DropTracer::start({});
        watch->untraced_ = tracer ? "" : tracer.error().message;
        watch->tracer_ = tracer ? std::move(*tracer) : nullptr;
        return watch;
    }

    PathEvents stop() {
        PathEvents seen{.untraced = untraced_, .began_ns = began_ns_};
        if (tracer_) {
            seen.drops = tracer_->stop();
            // Another namespace's drops explain nothing here.
            seen.untraced = seen.drops.scope_reason;
        }
        seen.outages = links_->stop();
        seen.backlog = backlog_drops() - backlog_;
        return seen;
    }

  private:
    std::unique_ptr<drops::DropTracer> tracer_;
    std::unique_ptr<drops::LinkWatch> links_;
    std::string untraced_;
    std::int64_t began_ns_ = 0;
    std::uint64_t backlog_ = 0;
};

}  // namespace

Status Client::start_path_watch() {
    return impl_->ask<void>("start_path_watch");
}

Result<PathEvents> Client::stop_path_watch() {
    return impl_->ask_for<PathEvents>(kBulkTime, "stop_path_watch");
}

void add_path_watch(Operations& operations) {
    operations.add_one<PathWatch>("path_watch", "a watch of the path");
}

}  // namespace pathproof::agent
