#include "dataplane/follow/engine.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <string_view>

#include "dataplane/base/plural.h"

namespace pathproof::follow {
namespace {

constexpr std::int64_t kSettlesAWindow = 8;
constexpr unsigned kAddsAnAdvance = 64;
constexpr unsigned kMostHurry = 40;
constexpr std::uint64_t kRecordBytes = sizeof(Record) + 200;  // and its nodes
constexpr int kMostVotes = 64;
constexpr std::size_t kMostFlows = 1u << 20;
constexpr std::size_t kMostVariants = 8;
constexpr std::int64_t kIdleNs = 15'000'000'000;  // after which a mapping may be a new one

std::uint64_t digest_of_address(frame::Bytes address) {
    return digest(address, 7);
}

// Changes in one text, and the key that faults of one kind share: without the values.
std::string text_of(const std::vector<Change>& changes) {
    std::string text;
    for (const Change& change : changes) {
        text += (text.empty() ? "" : "; ") + change.text;
    }
    return text;
}
std::string key_of(const std::vector<Change>& changes) {
    std::string key;
    for (const Change& change : changes) {
        key += change.field;
        key += ' ';
        if (change.damage) {
            for (const char letter : change.text) {
                if (letter >= '0' && letter <= '9') {
                    break;
                }
                key += letter;
            }
        }
    }
    return key;
}

// The weightier of two faults is a frame's.
int weight(Class one) {
    switch (one) {
        case Class::kMissing: return 7;
        case Class::kDamaged: return 6;
        case Class::kChanged: return 5;
        case Class::kDoubled: return 4;
        case Class::kReordered: return 3;
        case Class::kLate: return 2;
        default: return 0;
    }
}

}  // namespace

bool is_of_the_link(const Packet& packet) {
    constexpr std::uint16_t kArp = 0x0806, kRarp = 0x8035, kLldp = 0x88cc, kSlow = 0x8809,
                            kEapol = 0x888e;
    constexpr std::uint16_t kFirstType = 1536;
    if (packet.headless) {
        return false;
    }
    if (packet.ip == frame::Network::kNone) {
        const std::uint16_t type = packet.ethertype;
        return type == kArp || type == kRarp || type == kLldp || type == kSlow || type == kEapol ||
               type < kFirstType;
    }
    const frame::Bytes to = packet.destination();
    if (packet.ip == frame::Network::kIpv4) {
        const bool link_group = to[0] == 224 && to[1] == 0 && to[2] == 0;
        const bool everybody = to[0] == 255 && to[1] == 255 && to[2] == 255 && to[3] == 255;
        return link_group || everybody || packet.protocol == IPPROTO_IGMP;
    }
    const frame::Bytes from = packet.source();
    const bool link_group = to[0] == 0xff && (to[1] & 0xf) <= 2;
    const auto is_link_local = [](frame::Bytes a) { return a[0] == 0xfe && (a[1] & 0xc0) == 0x80; };
    if (link_group || is_link_local(to) || is_link_local(from)) {
        return true;
    }
    const bool icmp = packet.protocol == IPPROTO_ICMPV6 && packet.has_transport;
    const std::uint8_t type = icmp ? packet.bytes[packet.transport] : 0;
    return (type >= 130 && type <= 137) || type == 143;
}

Follower::Follower(const FollowOptions& options) : engine_(std::make_unique<Engine>(options)) {}
Follower::Follower(Follower&&) noexcept = default;
Follower& Follower::operator=(Follower&&) noexcept = default;
Follower::~Follower() = default;
void Follower::add(Side side, const CapturedFrame& frame) {
    engine_->add(side, frame);
}
void Follower::coming(Side side, std::int64_t time_ns) {
    engine_->coming(side, time_ns);
}
void Follower::end(Side side, std::int64_t until_ns) {
    engine_->end(side, until_ns);
}
Outcome Follower::finish() {
    return engine_->finish();
}

std::int64_t Follower::Engine::time_of(const Record& record) const {
    return record.packet.time_ns - (record.side == Side::kOut ? options_.clock_offset_ns : 0);
}

void Follower::Engine::add(Side side, const CapturedFrame& frame) {
    OneSide& mine = of(side);
    Record& record = mine.records.emplace_back();
    record.packet = read_packet(frame, options_.limits);
    record.piece = frame.piece;
    record.side = side;
    record.order = mine.base + mine.records.size();
    const std::int64_t now = time_of(record);
    if (!mine.any) {
        mine.any = true;
        mine.first_ns = mine.last_ns = now;
    }
    mine.first_ns = std::min(mine.first_ns, now);
    mine.last_ns = std::max(mine.last_ns, now);
    held_bytes_ += kRecordBytes + record.packet.bytes.size();
    outcome_.cut += record.packet.cut ? 1 : 0;
    if (!record.packet.headless &&
        !pair_by(of(other(side)).pending, record.packet.strict, record, Surety::kStrict)) {
        record.first_node = mine.pending.insert(record.packet.strict, &record);
    }
    frontier_ns_ = std::max(frontier_ns_, now);
    const bool due = record.order % kAddsAnAdvance == 0 ||
                     frontier_ns_ - advanced_ns_ > options_.window_ns / kSettlesAWindow;
    if (due || held_bytes_ > options_.most_bytes) {
        advanced_ns_ = frontier_ns_;
        advance(frontier_ns_, false);
    }
}

void Follower::Engine::advance(std::int64_t frontier_ns, bool all) {
    for (;;) {
        const std::int64_t settle = (options_.window_ns / kSettlesAWindow) >> hurry_;
        for (unsigned which = 0; which < kSteps; ++which) {
            const std::int64_t until = frontier_ns - settle * (which + 1);
            for (OneSide& side : sides_) {
                std::uint64_t& stepped = side.stepped[which];
                const std::uint64_t end =
                    which == 0 ? side.base + side.records.size() : side.stepped[which - 1];
                stepped = std::max(stepped, side.base);
                while (stepped < end) {
                    Record& record = side.records[stepped - side.base];
                    if (!all && time_of(record) > until) {
                        break;
                    }
                    ++stepped;
                    step(which, record);
                }
            }
        }
        retire(frontier_ns, all);
        if (all || held_bytes_ <= options_.most_bytes || hurry_ >= kMostHurry) {
            break;
        }
        ++hurry_;
    }
    if (hurry_ > 0 && held_bytes_ < options_.most_bytes / 2) {
        --hurry_;
    }
}

void Follower::Engine::step(unsigned which, Record& record) {
    if (which == 4) {
        conclude(record);
        return;
    }
    if (record.packet.headless) {
        return;
    }
    if (which == 1 && record.packet.fragment != frame::Fragment::kWhole) {
        gather_fragment(record);
    }
    if (record.state != State::kPending) {
        return;
    }
    // Frames of the link are alike on every link.
    if (stays_on_links() && is_of_the_link(record.packet)) {
        return;
    }
    if (which == 0) {
        join_loosely(record);
    } else if (which == 1) {
        // A segment of a stream that looks like one before may be a retransmission.
        if (record.packet.is_tcp_data()) {
            join_stream(record, true);
        }
        if (record.state != State::kPending || record.links != 0 || find_copy(record)) {
            return;
        }
        const bool is_datagram = record.packet.fragment == frame::Fragment::kWhole &&
                                 record.packet.protocol == IPPROTO_UDP;
        if (is_datagram && record.packet.has_transport && !record.packet.broken) {
            join_datagrams(record);
        }
        if (record.state == State::kPending && record.links == 0 && !join_by_content(record)) {
            record.third_node = of(record.side).content.insert(record.packet.content, &record);
        }
    } else if (which == 2) {
        if (find_copy(record)) {
            return;
        }
        learn_own(record);
        if (join_glued(record)) {
            return;
        }
        if (record.packet.is_tcp_data()) {
            join_stream(record, false);
        }
        if (record.state == State::kPending && record.links == 0) {
            join_by_header(record);
        }
    } else if (record.links == 0) {
        join_by_likeness(record);
    }
}

// How sure it is that frames are of one flow: above 0 it is known, below it is known not to be.
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
        // Among equal frames, one that is not late is likelier.
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

std::uint64_t station_of(const Packet& packet) {
    if (packet.bytes.size() < 12) {
        return 0;
    }
    return digest(packet.bytes.subspan(6, 6), 3);
}

}  // namespace

// By what is known of its flow and, with a new one, of the station that sends it; by the clock where
// nothing is known.
Direction Follower::Engine::direction_of(const Record& in_side, const Record& out_side) {
    const std::int64_t delay = time_of(out_side) - time_of(in_side);
    const auto found = sides_[0].flows.find(in_side.packet.flow);
    int votes = found == sides_[0].flows.end() ? 0 : found->second.votes;
    int sign = delay > 0 ? 1 : delay < 0 ? -1 : 0;
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

// Compares a frame with the one that it became; both are whole, or segments that share bytes.
void Follower::Engine::judge(Record& in, Record& out, Extent extent) {
    set_partner(out, in);
    Comparison comparison = compare(in.packet, out.packet, extent, options_.allowed);
    if (extent == Extent::kWhole && in.virtual_datagram != out.virtual_datagram) {
        comparison.used.set(bit(Transformation::kFragments));
        if (!options_.allowed.test(bit(Transformation::kFragments))) {
            comparison.changes.push_back({.field = "fragments",
                                          .text = out.virtual_datagram
                                                      ? "it was cut into IP fragments"
                                                      : "its IP fragments were put together",
                                          .by = Transformation::kFragments});
        }
    }
    note(in, out, comparison);
    note_delay(in, out);
}

void Follower::Engine::note_delay(Record& in, Record& out) {
    const std::int64_t delay = time_of(out) - time_of(in);
    outcome_.shortest_delay_ns =
        outcome_.any_pair ? std::min(outcome_.shortest_delay_ns, delay) : delay;
    outcome_.longest_delay_ns =
        outcome_.any_pair ? std::max(outcome_.longest_delay_ns, delay) : delay;
    outcome_.any_pair = true;
    if (delay > options_.late_ns) {
        mark(in, &out, Class::kLate, "late",
             fmt::format("came out {} ms later", delay / 1'000'000));
    }
}

void Follower::Engine::note(Record& in, Record& out, const Comparison& comparison) {
    outcome_.used |= comparison.used;
    for (std::size_t i = 0; i < kTransformations; ++i) {
        outcome_.used_by[i] += comparison.used.test(i) ? 1 : 0;
    }
    outcome_.partial_in += comparison.partial_in ? 1 : 0;
    outcome_.partial_out += comparison.partial_out ? 1 : 0;
    outcome_.wrong_already += comparison.wrong_already ? 1 : 0;
    if (comparison.changes.empty()) {
        count_egress(in, out, comparison);
        return;
    }
    constexpr std::size_t kMuch = 16;
    const bool damaged = std::ranges::any_of(comparison.changes, &Change::damage);
    if (damaged && !out.virtual_datagram &&
        out.packet.bytes.size() >= in.packet.bytes.size() + kMuch) {
        of(out.side).swollen.push_back(&out);
    }
    mark(in, &out, damaged ? Class::kDamaged : Class::kChanged, key_of(comparison.changes),
         text_of(comparison.changes));
}

void Follower::Engine::mark(Record& in, const Record* out, Class fault, const std::string& key,
                            const std::string& text) {
    if (in.virtual_datagram) {
        for (Record* const member : in.members) {
            mark(*member, out, fault, key, text);
        }
        return;
    }
    if (weight(fault) <= weight(in.found)) {
        return;
    }
    in.found = fault;
    in.note = std::make_unique<Note>(Note{.key = key, .text = text, .out = {}, .out_piece = {}});
    if (out != nullptr) {
        const Record& shown = out->virtual_datagram ? *out->members.front() : *out;
        in.note->out = shown.packet;
        in.note->out_piece = shown.piece;
        in.note->has_out = true;
    }
}

void Follower::Engine::count_egress(Record& in, Record& out, const Comparison& comparison) {
    if (in.packet.ip == frame::Network::kNone || in.virtual_datagram || out.virtual_datagram) {
        return;
    }
    const bool no_ports = in.packet.source_port == 0 && in.packet.destination_port == 0;
    if (no_ports && comparison.used.test(bit(Transformation::kNat))) {
        return;  // several flows may look alike where they come back
    }
    OneSide& side = of(in.side);
    Flow& flow = side.flows[in.packet.flow];
    const bool opens = in.packet.protocol == IPPROTO_TCP && (in.packet.flags & 0x12) == 2;
    const bool idle = !flow.variants.empty() && time_of(in) - flow.last_ns > kIdleNs;
    if ((opens || idle) && !flow.variants.empty() &&
        !(flow.variants.back().egress == comparison.egress)) {
        conclude_flow(flow, in.direction);
    }
    for (std::uint32_t i = 0; i < flow.variants.size(); ++i) {
        if (flow.variants[i].egress == comparison.egress) {
            ++flow.variants[i].count;
            in.variant = i;
            in.epoch = flow.epoch;
            return;
        }
    }
    if (flow.variants.size() == kMostVariants) {
        mark(in, &out, Class::kChanged, "egress",
             egress_difference(flow.variants.front().egress, comparison.egress,
                               flow_text(flow.variants.front().out), flow_text(out.packet)));
        return;
    }
    // The bytes of the frame that shows it stay; those of the usual one cost a piece a flow.
    Variant variant{.egress = comparison.egress, .count = 1, .in = in.packet, .out = out.packet};
    if (!flow.variants.empty()) {
        variant.in_piece = in.piece;
        variant.out_piece = out.piece;
    }
    const auto copy_bytes = [](Packet& packet, Piece& piece) {
        const std::size_t head = std::min<std::size_t>(packet.bytes.size(), packet.payload);
        const std::size_t size = piece == nullptr ? head : packet.bytes.size();
        std::shared_ptr<std::uint8_t[]> copy(new std::uint8_t[size + 1]);
        std::copy_n(packet.bytes.begin(), size, copy.get());
        packet.bytes = {copy.get(), size};
        piece = std::move(copy);
    };
    copy_bytes(variant.in, variant.in_piece);
    copy_bytes(variant.out, variant.out_piece);
    in.variant = static_cast<std::uint32_t>(flow.variants.size());
    in.epoch = flow.epoch;
    flow.variants.push_back(std::move(variant));
}

// Where a flow's frames came out in several ways, the usual one is right and the others are changes.
void Follower::Engine::conclude_flow(Flow& flow, Direction direction) {
    ++flow.epoch;
    if (flow.variants.size() > 1) {
        const auto usual = std::ranges::max_element(flow.variants, {}, &Variant::count);
        Totals& totals = outcome_.totals[static_cast<std::size_t>(direction)];
        for (const Variant& variant : flow.variants) {
            if (&variant == &*usual || variant.clean == 0) {
                continue;
            }
            totals.of(Class::kAsSent) -= variant.clean;
            totals.of(Class::kChanged) += variant.clean;
            const std::string text = egress_difference(
                usual->egress, variant.egress, flow_text(usual->out), flow_text(variant.out));
            for (std::uint64_t i = 0; i < variant.clean; ++i) {
                findings_.add({.direction = direction,
                               .fault = Class::kChanged,
                               .key = usual->egress.flow != variant.egress.flow   ? "egress flow"
                                      : usual->egress.hops != variant.egress.hops ? "egress hops"
                                                                                  : "egress",
                               .text = text,
                               .in = &variant.in,
                               .out = &variant.out,
                               .shown = i == 0});
            }
        }
    }
    flow.variants.clear();
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

// The place of a frame that came out among those of its flow.
void Follower::Engine::conclude(Record& record) {
    if (record.concluded) {
        return;
    }
    if (record.state == State::kPending && record.links > 0) {
        const Direction direction = guess_direction(record);
        if (!was_sent(record, direction)) {
            std::uint64_t bytes = 0;
            for (const Interval& open : record.open) {
                bytes += open.end - open.begin;
            }
            if (record.partner != nullptr) {
                mark(*record.partner, &record, Class::kDamaged, "stream more",
                     fmt::format("{} of the stream came out that never went in",
                                 plural(bytes, "byte")));
            }
            settle(record, direction);
        }
    }
    // A checksum is wrong over damaged bytes: that is one fault, which is known.
    const bool known = record.stream_damaged && record.stream_change &&
                       std::ranges::all_of(record.stream_change->changes, [](const Change& change) {
                           return std::string_view(change.field) == "checksum";
                       });
    if (record.state != State::kPending && record.stream_change && !record.header_explained &&
        !known && record.partner != nullptr && !was_sent(record, record.direction)) {
        note(*record.partner, record, *record.stream_change);
    }
    record.stream_change.reset();
    record.concluded = true;
    if (record.partner == nullptr) {
        return;
    }
    Record& sent = *record.partner;
    if (record.state == State::kPaired) {
        Flow& flow = of(sent.side).flows[sent.packet.flow];
        if (sent.order < flow.highest) {
            outcome_.used.set(bit(Transformation::kReorder));
            ++outcome_.used_by[bit(Transformation::kReorder)];
            if (!options_.allowed.test(bit(Transformation::kReorder))) {
                mark(sent, &record, Class::kReordered, "reordered",
                     "came out behind a frame of its flow that was sent later");
            }
        }
        flow.highest = std::max(flow.highest, sent.order);
    }
    --sent.pins;
    record.partner = nullptr;
}

void Follower::Engine::retire(std::int64_t frontier_ns, bool all) {
    const std::int64_t window = options_.window_ns >> hurry_;
    for (OneSide& side : sides_) {
        while (!side.records.empty()) {
            Record& record = side.records.front();
            const bool stepped = side.stepped[kSteps - 1] > side.base;
            const bool old = frontier_ns - time_of(record) >= window;
            if (!stepped || (!all && (!old || record.pins != 0))) {
                break;
            }
            const Direction direction = guess_direction(record);
            outcome_.forced += hurry_ > 0 && record.state == State::kPending ? 1 : 0;
            if (was_sent(record, direction)) {
                retire_sent(record, direction);
            } else {
                retire_received(record, direction);
            }
            held_bytes_ -= kRecordBytes + record.packet.bytes.size();
            remove(record);
            side.records.pop_front();
            ++side.base;
        }
        if (side.flows.size() > kMostFlows) {
            for (auto entry = side.flows.begin(); entry != side.flows.end();) {
                Flow& flow = entry->second;
                if (frontier_ns - flow.last_ns < options_.window_ns) {
                    ++entry;
                    continue;
                }
                const bool forward = &side == &sides_[0];
                conclude_flow(flow, forward ? Direction::kForward : Direction::kBackward);
                outcome_.flows += forward ? 1 : 0;
                entry = side.flows.erase(entry);
            }
        }
    }
}

// Takes every pointer to it out of the tables.
void Follower::Engine::remove(Record& record) {
    OneSide& side = of(record.side);
    const bool seen = record.state != State::kPending;
    if (record.first_node != Record::kNoNode) {
        (seen ? side.seen : side.pending).erase(record.first_node);
    }
    if (record.second_node != Record::kNoNode) {
        (seen ? side.seen_loose : side.pending_loose).erase(record.second_node);
    }
    if (record.third_node != Record::kNoNode) {
        side.content.erase(record.third_node);
    }
    for (const std::uint32_t node : record.header_nodes) {
        if (node != Record::kNoNode) {
            side.headers.erase(node);
        }
    }
    if (record.streamed) {
        leave_stream(record);
    }
    // They leave in the order in which they came.
    if (!side.leftovers.empty() && side.leftovers.front() == &record) {
        side.leftovers.pop_front();
    }
    if (!side.swollen.empty()) {
        std::erase(side.swollen, &record);
    }
    if (record.packet.fragment != frame::Fragment::kWhole && !record.virtual_datagram) {
        const auto group = side.fragments.find(record.packet.flow);
        if (group != side.fragments.end()) {
            std::erase(group->second.pieces, &record);
            if (group->second.pieces.empty() && group->second.datagram == nullptr) {
                side.fragments.erase(group);
            }
        }
    }
    if (record.datagram != nullptr) {
        Record& datagram = *record.datagram;
        std::erase(datagram.members, &record);
        if (datagram.members.empty()) {
            side.fragments.erase(record.packet.flow);
            remove(datagram);
            std::erase_if(side.datagrams, [&](const Record& one) { return &one == &datagram; });
        }
    }
}

bool Follower::Engine::is_outside(const Record& record) const {
    // A frame that takes as long as the slowest one so far would have come out behind the end.
    constexpr std::int64_t kLeastNs = 2'000'000;
    const std::int64_t delay = std::clamp(outcome_.longest_delay_ns, kLeastNs, options_.late_ns);
    const OneSide& there = sides_[record.side == Side::kIn ? 1 : 0];
    const std::int64_t now = time_of(record);
    if (!there.any) {
        return false;
    }
    // The other capture saw nothing before and behind these.
    if (!was_sent(record, record.direction)) {
        return now < there.first_ns + delay || now > there.last_ns;
    }
    const std::int64_t least =
        std::clamp(outcome_.shortest_delay_ns, std::int64_t{0}, options_.late_ns);
    return now + delay >= there.last_ns || (record.links == 0 && now + least < there.first_ns);
}

// Whether the path is one that ends links: a router, or an end of a tunnel.
bool Follower::Engine::stays_on_links() const {
    Transformations ends = options_.allowed;
    for (const Transformation one :
         {Transformation::kGso, Transformation::kGro, Transformation::kVlan,
          Transformation::kReorder, Transformation::kFragments}) {
        ends.reset(bit(one));
    }
    return ends.any();
}

// Frames that the device sends and takes by itself.
bool Follower::Engine::is_local(const Record& record, bool sent) {
    if (!stays_on_links()) {
        return false;
    }
    if (is_of_the_link(record.packet)) {
        return true;
    }
    if (record.packet.ip == frame::Network::kNone) {
        return false;
    }
    const auto& hosts = of(record.side).hosts;
    const frame::Bytes address = sent ? record.packet.destination() : record.packet.source();
    const auto host = hosts.find(digest_of_address(address));
    const bool reports = !sent && is_icmp_error(record.packet);
    return reports || (host != hosts.end() && host->second.asked && host->second.answered &&
                       !host->second.carried);
}

namespace {

// A packet as an ICMP error quotes it: addresses, protocol, identification, first transport word.
std::uint64_t digest_of_quote(frame::Bytes ip, bool v4) {
    if (ip.size() < (v4 ? 24u : 44u)) {
        return 0;
    }
    const std::size_t header = v4 ? (ip[0] & 0xfu) * 4u : 40u;
    if (ip.size() < header + 4) {
        return 0;
    }
    std::uint64_t sum = v4 ? digest(ip.subspan(12, 8)) : digest(ip.subspan(8, 32));
    sum = mix(sum, v4 ? ip[9] : ip[6]);
    sum = mix(sum, v4 ? ip[4] * 256u + ip[5] : 0u);
    return mix(sum, digest(ip.subspan(header, 4)));
}

// "too long for the next link (MTU 1400)" where RFC 1812 section 4.3.3 or RFC 4443 asks for it.
std::string refusal_of(const Packet& error) {
    const frame::Bytes message = error.bytes.subspan(error.transport);
    const std::uint8_t type = message[0];
    const std::uint8_t code = message[1];
    const bool v4 = error.ip == frame::Network::kIpv4;
    if ((v4 && type == 3 && code == 4) || (!v4 && type == 2)) {
        return fmt::format("too long for the next link (MTU {})",
                           v4 ? message[6] * 256u + message[7]
                              : message[4] << 24 | message[5] << 16 | message[6] << 8 | message[7]);
    }
    if ((v4 && type == 11) || (!v4 && type == 3)) {
        return "its hop limit was used up";
    }
    return "";
}

}  // namespace

// The device itself is who is sent frames that do not come out, and answers with such as did not go in.
void Follower::Engine::learn_own(Record& record) {
    if (record.packet.ip == frame::Network::kNone) {
        return;
    }
    OneSide& side = of(record.side);
    if (was_sent(record, guess_direction(record))) {
        side.hosts[digest_of_address(record.packet.destination())].asked = true;
        return;
    }
    side.hosts[digest_of_address(record.packet.source())].answered = true;
    if (is_icmp_error(record.packet)) {
        const frame::Bytes quote = record.packet.payload_bytes();
        const std::string refusal = refusal_of(record.packet);
        if (!refusal.empty()) {
            side.refusals[digest_of_quote(quote, record.packet.ip == frame::Network::kIpv4)] =
                refusal;
        }
    }
}

void Follower::Engine::retire_sent(Record& record, Direction direction) {
    Totals& totals = outcome_.totals[static_cast<std::size_t>(direction)];
    ++totals.sent;
    record.direction = direction;
    if (record.state == State::kPending && record.links == 0) {
        const auto& refusals = of(record.side).refusals;
        const bool v4 = record.packet.ip == frame::Network::kIpv4;
        const auto refused =
            refusals.empty() || record.packet.ip == frame::Network::kNone || record.packet.headless
                ? refusals.end()
                : refusals.find(
                      digest_of_quote(record.packet.bytes.subspan(record.packet.network), v4));
        if (record.packet.headless) {
            record.found = Class::kUntold;
        } else if (is_local(record, true)) {
            record.found = Class::kLocal;
        } else if (refused != refusals.end()) {
            record.found = Class::kRefused;
        } else if (is_outside(record)) {
            record.found = Class::kOutside;
        } else if (record.packet.cut) {
            record.found = Class::kUntold;
        } else {
            mark(record, nullptr, Class::kMissing, "missing " + protocol_text(record.packet),
                 "went in and never came out");
        }
    } else if (record.state == State::kPending) {
        std::uint64_t bytes = 0;
        for (const Interval& open : record.open) {
            bytes += open.end - open.begin;
        }
        if (is_outside(record)) {
            record.found = Class::kOutside;
        } else if (record.packet.protocol == IPPROTO_UDP && record.links == 1) {
            mark(record, nullptr, Class::kDamaged, "cut in part",
                 fmt::format("cut: {} of its {} of payload are left out", bytes,
                             plural(record.packet.payload_length(), "byte")));
        } else {
            mark(record, nullptr, Class::kMissing, "missing in part",
                 fmt::format("{} of its {} of payload never came out", bytes,
                             plural(record.packet.payload_length(), "byte")));
        }
    }
    ++totals.of(record.found);
    if (record.found == Class::kAsSent) {
        findings_.add_right(direction, record.packet);
        if (record.variant != Record::kNoNode) {
            Flow& flow = of(record.side).flows[record.packet.flow];
            if (flow.epoch == record.epoch && record.variant < flow.variants.size()) {
                ++flow.variants[record.variant].clean;
            }
        }
    }
    if (is_fault(record.found)) {
        findings_.add({.direction = direction,
                       .fault = record.found,
                       .key = record.note->key,
                       .text = record.note->text,
                       .in = &record.packet,
                       .out = record.note->has_out ? &record.note->out : nullptr,
                       .place = totals.sent});
    }
}

void Follower::Engine::retire_received(Record& record, Direction direction) {
    Totals& totals = outcome_.totals[static_cast<std::size_t>(direction)];
    ++totals.received;
    record.direction = direction;
    if (record.state == State::kPaired) {
        ++totals.arrived;
    } else if (record.state == State::kCopy) {
        ++totals.copies;
    } else if (record.packet.headless) {
        ++totals.untold;
    } else if (is_local(record, false)) {
        ++totals.local;
    } else if (is_outside(record)) {
        ++totals.outside;
    } else if (record.packet.cut) {
        ++totals.untold;
    } else {
        ++totals.unknown;
        findings_.add({.direction = direction,
                       .unknown = true,
                       .key = "unknown " + protocol_text(record.packet),
                       .text = "came out and never went in",
                       .out = &record.packet});
    }
}

void Follower::Engine::coming(Side side, std::int64_t time_ns) {
    OneSide& mine = of(side);
    const std::int64_t time = time_ns - (side == Side::kOut ? options_.clock_offset_ns : 0);
    mine.first_ns = mine.any ? mine.first_ns : time;
    mine.last_ns = mine.any ? std::max(mine.last_ns, time) : time;
    mine.any = true;
}

void Follower::Engine::end(Side side, std::int64_t until_ns) {
    of(side).ended = true;
    if (until_ns != 0) {
        coming(side, until_ns);
    }
}

Outcome Follower::Engine::finish() {
    advance(frontier_ns_, true);
    for (std::size_t i = 0; i < 2; ++i) {
        for (auto& [key, flow] : sides_[i].flows) {
            const Direction direction = i == 0 ? Direction::kForward : Direction::kBackward;
            conclude_flow(flow, direction);
            outcome_.flows += i == 0 ? 1 : 0;
        }
    }
    outcome_.findings = findings_.finish();
    return std::move(outcome_);
}

}  // namespace pathproof::follow
