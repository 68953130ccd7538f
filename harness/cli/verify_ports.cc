#include "harness/cli/verify_ports.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "harness/cli/seconds.h"
#include "harness/ports/open.h"

namespace pathproof::cli {
namespace {

using TapClock = std::chrono::steady_clock;

constexpr std::size_t kTapPiece = 1 << 20;
constexpr std::size_t kTapBurst = 64;
constexpr auto kTapNap = std::chrono::microseconds(50);
constexpr auto kTapLook = std::chrono::milliseconds(200);
// Frames that are on their way when the last one that counts went in have so long to come out.
constexpr auto kBehindCount = std::chrono::milliseconds(200);

std::int64_t unix_now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// One port, and what it received.
class Tap {
  public:
    Tap(port::Port& port, follow::Side side, std::uint16_t file)
        : port_(port), side_(side), file_(file), limit_(port.receive_limit()) {
        port_.empty();
        before_ = port_.counters();
    }

    // Fetches what waits in its queues.
    void fetch(std::vector<follow::CapturedFrame>& frames) {
        std::array<rte_mbuf*, kTapBurst> burst;
        for (;;) {
            const std::uint16_t count = port_.rx_any(burst.data(), burst.size());
            for (std::uint16_t i = 0; i < count; ++i) {
                frames.push_back(copy_of(*burst[i]));
            }
            rte_pktmbuf_free_bulk(burst.data(), count);
            if (count < burst.size()) {
                return;
            }
        }
    }

    void note(const follow::CapturedFrame& frame) {
        if (gathering_) {
            gathering_->add(frame.bytes, frame.length);
        }
        facts_.first_ns = facts_.frames == 0 ? frame.time_ns : facts_.first_ns;
        facts_.last_ns = frame.time_ns;
        ++facts_.frames;
        facts_.bytes += frame.bytes.size();
    }

    // Counts TCP frames by their sizes from now on.
    void gather() { gathering_.emplace(); }
    PortSizes gathered(std::uint32_t segment_bytes) const {
        return {.port = port_.info().name,
                .hears_sent = port_.config().hears == port::PortHears::kSent,
                .sizes = gathering_->sizes(segment_bytes)};
    }

    follow::Side side() const { return side_; }
    const port::Port& port() const { return port_; }
    follow::FileFacts facts() const {
        follow::FileFacts facts = facts_;
        const port::PortCounters now = port_.counters();
        facts.path = "port " + port_.info().name;
        facts.dropped = now.rx_missed - before_.rx_missed + now.rx_no_mbuf - before_.rx_no_mbuf;
        facts.counts_drops = true;
        return facts;
    }

  private:
    follow::CapturedFrame copy_of(rte_mbuf& frame) {
        const std::uint32_t length = rte_pktmbuf_pkt_len(&frame);
        if (piece_ == nullptr || kTapPiece - used_ < length) {
            piece_ = std::shared_ptr<std::uint8_t[]>(
                new std::uint8_t[std::max<std::size_t>(kTapPiece, length)]);
            used_ = 0;
        }
        std::uint8_t* const to = piece_.get() + used_;
        const void* const from = rte_pktmbuf_read(&frame, 0, length, to);
        if (from != to) {
            std::memcpy(to, from, length);
        }
        used_ += length;
        // The driver cuts longer frames without a word.
        const bool cut = limit_ != 0 && length >= limit_;
        return {
            .piece = piece_,
            .bytes = {to, length},
            .length = length + (cut ? 1 : 0),
            .number = ++number_,
            .file = file_,
            .heading = side_ == follow::Side::kIn ? follow::Heading::kIn : follow::Heading::kOut};
    }

    port::Port& port_;
    follow::Side side_;
    std::uint16_t file_;
    std::uint32_t limit_;
    port::PortCounters before_;
    follow::FileFacts facts_;
    std::shared_ptr<std::uint8_t[]> piece_;
    std::size_t used_ = 0;
    std::uint64_t number_ = 0;
    std::optional<Gathering> gathering_;
};

Result<std::unique_ptr<StreamEnds>> make_ends(const PortsOptions& options) {
    StreamPlace place{.netns = options.netns, .judge_cpu = options.cpu};
    if (options.far_ends) {
        place.in = options.in.front();
        place.out = options.out.front();
    }
    return StreamEnds::make(options.stream, place);
}

}  // namespace

Result<FollowedPorts> follow_ports(const PortsOptions& options, follow::FollowOptions follow,
                                   const std::atomic<bool>& stop) {
    // Before the EAL: it starts processes.
    std::unique_ptr<StreamEnds> ends;
    if (options.stream.any()) {
        ends = TRY(make_ends(options));
        follow.device_speaks = true;
    }
    ports::OwnPortsOptions wanted{.ports = {}, .netns = options.netns, .cpus = {options.cpu}};
    using port::PortHears;
    for (const std::string& name : options.in) {
        wanted.ports.push_back({.name = name,
                                .hears = options.far_ends ? PortHears::kSent : PortHears::kReceived,
                                .super_frames = options.super_frames});
    }
    for (const std::string& name : options.out) {
        wanted.ports.push_back({.name = name,
                                .hears = options.far_ends ? PortHears::kReceived : PortHears::kSent,
                                .super_frames = options.super_frames});
    }
    ports::OwnPorts own = TRY(ports::OwnPorts::open(wanted));
    // Frames that come out are fetched first: those that went in for them are there by then.
    std::vector<Tap> taps;
    for (std::size_t i = own.set.ports.size(); i-- > 0;) {
        const bool is_in = i < options.in.size();
        taps.emplace_back(own.set.ports[i], is_in ? follow::Side::kIn : follow::Side::kOut,
                          static_cast<std::uint16_t>(is_in ? i : i - options.in.size()));
    }
    follow::Follower follower(follow);
    const std::int64_t began = unix_now_ns();
    follower.begin(follow::Side::kIn, began);
    follower.begin(follow::Side::kOut, began);
    auto end = options.seconds > 0 && ends == nullptr
                   ? TapClock::now() + nanoseconds_of(options.seconds)
                   : TapClock::time_point::max();
    if (ends != nullptr) {
        for (Tap& tap : taps) {
            tap.gather();
        }
        constexpr double kUntilCounted = 4e9;
        ends->begin(options.seconds > 0 ? options.seconds : kUntilCounted);
    }
    auto look = TapClock::now() + kTapLook;
    std::uint64_t went_in = 0;
    std::vector<std::vector<follow::CapturedFrame>> fetched(taps.size());
    for (auto now = TapClock::now(); now < end && !stop; now = TapClock::now()) {
        std::size_t frames = 0;
        for (std::size_t i = 0; i < taps.size(); ++i) {
            fetched[i].clear();
            taps[i].fetch(fetched[i]);
            frames += fetched[i].size();
        }
        const std::int64_t time = unix_now_ns();
        follower.coming(follow::Side::kIn, time);
        follower.coming(follow::Side::kOut, time);
        for (std::size_t i = taps.size(); i-- > 0;) {
            for (follow::CapturedFrame& frame : fetched[i]) {
                frame.time_ns = time;
                taps[i].note(frame);
                follower.add(taps[i].side(), frame);
                went_in += taps[i].side() == follow::Side::kIn ? 1 : 0;
            }
        }
        const bool all_went_in = options.count != 0 && went_in >= options.count;
        if (all_went_in || (ends != nullptr && ends->ended())) {
            end = std::min(end, now + kBehindCount);
        }
        if (now >= look) {
            for (const Tap& tap : taps) {
                if (std::string trouble = tap.port().link_trouble(); !trouble.empty()) {
                    return fail(ErrorCode::kUnavailable, "port {}: {}", tap.port().info().name,
                                trouble);
                }
            }
            look = now + kTapLook;
        }
        if (frames == 0) {
            std::this_thread::sleep_for(kTapNap);
        }
    }
    const std::int64_t ended = unix_now_ns();
    follower.end(follow::Side::kIn, ended);
    follower.end(follow::Side::kOut, ended);
    FollowedPorts all;
    follow::Followed& followed = all.followed;
    followed.outcome = follower.finish();
    for (std::size_t i = taps.size(); i-- > 0;) {
        const bool is_in = taps[i].side() == follow::Side::kIn;
        (is_in ? followed.in : followed.out).push_back(taps[i].facts());
    }
    if (ends != nullptr) {
        all.stream = TRY(ends->stop());
        for (std::size_t i = taps.size(); i-- > 0 && all.stream->segment_bytes != 0;) {
            all.gathered.push_back(taps[i].gathered(all.stream->segment_bytes));
        }
    }
    return all;
}

}  // namespace pathproof::cli
