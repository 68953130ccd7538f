// The differences between a frame and the one that it became, and the fault that is a frame's.
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <string_view>

#include "dataplane/base/plural.h"
#include "dataplane/follow/engine.h"

namespace pathproof::follow {
namespace {

constexpr std::size_t kMostVariants = 8;
constexpr std::int64_t kIdleNs = 15'000'000'000;  // after which a mapping may be a new one

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

namespace {

const char* egress_key(const Egress& usual, const Egress& other) {
    if (usual.flow != other.flow) {
        return "egress flow";
    }
    return usual.hops != other.hops ? "egress hops" : "egress";
}

}  // namespace

// The usual way is right where a flow's frames came out in several; the others are changes.
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
                               .key = egress_key(usual->egress, variant.egress),
                               .text = text,
                               .in = &variant.in,
                               .out = &variant.out,
                               .shown = i == 0,
                               .was_right = true});
            }
        }
    }
    flow.variants.clear();
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

}  // namespace pathproof::follow
