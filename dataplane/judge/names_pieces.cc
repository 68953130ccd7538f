// Sums of frames that are held, sent or cut in pieces: buffers, segments, fragments; and of a
// tunnel whose inside was not finished yet.
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

// The sum of [from, to) as if it began at a word, the checksum field being 0.
PartialSum piece(const Suspect& suspect, std::size_t from, std::size_t to) {
    return frame::sum_bytes(without_field(suspect, from, to));
}

PartialSum pseudo_sum(const Suspect& suspect, std::uint32_t length) {
    return suspect.has_pseudo_header() ? frame::sum_word(pseudo_of(suspect.packet, length)) : 0;
}
PartialSum pseudo_sum(const Suspect& suspect) {
    return pseudo_sum(suspect, suspect.packet.transport_length);
}

// Each buffer summed as if it began with a whole word; with the odd byte of a buffer in the high or
// in the low half, or left out.
void predict_boundaries(const Suspect& suspect, const std::vector<std::size_t>& found,
                        Predictions& out) {
    PartialSum high = pseudo_sum(suspect);
    PartialSum lane = 0;
    PartialSum dropped = 0;
    std::size_t from = suspect.start();
    bool odd = false;
    for (const std::size_t to : found) {
        high += piece(suspect, from, to);
        if ((to - from) % 2 != 0) {
            const std::uint8_t last = suspect.frame[to - 1];
            const PartialSum away = frame::without_word(static_cast<std::uint16_t>(last << 8));
            lane += away + frame::sum_word(last);
            dropped += away;
            odd = true;
        }
        from = to;
    }
    if (!odd) {
        return;
    }
    high += piece(suspect, from, suspect.end());
    add(suspect, ChecksumName::kOddBoundary, high, out);
    add(suspect, ChecksumName::kOddBoundary, high + lane, out);
    add(suspect, ChecksumName::kOddBoundary, high + dropped, out);
}

void predict_cut_buffers(const Suspect& suspect, Predictions& out) {
    const std::vector<std::size_t> found = buffer_starts(suspect);
    if (found.empty()) {
        return;
    }
    predict_boundaries(suspect, found, out);
    const PartialSum pseudo = pseudo_sum(suspect);
    add(suspect, ChecksumName::kFirstBufferOnly,
        pseudo + piece(suspect, suspect.start(), found.front()), out);
    const PartialSum last = piece(suspect, found.back(), suspect.end());
    add(suspect, ChecksumName::kLastBufferOnly, pseudo + last, out);
    if ((found.back() - suspect.start()) % 2 != 0) {
        // A sender that knows on which half of a word the buffer begins swaps the bytes (RFC 1071
        // section 2 (B)).
        const PartialSum lanes = frame::sum_word(__builtin_bswap16(frame::folded(last)));
        add(suspect, ChecksumName::kLastBufferOnly, pseudo + lanes, out);
    }
}

void predict_super(const Suspect& suspect, Predictions& out) {
    const auto whole = same_checksum(suspect, suspect.evidence->super_frame);
    const auto packet = same_packet(suspect, suspect.evidence->super_frame);
    if (!whole || !packet) {
        return;
    }
    if (whole->state != ChecksumState::kUnverifiable) {
        out.push_back({ChecksumName::kSuperPacket, whole->right});
    }
    if (suspect.has_pseudo_header()) {
        const PartialSum longer =
            suspect.sum() +
            frame::without_word(pseudo_of(suspect.packet, suspect.packet.transport_length));
        add(suspect, ChecksumName::kSuperPacket,
            longer + pseudo_sum(suspect, packet->transport_length), out);
    }
}

void predict_fragment(const Suspect& suspect, Predictions& out) {
    const std::size_t end = suspect.evidence->first_fragment_end;
    if (suspect.protocol == Protocol::kIpv4 || end <= suspect.field + 1 || end >= suspect.end()) {
        return;
    }
    const PartialSum data = piece(suspect, suspect.start(), end);
    const auto length = static_cast<std::uint32_t>(end - suspect.start());
    add(suspect, ChecksumName::kFragmentOnly, pseudo_sum(suspect) + data, out);
    if (suspect.has_pseudo_header()) {
        add(suspect, ChecksumName::kFragmentOnly, pseudo_sum(suspect, length) + data, out);
    }
}

// A field inside the tunnel: what it holds, and what it may have held when the outer sum was made.
struct InnerField {
    std::size_t offset = 0;
    std::vector<std::uint16_t> held;
};

std::optional<std::size_t> transport_field(const PacketView& inner) {
    switch (inner.transport) {
        case frame::Transport::kUdp:
        case frame::Transport::kUdpLite: return inner.transport_offset + 6u;
        case frame::Transport::kTcp: return inner.transport_offset + 16u;
        case frame::Transport::kIcmp:
        case frame::Transport::kIcmpv6: return inner.transport_offset + 2u;
        case frame::Transport::kSctp:  // of two words: see predict_tunnel
        case frame::Transport::kGre:
        case frame::Transport::kNone:
        case frame::Transport::kOther: break;
    }
    return std::nullopt;
}

void add_earlier(const Suspect& suspect, std::size_t offset, std::vector<std::uint16_t>& held) {
    for (const Bytes earlier :
         {Bytes(suspect.evidence->handed_over), Bytes(suspect.evidence->before)}) {
        if (earlier.size() == suspect.frame.size()) {
            held.push_back(word_at(earlier, offset));
        }
    }
}

std::vector<InnerField> inner_fields(const Suspect& suspect) {
    const PacketView& inner = suspect.view.inner;
    std::vector<InnerField> fields;
    if (const auto offset = transport_field(inner)) {
        InnerField field{.offset = *offset, .held = {0}};
        if (inner.transport != frame::Transport::kIcmp) {
            field.held.push_back(pseudo_of(inner, inner.transport_length));
            field.held.push_back(pseudo_of(inner, 0));
        }
        add_earlier(suspect, *offset, field.held);
        fields.push_back(std::move(field));
    }
    if (inner.network == frame::Network::kIpv4) {
        InnerField field{.offset = inner.network_offset + 10u, .held = {0}};
        add_earlier(suspect, field.offset, field.held);
        fields.push_back(std::move(field));
    }
    return fields;
}

// new - old of a field that had not its value yet.
PartialSum taken_back(const Suspect& suspect, std::size_t offset, std::uint16_t held) {
    return frame::without_word(word_at(suspect.frame, offset)) + frame::sum_word(held);
}

}  // namespace

void predict_tunnel(const Suspect& suspect, Predictions& out) {
    if (!suspect.in_tunnel_header() || suspect.protocol == Protocol::kIpv4) {
        return;
    }
    const auto early = [&](PartialSum change) {
        add(suspect, ChecksumName::kOuterBeforeInner, suspect.sum() + change, out);
    };
    const std::vector<InnerField> fields = inner_fields(suspect);
    for (const InnerField& field : fields) {
        for (const std::uint16_t held : field.held) {
            early(taken_back(suspect, field.offset, held));
        }
    }
    if (fields.size() == 2) {  // neither the inner IPv4 header's nor the transport's was there
        for (const std::uint16_t held : fields[0].held) {
            early(taken_back(suspect, fields[0].offset, held) +
                  taken_back(suspect, fields[1].offset, 0));
        }
    }
    if (suspect.view.inner.transport == frame::Transport::kSctp) {
        const std::size_t crc = suspect.view.inner.transport_offset + 8u;
        early(taken_back(suspect, crc, 0) + taken_back(suspect, crc + 2, 0));
    }
}

void predict_pieces(const Suspect& suspect, Predictions& out) {
    predict_cut_buffers(suspect, out);
    predict_super(suspect, out);
    predict_fragment(suspect, out);
}

}  // namespace pathproof::judge
