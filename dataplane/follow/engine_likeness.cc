// Finds what became of frames that were damaged or changed beyond what their payload tells: by their
// headers, by their order and by the likeness of their bytes.
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/plural.h"
#include "dataplane/follow/engine.h"

namespace pathproof::follow {
namespace {

constexpr std::size_t kNeighbours = 64;
constexpr std::size_t kProbe = 16;

// Bytes behind the Ethernet header, which is where likeness shows.
frame::Bytes body_of(const Packet& packet) {
    const std::size_t start = std::min<std::size_t>(packet.network, packet.bytes.size());
    return packet.bytes.subspan(start);
}

// Returns whether bytes identify anything: they are not one value over and over.
bool is_telling(frame::Bytes bytes) {
    return std::ranges::any_of(bytes, [&](std::uint8_t byte) { return byte != bytes.front(); });
}

bool holds(frame::Bytes all, frame::Bytes part) {
    return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
}

// A few pieces of a payload that are looked for in another frame: 0 to 1 of them are there.
double share_of_probes(frame::Bytes from, frame::Bytes in) {
    unsigned made = 0;
    unsigned found = 0;
    for (std::size_t part = 0; part < 4; ++part) {
        const std::size_t at = from.size() * part / 4;
        if (at + kProbe > from.size()) {
            continue;
        }
        const frame::Bytes probe = from.subspan(at, kProbe);
        if (!is_telling(probe)) {
            continue;
        }
        ++made;
        found += holds(in, probe) ? 1 : 0;
    }
    return made == 0 ? 0 : static_cast<double>(found) / made;
}

// 0: nothing in common, 1: the same.
double likeness(const Packet& one, const Packet& other) {
    const frame::Bytes a = body_of(one);
    const frame::Bytes b = body_of(other);
    if (a.empty() || b.empty()) {
        return 0;
    }
    const std::size_t size = std::min(a.size(), b.size());
    std::size_t same = 0;
    for (std::size_t i = 0; i < size; ++i) {
        same += a[i] == b[i] ? 1 : 0;
    }
    const double in_place = static_cast<double>(same) / static_cast<double>(size);
    const frame::Bytes& shorter = one.payload_length() <= other.payload_length()
                                      ? one.payload_bytes()
                                      : other.payload_bytes();
    const frame::Bytes& longer = one.payload_length() <= other.payload_length() ? b : a;
    return std::max(in_place, share_of_probes(shorter, longer));
}

}  // namespace

void Follower::Engine::join_by_header(Record& fragment_or_whole) {
    Record& record = fragment_or_whole.datagram != nullptr &&
                             fragment_or_whole.datagram->state == State::kPending
                         ? *fragment_or_whole.datagram
                         : fragment_or_whole;
    const Packet& packet = record.packet;
    if (packet.ip == frame::Network::kNone || record.header_nodes[0] != Record::kNoNode) {
        return;
    }
    const std::uint64_t flow = shared_flow(record);
    std::vector<std::uint64_t> keys;
    if (packet.protocol == IPPROTO_TCP && packet.has_transport) {
        keys.push_back(mix(mix(flow, packet.sequence), 1));
    }
    if (packet.identification != 0) {
        keys.push_back(mix(mix(flow, packet.identification), packet.protocol + 2u));
    }
    const bool icmp = packet.has_transport &&
                      (packet.protocol == IPPROTO_ICMP || packet.protocol == IPPROTO_ICMPV6);
    if (icmp && !is_icmp_error(packet)) {
        const std::uint8_t* const at = packet.bytes.data() + packet.transport;
        keys.push_back(mix(mix(flow, at[0] << 16 | at[6] << 8 | at[7]), 3));
    }
    OneSide& mine = of(record.side);
    const OneSide& there = of(other(record.side));
    for (const std::uint64_t key : keys) {
        Record* found = nullptr;
        there.headers.visit(key, [&](Record& candidate) {
            if (candidate.state == State::kPending && candidate.links == 0) {
                found = &candidate;
            }
            return found == nullptr;
        });
        if (found != nullptr) {
            Record& candidate = *found;
            pair(record, candidate);
            return;
        }
    }
    for (std::size_t i = 0; i < keys.size() && i < std::size(record.header_nodes); ++i) {
        record.header_nodes[i] = mine.headers.insert(keys[i], &record);
    }
}

void Follower::Engine::join_by_likeness(Record& record) {
    constexpr double kLike = 0.5;
    constexpr double kLikeInFlow = 0.2;
    if (record.datagram != nullptr && record.datagram->state == State::kPending &&
        record.datagram->links != 0) {
        return;
    }
    OneSide& mine = of(record.side);
    auto& leftovers = of(other(record.side)).leftovers;
    const std::uint64_t flow = shared_flow(record);
    Record* best = nullptr;
    double best_score = 0;
    std::size_t seen = 0;
    for (auto candidate = leftovers.rbegin(); candidate != leftovers.rend() && seen < kNeighbours;
         ++candidate, ++seen) {
        Record& one = **candidate;
        if (one.state != State::kPending ||
            std::abs(time_of(one) - time_of(record)) > options_.late_ns) {
            continue;
        }
        const bool one_flow = shared_flow(one) == flow;
        double score = likeness(record.packet, one.packet);
        if (score < (one_flow ? kLikeInFlow : kLike)) {
            continue;
        }
        // The one before in the same flow is likelier than a later one.
        score += one_flow ? 0.5 : 0;
        if (score >= best_score) {
            best = &one;
            best_score = score;
        }
    }
    if (best == nullptr) {
        mine.leftovers.push_back(&record);
        return;
    }
    pair(record, *best);
}

// A frame whose payload came out behind that of another one.
bool Follower::Engine::join_glued(Record& record) {
    const frame::Bytes payload = record.packet.payload_bytes();
    if (payload.size() < kProbe || !is_telling(payload) || record.links != 0) {
        return false;
    }
    for (Record* const out : of(other(record.side)).swollen) {
        if (!was_sent(record, out->direction) || !holds(body_of(out->packet), payload)) {
            continue;
        }
        settle(record, out->direction);
        mark(record, out, Class::kDamaged, "glued",
             "its payload came out glued to that of another frame");
        return true;
    }
    return false;
}

}  // namespace pathproof::follow
