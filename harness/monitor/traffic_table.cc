#include "harness/monitor/traffic_table.h"

#include <netinet/in.h>

#include <array>
#include <cstring>

#include "dataplane/base/clock.h"
#include "harness/monitor/packet_socket.h"

namespace pathproof::monitor {
namespace {

constexpr int kTrafficSnapBytes =
    128;  // IP header with options or extensions, and the flags of TCP
// Read at one time: a namespace whose packets come faster than they are read is not read for ever.
constexpr std::size_t kMostAtOnce = 100'000;

class SocketTraffic final : public TrafficTap {
  public:
    explicit SocketTraffic(PacketSocket socket) : socket_(std::move(socket)) {}

    void drain(const std::function<void(const PassedPacket&)>& visit) override {
        std::array<std::byte, kTrafficSnapBytes> buffer;
        const std::int64_t now_ns = realtime_ns();
        for (std::size_t read = 0; read < kMostAtOnce; ++read) {
            const auto packet = socket_.next(buffer);
            if (!packet) {
                return;
            }
            const frame::PacketView view = view_of(packet->bytes);
            if (view.network == frame::Network::kNone || view.fragment == frame::Fragment::kLater) {
                continue;
            }
            PassedPacket passed{.time_ns = now_ns,
                                .source = view.source_endpoint(),
                                .destination = view.destination_endpoint(),
                                .protocol = view.protocol,
                                .leaving = packet->leaving(),
                                .device = static_cast<std::uint32_t>(packet->from.sll_ifindex),
                                .asks = true};
            if (view.transport == frame::Transport::kTcp) {
                const auto flags =
                    std::to_integer<unsigned>(packet->bytes[view.transport_offset + 13]);
                const bool syn = (flags & 0x02) != 0, ack = (flags & 0x10) != 0,
                           reset = (flags & 0x04) != 0;
                passed.asks = !reset && ((syn && !ack) || view.payload_length != 0);
                passed.acknowledges = ack && !reset;
            }
            visit(passed);
        }
    }

    std::uint64_t lost() override { return socket_.lost(); }

  private:
    PacketSocket socket_;
};

}  // namespace

std::size_t TrafficTable::EndHash::operator()(const End& end) const {
    std::array<std::uint64_t, 2> address{};
    std::memcpy(address.data(), end.at.address.bytes.data(), sizeof address);
    // Multiplied by 2^64 divided by the golden ratio.
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
    std::uint64_t hash = end.at.port | std::uint64_t{end.protocol} << 16;
    for (const std::uint64_t word : address) {
        hash = (hash ^ word) * kSpread;
        hash ^= hash >> 32;
    }
    return hash;
}

void TrafficTable::follow(const frame::Endpoint& end, std::uint8_t protocol) {
    if (ends_.size() < kMostEnds) {
        ends_.try_emplace({end, protocol});
        addresses_.try_emplace(end.address, false);
    }
}

bool TrafficTable::follows(const frame::Endpoint& end, std::uint8_t protocol) const {
    return ends_.contains({end, protocol});
}

void TrafficTable::ask(Seen& seen, std::uint64_t packets, std::int64_t now_ns) {
    seen.asked += packets;
    if (seen.unanswered == 0 && packets != 0) {
        seen.first_unanswered_ns = now_ns;
    }
    seen.unanswered += packets;
    seen.last_asked_ns = packets != 0 ? now_ns : seen.last_asked_ns;
}

void TrafficTable::answer(Seen& seen, std::uint64_t packets) {
    seen.answered += packets;
    seen.unanswered = 0;
}

void TrafficTable::take(const PassedPacket& packet) {
    if (const auto to = ends_.find({packet.destination, packet.protocol}); to != ends_.end()) {
        Seen& seen = to->second;
        if (seen.ask_device == 0) {
            seen.ask_device = packet.device;
            seen.ask_leaves = packet.leaving;
        }
        const bool counts = seen.ask_device == packet.device && seen.ask_leaves == packet.leaving;
        if (counts && packet.asks) {
            ask(seen, 1, packet.time_ns);
        }
        seen.acknowledged |= packet.acknowledges;
    }
    if (const auto from = ends_.find({packet.source, packet.protocol}); from != ends_.end()) {
        Seen& seen = from->second;
        if (seen.answer_device == 0) {
            seen.answer_device = packet.device;
            seen.answer_leaves = packet.leaving;
        }
        // Wherever it is seen it is an answer; it counts once.
        const bool counts =
            seen.answer_device == packet.device && seen.answer_leaves == packet.leaving;
        answer(seen, counts ? 1 : 0);
    }
    if (!packet.leaving) {
        if (const auto known = addresses_.find(packet.source.address); known != addresses_.end()) {
            known->second = true;
        }
    }
}

void TrafficTable::take(const netfilter::Entry& entry, std::uint64_t asked, std::uint64_t answered,
                        std::int64_t now_ns) {
    const std::uint8_t protocol = entry.original.protocol;
    const auto put = [&](const frame::Endpoint& end, std::uint64_t there, std::uint64_t back) {
        if (const auto found = ends_.find({end, protocol}); found != ends_.end()) {
            ask(found->second, there, now_ns);
            if (back != 0) {
                answer(found->second, back);
            }
        }
    };
    put(entry.reply.source, asked, answered);
    if (entry.original.destination != entry.reply.source) {
        put(entry.original.destination, asked, answered);
    }
    // An answer in another zone has an entry of its own.
    put(entry.original.source, 0, asked);
    if (answered != 0) {
        addresses_[entry.reply.source.address] = true;
    }
}

BackendTraffic TrafficTable::of(const frame::Endpoint& service, const frame::Endpoint& backend,
                                std::uint8_t protocol, bool alone, std::int64_t now_ns) const {
    auto found = ends_.find({backend, protocol});
    const bool is_seen =
        found != ends_.end() && (found->second.asked != 0 || found->second.answered != 0);
    if (!is_seen && alone) {
        found = ends_.find({service, protocol});
    }
    if (found == ends_.end()) {
        return {};
    }
    const Seen& seen = found->second;
    const auto address = addresses_.find(backend.address);
    return {.asked = seen.asked,
            .answered = seen.answered,
            .unanswered = seen.unanswered,
            .silent_ns = seen.unanswered == 0 ? 0 : now_ns - seen.first_unanswered_ns,
            .idle_ns = seen.last_asked_ns == 0 ? 0 : now_ns - seen.last_asked_ns,
            .acknowledged = seen.acknowledged,
            .address_seen = address != addresses_.end() && address->second};
}

Result<std::unique_ptr<TrafficTap>> TrafficTap::start(const std::string& netns) {
    auto socket = TRY(PacketSocket::open_for(netns, "tcp or udp or sctp or icmp or icmp6",
                                             kTrafficSnapBytes, "count packets each way"));
    return std::unique_ptr<TrafficTap>(std::make_unique<SocketTraffic>(std::move(socket)));
}

}  // namespace pathproof::monitor
