// The doctor's conclusions beside live figures: asked for again and again by a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/monitor/snapshot.h"

namespace pathproof::cli::inspect {

struct FindingsOptions {
    std::vector<std::string> netns;
    std::chrono::nanoseconds every{};  // from one look to the next; zero: none is made
    double look_s = 5;                 // how long each look follows events
    bool drops = true;                 // follow the kernel's drops meanwhile
};

class FindingsWatch {
  public:
    explicit FindingsWatch(FindingsOptions options);
    // Ends a look that is under way.
    ~FindingsWatch();

    // The last conclusions of that namespace; nothing: there are none yet. From any thread.
    std::optional<monitor::Findings> of(const std::string& netns) const;

  private:
    void run();
    void look(const std::string& netns);
    bool wait_until(std::chrono::steady_clock::time_point moment) const;

    const FindingsOptions options_;
    mutable std::mutex mutex_;  // guards what follows
    std::map<std::string, monitor::Findings> last_;

    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

// The findings in the lines that `pathproof inspect doctor --json` prints; nothing: the last line, which
// says that it came to its end, is missing.
std::optional<monitor::Findings> parse_findings(const std::string& lines);

}  // namespace pathproof::cli::inspect
