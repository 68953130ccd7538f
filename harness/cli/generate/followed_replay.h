// A capture file that is sent, and all that comes back, held against each other frame by frame: `generate
// --replay FILE --expect frames`. Frames are kept while the run lasts and followed at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/follow/followed_files.h"
#include "dataplane/load/intake.h"
#include "dataplane/load/load_run.h"
#include "dataplane/load/recording.h"

namespace pathproof::cli {

// The fate of a capture's frames.
struct ReplayJudgement {
    follow::Followed followed;
    follow::Conclusion conclusion;
    follow::Transformations allowed;
    std::vector<follow::Class> fates;  // by frame, in the order in which they left

    // Frames that came out changed, damaged or twice: that is so whatever the tester lacked.
    std::uint64_t certain_harm() const;
};

class FollowedReplay final : public load::Intake {
  public:
    // `frames`: that will be sent, the file's over and over. `sends`: the sending port is another than
    // the one at which frames come out. Errors (kBadInput): more bytes than are held in memory.
    static Result<std::unique_ptr<FollowedReplay>> make(
        std::shared_ptr<const load::Recording> recording, const std::string& file,
        std::uint64_t frames, bool other_port);

    // Times at which frames left, as load::ReplayPlan takes them.
    std::vector<std::uint64_t>& departures() { return departures_; }

    // Keeps the bytes; no allocation.
    void take(std::span<rte_mbuf* const> burst, std::size_t port,
              std::uint64_t now_ns) noexcept override;
    const judge::ReceiveTally& received() const noexcept override { return tally_; }
    // Frames are told apart at the end only: the whole drain is waited for.
    std::uint64_t arrived() const noexcept override { return 0; }

    // After the run. Errors (kFailed): counts that do not balance.
    Result<ReplayJudgement> judge(follow::Transformations allowed, const load::TrialReport& report,
                                  std::int64_t unix_start_ns, const std::string& sending,
                                  const std::string& receiving) const;
    // The frames in the order in which they left.
    std::vector<frame::Bytes> sent_frames() const;
    // More came than there was room for: these were not kept.
    std::uint64_t not_kept() const { return not_kept_; }

  private:
    struct Kept {
        std::uint64_t offset = 0;
        std::uint64_t at_ns = 0;
        std::uint32_t length = 0;
        follow::Side side = follow::Side::kOut;
    };

    FollowedReplay() = default;
    follow::CapturedFrame sent(std::size_t number, std::int64_t start_ns) const;
    follow::CapturedFrame came(std::size_t number, std::int64_t start_ns) const;

    std::shared_ptr<const load::Recording> recording_;
    std::string file_;
    bool other_port_ = false;
    std::vector<std::uint64_t> departures_;
    std::vector<std::uint8_t> bytes_;
    std::size_t used_ = 0;
    std::vector<Kept> kept_;
    std::uint64_t not_kept_ = 0;
    judge::ReceiveTally tally_;
};

}  // namespace pathproof::cli
