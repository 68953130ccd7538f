#include "harness/cli/generate/followed_replay.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>

namespace pathproof::cli {
namespace {

constexpr std::uint64_t kMostKept = 1ull << 30;  // bytes of what comes back
constexpr std::uint64_t kOfOthers = 8u << 20;    // the device's own frames
constexpr std::uint64_t kFramesOfOthers = 16'384;

// The bytes belong to somebody who outlives the frame.
follow::Piece not_owned(const std::uint8_t* bytes) {
    return {std::shared_ptr<const std::uint8_t[]>(), bytes};
}

}  // namespace

std::uint64_t ReplayJudgement::certain_harm() const {
    std::uint64_t harm = 0;
    for (const follow::Totals& totals : followed.outcome.totals) {
        for (const follow::Class one :
             {follow::Class::kChanged, follow::Class::kDamaged, follow::Class::kDoubled}) {
            harm += totals.of(one);
        }
    }
    return harm;
}

Result<std::unique_ptr<FollowedReplay>> FollowedReplay::make(
    std::shared_ptr<const load::Recording> recording, const std::string& file, std::uint64_t frames,
    bool other_port) {
    // All of them twice, as a path may double them.
    const double bytes = 2.0 * static_cast<double>(frames) * recording->mean_frame_bytes();
    if (bytes > static_cast<double>(kMostKept)) {
        return fail(
            ErrorCode::kBadInput,
            "--expect frames: {} frames of {:.0f} bytes on average are more than is held in "
            "memory until they are judged; send fewer (--count {}), or capture both sides "
            "and use 'pathproof verify'",
            frames, recording->mean_frame_bytes(),
            static_cast<std::uint64_t>(static_cast<double>(kMostKept) / 2 /
                                       recording->mean_frame_bytes()));
    }
    std::unique_ptr<FollowedReplay> made(new FollowedReplay);
    made->recording_ = std::move(recording);
    made->file_ = file;
    made->other_port_ = other_port;
    made->departures_.reserve(frames);
    made->bytes_.resize(static_cast<std::size_t>(bytes) + kOfOthers);
    made->kept_.reserve(2 * frames + kFramesOfOthers);
    return made;
}

void FollowedReplay::take(std::span<rte_mbuf* const> burst, std::size_t port,
                          std::uint64_t now_ns) noexcept {
    tally_.received += burst.size();
    for (rte_mbuf* const frame : burst) {
        const std::uint32_t length = rte_pktmbuf_pkt_len(frame);
        if (length > bytes_.size() - used_ || kept_.size() == kept_.capacity()) {
            ++not_kept_;
            continue;
        }
        std::uint8_t* const to = bytes_.data() + used_;
        const void* const from = rte_pktmbuf_read(frame, 0, length, to);
        if (from != to) {
            std::copy_n(static_cast<const std::uint8_t*>(from), length, to);
        }
        // Ports count with the sending one first.
        const bool at_sender = other_port_ && port == 0;
        kept_.push_back({.offset = used_,
                         .at_ns = now_ns,
                         .length = length,
                         .side = at_sender ? follow::Side::kIn : follow::Side::kOut});
        used_ += length;
    }
}

follow::CapturedFrame FollowedReplay::sent(std::size_t number, std::int64_t start_ns) const {
    const std::size_t in_file = number % recording_->frames();
    const frame::Bytes bytes = recording_->bytes(in_file);
    return {.piece = not_owned(bytes.data()),
            .bytes = bytes,
            .length = static_cast<std::uint32_t>(bytes.size()),
            .time_ns = start_ns + static_cast<std::int64_t>(departures_[number]),
            .number = in_file + 1,
            .heading = follow::Heading::kIn};
}

std::vector<frame::Bytes> FollowedReplay::sent_frames() const {
    std::vector<frame::Bytes> frames;
    for (std::size_t number = 0; number < departures_.size(); ++number) {
        frames.push_back(recording_->bytes(number % recording_->frames()));
    }
    return frames;
}

follow::CapturedFrame FollowedReplay::came(std::size_t number, std::int64_t start_ns) const {
    const Kept& kept = kept_[number];
    const std::uint8_t* const bytes = bytes_.data() + kept.offset;
    const std::uint16_t of_sender = kept.side == follow::Side::kIn ? 1 : 0;
    return {.piece = not_owned(bytes),
            .bytes = {bytes, kept.length},
            .length = kept.length,
            .time_ns = start_ns + static_cast<std::int64_t>(kept.at_ns),
            .number = number + 1,
            .file = of_sender,
            .heading = follow::Heading::kOut};
}

Result<ReplayJudgement> FollowedReplay::judge(follow::Transformations allowed,
                                              const load::TrialReport& report,
                                              std::int64_t unix_start_ns,
                                              const std::string& sending,
                                              const std::string& receiving) const {
    constexpr std::int64_t kWindowNs = 2'000'000'000;
    ReplayJudgement judged{.allowed = allowed};
    judged.fates.reserve(departures_.size());
    const follow::FollowOptions options{
        .allowed = allowed,
        .window_ns = std::max<std::int64_t>(kWindowNs, 2 * report.order.drain.count()),
        .device_speaks = true,
        .on_fate = [&judged](follow::Side side, const follow::FrameName& frame,
                             follow::Class fate) {
            if (side == follow::Side::kIn && frame.file == 0) {
                judged.fates.push_back(fate);
            }
        }};
    follow::Followed& followed = judged.followed;
    followed.in = {{.path = file_}};
    followed.out = {{.path = "port " + receiving}};
    if (other_port_) {
        followed.in.push_back({.path = "port " + sending});
    }
    follow::Follower follower(options);
    std::size_t left = 0;
    std::size_t arrived = 0;
    while (left < departures_.size() || arrived < kept_.size()) {
        const bool take_sent =
            arrived == kept_.size() ||
            (left < departures_.size() && departures_[left] <= kept_[arrived].at_ns);
        const follow::CapturedFrame frame =
            take_sent ? sent(left++, unix_start_ns) : came(arrived++, unix_start_ns);
        const follow::Side side = take_sent ? follow::Side::kIn : kept_[arrived - 1].side;
        follow::FileFacts& facts =
            (side == follow::Side::kIn ? followed.in : followed.out)[frame.file];
        facts.first_ns = facts.frames == 0 ? frame.time_ns : facts.first_ns;
        facts.last_ns = frame.time_ns;
        facts.bytes += frame.bytes.size();
        ++facts.frames;
        follower.coming(side == follow::Side::kIn ? follow::Side::kOut : follow::Side::kIn,
                        frame.time_ns);
        follower.add(side, frame);
    }
    const std::int64_t end = unix_start_ns + report.ended_ns;
    follower.end(follow::Side::kIn, end);
    follower.end(follow::Side::kOut, end);
    followed.outcome = follower.finish();
    for (const follow::Totals& totals : followed.outcome.totals) {
        if (!totals.balance()) {
            return fail(ErrorCode::kFailed,
                        "the counts do not balance ({} sent, {} received): no verdict; please "
                        "report this with the capture",
                        totals.sent, totals.received);
        }
    }
    judged.conclusion = follow::conclude(followed);
    return judged;
}

}  // namespace pathproof::cli
