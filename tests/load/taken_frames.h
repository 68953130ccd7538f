// Frames out of a source, put before an intake as a port would.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <span>
#include <vector>

#include "dataplane/judge/bad_checksums.h"
#include "dataplane/load/tracked_intake.h"
#include "tests/load/sources.h"

namespace pathproof::load {

inline constexpr std::uint64_t kSent = 5'000'000;
inline constexpr std::uint64_t kNow = kSent + 70'000;

inline std::vector<Frame> made(const SourcePlan& plan, std::size_t count) {
    FrameSource source = source_of(plan);
    return next_frames(source, count, 1024, kSent);
}
inline std::vector<Frame> queries(std::size_t count) {
    return made(plan_of(frame::TrafficClass::kDnsA), count);
}

inline IntakePlan frames_expected() {
    return {.expects = IntakePlan::Expects::kFrames};
}

inline TrackedIntake intake_of(const IntakePlan& plan) {
    Result<TrackedIntake> intake = TrackedIntake::make(plan);
    BOOST_REQUIRE_MESSAGE(intake, intake.error().message);
    return std::move(*intake);
}

// Puts right what a change made wrong.
inline Frame sealed(Frame frame) {
    for (const judge::BadChecksum& one :
         judge::bad_checksums(frame, frame::TunnelPorts::well_known())) {
        judge::write_right(frame, one.finding);
    }
    return frame;
}

struct NicSays {
    std::uint64_t flags = 0;
    std::uint32_t packet_type = 0;
};

// Each frame in a buffer of its own length: what is read beyond it a sanitizer sees.
inline void take(TrackedIntake& intake, const std::vector<Frame>& frames,
                 std::uint64_t now_ns = kNow, const NicSays& nic = {}) {
    std::vector<rte_mbuf> mbufs(frames.size());
    std::vector<rte_mbuf*> burst;
    std::vector<Frame> copies = frames;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        mbufs[i] = {};
        copies[i].reserve(1);  // a port's buffer has an address, however little is in it
        mbufs[i].buf_addr = copies[i].data();
        mbufs[i].nb_segs = 1;
        mbufs[i].data_len = static_cast<std::uint16_t>(frames[i].size());
        mbufs[i].pkt_len = mbufs[i].data_len;
        mbufs[i].ol_flags = nic.flags;
        mbufs[i].packet_type = nic.packet_type;
        burst.push_back(&mbufs[i]);
    }
    for (std::size_t done = 0; done < burst.size(); done += 32) {
        const std::size_t size = std::min<std::size_t>(32, burst.size() - done);
        intake.take(std::span(burst).subspan(done, size), 3, now_ns);
    }
}

inline const ClassTotals& totals_of(const TrackedIntake& intake, frame::TrafficClass traffic) {
    return intake.totals().classes[static_cast<std::size_t>(traffic)];
}

inline std::size_t payload_at(const Frame& frame) {
    return parsed(frame).innermost().payload_offset;
}

}  // namespace pathproof::load
