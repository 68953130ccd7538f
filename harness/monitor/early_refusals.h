// Refusals that came before the flow that they belong to was heard of. For .cc files of this room.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "harness/monitor/refusal_listener.h"
#include "harness/netfilter/entry.h"

namespace pathproof::monitor {

// An ICMP error quotes no id that we read: what it refused is compared without.
inline netfilter::Tuple without_icmp(netfilter::Tuple tuple) {
    tuple.icmp.reset();
    return tuple;
}

// Refusals by the packet that they refused, each for two seconds at most.
class EarlyRefusals {
  public:
    struct Early {
        Refusal refusal;
        Sender sender = Sender::kElsewhere;
        std::int64_t time_ns = 0;
    };

    bool empty() const { return by_tuple_.empty(); }

    // Does nothing when the same one waits already.
    void add(const Refusal& refusal, Sender sender, std::int64_t now_ns) {
        const auto [place, fresh] =
            by_tuple_.try_emplace(without_icmp(refusal.packet), Early{refusal, sender, now_ns});
        if (fresh) {
            order_.push_back(place->first);
        } else if (sender == Sender::kHere) {
            place->second.sender = sender;
        }
    }

    std::optional<Early> take(const netfilter::Tuple& tuple) {
        const auto found = by_tuple_.find(without_icmp(tuple));
        if (found == by_tuple_.end()) {
            return std::nullopt;
        }
        Early early = std::move(found->second);
        by_tuple_.erase(found);
        return early;
    }

    // Gives up those that have waited long enough, and the oldest when there are too many.
    template <typename Visit>
    void expire(std::int64_t now_ns, const Visit& visit) {
        while (!order_.empty()) {
            const auto found = by_tuple_.find(order_.front());
            if (found != by_tuple_.end()) {
                const bool over = found->second.time_ns + kRefusalWaitsNs < now_ns ||
                                  by_tuple_.size() > kMostRefusalsWaiting;
                if (!over) {
                    return;
                }
                visit(found->second);
                by_tuple_.erase(found);
            }
            order_.pop_front();
        }
    }

  private:
    // Time that a refusal waits for the NEW event of its flow, which comes by another socket.
    static constexpr std::int64_t kRefusalWaitsNs = 2'000'000'000;
    static constexpr std::size_t kMostRefusalsWaiting = 65'536;

    std::map<netfilter::Tuple, Early> by_tuple_;
    std::deque<netfilter::Tuple> order_;
};

}  // namespace pathproof::monitor
