#include "dataplane/softnic/wire.h"

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <mutex>
#include <thread>

#include "dataplane/base/clock.h"
#include "dataplane/base/counts.h"
#include "dataplane/judge/frame_keeper.h"
#include "dataplane/port/capture.h"
#include "dataplane/softnic/completion.h"
#include "dataplane/softnic/packet_ring.h"
#include "dataplane/softnic/port_loop.h"
#include "dataplane/softnic/wrong_sources.h"

namespace pathproof::softnic {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint16_t kBurst = 64;
constexpr auto kWatchEvery = std::chrono::milliseconds(20);

// One direction of the wire; a single lcore writes it.
struct alignas(64) Side {
    port::Port* from = nullptr;
    port::Port* to = nullptr;
    Direction direction = Direction::kAToB;
    WireTally tally;
    std::optional<PacketRing> ring;  // of `from`, if it can tell which frames come partial
};

// The first bad frames.
class Keeper : public judge::FirstFrames<WireFrame, 2304> {
  public:
    explicit Keeper(std::size_t frames) : FirstFrames(frames) {
        for (WireFrame& frame : frames_) {
            frame.bad.reserve(judge::FrameVerdict::kMost);
        }
    }

    void keep(std::span<const std::uint8_t> bytes, const judge::FrameVerdict& verdict,
              Direction direction, std::int64_t time_ns) noexcept {
        WireFrame* const frame = add(bytes);
        if (frame == nullptr) {
            return;
        }
        frame->direction = direction;
        frame->time_ns = time_ns;
        frame->bad.clear();
        std::ranges::copy_if(verdict.all(), std::back_inserter(frame->bad),
                             [](const judge::ChecksumFinding& finding) {
                                 return finding.state == judge::ChecksumState::kBad;
                             });
    }
};

// Frames of one burst on their way, with what is to be counted once the far port has taken them.
struct Burst {
    std::array<rte_mbuf*, kBurst> frames;
    std::array<judge::FrameVerdict, kBurst> verdicts;
    std::array<std::size_t, kBurst> kept_before;
    std::array<std::uint32_t, kBurst> wrong_source;  // see WrongSources::of()
    std::uint16_t count = 0;
    std::int64_t time_ns = 0;
};

std::span<std::uint8_t> bytes_of(rte_mbuf* frame) {
    return {rte_pktmbuf_mtod(frame, std::uint8_t*), rte_pktmbuf_data_len(frame)};
}

std::uint32_t longest_for(const port::Port& port, std::span<const std::uint8_t> frame) {
    if (port.transmit_limit() == 0) {
        return UINT32_MAX;
    }
    // packet_extra_vlan_len_allowed(): a tag does not count towards the MTU.
    const bool tagged =
        frame.size() >= RTE_ETHER_HDR_LEN &&
        ((frame[12] == 0x81 && frame[13] == 0) || (frame[12] == 0x88 && frame[13] == 0xa8));
    return port.transmit_limit() + (tagged ? RTE_VLAN_HLEN : 0);
}

void count(WireTally& tally, const judge::FrameVerdict& verdict) {
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        ++tally.checksums[judge::index_of(finding.layer)][static_cast<std::size_t>(finding.state)];
    }
    tally.malformed += verdict.malformed != judge::Malformed::kNone ? 1 : 0;
    tally.bad_frames += verdict.any_bad() ? 1 : 0;
}

class RunningWire final : public Wire {
  public:
    RunningWire(port::Eal& eal, unsigned worker, std::span<port::Port> ports, const WirePlan& plan)
        : eal_(eal),
          worker_(worker),
          ports_(ports),
          plan_(plan),
          keeper_(plan.keep_bad_frames),
          sides_{Side{.from = &ports[0],
                      .to = &ports[1],
                      .direction = Direction::kAToB,
                      .ring = PacketRing::of(ports[0])},
                 Side{.from = &ports[1],
                      .to = &ports[0],
                      .direction = Direction::kBToA,
                      .ring = PacketRing::of(ports[1])}} {}
    ~RunningWire() override { stop(); }

    Status launch();
    bool broken() const override { return broken_; }
    WireReport stop() override;

  private:
    int run() noexcept;
    std::uint16_t pass(Side& side) noexcept;
    bool push_out() noexcept;
    void take_in(Side& side, rte_mbuf* frame, bool left_partial, Burst& burst) noexcept;
    void send(Side& side, Burst& burst) noexcept;
    std::int64_t now_ns() const noexcept { return (Clock::now() - start_).count(); }
    void watch();
    void note(const std::string& objection);
    WireReport report();

    port::Eal& eal_;
    const unsigned worker_;
    const std::span<port::Port> ports_;
    const WirePlan plan_;
    Keeper keeper_;
    WrongSources wrong_sources_;
    std::array<Side, 2> sides_;
    Clock::time_point start_;
    std::int64_t ended_ns_ = 0;
    std::int64_t started_unix_ns_ = 0;
    std::vector<port::PortCounters> before_;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> broken_ = false;
    std::atomic<bool> partial_ = false;
    std::mutex objecting_;
    std::vector<std::string> objections_;
    std::thread watcher_;
    bool running_ = false;
};

bool RunningWire::push_out() noexcept {
    const bool out_of_a = ports_[0].push_out();
    return ports_[1].push_out() && out_of_a;
}

int RunningWire::run() noexcept {
    prctl(PR_SET_TIMERSLACK, 1);  // the default of 50 us would double each rest
    IdleWait wait;
    bool some_may_wait = false;  // in a driver, for room on the way out
    while (!stopping_.load(std::memory_order_relaxed)) {
        const int passed = pass(sides_[0]) + pass(sides_[1]);
        if (passed != 0) {
            some_may_wait = true;
            wait.busy();
        } else {
            some_may_wait = some_may_wait && !push_out();
            wait.idle();
        }
    }
    // Frames that had come in before the end was requested are still carried.
    for (int burst = 0; burst < 64 && pass(sides_[0]) + pass(sides_[1]) != 0; ++burst) {
    }
    push_out();
    return 0;
}

std::uint16_t RunningWire::pass(Side& side) noexcept {
    std::array<rte_mbuf*, kBurst> received;
    std::uint64_t left_partial = 0;
    const std::uint16_t room = side.ring ? side.ring->waiting(left_partial) : kBurst;
    const std::uint16_t got = room == 0 ? 0 : side.from->rx_any(received.data(), room);
    if (got == 0) {
        return 0;
    }
    if (side.ring) {
        side.ring->took(got);
    }
    side.tally.received += got;
    Burst burst;
    burst.time_ns = now_ns();
    for (std::uint16_t index = 0; index < got; ++index) {
        take_in(side, received[index], (left_partial >> index & 1) != 0, burst);
    }
    send(side, burst);
    return got;
}

void RunningWire::take_in(Side& side, rte_mbuf* frame, bool left_partial, Burst& burst) noexcept {
    side.tally.handed_partial += left_partial ? 1 : 0;
    side.tally.bytes += rte_pktmbuf_pkt_len(frame);
    const bool tag_aside = (frame->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
    const bool in_one_piece = (!tag_aside || rte_vlan_insert(&frame) == 0) &&
                              (frame->nb_segs == 1 || rte_pktmbuf_linearize(frame) == 0);
    // Only bytes cross a wire: what the receiving port thought of the frame does not.
    frame->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
    const std::span<std::uint8_t> bytes = bytes_of(frame);
    judge::FrameVerdict verdict = judge::verify(bytes, plan_.tunnel_ports);
    const std::uint32_t cut_at = side.from->receive_limit();
    const bool cut = !in_one_piece || (cut_at != 0 && bytes.size() >= cut_at &&
                                       verdict.malformed != judge::Malformed::kNone);
    const bool too_long = bytes.size() > longest_for(*side.to, bytes);
    if (cut || too_long) {
        side.tally.truncated += cut ? 1 : 0;
        side.tally.too_long += cut ? 0 : 1;
        ++side.tally.not_forwarded;
        rte_pktmbuf_free(frame);
        return;
    }
    // A port that can tell decides, not the value: a wrong sum that nobody left to the NIC stays.
    if (plan_.mode == WireMode::kHealthyNic && verdict.any_bad() && (left_partial || !side.ring)) {
        (left_partial ? side.tally.completed : side.tally.completed_by_value) +=
            complete_partial_checksums(bytes, plan_.tunnel_ports, verdict);
    }
    burst.kept_before[burst.count] = keeper_.count();
    burst.wrong_source[burst.count] = 0;
    if (verdict.any_bad()) {
        keeper_.keep(bytes, verdict, side.direction, burst.time_ns);
        burst.wrong_source[burst.count] = WrongSources::of(bytes, verdict);
    }
    burst.frames[burst.count] = frame;
    burst.verdicts[burst.count] = verdict;
    ++burst.count;
}

void RunningWire::send(Side& side, Burst& burst) noexcept {
    const std::uint16_t sent = send_patiently(*side.to, {burst.frames.data(), burst.count});
    for (std::uint16_t index = 0; index < sent; ++index) {
        count(side.tally, burst.verdicts[index]);
        if (burst.wrong_source[index] != 0) [[unlikely]] {
            wrong_sources_.add(side.direction, burst.wrong_source[index]);
        }
    }
    side.tally.forwarded += sent;
    if (sent < burst.count) {
        keeper_.forget_after(burst.kept_before[sent]);
        side.tally.not_forwarded += burst.count - sent;
        rte_pktmbuf_free_bulk(burst.frames.data() + sent, burst.count - sent);
    }
}

void RunningWire::note(const std::string& objection) {
    const std::lock_guard lock(objecting_);
    if (std::find(objections_.begin(), objections_.end(), objection) == objections_.end()) {
        objections_.push_back(objection);
    }
}

// Off the data path: no driver tells that its interface went away, the kernel has to be asked.
void RunningWire::watch() {
    while (!stopping_.load(std::memory_order_relaxed)) {
        for (const Side& side : sides_) {
            const std::string trouble = side.from->link_trouble();
            if (!trouble.empty()) {
                note(trouble);
                partial_ = true;
                broken_ = broken_ || side.from->link() == port::Link::kGone;
            }
        }
        std::this_thread::sleep_for(kWatchEvery);
    }
}

WireReport RunningWire::report() {
    WireReport report{.mode = plan_.mode, .started_unix_ns = started_unix_ns_};
    for (std::size_t index = 0; index < ports_.size(); ++index) {
        const port::PortCounters counted = counts_between(before_[index], ports_[index].counters());
        report.ports.push_back(counted);
        const std::uint64_t lost = counted.rx_missed + counted.rx_no_mbuf;
        report.tester_lost += lost;
        if (lost != 0) {
            note(fmt::format("port {} lost {} frames itself", ports_[index].info().name, lost));
        }
    }
    for (const Side& side : sides_) {
        const WireTally& tally = side.tally;
        report.directions[static_cast<std::size_t>(side.direction)] = tally;
        if (const std::uint64_t cut = tally.truncated + tally.too_long; cut != 0) {
            note(fmt::format(
                "{} super-frames longer than the MTU came in at port {}: the wire does not segment "
                "them; switch tso and gso off on the device behind it",
                cut, side.from->info().name));
        }
        if (tally.received != tally.forwarded + tally.not_forwarded) {
            note(fmt::format("port {}: {} received is not {} forwarded + {} not forwarded",
                             side.from->info().name, tally.received, tally.forwarded,
                             tally.not_forwarded));
        }
    }
    report.kept = keeper_.take();
    report.wrong_sources = wrong_sources_.all();
    report.wrong_sources_left_out = wrong_sources_.left_out();
    report.seconds = static_cast<double>(ended_ns_) / 1e9;
    report.objections = objections_;
    report.partial = partial_;
    return report;
}

Status RunningWire::launch() {
    for (const port::Port& port : ports_) {
        before_.push_back(port.counters());
    }
    started_unix_ns_ = realtime_ns();
    start_ = Clock::now();
    TRY(eal_.launch(worker_, [this] { return run(); }));
    watcher_ = std::thread([this] { watch(); });
    running_ = true;
    return {};
}

WireReport RunningWire::stop() {
    if (!running_) {
        return {};
    }
    running_ = false;
    stopping_ = true;
    eal_.join(worker_);
    ended_ns_ = now_ns();
    watcher_.join();
    return report();
}

}  // namespace

const char* name(WireMode mode) {
    switch (mode) {
        case WireMode::kHealthyNic: return "healthy-nic";
        case WireMode::kPassThrough: return "pass-through";
    }
    return "healthy-nic";
}

Result<std::unique_ptr<Wire>> Wire::start(port::Eal& eal, unsigned worker,
                                          std::span<port::Port> ports, const WirePlan& plan) {
    if (ports.size() != 2) {
        return fail(ErrorCode::kBadInput, "a wire needs two ports; there are {}", ports.size());
    }
    auto wire = std::make_unique<RunningWire>(eal, worker, ports, plan);
    TRY(wire->launch());
    return std::unique_ptr<Wire>(std::move(wire));
}

Status write_evidence(const std::string& path, const WireReport& report,
                      std::span<const port::Port> ports) {
    if (report.kept.empty()) {
        return {};
    }
    std::vector<port::CapturedFrame> frames;
    for (const WireFrame& frame : report.kept) {
        const std::size_t out = frame.direction == Direction::kAToB ? 1 : 0;
        frames.push_back({.port_id = ports[out].id(),
                          .direction = port::CaptureDirection::kOut,
                          .unix_ns = report.started_unix_ns + frame.time_ns,
                          .bytes = frame.bytes});
    }
    return port::write_capture(path,
                               fmt::format("pathproof wire in mode {} (software in the place of a "
                                           "NIC): the first {} frames that left "
                                           "with a wrong checksum",
                                           name(report.mode), frames.size()),
                               frames);
}

}  // namespace pathproof::softnic
