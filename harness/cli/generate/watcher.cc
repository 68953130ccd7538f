#include "harness/cli/generate/watcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <nlohmann/json.hpp>

#include "dataplane/base/counts.h"
#include "harness/process/json_text.h"

namespace pathproof::cli {
namespace {

using Clock = std::chrono::steady_clock;

const metrics::Family kSent{"pathproof_generate_frames_sent", metrics::Type::kCounter, "",
                            "Frames that the drivers took from the generator."};
const metrics::Family kReceived{"pathproof_generate_frames_received", metrics::Type::kCounter, "",
                                "Frames that came back or came in otherwise."};
const metrics::Family kBad{"pathproof_generate_frames_bad_checksum", metrics::Type::kCounter, "",
                           "Received frames with a wrong checksum."};
const metrics::Family kRunning{"pathproof_generate_running", metrics::Type::kGauge, "",
                               "1 while the generator's lcores are set up, 0 before."};

std::string plain_count(std::uint64_t count) {
    return count < 10'000'000 ? fmt::format("{}", count)
                              : fmt::format("{:.1f} M", static_cast<double>(count) / 1e6);
}

}  // namespace

std::string progress_text(const ProgressSample& sample) {
    return fmt::format("{:6.1f} s  sent {} ({}/s)  received {} ({}/s)  bad checksums {}",
                       sample.seconds, plain_count(sample.counts.sent),
                       plain_count(sample.last_second.sent), plain_count(sample.counts.received),
                       plain_count(sample.last_second.received), sample.counts.bad_checksums);
}

std::string progress_json(const ProgressSample& sample) {
    return process::to_text(nlohmann::json{{"type", "progress"},
                                           {"seconds", sample.seconds},
                                           {"sent", sample.counts.sent},
                                           {"received", sample.counts.received},
                                           {"bad_checksums", sample.counts.bad_checksums},
                                           {"sent_last_second", sample.last_second.sent},
                                           {"received_last_second", sample.last_second.received}});
}

ProgressWatcher::ProgressWatcher(const load::LoadRun& run, ProgressForm form)
    : run_(run),
      form_(form),
      terminal_(isatty(STDERR_FILENO) == 1),
      thread_([this](const std::stop_token& over) { watch(over); }) {}

ProgressWatcher::~ProgressWatcher() {
    thread_.request_stop();
    thread_.join();
    if (terminal_ && form_ == ProgressForm::kText) {
        fmt::print(stderr, "\r\x1b[K");
    }
}

void ProgressWatcher::watch(const std::stop_token& over) {
    const auto began = Clock::now();
    load::Live before;
    std::mutex lock;
    std::unique_lock guard(lock);
    std::condition_variable_any pause;
    const auto is_over = [&] { return over.stop_requested(); };
    // A run that ends just as a wait begins makes the wait return false (libstdc++ 12).
    for (int second = 1;
         !pause.wait_until(guard, over, began + std::chrono::seconds(second), is_over) &&
         !is_over();
         ++second) {
        const load::Live now = run_.live();
        write({.seconds = std::chrono::duration<double>(Clock::now() - began).count(),
               .counts = now,
               .last_second = counts_between(before, now)});
        before = now;
    }
}

void ProgressWatcher::write(const ProgressSample& sample) const {
    if (form_ == ProgressForm::kJson) {
        fmt::print("{}\n", progress_json(sample));
        std::fflush(stdout);
        return;
    }
    fmt::print(stderr, "{}{}{}", terminal_ ? "\r\x1b[K" : "pathproof: ", progress_text(sample),
               terminal_ ? "" : "\n");
    std::fflush(stderr);
}

Result<std::unique_ptr<LiveMetrics>> LiveMetrics::start(const std::string& address) {
    const auto listen = TRY(doing(frame::parse_endpoint(address), "--metrics '{}'", address));
    auto live = std::make_unique<LiveMetrics>();
    live->server_ = TRY(
        doing(metrics::HttpServer::start(
                  listen, [&live = *live](metrics::Dialect dialect) { return live.text(dialect); }),
              "--metrics {}", address));
    return live;
}

void LiveMetrics::show(const load::LoadRun* run) {
    const std::lock_guard guard(lock_);
    run_ = run;
}

std::string LiveMetrics::text(metrics::Dialect dialect) {
    const std::lock_guard guard(lock_);
    const load::Live counts = run_ != nullptr ? run_->live() : load::Live{};
    metrics::Exposition out(dialect);
    out.begin(kRunning);
    out.sample({}, std::uint64_t{run_ != nullptr ? 1u : 0u});
    out.begin(kSent);
    out.sample({}, counts.sent);
    out.begin(kReceived);
    out.sample({}, counts.received);
    out.begin(kBad);
    out.sample({}, counts.bad_checksums);
    return out.finish();
}

}  // namespace pathproof::cli
