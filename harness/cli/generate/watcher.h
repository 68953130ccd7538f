// Tells how a run is going while it goes: a line every second, and metrics for whoever asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "dataplane/base/result.h"
#include "dataplane/load/load_run.h"
#include "harness/metrics/http_server.h"

namespace pathproof::cli {

// Progress as a person reads it on stderr (on a terminal one line that is rewritten), or as JSON
// lines on stdout.
enum class ProgressForm : std::uint8_t { kText, kJson };

struct ProgressSample {
    double seconds = 0;  // since the run began
    load::Live counts;
    load::Live last_second;  // the counts that came since the sample before
};
std::string progress_text(const ProgressSample& sample);
std::string progress_json(const ProgressSample& sample);

// From construction to destruction a line is written each second.
class ProgressWatcher {
  public:
    ProgressWatcher(const load::LoadRun& run, ProgressForm form);
    ProgressWatcher(const ProgressWatcher&) = delete;
    ProgressWatcher& operator=(const ProgressWatcher&) = delete;
    ~ProgressWatcher();

  private:
    void watch(const std::stop_token& over);
    void write(const ProgressSample& sample) const;

    const load::LoadRun& run_;
    const ProgressForm form_;
    const bool terminal_;
    std::jthread thread_;
};

// OpenMetrics of the run in hand over HTTP. Started before the process moves into a network
// namespace, so that it can be reached from outside of it.
class LiveMetrics {
  public:
    // `address`: ADDRESS:PORT. Errors: what HttpServer::start says.
    static Result<std::unique_ptr<LiveMetrics>> start(const std::string& address);
    // The run whose counts are told from now on; null: none. It must live until another call.
    void show(const load::LoadRun* run);
    std::string where() const {
        return fmt::format("http://{}/metrics", frame::to_string(server_->address()));
    }

  private:
    std::string text(metrics::Dialect dialect);

    std::mutex lock_;
    const load::LoadRun* run_ = nullptr;
    std::unique_ptr<metrics::HttpServer> server_;
};

}  // namespace pathproof::cli
