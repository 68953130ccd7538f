#include "dataplane/traffic/recorder.h"

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

namespace pathproof::traffic {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint16_t kBurst = 64;
constexpr auto kRest = std::chrono::microseconds(20);
constexpr auto kLookEvery = std::chrono::milliseconds(1);

bool has_tag(const std::uint8_t* frame) {
    const int type = frame[12] << 8 | frame[13];
    return type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ;
}

class RunningRecorder final : public Recorder {
  public:
    RunningRecorder(port::Eal& eal, unsigned worker, port::Port& port, const RecordPlan& plan)
        : eal_(eal),
          worker_(worker),
          port_(port),
          plan_(plan),
          before_(port.counters()),
          store_(plan.most_bytes) {
        ends_.reserve(plan.most_frames);
    }
    ~RunningRecorder() override { stop({.expected = 0, .quiet = std::chrono::milliseconds(0)}); }

    Status launch() {
        TRY(eal_.launch(worker_, [this] { return run(); }));
        running_ = true;
        return {};
    }

    Recording stop(const RecordEnd& end) override {
        if (!running_) {
            return {};
        }
        running_ = false;
        wait_for(end);
        stopping_.store(true, std::memory_order_release);
        eal_.join(worker_);
        return result();
    }

  private:
    int run() noexcept {
        prctl(PR_SET_TIMERSLACK, 1);  // the default of 50 us would lengthen each rest
        std::array<rte_mbuf*, kBurst> frames;
        for (;;) {
            const bool last = stopping_.load(std::memory_order_acquire);
            const std::uint16_t got = port_.rx_any(frames.data(), kBurst);
            for (std::uint16_t i = 0; i < got; ++i) {
                keep(*frames[i]);
            }
            rte_pktmbuf_free_bulk(frames.data(), got);
            received_.fetch_add(got, std::memory_order_release);
            if (got == 0) {
                if (last) {
                    return 0;
                }
                std::this_thread::sleep_for(kRest);
            }
        }
    }

    void keep(const rte_mbuf& frame) noexcept {
        const bool tag_aside = (frame.ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
        constexpr std::uint32_t kAddresses = 2 * RTE_ETHER_ADDR_LEN;
        const std::uint32_t length = rte_pktmbuf_pkt_len(&frame);
        const std::uint64_t needed = length + (tag_aside ? RTE_VLAN_HLEN : 0);
        if (ends_.size() == plan_.most_frames || store_.size() - used_ < needed ||
            length < RTE_ETHER_HDR_LEN) {
            ++left_out_;
            return;
        }
        cut_ += port_.receive_limit() != 0 && length >= port_.receive_limit() ? 1 : 0;
        std::uint8_t* to = store_.data() + used_;
        std::memmove(to, rte_pktmbuf_read(&frame, 0, length, to),
                     length);  // a chain is gathered there
        if (tag_aside) {
            std::uint8_t* behind = to + kAddresses;
            std::memmove(behind + RTE_VLAN_HLEN, behind, length - kAddresses);
            const std::array<std::uint8_t, RTE_VLAN_HLEN> tag = {
                0x81, 0x00, static_cast<std::uint8_t>(frame.vlan_tci >> 8),
                static_cast<std::uint8_t>(frame.vlan_tci)};
            std::memcpy(behind, tag.data(), tag.size());
        }
        tags_ += has_tag(to) ? 1 : 0;
        used_ += needed;
        ends_.push_back(used_);
    }

    void wait_for(const RecordEnd& end) const {
        const Clock::time_point began = Clock::now();
        Clock::time_point changed = began;
        std::uint64_t seen = received_.load(std::memory_order_acquire);
        for (;;) {
            const std::uint64_t now_seen = received_.load(std::memory_order_acquire);
            const Clock::time_point now = Clock::now();
            changed = now_seen != seen ? now : changed;
            seen = now_seen;
            const bool all = end.expected != 0 && seen >= end.expected;
            if (all || now - changed >= end.quiet || now - began >= end.longest) {
                return;
            }
            std::this_thread::sleep_for(kLookEvery);
        }
    }

    Recording result() const {
        Recording recording{.frames = {},
                            .received = received_.load(std::memory_order_acquire),
                            .left_out = left_out_,
                            .cut = cut_};
        std::uint64_t begin = 0;
        for (const std::uint64_t end : ends_) {
            recording.frames.emplace_back(store_.begin() + static_cast<std::ptrdiff_t>(begin),
                                          store_.begin() + static_cast<std::ptrdiff_t>(end));
            begin = end;
        }
        const port::PortCounters now = port_.counters();
        const std::uint64_t missed = now.rx_missed - before_.rx_missed;
        // __netif_receive_skb_core() counts a tagged frame without a VLAN device as dropped, after
        // it has given it to the packet socket.
        const bool kernel_port = port_.info().driver == "net_af_packet";
        recording.tester_lost = missed - (kernel_port ? std::min(missed, tags_) : 0) +
                                now.rx_no_mbuf - before_.rx_no_mbuf;
        return recording;
    }

    port::Eal& eal_;
    const unsigned worker_;
    port::Port& port_;
    const RecordPlan plan_;
    const port::PortCounters before_;
    // Frames one behind the other, and where each ends: set aside before the start.
    std::vector<std::uint8_t> store_;
    std::vector<std::uint64_t> ends_;
    std::uint64_t used_ = 0;
    std::uint64_t left_out_ = 0;
    std::uint64_t cut_ = 0;
    std::uint64_t tags_ = 0;
    std::atomic<std::uint64_t> received_ = 0;
    std::atomic<bool> stopping_ = false;
    bool running_ = false;
};

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::start(port::Eal& eal, unsigned worker,
                                                  std::span<port::Port> ports,
                                                  const RecordPlan& plan) {
    if (plan.port >= ports.size()) {
        return fail(ErrorCode::kBadInput, "record at port {}: there are {} ports", plan.port,
                    ports.size());
    }
    auto recorder = std::make_unique<RunningRecorder>(eal, worker, ports[plan.port], plan);
    TRY(recorder->launch());
    return std::unique_ptr<Recorder>(std::move(recorder));
}

}  // namespace pathproof::traffic
