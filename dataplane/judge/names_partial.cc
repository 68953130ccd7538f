// Sums that were never made, never finished or badly finished.
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

std::uint16_t swapped(std::uint32_t value) {
    return __builtin_bswap16(static_cast<std::uint16_t>(value));
}

// The plain sum of words without any carry coming back in.
std::uint64_t words_of(Bytes bytes) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 2) {
        sum += bytes[at] * 256u + (at + 1 < bytes.size() ? bytes[at + 1] : 0u);
    }
    return sum;
}

std::uint64_t words_of(const frame::IpAddress& address) {
    return words_of({address.bytes.data(), address.size()});
}

std::uint64_t covered_words(const Suspect& suspect) {
    const Bytes before = suspect.frame.subspan(suspect.start(), suspect.field - suspect.start());
    const Bytes behind =
        suspect.frame.subspan(suspect.field + 2, suspect.end() - suspect.field - 2);
    return words_of(before) + words_of(behind);
}

void predict_carry(const Suspect& suspect, Predictions& out) {
    const PartialSum right = frame::sum_word(static_cast<std::uint16_t>(suspect.right));
    const auto add = [&](std::uint16_t value) { out.push_back({ChecksumName::kCarry, value}); };
    add(frame::folded(right + frame::sum_word(1)));
    add(frame::folded(right + frame::without_word(1)));
    std::uint64_t words = covered_words(suspect);
    if (!suspect.has_pseudo_header()) {
        return add(static_cast<std::uint16_t>(~words));
    }
    const PacketView& packet = suspect.packet;
    const std::uint64_t pseudo = words_of(packet.source) + words_of(packet.final_destination) +
                                 packet.protocol + packet.transport_length;
    add(static_cast<std::uint16_t>(~(words + pseudo)));
    // The pseudo-header's sum is software's, with its carries; the rest is not.
    add(static_cast<std::uint16_t>(~(words + pseudo_of(packet, packet.transport_length))));
}

// The field as handed over, unless that has a name of its own. What was right for the frame that
// was handed over is not called kept: the frame changed after it was summed.
bool has_own_name(const Suspect& suspect, const ChecksumFinding& handed) {
    const std::uint32_t value = handed.wire;
    if (value == 0 || same(value, suspect.right) || handed.state == ChecksumState::kGood) {
        return true;
    }
    return suspect.has_pseudo_header() &&
           (same(value, pseudo_of(suspect.packet, suspect.packet.transport_length)) ||
            same(value, pseudo_of(suspect.packet, 0)));
}

// A sum over a field that still held something. Over a finished checksum it comes out as 0, which
// is called FIELD_ZERO but under UDP, where it is sent as 0xffff.
void predict_double(const Suspect& suspect, const std::optional<ChecksumFinding>& handed,
                    Predictions& out) {
    const bool known = handed && handed->wire != 0;
    if (known && same(handed->wire, suspect.right) && suspect.protocol != Protocol::kUdp) {
        return;
    }
    if (known || (!handed && suspect.has_pseudo_header())) {
        const auto held = known ? static_cast<std::uint16_t>(handed->wire)
                                : pseudo_of(suspect.packet, suspect.packet.transport_length);
        add(suspect, ChecksumName::kDouble, suspect.sum() + frame::sum_word(held), out);
    }
}

}  // namespace

void predict_partial(const Suspect& suspect, Predictions& out) {
    const auto handed = same_checksum(suspect, suspect.evidence->handed_over);
    const auto right = static_cast<std::uint16_t>(suspect.right);
    if (suspect.has_pseudo_header()) {
        const std::uint16_t pseudo = pseudo_of(suspect.packet, suspect.packet.transport_length);
        out.push_back({ChecksumName::kPseudo, pseudo});
        out.push_back({ChecksumName::kPseudoNoLength, pseudo_of(suspect.packet, 0)});
        out.push_back({ChecksumName::kPseudoInverted, static_cast<std::uint16_t>(~pseudo)});
    }
    out.push_back({ChecksumName::kFieldZero, 0});
    if (handed && !has_own_name(suspect, *handed)) {
        out.push_back({ChecksumName::kFieldKeep, handed->wire});
    }
    out.push_back({ChecksumName::kComplement, static_cast<std::uint16_t>(~right)});
    predict_double(suspect, handed, out);
    out.push_back({ChecksumName::kSwapped, swapped(right)});
    predict_carry(suspect, out);
}

}  // namespace pathproof::judge
