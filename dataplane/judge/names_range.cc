// Sums over too much, too little, or begun in the wrong place.
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

// Bytes that follow the data, as a sum that goes on with them has them: behind an odd number the
// first one fills the low half of a word.
PartialSum following(Bytes bytes, std::size_t data_length) {
    if (data_length % 2 == 0 || bytes.empty()) {
        return frame::sum_bytes(bytes);
    }
    return frame::sum_bytes(bytes.subspan(1), frame::sum_word(bytes.front()));
}

void pad_to(const Suspect& suspect, std::size_t data_end, std::size_t end, Predictions& out) {
    const auto count = static_cast<std::uint32_t>(end - data_end);
    const PartialSum data = following(suspect.frame.subspan(data_end, count),
                                      data_end - suspect.packet.transport_offset);
    const PartialSum length = frame::sum_word(static_cast<std::uint16_t>(count));
    const bool silent = same(frame::folded(data), 0);
    if (!silent) {
        add(suspect, ChecksumName::kPadData, suspect.sum() + data, out);
    }
    if (suspect.has_pseudo_header()) {
        add(suspect, ChecksumName::kPadLength, suspect.sum() + length, out);
        if (!silent) {  // padding of zeros shows in the length alone: that is PAD_LEN
            add(suspect, ChecksumName::kPadDataAndLength, suspect.sum() + data + length, out);
        }
    }
}

void predict_odd(const Suspect& suspect, Predictions& out) {
    if ((suspect.end() - suspect.start()) % 2 == 0) {
        return;
    }
    const std::uint8_t last = suspect.frame[suspect.end() - 1];
    const PartialSum rest =
        suspect.sum() + frame::without_word(static_cast<std::uint16_t>(last << 8));
    add(suspect, ChecksumName::kOddLastDropped, rest, out);
    add(suspect, ChecksumName::kOddLastLane, rest + frame::sum_word(last), out);
}

struct PseudoHeader {
    const frame::IpAddress& destination;
    std::uint8_t protocol;
    std::uint32_t length;
};

// The sum with another pseudo-header in the place of the right one.
PartialSum with_pseudo(const Suspect& suspect, const PseudoHeader& header) {
    const PacketView& packet = suspect.packet;
    return suspect.sum() + frame::without_word(pseudo_of(packet, packet.transport_length)) +
           frame::pseudo_header_sum(packet.source, header.destination, header.protocol,
                                    header.length);
}

void predict_extension_pseudo(const Suspect& suspect, Predictions& out) {
    const PacketView& packet = suspect.packet;
    if (packet.network != frame::Network::kIpv6 || packet.network_length == 40 ||
        !suspect.has_pseudo_header()) {
        return;
    }
    const std::uint32_t payload = word_at(suspect.frame, packet.network_offset + 4);
    const std::uint8_t next = suspect.frame[packet.network_offset + 6];
    for (const frame::IpAddress* to : {&packet.final_destination, &packet.destination}) {
        for (const std::uint8_t protocol : {next, packet.protocol}) {
            for (const std::uint32_t length : {payload, packet.transport_length}) {
                add(suspect, ChecksumName::kExthdrPseudo,
                    with_pseudo(suspect, {*to, protocol, length}), out);
            }
        }
    }
}

// A sum that begins `early` bytes before the transport header, or so many behind its start.
void begun_early(const Suspect& suspect, ChecksumName name, std::size_t early, Predictions& out) {
    if (early != 0 && early <= suspect.packet.transport_offset) {
        const Bytes more = suspect.frame.subspan(suspect.packet.transport_offset - early, early);
        add(suspect, name, suspect.sum() + frame::sum_bytes(more), out);
    }
}
void begun_late(const Suspect& suspect, ChecksumName name, std::size_t late, Predictions& out) {
    const std::size_t start = suspect.packet.transport_offset;
    if (start + late <= suspect.field) {
        const PartialSum left_out = frame::sum_bytes(suspect.frame.subspan(start, late));
        add(suspect, name, suspect.sum() + without(left_out), out);
    }
}

}  // namespace

void predict_padding(const Suspect& suspect, Predictions& out) {
    const PacketView& packet = suspect.packet;
    if (suspect.protocol == Protocol::kIpv4) {
        return;
    }
    const std::size_t data_end = packet.transport_offset + packet.transport_length;
    const std::size_t frame_end = packet.network_end + packet.trailer_length;
    if (data_end < packet.network_end && packet.network_end < frame_end) {
        pad_to(suspect, data_end, packet.network_end, out);
    }
    if (data_end < frame_end && packet.covered_length == packet.transport_length) {
        pad_to(suspect, data_end, frame_end, out);
    }
    predict_odd(suspect, out);
}

void predict_start(const Suspect& suspect, Predictions& out) {
    const PacketView& packet = suspect.packet;
    if (suspect.protocol == Protocol::kIpv4) {
        const Bytes plain = suspect.frame.subspan(packet.network_offset, 20);
        const Bytes options = suspect.frame.subspan(packet.network_offset + plain.size(),
                                                    packet.network_length - plain.size());
        if (!options.empty()) {
            add(suspect, ChecksumName::kOptionsStart,
                suspect.sum() + without(frame::sum_bytes(options)), out);
        }
        return;
    }
    predict_extension_pseudo(suspect, out);
    const bool ipv6 = packet.network == frame::Network::kIpv6;
    const std::size_t fixed = ipv6 ? 40 : 20;
    begun_early(suspect, ipv6 ? ChecksumName::kExthdrStart : ChecksumName::kOptionsStart,
                packet.network_length - fixed, out);
    const std::size_t tags =
        suspect.view.outer.vlans + (suspect.depth == Depth::kInner ? suspect.view.inner.vlans : 0u);
    for (std::size_t tag = 1; tag <= tags; ++tag) {
        begun_early(suspect, ChecksumName::kVlanStart, 4 * tag, out);
        begun_late(suspect, ChecksumName::kVlanStart, 4 * tag, out);
    }
}

}  // namespace pathproof::judge
