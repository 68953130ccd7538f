#include "dataplane/traffic/exchange.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "dataplane/base/counts.h"
#include "dataplane/softnic/port_loop.h"

namespace pathproof::traffic {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint16_t kExchangeBurst = 32;
constexpr std::chrono::milliseconds kBufferPatience{500};
// A port that sends more than was asked for is seen to do so, and fills no memory.
constexpr std::size_t kSpareFrames = 4096;

// The lengths of the mbufs of one frame.
std::vector<std::uint32_t> lengths_of(const ExchangeFrame& frame, std::uint32_t room) {
    std::vector<std::uint32_t> lengths;
    const auto total = static_cast<std::uint32_t>(frame.bytes.size());
    const std::vector<std::uint32_t> whole{total};
    for (std::uint32_t length : frame.buffers.empty() ? whole : frame.buffers) {
        for (; length > room; length -= room) {
            lengths.push_back(room);
        }
        lengths.push_back(length);
    }
    return lengths;
}

rte_mbuf* make_mbuf(rte_mempool* pool, const ExchangeFrame& frame) {
    const std::uint32_t room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
    rte_mbuf* head = nullptr;
    const std::uint8_t* at = frame.bytes.data();
    for (const std::uint32_t length : lengths_of(frame, room)) {
        rte_mbuf* piece = rte_pktmbuf_alloc(pool);
        char* into = piece == nullptr
                         ? nullptr
                         : rte_pktmbuf_append(piece, static_cast<std::uint16_t>(length));
        if (into == nullptr || (head != nullptr && rte_pktmbuf_chain(head, piece) != 0)) {
            rte_pktmbuf_free(piece);
            rte_pktmbuf_free(head);
            return nullptr;
        }
        std::memcpy(into, at, length);
        at += length;
        head = head == nullptr ? piece : head;
    }
    if (head != nullptr) {
        frame::apply_offload(*head, frame.request);
        head->vlan_tci = frame.vlan_tci;
    }
    return head;
}

ArrivedFrame read_mbuf(const rte_mbuf& mbuf) {
    ArrivedFrame frame{.mbuf_flags = mbuf.ol_flags & ~RTE_MBUF_F_TX_OFFLOAD_MASK,
                       .packet_type = mbuf.packet_type,
                       .vlan_tci = mbuf.vlan_tci};
    frame.bytes.reserve(mbuf.pkt_len);
    for (const rte_mbuf* piece = &mbuf; piece != nullptr; piece = piece->next) {
        const auto* bytes = rte_pktmbuf_mtod(piece, const std::uint8_t*);
        frame.bytes.insert(frame.bytes.end(), bytes, bytes + rte_pktmbuf_data_len(piece));
    }
    return frame;
}

// The field of an outer UDP checksum that is not left to the device; nullptr if there is none. In
// another tunnel it is just bytes of the outer headers.
char* outer_software_sum(const rte_mbuf& mbuf) {
    constexpr std::uint64_t kInTunnel = RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6;
    const std::size_t field =
        mbuf.outer_l2_len + mbuf.outer_l3_len + offsetof(rte_udp_hdr, dgram_cksum);
    const bool there = (mbuf.ol_flags & kInTunnel) != 0 &&
                       (mbuf.ol_flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) == 0 &&
                       field + sizeof(rte_udp_hdr::dgram_cksum) <= rte_pktmbuf_data_len(&mbuf);
    return there ? rte_pktmbuf_mtod_offset(&mbuf, char*, field) : nullptr;
}

// Prepares a frame for sending and keeps its planned outer checksum. Since DPDK 24.07 many drivers
// put 0 in that place, for few senders know what the inner one will be. Here it is known: the frame
// leaves as it was planned.
bool prepare(std::uint16_t port, rte_mbuf*& mbuf) {
    const char* planned = outer_software_sum(*mbuf);
    std::array<char, sizeof(rte_udp_hdr::dgram_cksum)> sum{};
    if (planned != nullptr) {
        std::memcpy(sum.data(), planned, sum.size());
    }
    const bool prepared = rte_eth_tx_prepare(port, 0, &mbuf, 1) == 1;
    // Preparing may move it: a VLAN tag goes in.
    if (char* field = outer_software_sum(*mbuf); planned != nullptr && field != nullptr) {
        std::memcpy(field, sum.data(), sum.size());
    }
    return prepared;
}

// The exchange in hand; a single lcore works on it.
class Exchange {
  public:
    Exchange(const ExchangePlan& plan, port::Port& from, port::Port& to, ExchangeReport& report)
        : plan_(plan), from_(from), to_(to), report_(report) {}

    int run() {
        for (std::uint32_t index = 0; index < plan_.frames.size(); ++index) {
            send(index);
            if (index % kExchangeBurst == kExchangeBurst - 1) {
                receive_until(Clock::now() + std::chrono::milliseconds(5), Until::kEmpty);
            }
        }
        receive_until(Clock::now() + plan_.quiet, Until::kQuiet);
        return 0;
    }

  private:
    enum class Until { kEmpty, kQuiet };

    void refuse(std::uint32_t index, std::string reason) {
        report_.refusals.push_back({index, std::move(reason)});
    }

    // Frames of many buffers on their way may hold all there are; they come back.
    rte_mbuf* make_patiently(std::uint32_t index) {
        const Clock::time_point end = Clock::now() + kBufferPatience;
        for (;;) {
            rte_mbuf* mbuf = make_mbuf(from_.pool(), plan_.frames[index]);
            if (mbuf != nullptr || Clock::now() > end) {
                return mbuf;
            }
            receive_until(Clock::now() + std::chrono::milliseconds(1), Until::kEmpty);
        }
    }

    void send(std::uint32_t index) {
        rte_mbuf* mbuf = make_patiently(index);
        if (mbuf == nullptr) {
            report_.objections.push_back(fmt::format(
                "port {}: no mbufs for frame {} ({} bytes); give the tester more memory",
                from_.info().name, index, plan_.frames[index].bytes.size()));
            return;
        }
        if (!prepare(from_.id(), mbuf)) {
            refuse(index, fmt::format("rte_eth_tx_prepare: {}", rte_strerror(rte_errno)));
            rte_pktmbuf_free(mbuf);
            return;
        }
        if (softnic::send_patiently(from_, {&mbuf, 1}) != 1) {
            refuse(index, "rte_eth_tx_burst: the driver would not take the frame");
            rte_pktmbuf_free(mbuf);
            return;
        }
    }

    std::uint16_t receive() {
        std::array<rte_mbuf*, kExchangeBurst> frames;
        const std::uint16_t got = to_.rx_any(frames.data(), kExchangeBurst);
        for (std::uint16_t i = 0; i < got; ++i) {
            if (report_.arrived.size() < plan_.frames.size() * 64 + kSpareFrames) {
                report_.arrived.push_back(read_mbuf(*frames[i]));
            } else {
                ++left_out_;
            }
            rte_pktmbuf_free(frames[i]);
        }
        return got;
    }

    // kQuiet: each frame puts the end off. kEmpty: the first look that finds nothing after one that
    // did is the end; a port whose frames take longer is read before the next burst.
    void receive_until(Clock::time_point end, Until until) {
        softnic::IdleWait wait;
        bool found = false;
        const auto patience = end - Clock::now();
        while (Clock::now() < end) {
            if (receive() != 0) {
                found = true;
                end = until == Until::kQuiet ? Clock::now() + patience : end;
                wait.busy();
                continue;
            }
            if (until == Until::kEmpty && found) {
                return;
            }
            wait.idle();
        }
        if (left_out_ != 0) {
            report_.objections.push_back(fmt::format(
                "port {}: {} frames more came than could be kept", to_.info().name, left_out_));
            left_out_ = 0;
        }
    }

    const ExchangePlan& plan_;
    port::Port& from_;
    port::Port& to_;
    ExchangeReport& report_;
    std::uint64_t left_out_ = 0;
};

// `before`: what `to` had counted when the exchange began.
void object_to_losses(const port::Port& from, const port::Port& to,
                      const port::PortCounters& before, ExchangeReport& report) {
    const port::PortCounters counted = counts_between(before, to.counters());
    const std::uint64_t lost = counted.rx_missed + counted.rx_no_mbuf;
    if (lost != 0) {
        report.objections.push_back(
            fmt::format("port {}: the tester lost {} frames itself (full ring or no buffer)",
                        to.info().name, lost));
    }
    for (const port::Port* port : {&from, &to}) {
        if (const std::string trouble = port->link_trouble(); !trouble.empty()) {
            report.objections.push_back(trouble);
        }
    }
}

}  // namespace

Result<ExchangeReport> exchange(port::Eal& eal, unsigned worker, std::span<port::Port> ports,
                                const ExchangePlan& plan) {
    if (plan.from >= ports.size() || plan.to >= ports.size()) {
        return fail(ErrorCode::kBadInput,
                    "frames are exchanged between ports {} and {}, and there are {}", plan.from,
                    plan.to, ports.size());
    }
    port::Port& from = ports[plan.from];
    port::Port& to = ports[plan.to];
    // Frames left in a port's ring from before are no answers to this plan.
    to.empty();
    from.empty();
    const port::PortCounters before = to.counters();
    ExchangeReport report;
    Exchange work(plan, from, to, report);
    TRY(eal.launch(worker, [&work] { return work.run(); }));
    eal.join(worker);
    object_to_losses(from, to, before, report);
    return report;
}

}  // namespace pathproof::traffic
