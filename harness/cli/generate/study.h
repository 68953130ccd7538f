// Frames made for a finding: where its border lies, whether the fault goes with what was named, and which
// of several descriptions it is.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/cli/generate/followed_replay.h"
#include "harness/cli/generate/lanes.h"

namespace pathproof::cli {

// Sends a few frames by the ports of a run that is over, and says what became of each.
class Courier {
  public:
    struct Plan {
        follow::Transformations allowed;
        std::vector<neighbour::Place> stations;  // that are answered for meanwhile
        double frames_per_second = 100;
        load::Nanoseconds drain{0};
    };
    // Both outlive the courier, as `stop` does. The ports have one queue.
    Courier(Lanes& lanes, const LaneOptions& options, Plan plan, const std::atomic<bool>& stop)
        : lanes_(lanes), options_(options), plan_(std::move(plan)), stop_(stop) {}

    // `name`: of the frames, in sentences. Errors: those of a run; kUnavailable when it was stopped.
    Result<ReplayJudgement> send(std::vector<frame::ByteVector> frames, const std::string& name);

  private:
    Lanes& lanes_;
    const LaneOptions& options_;
    Plan plan_;
    const std::atomic<bool>& stop_;
};

// Makes frames for the largest findings that have a description, of frames that were sent and their fates,
// and writes down what they show: Finding::confirmed, and the borders of its description.
Status study_findings(Courier& courier, std::span<const frame::Bytes> sent,
                      std::span<const follow::Class> fates, std::vector<follow::Finding>& findings);

}  // namespace pathproof::cli
