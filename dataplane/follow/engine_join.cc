// Joins what a path cuts and merges: the bytes of a TCP stream, the datagrams of a UDP super-frame,
// the fragments of an IP datagram.
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/plural.h"
#include "dataplane/follow/engine.h"
#include "dataplane/frame/checksum.h"

namespace pathproof::follow {
namespace {

constexpr std::size_t kMostParts = 512;  // of a flow that are looked through
constexpr std::uint8_t kFin = 1, kPsh = 8;

// Sequence numbers wrap around.
std::int32_t distance(std::uint32_t from, std::uint32_t to) {
    return static_cast<std::int32_t>(to - from);
}

bool is_udp(const Packet& packet) {
    return packet.protocol == IPPROTO_UDP;
}

// Returns the part's first byte: a sequence number, or an offset into the datagram.
std::uint32_t start_of(const Record& record) {
    return is_udp(record.packet) ? 0 : record.packet.sequence;
}

void open_whole(Record& record) {
    record.open = {{start_of(record), start_of(record) + record.packet.payload_length()}};
}

// Takes [begin, end) out of the open parts.
void close(std::vector<Interval>& open, std::uint32_t begin, std::uint32_t end) {
    std::vector<Interval> left;
    for (const Interval& part : open) {
        if (distance(part.begin, end) <= 0 || distance(begin, part.end) <= 0) {
            left.push_back(part);
            continue;
        }
        if (distance(part.begin, begin) > 0) {
            left.push_back({part.begin, begin});
        }
        if (distance(end, part.end) > 0) {
            left.push_back({end, part.end});
        }
    }
    open = std::move(left);
}

bool is_open(const std::vector<Interval>& open, std::uint32_t begin, std::uint32_t end) {
    return std::ranges::any_of(open, [&](const Interval& part) {
        return distance(part.begin, begin) >= 0 && distance(end, part.end) >= 0;
    });
}

frame::Bytes part_of(const Record& record, std::uint32_t begin, std::uint32_t end) {
    const frame::Bytes payload = record.packet.payload_bytes();
    const auto from = static_cast<std::size_t>(begin - start_of(record));
    const auto to = static_cast<std::size_t>(end - start_of(record));
    if (from >= payload.size()) {
        return {};
    }
    return payload.subspan(from, std::min(to, payload.size()) - from);
}

bool same_bytes(frame::Bytes one, frame::Bytes other) {
    const std::size_t size = std::min(one.size(), other.size());  // a snap length may have cut one
    return size == 0 || std::memcmp(one.data(), other.data(), size) == 0;
}

}  // namespace

// The flow as the out side has it.
std::uint64_t Follower::Engine::shared_flow(const Record& record) {
    if (record.side == Side::kOut) {
        return record.packet.flow;
    }
    const auto found = of(Side::kIn).flows.find(record.packet.flow);
    return found == of(Side::kIn).flows.end() || found->second.other == 0 ? record.packet.flow
                                                                          : found->second.other;
}

void Follower::Engine::leave_stream(Record& record) {
    record.streamed = false;
    for (const std::uint64_t flow : {shared_flow(record), record.packet.flow}) {
        const auto found = of(record.side).streams.find(flow);
        if (found == of(record.side).streams.end()) {
            continue;
        }
        std::deque<Record*>& pending = found->second.pending;
        const auto place = std::ranges::find(pending, &record);
        if (place == pending.end()) {
            continue;
        }
        pending.erase(place);
        if (pending.empty()) {
            of(record.side).streams.erase(found);
        }
        return;
    }
    // Its flow's name became known after it was put in.
    auto& streams = of(record.side).streams;
    for (auto stream = streams.begin(); stream != streams.end(); ++stream) {
        if (std::erase(stream->second.pending, &record) != 0) {
            if (stream->second.pending.empty()) {
                streams.erase(stream);
            }
            return;
        }
    }
}

void Follower::Engine::join_stream(Record& record, bool same_bytes_only) {
    const std::uint64_t flow = shared_flow(record);
    if (record.open.empty()) {
        open_whole(record);
    }
    const auto found = of(other(record.side)).streams.find(flow);
    if (found != of(other(record.side)).streams.end()) {
        // A copy: records leave the stream as they are settled.
        std::vector<Record*> candidates;
        for (Record* const candidate : found->second.pending) {
            if (candidates.size() == kMostParts) {
                break;
            }
            if (distance(record.packet.sequence,
                         candidate->packet.sequence + candidate->packet.payload_length()) > 0 &&
                distance(candidate->packet.sequence,
                         record.packet.sequence + record.packet.payload_length()) > 0) {
                candidates.push_back(candidate);
            }
        }
        put_fitting_first(record, candidates);
        for (Record* const candidate : candidates) {
            if (record.state != State::kPending) {
                break;
            }
            join_parts(record, *candidate, same_bytes_only);
        }
    }
    if (record.state == State::kPending && !record.streamed) {
        of(record.side).streams[flow].pending.push_back(&record);
        record.streamed = true;
    }
}

// Bytes that were sent again have several frames: those with the record's own header come first, as the
// timestamp option tells the one that was lost from the one that came.
void Follower::Engine::put_fitting_first(const Record& record, std::vector<Record*>& candidates) {
    std::uint64_t bytes = 0;
    for (const Record* const candidate : candidates) {
        const std::uint32_t begin = record.packet.sequence;
        const std::uint32_t from = candidate->packet.sequence;
        const std::uint32_t end = begin + record.packet.payload_length();
        const std::uint32_t to = from + candidate->packet.payload_length();
        bytes += (distance(to, end) > 0 ? to : end) - (distance(from, begin) > 0 ? begin : from);
    }
    if (bytes <= record.packet.payload_length()) {
        return;
    }
    std::stable_partition(candidates.begin(), candidates.end(), [&](const Record* candidate) {
        const Record& in_side = record.side == Side::kIn ? record : *candidate;
        const Record& out_side = record.side == Side::kIn ? *candidate : record;
        const bool forward = direction_of(in_side, out_side) == Direction::kForward;
        return compare((forward ? in_side : out_side).packet, (forward ? out_side : in_side).packet,
                       Extent::kSegment, options_.allowed)
            .changes.empty();
    });
}

bool Follower::Engine::join_parts(Record& record, Record& other_one, bool same_bytes_only) {
    struct Shared {
        std::uint32_t begin, end;
    };
    std::vector<Shared> shared;
    bool same = true;
    for (const Interval& mine : record.open) {
        for (const Interval& theirs : other_one.open) {
            const std::uint32_t begin =
                distance(mine.begin, theirs.begin) > 0 ? theirs.begin : mine.begin;
            const std::uint32_t end = distance(mine.end, theirs.end) > 0 ? mine.end : theirs.end;
            if (distance(begin, end) > 0) {
                shared.push_back({begin, end});
                same =
                    same && same_bytes(part_of(record, begin, end), part_of(other_one, begin, end));
            }
        }
    }
    if (shared.empty() || (same_bytes_only && !same)) {
        return false;
    }
    const bool one_extent = record.packet.sequence == other_one.packet.sequence &&
                            record.packet.payload_length() == other_one.packet.payload_length() &&
                            record.links == 0 && other_one.links == 0;
    if (one_extent) {
        pair(record, other_one);
        return true;
    }
    Record& in_side = record.side == Side::kIn ? record : other_one;
    Record& out_side = record.side == Side::kIn ? other_one : record;
    const Direction direction = direction_of(in_side, out_side);
    const bool forward = direction == Direction::kForward;
    Record& in = forward ? in_side : out_side;
    Record& out = forward ? out_side : in_side;
    out.stream_damaged = out.stream_damaged || !same;
    if (!same) {
        const Shared& first = shared.front();
        mark(in, &out, Class::kDamaged, "stream bytes",
             fmt::format("bytes of the stream changed: {}",
                         payload_difference(part_of(in, first.begin, first.end),
                                            part_of(out, first.begin, first.end))));
    }
    for (const Shared& part : shared) {
        close(in.open, part.begin, part.end);
        close(out.open, part.begin, part.end);
    }
    link(in, out, direction, 0);
    return true;
}

// Two frames share a part of a stream, or one is a part of the other: `place` of a datagram.
void Follower::Engine::link(Record& in, Record& out, Direction direction, std::uint32_t place) {
    const std::uint32_t in_begin =
        is_udp(in.packet) && in.packet.payload_length() < out.packet.payload_length()
            ? place
            : start_of(in);
    const std::uint32_t out_begin =
        is_udp(out.packet) && out.packet.payload_length() < in.packet.payload_length()
            ? place
            : start_of(out);
    const std::uint32_t in_end = in_begin + in.packet.payload_length();
    const std::uint32_t out_end = out_begin + out.packet.payload_length();
    const bool cut = distance(in_begin, out_begin) > 0 || distance(out_end, in_end) > 0;
    const bool merged = distance(out_begin, in_begin) > 0 || distance(in_end, out_end) > 0;
    set_partner(out, in);
    ++in.links;
    ++out.links;
    const auto allow = [&](Transformation transformation, const char* text) {
        outcome_.used.set(bit(transformation));
        ++outcome_.used_by[bit(transformation)];
        if (!options_.allowed.test(bit(transformation))) {
            mark(in, &out, Class::kChanged, text, text);
        }
    };
    if (cut) {
        allow(Transformation::kGso, "it was cut into segments");
    }
    if (merged) {
        allow(Transformation::kGro, "it was merged with its neighbours");
    }
    if (!out.header_explained) {
        Comparison comparison = compare(in.packet, out.packet, Extent::kSegment, options_.allowed);
        if (comparison.changes.empty()) {
            out.header_explained = true;
            note(in, out, comparison);
        } else if (!out.stream_change) {
            out.stream_change = std::move(comparison);
        }
    }
    if (!is_udp(in.packet) && in_end == out_end &&
        ((in.packet.flags ^ out.packet.flags) & (kFin | kPsh)) != 0) {
        mark(in, &out, Class::kChanged, "stream flags",
             fmt::format("tcp.flags 0x{:02x} became 0x{:02x} at the end of the segment",
                         in.packet.flags, out.packet.flags));
    }
    note_delay(in, out);
    for (Record* const record : {&in, &out}) {
        if (record->open.empty()) {
            settle(*record, direction);
        }
    }
}

// A datagram that is a segment of a larger one, or the larger one of which others are segments: all
// segments but the last are of one length (UDP_SEGMENT, udp(7)).
void Follower::Engine::join_datagrams(Record& record) {
    constexpr std::uint32_t kTelling = 8;
    const std::uint64_t flow = shared_flow(record);
    open_whole(record);
    const auto found = of(other(record.side)).streams.find(flow);
    if (found != of(other(record.side)).streams.end()) {
        std::vector<Record*> candidates;
        for (Record* const candidate : found->second.pending) {
            if (candidates.size() < kMostParts) {
                candidates.push_back(candidate);
            }
        }
        for (Record* const candidate : candidates) {
            const std::uint32_t mine = record.packet.payload_length();
            const std::uint32_t theirs = candidate->packet.payload_length();
            if (record.state != State::kPending) {
                break;
            }
            if (mine == theirs || candidate->state != State::kPending) {
                continue;
            }
            Record& whole = mine > theirs ? record : *candidate;
            Record& part = mine > theirs ? *candidate : record;
            const std::uint32_t length = part.packet.payload_length();
            const std::uint32_t all = whole.packet.payload_length();
            if (part.links != 0 || length < kTelling) {
                continue;
            }
            for (std::uint32_t at = 0; at < all;) {
                const std::uint32_t end = at + length;
                if (end <= all && is_open(whole.open, at, end) &&
                    same_bytes(part_of(whole, at, end), part.packet.payload_bytes())) {
                    close(whole.open, at, end);
                    part.open.clear();
                    Record& in_side = record.side == Side::kIn ? record : *candidate;
                    Record& out_side = record.side == Side::kIn ? *candidate : record;
                    const Direction direction = direction_of(in_side, out_side);
                    const bool forward = direction == Direction::kForward;
                    link(forward ? in_side : out_side, forward ? out_side : in_side, direction, at);
                    break;
                }
                const std::uint32_t last = all - std::min(all, length);
                at = end <= last || at == last ? end : last;
            }
        }
    }
    if (record.state == State::kPending && !record.streamed) {
        of(record.side).streams[flow].pending.push_back(&record);
        record.streamed = true;
    }
}

namespace {

struct FragmentPiece {
    Record* record = nullptr;
    std::uint32_t offset = 0;
    bool more = false;
};

FragmentPiece piece_of(Record& record) {
    const Packet& packet = record.packet;
    const std::uint32_t at =
        packet.ip == frame::Network::kIpv4 ? packet.network + 6 : packet.transport - 6;
    const unsigned field = packet.bytes[at] * 256u + packet.bytes[at + 1];
    return packet.ip == frame::Network::kIpv4
               ? FragmentPiece{&record, (field & 0x1fffu) * 8, (field & 0x2000u) != 0}
               : FragmentPiece{&record, field & 0xfff8u, (field & 1u) != 0};
}

void put16(std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t value) {
    bytes[at] = static_cast<std::uint8_t>(value >> 8);
    bytes[at + 1] = static_cast<std::uint8_t>(value);
}

// The headers of the first fragment without what makes it one, and all data; empty: it cannot be.
std::vector<std::uint8_t> put_together(const std::vector<FragmentPiece>& pieces) {
    constexpr std::size_t kIpv6 = 40, kFragmentHeader = 8;
    const Packet& first = pieces.front().record->packet;
    const bool v4 = first.ip == frame::Network::kIpv4;
    if (!v4 && first.transport != first.network + kIpv6 + kFragmentHeader) {
        return {};
    }
    const std::size_t header_end = v4 ? first.transport : first.network + kIpv6;
    std::vector<std::uint8_t> bytes(first.bytes.begin(),
                                    first.bytes.begin() + static_cast<std::ptrdiff_t>(header_end));
    for (const FragmentPiece& piece : pieces) {
        const Packet& packet = piece.record->packet;
        const frame::Bytes data =
            packet.bytes.subspan(packet.transport, packet.end - packet.transport);
        bytes.insert(bytes.end(), data.begin(), data.end());
    }
    const std::size_t network = first.network;
    if (bytes.size() - network > 0xffff) {
        return {};
    }
    if (!v4) {
        bytes[network + 6] = first.bytes[network + kIpv6];
        put16(bytes, network + 4, bytes.size() - network - kIpv6);
        return bytes;
    }
    put16(bytes, network + 2, bytes.size() - network);
    bytes[network + 6] = bytes[network + 6] & 0xc0;
    bytes[network + 7] = 0;
    put16(bytes, network + 10, 0);
    const frame::Bytes header = frame::Bytes(bytes).subspan(network, header_end - network);
    put16(bytes, network + 10, frame::checksum_of(frame::sum_bytes(header)));
    return bytes;
}

}  // namespace

void Follower::Engine::gather_fragment(Record& record) {
    if (record.packet.cut || record.packet.broken) {
        return;
    }
    Fragments& group = of(record.side).fragments[record.packet.flow];
    const FragmentPiece mine = piece_of(record);
    for (Record* const piece : group.pieces) {
        const FragmentPiece theirs = piece_of(*piece);
        if (theirs.offset == mine.offset) {
            return;  // a copy, if its datagram is found
        }
    }
    group.pieces.push_back(&record);
    if (group.datagram != nullptr) {
        return;
    }
    make_datagram(record.side, group);
}

bool Follower::Engine::make_datagram(Side side, Fragments& group) {
    std::vector<FragmentPiece> pieces;
    for (Record* const piece : group.pieces) {
        pieces.push_back(piece_of(*piece));
    }
    std::ranges::sort(pieces, {}, &FragmentPiece::offset);
    std::uint32_t end = 0;
    for (const FragmentPiece& piece : pieces) {
        if (piece.offset != end) {
            return false;
        }
        end += piece.record->packet.end - piece.record->packet.transport;
    }
    const bool all_found = std::ranges::none_of(
        pieces, [](const FragmentPiece& piece) { return piece.record->state == State::kPending; });
    if (pieces.back().more || all_found) {
        return false;
    }
    const std::vector<std::uint8_t> bytes = put_together(pieces);
    if (bytes.empty()) {
        return false;
    }
    const std::shared_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
    std::ranges::copy(bytes, copy.get());
    const Packet& first = pieces.front().record->packet;
    Record& datagram = of(side).datagrams.emplace_back();
    datagram.piece = copy;
    datagram.packet = read_packet({.piece = copy,
                                   .bytes = {copy.get(), bytes.size()},
                                   .length = static_cast<std::uint32_t>(bytes.size()),
                                   .time_ns = first.time_ns,
                                   .number = first.number,
                                   .interface = first.interface,
                                   .file = first.file},
                                  options_.limits);
    datagram.side = side;
    datagram.order = pieces.front().record->order;
    datagram.virtual_datagram = true;
    for (const FragmentPiece& piece : pieces) {
        // A fragment that came out as it went in stands for itself.
        if (piece.record->state == State::kPending) {
            datagram.members.push_back(piece.record);
            piece.record->datagram = &datagram;
        }
        datagram.packet.time_ns = std::max(datagram.packet.time_ns, piece.record->packet.time_ns);
    }
    group.datagram = &datagram;
    OneSide& there = of(other(side));
    if (pair_by(there.pending, datagram.packet.strict, datagram, Surety::kStrict)) {
        return true;
    }
    datagram.first_node = of(side).pending.insert(datagram.packet.strict, &datagram);
    if (!join_loosely(datagram) && !join_by_content(datagram)) {
        datagram.third_node = of(side).content.insert(datagram.packet.content, &datagram);
    }
    return true;
}

}  // namespace pathproof::follow
