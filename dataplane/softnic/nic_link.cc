#include "dataplane/softnic/nic_link.h"

#include <rte_mbuf.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "dataplane/softnic/port_loop.h"

namespace pathproof::softnic {
namespace {

constexpr std::uint16_t kBurst = 32;
constexpr std::size_t kLongest = 65536;  // set aside before the start

// The frame as a driver sees it: bytes of all buffers, their lengths, the request.
void read_mbuf(const rte_mbuf& mbuf, TxFrame& frame) noexcept {
    frame.bytes.clear();
    frame.buffers.clear();
    for (const rte_mbuf* buffer = &mbuf; buffer != nullptr; buffer = buffer->next) {
        const auto* bytes = rte_pktmbuf_mtod(buffer, const std::uint8_t*);
        frame.bytes.insert(frame.bytes.end(), bytes, bytes + rte_pktmbuf_data_len(buffer));
        frame.buffers.push_back(rte_pktmbuf_data_len(buffer));
    }
    frame.request = {.offload = {.mbuf_flags = mbuf.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK,
                                 .outer_l2_len = static_cast<std::uint16_t>(mbuf.outer_l2_len),
                                 .outer_l3_len = static_cast<std::uint16_t>(mbuf.outer_l3_len),
                                 .l2_len = static_cast<std::uint16_t>(mbuf.l2_len),
                                 .l3_len = static_cast<std::uint16_t>(mbuf.l3_len),
                                 .l4_len = static_cast<std::uint16_t>(mbuf.l4_len),
                                 .segment_bytes = static_cast<std::uint16_t>(mbuf.tso_segsz)},
                     .vlan_tci = mbuf.vlan_tci,
                     .vlan_tci_outer = mbuf.vlan_tci_outer};
}

// Appends bytes to the chain's last buffer, and further buffers as they are needed.
bool append(rte_mempool* pool, rte_mbuf* head, Bytes bytes) noexcept {
    while (!bytes.empty()) {
        rte_mbuf* last = rte_pktmbuf_lastseg(head);
        const std::size_t room = rte_pktmbuf_tailroom(last);
        if (room == 0) {
            rte_mbuf* next = rte_pktmbuf_alloc(pool);
            if (next == nullptr || rte_pktmbuf_chain(head, next) != 0) {
                rte_pktmbuf_free(next);
                return false;
            }
            continue;
        }
        const auto piece = static_cast<std::uint16_t>(std::min(room, bytes.size()));
        std::memcpy(rte_pktmbuf_mtod_offset(last, void*, last->data_len), bytes.data(), piece);
        last->data_len = static_cast<std::uint16_t>(last->data_len + piece);
        head->pkt_len += piece;
        bytes = bytes.subspan(piece);
    }
    return true;
}

// A fresh mbuf: nothing of the sent one is in it.
rte_mbuf* write_mbuf(rte_mempool* pool, const RxResult& received) noexcept {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
    if (mbuf == nullptr) {
        return nullptr;
    }
    if (!append(pool, mbuf, received.bytes)) {
        rte_pktmbuf_free(mbuf);
        return nullptr;
    }
    mbuf->ol_flags = mbuf_flags(received.verdict);
    return mbuf;
}

enum class Way { kFromFirst, kFromSecond };

// The NIC at the first port sends on the way from it and receives on the other.
bool acts_on(const Fault& fault, Way way) {
    return (fault.direction == FaultDirection::kRx) == (way == Way::kFromSecond);
}

std::vector<Fault> faults_on(const NicLinkPlan& plan, Way way) {
    std::vector<Fault> acting;
    std::ranges::copy_if(plan.faults, std::back_inserter(acting),
                         [way](const Fault& fault) { return acts_on(fault, way); });
    return acting;
}

// One direction; a single lcore writes it.
struct Side {
    Side(port::Port& the_from, port::Port& the_to, const NicLinkPlan& the_plan, Way the_way)
        : from(the_from),
          to(the_to),
          plan(the_plan),
          way(the_way),
          nic({}, faults_on(plan, way), plan.seed) {
        frame.bytes.reserve(kLongest);
        received.bytes.reserve(kLongest);
    }

    std::uint16_t pass() noexcept;
    void carry(const rte_mbuf& mbuf) noexcept;
    void flush() noexcept;
    std::vector<std::uint64_t> fault_hits() const;

    port::Port& from;
    port::Port& to;
    const NicLinkPlan plan;
    const Way way;
    SoftNic nic;
    NicLinkTally tally;
    TxFrame frame;
    TxResult sent;
    RxResult received;
    std::array<rte_mbuf*, kBurst> out{};
    std::uint16_t out_count = 0;
};

std::uint16_t Side::pass() noexcept {
    std::array<rte_mbuf*, kBurst> in;
    const std::uint16_t got = from.rx_burst(0, in.data(), kBurst);
    for (std::uint16_t index = 0; index < got; ++index) {
        carry(*in[index]);
        rte_pktmbuf_free(in[index]);
    }
    flush();
    tally.taken += got;
    return got;
}

void Side::carry(const rte_mbuf& mbuf) noexcept {
    read_mbuf(mbuf, frame);
    nic.transmit(frame, sent);
    for (const WireFrameBytes& wire : sent.frames) {
        nic.receive(wire, received);
        if (received.delivery == RxResult::Delivery::kDropped) {
            continue;
        }
        rte_mbuf* arrived = write_mbuf(to.pool(), received);
        if (arrived == nullptr) {
            ++tally.no_buffer;
            continue;
        }
        out[out_count++] = arrived;
        if (out_count == kBurst) {
            flush();
        }
    }
}

void Side::flush() noexcept {
    const std::uint16_t taken = send_patiently(to, {out.data(), out_count});
    tally.delivered += taken;
    tally.not_taken += out_count - taken;
    if (taken < out_count) {
        rte_pktmbuf_free_bulk(out.data() + taken, out_count - taken);
    }
    out_count = 0;
}

// Returns the hits in the plan's order; 0 for faults that do not act here.
std::vector<std::uint64_t> Side::fault_hits() const {
    const std::vector<std::uint64_t> acting = nic.fault_hits();
    std::vector<std::uint64_t> all;
    std::size_t next = 0;
    for (const Fault& fault : plan.faults) {
        all.push_back(acts_on(fault, way) ? acting[next++] : 0);
    }
    return all;
}

class RunningLink final : public NicLink {
  public:
    RunningLink(port::Eal& eal, unsigned worker, std::span<port::Port, 2> ports,
                const NicLinkPlan& plan)
        : eal_(eal),
          worker_(worker),
          sides_{Side(ports[0], ports[1], plan, Way::kFromFirst),
                 Side(ports[1], ports[0], plan, Way::kFromSecond)} {}
    ~RunningLink() override { stop(); }

    Status launch() {
        TRY(eal_.launch(worker_, [this] { return run(); }));
        running_ = true;
        return {};
    }

    NicLinkReport stop() override {
        if (!running_) {
            return {};
        }
        running_ = false;
        stopping_ = true;
        eal_.join(worker_);
        return report();
    }

  private:
    int run() noexcept;
    NicLinkReport report();

    port::Eal& eal_;
    const unsigned worker_;
    std::array<Side, 2> sides_;
    std::atomic<bool> stopping_ = false;
    bool running_ = false;
};

int RunningLink::run() noexcept {
    prctl(PR_SET_TIMERSLACK, 1);  // the default of 50 us would double each rest
    IdleWait wait;
    while (!stopping_.load(std::memory_order_relaxed)) {
        if (sides_[0].pass() + sides_[1].pass() != 0) {
            wait.busy();
        } else {
            wait.idle();
        }
    }
    for (int burst = 0; burst < 64 && sides_[0].pass() + sides_[1].pass() != 0; ++burst) {
    }
    return 0;
}

NicLinkReport RunningLink::report() {
    NicLinkReport report;
    for (std::size_t index = 0; index < sides_.size(); ++index) {
        Side& side = sides_[index];
        side.tally.nic = side.nic.counters();
        side.tally.fault_hits = side.fault_hits();
        report.directions[index] = side.tally;
        const std::uint64_t lost = side.tally.no_buffer + side.tally.not_taken;
        if (lost != 0) {
            report.objections.push_back(fmt::format(
                "{}: {} frames for port {} were lost by the link itself ({} without a buffer, {} "
                "refused by the port); give the port more mbufs or send slower",
                kSoftwareNicName, lost, side.to.info().name, side.tally.no_buffer,
                side.tally.not_taken));
        }
    }
    return report;
}

}  // namespace

Result<std::unique_ptr<NicLink>> NicLink::start(port::Eal& eal, unsigned worker,
                                                std::span<port::Port, 2> ports,
                                                const NicLinkPlan& plan) {
    auto link = std::make_unique<RunningLink>(eal, worker, ports, plan);
    TRY(link->launch());
    return std::unique_ptr<NicLink>(std::move(link));
}

}  // namespace pathproof::softnic
