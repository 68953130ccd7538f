// Pairs of frames that stand for each other, and the direction in which they went.
#include <netinet/in.h>

#include <algorithm>

#include "dataplane/follow/engine.h"

namespace pathproof::follow {
namespace {

constexpr int kMostVotes = 64;

std::uint64_t station_of(const Packet& packet) {
    if (packet.bytes.size() < 12) {
        return 0;
    }
    return digest(packet.bytes.subspan(6, 6), 3);
}

}  // namespace

// The evidence that frames are of one flow: above 0 they are known to be, below 0 known not to be.
int Follower::Engine::likeness_of_flows(const Record& one, const Record& other_one) {
    const auto& flows = of(one.side).flows;
    const auto found = flows.find(one.packet.flow);
    if (found != flows.end() && found->second.other != 0) {
        return found->second.other == other_one.packet.flow ? 2 : -2;
    }
    const auto& others = of(other_one.side).flows;
    const auto back = others.find(other_one.packet.flow);
    if (back != others.end() && back->second.other != 0) {
        return back->second.other == one.packet.flow ? 2 : -2;
    }
    return one.packet.flow == other_one.packet.flow ? 1 : 0;
}

bool Follower::Engine::pair_by(const Table& table, std::uint64_t key, Record& record,
                               Surety surety) {
    constexpr unsigned kMost = 32;
    Record* best = nullptr;
    int best_score = 0;
    unsigned seen = 0;
    const std::int64_t now = time_of(record);
    table.visit(key, [&](Record& candidate) {
        if (candidate.state != State::kPending || candidate.links != 0 ||
            std::abs(time_of(candidate) - now) > options_.window_ns) {
            return true;
        }
        int score = surety == Surety::kStrict ? 0 : 2 * likeness_of_flows(record, candidate);
        // A candidate that is not late is the likelier one among equal frames.
        score += std::abs(time_of(candidate) - now) <= options_.late_ns ? 1 : 0;
        if (best == nullptr || score > best_score) {
            best = &candidate;
            best_score = score;
        }
        const bool enough = surety == Surety::kStrict ? score == 1 : score == 5;
        return !enough && ++seen < kMost;
    });
    if (best == nullptr) {
        return false;
    }
    if (surety == Surety::kContent) {
        constexpr std::uint32_t kTelling = 8;
        const bool telling = record.packet.payload_length() >= kTelling ||
                             record.packet.protocol == IPPROTO_TCP ||
                             record.packet.ip == frame::Network::kNone;
        if (!telling && best_score < 2) {
            return false;
        }
    }
    pair(record, *best);
    return true;
}

bool Follower::Engine::join_loosely(Record& record) {
    if (pair_by(of(other(record.side)).pending_loose, record.packet.loose, record,
                Surety::kLoose)) {
        return true;
    }
    record.second_node = of(record.side).pending_loose.insert(record.packet.loose, &record);
    return false;
}

bool Follower::Engine::join_by_content(Record& record) {
    return pair_by(of(other(record.side)).content, record.packet.content, record, Surety::kContent);
}

namespace {

// Returns the frame's direction as its capture recorded it. Nothing: the capture does not say.
std::optional<Direction> direction_told(const Record& record) {
    if (record.heading == Heading::kUnknown) {
        return std::nullopt;
    }
    const bool in_front = (record.side == Side::kIn) == (record.heading == Heading::kIn);
    return in_front ? Direction::kForward : Direction::kBackward;
}

int sign_of(std::int64_t delay) {
    if (delay > 0) {
        return 1;
    }
    return delay < 0 ? -1 : 0;
}

}  // namespace

// Judges a pair's direction by what is known of its flow and, if the flow is new, of the station
// that sends it. If nothing is known, the clock decides.
Direction Follower::Engine::direction_of(const Record& in_side, const Record& out_side) {
    if (const auto told = direction_told(in_side)) {
        return *told;
    }
    const std::int64_t delay = time_of(out_side) - time_of(in_side);
    const auto found = sides_[0].flows.find(in_side.packet.flow);
    int votes = found == sides_[0].flows.end() ? 0 : found->second.votes;
    int sign = sign_of(delay);
    // Times of one microsecond do not tell; routers do.
    if (sign == 0 && in_side.packet.ip != frame::Network::kNone &&
        out_side.packet.ip != frame::Network::kNone) {
        sign = in_side.packet.hop_limit() - out_side.packet.hop_limit();
    }
    if (sign == 0) {
        const auto mac = sides_[0].macs.find(station_of(in_side.packet));
        sign = mac == sides_[0].macs.end() || mac->second >= 0 ? 1 : -1;
    }
    votes += sign > 0 ? 2 : -2;
    return votes >= 0 ? Direction::kForward : Direction::kBackward;
}

Direction Follower::Engine::guess_direction(const Record& record) {
    if (record.state != State::kPending) {
        return record.direction;
    }
    if (const auto told = direction_told(record)) {
        return *told;
    }
    const OneSide& mine = of(record.side);
    if (const auto flow = mine.flows.find(record.packet.flow);
        flow != mine.flows.end() && flow->second.votes != 0) {
        return flow->second.votes > 0 ? Direction::kForward : Direction::kBackward;
    }
    if (const auto mac = mine.macs.find(station_of(record.packet)); mac != mine.macs.end()) {
        return mac->second >= 0 ? Direction::kForward : Direction::kBackward;
    }
    return Direction::kForward;
}

void Follower::Engine::pair(Record& one, Record& other_one) {
    Record& in_side = one.side == Side::kIn ? one : other_one;
    Record& out_side = one.side == Side::kIn ? other_one : one;
    const Direction direction = direction_of(in_side, out_side);
    const int vote = direction == Direction::kForward ? 1 : -1;
    for (Record* const record : {&in_side, &out_side}) {
        OneSide& side = of(record->side);
        const auto [flow, is_new] = side.flows.try_emplace(record->packet.flow);
        Flow& known = flow->second;
        known.votes = std::clamp(known.votes + vote, -kMostVotes, kMostVotes);
        known.last_ns = std::max(known.last_ns, time_of(*record));
        if (known.other == 0) {
            known.other = (record == &in_side ? out_side : in_side).packet.flow;
        }
        if (is_new) {
            int& votes = side.macs[station_of(record->packet)];
            votes = std::clamp(votes + vote, -kMostVotes, kMostVotes);
            // A host that is sent from beyond the device, as seen where its frames come out.
            const bool received =
                (record->side == Side::kOut) == (direction == Direction::kForward);
            if (record->packet.ip != frame::Network::kNone && received) {
                side.hosts[digest_of_address(record->packet.source())].carried = true;
            }
        }
    }
    settle(in_side, direction);
    settle(out_side, direction);
    const bool forward = direction == Direction::kForward;
    Record& in = forward ? in_side : out_side;
    Record& out = forward ? out_side : in_side;
    judge(in, out, Extent::kWhole);
}

void Follower::Engine::settle(Record& record, Direction direction) {
    record.state = State::kPaired;
    record.direction = direction;
    move_to_seen(record);
    for (Record* const member : record.members) {
        settle(*member, direction);
    }
}

void Follower::Engine::move_to_seen(Record& record) {
    OneSide& side = of(record.side);
    if (record.first_node != Record::kNoNode) {
        side.pending.erase(record.first_node);
    }
    if (record.second_node != Record::kNoNode) {
        side.pending_loose.erase(record.second_node);
    }
    if (record.third_node != Record::kNoNode) {
        side.content.erase(record.third_node);
        record.third_node = Record::kNoNode;
    }
    for (std::uint32_t& node : record.header_nodes) {
        if (node != Record::kNoNode) {
            side.headers.erase(node);
            node = Record::kNoNode;
        }
    }
    if (record.streamed) {
        leave_stream(record);
    }
    record.first_node = side.seen.insert(record.packet.strict, &record);
    record.second_node = record.packet.ip == frame::Network::kNone
                             ? Record::kNoNode
                             : side.seen_loose.insert(record.packet.loose, &record);
}

void Follower::Engine::set_partner(Record& out, Record& in) {
    if (out.virtual_datagram) {
        for (Record* const member : out.members) {
            set_partner(*member, in);
        }
        return;
    }
    Record* const target = in.virtual_datagram ? in.members.front() : &in;
    if (out.partner != nullptr || out.concluded) {
        return;
    }
    out.partner = target;
    ++target->pins;
}

bool Follower::Engine::find_copy(Record& record) {
    Record* original = nullptr;
    const auto seek = [&](const Table& table, std::uint64_t key, bool same_flow) {
        table.visit(key, [&](Record& found) {
            if (found.state == State::kPending || was_sent(record, found.direction)) {
                return true;
            }
            Record* const sent = was_sent(found, found.direction) ? &found : found.partner;
            if (sent == nullptr || sent == &record) {
                return true;
            }
            if (same_flow && likeness_of_flows(record, found) <= 0) {
                return true;
            }
            original = sent;
            return false;
        });
    };
    seek(of(other(record.side)).seen, record.packet.strict, false);
    if (original == nullptr) {
        seek(of(record.side).seen, record.packet.strict, false);
    }
    if (original == nullptr && record.packet.ip != frame::Network::kNone &&
        record.packet.identification != 0) {
        seek(of(other(record.side)).seen_loose, record.packet.loose, true);
    }
    if (original == nullptr) {
        return false;
    }
    make_copy(record, *original);
    return true;
}

void Follower::Engine::make_copy(Record& copy, Record& original) {
    Record& sent = original.virtual_datagram ? *original.members.front() : original;
    settle(copy, sent.direction);
    copy.state = State::kCopy;
    set_partner(copy, sent);
    mark(sent, &copy, Class::kDoubled, "doubled", "came out more than once");
}

}  // namespace pathproof::follow
