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
constexpr auto kLook = std::chrono::milliseconds(1);

bool has_tag(const std::uint8_t* frame) {
    const int type = frame[12] << 8 | frame[13];
    return type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ;
}

}  // namespace

struct Recorder::Impl {
    Impl(port::Eal& the_eal, unsigned on_worker, port::Port& the_port, const RecordPlan& the_plan)
        : eal(the_eal), worker(on_worker), port(the_port), plan(the_plan) {
        ends.reserve(plan.most_frames);
        store.resize(plan.most_bytes);
    }

    int run() noexcept;
    void keep(rte_mbuf* frame) noexcept;
    void wait_for(const RecordEnd& end) const;
    Recording result() const;

    port::Eal& eal;
    const unsigned worker;
    port::Port& port;
    const RecordPlan plan;
    port::PortCounters before;
    // Frames one behind the other, and where each ends: set aside before the start.
    std::vector<std::uint8_t> store;
    std::vector<std::uint64_t> ends;
    std::uint64_t used = 0;
    std::uint64_t left_out = 0;
    std::uint64_t cut = 0;
    std::uint64_t tags = 0;
    std::atomic<std::uint64_t> received = 0;
    std::atomic<bool> stopping = false;
    bool stopped = true;
};

int Recorder::Impl::run() noexcept {
    prctl(PR_SET_TIMERSLACK, 1);  // the default of 50 us would lengthen each rest
    std::array<rte_mbuf*, kBurst> frames;
    for (;;) {
        const bool last = stopping.load(std::memory_order_acquire);
        const std::uint16_t got = port.rx_any(frames.data(), kBurst);
        for (std::uint16_t i = 0; i < got; ++i) {
            keep(frames[i]);
            rte_pktmbuf_free(frames[i]);
        }
        received.fetch_add(got, std::memory_order_release);
        if (got == 0) {
            if (last) {
                return 0;
            }
            std::this_thread::sleep_for(kRest);
        }
    }
}

void Recorder::Impl::keep(rte_mbuf* frame) noexcept {
    const bool tag_aside = (frame->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
    constexpr std::uint32_t kAddresses = 2 * RTE_ETHER_ADDR_LEN;
    const std::uint32_t length = rte_pktmbuf_pkt_len(frame);
    const std::uint64_t needed = length + (tag_aside ? RTE_VLAN_HLEN : 0);
    if (ends.size() == plan.most_frames || store.size() - used < needed ||
        length < RTE_ETHER_HDR_LEN) {
        ++left_out;
        return;
    }
    cut += port.receive_limit() != 0 && length >= port.receive_limit() ? 1 : 0;
    std::uint8_t* to = store.data() + used;
    const std::uint32_t head = tag_aside ? kAddresses : 0;
    const auto copy = [&](std::uint32_t offset, std::uint32_t bytes, std::uint8_t* into) {
        const void* from = rte_pktmbuf_read(frame, offset, bytes, into);
        if (from != into && from != nullptr) {
            std::memcpy(into, from, bytes);
        }
    };
    copy(0, head, to);
    if (tag_aside) {
        const std::array<std::uint8_t, RTE_VLAN_HLEN> tag = {
            0x81, 0x00, static_cast<std::uint8_t>(frame->vlan_tci >> 8),
            static_cast<std::uint8_t>(frame->vlan_tci)};
        std::memcpy(to + head, tag.data(), tag.size());
    }
    copy(head, length - head, to + needed - (length - head));
    tags += has_tag(to) ? 1 : 0;
    used += needed;
    ends.push_back(used);
}

void Recorder::Impl::wait_for(const RecordEnd& end) const {
    const Clock::time_point began = Clock::now();
    Clock::time_point changed = began;
    std::uint64_t seen = received.load(std::memory_order_acquire);
    for (;;) {
        const std::uint64_t now_seen = received.load(std::memory_order_acquire);
        const Clock::time_point now = Clock::now();
        changed = now_seen != seen ? now : changed;
        seen = now_seen;
        const bool all = end.expected != 0 && seen >= end.expected;
        if (all || now - changed >= end.quiet || now - began >= end.longest) {
            return;
        }
        std::this_thread::sleep_for(kLook);
    }
}

Recording Recorder::Impl::result() const {
    Recording recording{.frames = {},
                        .received = received.load(std::memory_order_acquire),
                        .left_out = left_out,
                        .cut = cut};
    std::uint64_t begin = 0;
    for (const std::uint64_t end : ends) {
        recording.frames.emplace_back(store.begin() + static_cast<std::ptrdiff_t>(begin),
                                      store.begin() + static_cast<std::ptrdiff_t>(end));
        begin = end;
    }
    const port::PortCounters now = port.counters();
    const std::uint64_t missed = now.rx_missed - before.rx_missed;
    // __netif_receive_skb_core() counts a tagged frame without a VLAN device as dropped, after it
    // has given it to the packet socket.
    const bool kernel_port = port.info().driver == "net_af_packet";
    recording.tester_lost =
        missed - (kernel_port ? std::min(missed, tags) : 0) + now.rx_no_mbuf - before.rx_no_mbuf;
    return recording;
}

Recorder::Recorder() = default;

Recorder::~Recorder() {
    stop({.expected = 0, .quiet = std::chrono::milliseconds(0)});
}

Result<std::unique_ptr<Recorder>> Recorder::start(port::Eal& eal, unsigned worker,
                                                  std::span<port::Port> ports,
                                                  const RecordPlan& plan) {
    if (plan.port >= ports.size()) {
        return fail(ErrorCode::kBadInput, "record at port {}: there are {} ports", plan.port,
                    ports.size());
    }
    std::unique_ptr<Recorder> recorder(new Recorder);
    recorder->impl_ = std::make_unique<Impl>(eal, worker, ports[plan.port], plan);
    Impl& impl = *recorder->impl_;
    impl.before = impl.port.counters();
    TRY(eal.launch(worker, [&impl] { return impl.run(); }));
    impl.stopped = false;
    return recorder;
}

Recording Recorder::stop(const RecordEnd& end) {
    if (!impl_ || impl_->stopped) {
        return {};
    }
    impl_->stopped = true;
    impl_->wait_for(end);
    impl_->stopping.store(true, std::memory_order_release);
    impl_->eal.join(impl_->worker);
    return impl_->result();
}

}  // namespace pathproof::traffic
