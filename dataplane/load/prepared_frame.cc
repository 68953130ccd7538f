#include "dataplane/load/prepared_frame.h"

#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include <cstring>

#include "dataplane/base/be.h"
#include "dataplane/frame/offload.h"
#include "dataplane/frame/transport_shape.h"
#include "dataplane/load/hex_digits.h"
#include "dataplane/load/seal.h"

namespace pathproof::load {
namespace {

using frame::ChecksumMode;
using frame::PartialSum;

std::uint32_t word_sum(PartialSum sum) {
    return __builtin_bswap16(frame::folded(sum));
}

std::uint16_t load_word(const std::uint8_t* at) {
    std::uint16_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

template <typename T>
void store(std::uint8_t* at, const T& value) {
    std::memcpy(at, &value, sizeof value);
}

std::uint32_t words_of(std::uint32_t memory) {
    return (memory & 0xffff) + (memory >> 16);
}

// The modes for which the sum around a packet needs none of the packet's bytes: an IP header and a
// transport with right checksums (whoever writes them) add up to 0 and to what their pseudo-header
// lacks (Linux calls that local checksum offload).
bool is_made_right(ChecksumMode mode) {
    return mode == ChecksumMode::kSoftware || mode == ChecksumMode::kOffload;
}

FieldWork work_of(ChecksumMode transport) {
    switch (transport) {
        case ChecksumMode::kSoftware: return FieldWork::kSummed;
        case ChecksumMode::kOffload:
        case ChecksumMode::kPseudo:
        case ChecksumMode::kZero: return FieldWork::kNone;
        case ChecksumMode::kComplement:
        case ChecksumMode::kPlusOne:
        case ChecksumMode::kStaleSourcePort:
        case ChecksumMode::kSwapped:
        case ChecksumMode::kRandom: break;
    }
    return FieldWork::kSealed;
}

FieldWork work_of(const frame::PacketSpec& packet) {
    const ChecksumMode ip = packet.ip_checksum;
    if (is_ipv4(packet) && !is_made_right(ip) && ip != ChecksumMode::kZero) {
        return FieldWork::kSealed;
    }
    return work_of(packet.transport_checksum);
}

FieldWork outer_work_of(const frame::TunnelSpec& tunnel, const frame::PacketSpec& inner) {
    if (!frame::over_udp(tunnel.kind)) {
        return FieldWork::kNone;
    }
    const bool right = is_made_right(inner.transport_checksum) &&
                       (!is_ipv4(inner) || is_made_right(inner.ip_checksum));
    const FieldWork work = work_of(tunnel.outer.transport_checksum);
    return work == FieldWork::kSummed && !right ? FieldWork::kSealed : work;
}

}  // namespace

std::uint32_t host_part(const frame::IpAddress& address) noexcept {
    std::uint32_t memory;
    std::memcpy(&memory, address.bytes.data() + address.size() - sizeof memory, sizeof memory);
    return __builtin_bswap32(memory);
}

Result<PreparedFrame> PreparedFrame::make(const SourcePlan& plan, const MixPart& part,
                                          std::uint32_t mark) {
    ClassFrame frame = TRY(class_frame(plan, part));
    PreparedFrame made(std::move(frame));
    made.stream_ = plan.stream;
    made.first_address_ = host_part(plan.spec.packet.source.address);
    made.choose_work(plan);
    made.clear_own_fields(plan);
    made.sum_up();
    if (made.outer_work_ == FieldWork::kSummed) {
        made.sum_up_outer(!plan.outer_source_ports.empty());
    }
    made.write_constant_checksums();
    TRY(frame::check(frame::offload_request(made.frame_.spec)));
    made.describe(mark);
    return made;
}

void PreparedFrame::choose_work(const SourcePlan& plan) noexcept {
    const frame::FrameSpec& spec = frame_.spec;
    work_ = work_of(spec.packet);
    if (spec.tunnel) {
        outer_work_ = outer_work_of(*spec.tunnel, spec.packet);
    }
    if (outer_work_ == FieldWork::kSealed) {
        work_ = FieldWork::kSealed;
    }
    if (work_ == FieldWork::kSealed) {
        outer_work_ = FieldWork::kNone;
    }
    const bool pseudo = shape_of(spec.packet).pseudo_header == frame::PseudoHeader::kSummed;
    const ChecksumMode mode = spec.packet.transport_checksum;
    presets_ = pseudo && (mode == ChecksumMode::kOffload || mode == ChecksumMode::kPseudo);
    outer_in_frame_ = outer_work_ == FieldWork::kSummed && plan.outer_source_ports.empty();
    outer_follows_row_ = is_ipv4(spec.packet) && pseudo;
    zero_as_ = spec.packet.transport == frame::Transport::kUdp ? 0xffff : 0;
}

// Clears the fields that differ from frame to frame, so that the sums cover the rest only.
void PreparedFrame::clear_own_fields(const SourcePlan& plan) noexcept {
    std::uint8_t* const bytes = frame_.bytes.data();
    const FieldPlaces& places = frame_.places;
    std::memset(bytes + places.number, 0, number_bytes(frame_.form));
    std::memset(bytes + places.time, 0, time_bytes(frame_.form));
    std::memset(bytes + places.port, 0, 2);
    std::memset(bytes + places.address, 0, 4);
    if (places.id != 0) {
        std::memset(bytes + places.id, 0, 2);
    }
    if (places.query_type != 0 && plan.pairing == SourcePlan::Pairing::kPairs) {
        std::memset(bytes + places.query_type, 0, 2);
    }
    if (places.outer_port != 0 && !plan.outer_source_ports.empty()) {
        std::memset(bytes + places.outer_port, 0, 2);
    }
    low_word_place_ = static_cast<std::uint16_t>(places.number + number_bytes(frame_.form) - 2);
}

void PreparedFrame::sum_up() noexcept {
    const frame::PacketSpec& packet = frame_.spec.packet;
    const frame::PacketLayout& layout = frame_.layout.packet;
    const std::uint8_t* const bytes = frame_.bytes.data();
    const PartialSum pseudo = pseudo_sum(bytes, packet, layout);
    pseudo_sum_ = word_sum(pseudo);
    const frame::Bytes transport{bytes + layout.transport,
                                 static_cast<std::size_t>(layout.end - layout.transport)};
    fixed_sum_ = word_sum(frame::sum_bytes(transport, pseudo));
    if (is_ipv4(packet)) {
        ip_header_sum_ =
            word_sum(frame::sum_bytes({bytes + layout.network, network_bytes(packet)}));
    }
}

// Takes the sum of one whole frame, the first; of the others it differs by outer port and, over
// IPv4, by what the inner pseudo-header takes out of it: the source address.
void PreparedFrame::sum_up_outer(bool ports_in_turn) noexcept {
    std::vector<std::uint8_t> first = frame_.bytes;
    store(first.data() + frame_.places.address, __builtin_bswap32(first_address_));
    // Count the checksums that a NIC completes with their final values.
    frame::FrameSpec right = frame_.spec;
    right.packet.ip_checksum = ChecksumMode::kSoftware;
    right.packet.transport_checksum = ChecksumMode::kSoftware;
    load::seal(first.data(), right, frame_.layout);
    std::memset(first.data() + frame_.places.outer_checksum, 0, 2);
    if (ports_in_turn) {
        std::memset(first.data() + frame_.places.outer_port, 0, 2);
    }
    const frame::PacketLayout& outer = frame_.layout.outer;
    const PartialSum sum = frame::sum_bytes(
        {first.data() + outer.transport, static_cast<std::size_t>(outer.end - outer.transport)},
        pseudo_sum(first.data(), frame_.spec.tunnel->outer, outer));
    outer_fixed_sum_ = word_sum(sum);
    if (outer_follows_row_) {
        outer_fixed_sum_ += words_of(__builtin_bswap32(first_address_));
        outer_fixed_sum_ = word_sum(outer_fixed_sum_);
    }
}

// Writes the envelope's checksums: its addresses are the same in all frames. The inner packet's are
// written once a row or with each frame.
void PreparedFrame::write_constant_checksums() noexcept {
    if (!frame_.spec.tunnel || work_ == FieldWork::kSealed) {
        return;
    }
    std::vector<std::uint8_t> sealed = frame_.bytes;
    load::seal(sealed.data(), frame_.spec, frame_.layout);
    const auto keep = [&](std::size_t at) {
        store(frame_.bytes.data() + at, load_word(&sealed[at]));
    };
    if (is_ipv4(frame_.spec.tunnel->outer)) {
        keep(frame_.layout.outer.network + offsetof(rte_ipv4_hdr, hdr_checksum));
    }
    if (frame_.places.outer_checksum != 0 && outer_work_ == FieldWork::kNone) {
        keep(frame_.places.outer_checksum);
    }
}

void PreparedFrame::describe(std::uint32_t mark) noexcept {
    const frame::OffloadRequest request = frame::offload_request(frame_.spec);
    rte_mbuf mbuf{};
    mbuf.data_off = RTE_PKTMBUF_HEADROOM;
    mbuf.refcnt = 1;
    mbuf.nb_segs = 1;
    mbuf.port = RTE_MBUF_PORT_INVALID;
    mbuf.pkt_len = size();
    mbuf.data_len = size();
    mbuf.hash.usr = mark;
    frame::apply_offload(mbuf, request);
    std::memcpy(&rearm_, &mbuf.rearm_data, sizeof rearm_);
    std::memcpy(&description_, &mbuf.rx_descriptor_fields1, sizeof description_);
    tx_offload_ = mbuf.tx_offload;
    offloaded_ = request.any();
    port_offloads_ = request.port_offloads;
}

std::uint32_t PreparedFrame::write_time(std::uint8_t* frame, std::uint64_t sent_ns) const noexcept {
    std::uint8_t* const at = frame + frame_.places.time;
    const std::uint64_t time = sent_ns & frame::kStampTimeMask;
    switch (frame_.form) {
        case StampForm::kDigits:
            for (unsigned pair = 0; pair < 6; ++pair) {
                store(at + 2 * pair, kHexPairs[time >> (40 - 8 * pair) & 0xff]);
            }
            break;
        case StampForm::kBinary: store(at, __builtin_bswap64(time)); break;
        case StampForm::kSyn:
            store(at, __builtin_bswap32(static_cast<std::uint32_t>(time >> frame::kTcpTimeShift)));
            break;
    }
    return time_words(frame);
}

std::uint32_t PreparedFrame::time_words(const std::uint8_t* frame) const noexcept {
    const std::uint8_t* const at = frame + frame_.places.time;
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < time_bytes(frame_.form); i += 2) {
        sum += load_word(at + i);
    }
    return sum;
}

void PreparedFrame::change_time(std::uint64_t sent_ns) noexcept {
    sent_ns_ = sent_ns;
    time_sum_ = write_time(frame_.bytes.data(), sent_ns);
}

void PreparedFrame::change_upper(std::uint32_t upper) noexcept {
    upper_ = upper;
    std::uint8_t* const at = frame_.bytes.data() + frame_.places.number;
    if (frame_.form == StampForm::kDigits) {
        upper_sum_ = 0;
        for (unsigned pair = 0; pair < 3; ++pair) {
            const std::uint16_t digits = kHexPairs[upper >> (16 - 8 * pair) & 0xff];
            store(at + 2 * pair, digits);
            upper_sum_ += digits;
        }
        return;
    }
    low_word_base_ = static_cast<std::uint16_t>(upper & 0xff);
    std::uint32_t high = upper >> 8;
    if (frame_.form == StampForm::kSyn) {
        high = (high & 0xfff) | std::uint32_t{stream_} << 12;
    }
    const std::uint16_t word = __builtin_bswap16(static_cast<std::uint16_t>(high));
    store(at, word);
    upper_sum_ = word;
}

void PreparedFrame::change_row(std::uint32_t row) noexcept {
    row_ = row;
    std::uint8_t* const bytes = frame_.bytes.data();
    const std::uint32_t address = address_word(row);
    store(bytes + frame_.places.address, address);
    const std::uint32_t sum = words_of(address);
    const frame::PacketSpec& packet = frame_.spec.packet;
    const bool pseudo = shape_of(packet).pseudo_header == frame::PseudoHeader::kSummed;
    row_sum_ = pseudo ? sum : 0;
    if (frame_.places.ip_checksum != 0 && packet.ip_checksum == ChecksumMode::kSoftware) {
        store(bytes + frame_.places.ip_checksum, checksum_word(ip_header_sum_ + sum));
    }
    if (presets_) {
        store(bytes + frame_.places.checksum,
              static_cast<std::uint16_t>(word_sum(PartialSum{pseudo_sum_} + sum)));
    }
    // ~sum, word by word: the pseudo-header's part, taken out.
    outer_row_sum_ = outer_follows_row_ ? words_of(~address) : 0;
    if (outer_in_frame_) {
        store(bytes + frame_.places.outer_checksum, checksum_for(outer_run_sum(), 0xffff));
    }
}

void PreparedFrame::seal(std::uint8_t* frame) const noexcept {
    load::seal(frame, frame_.spec, frame_.layout);
}

void PreparedFrame::restamp(std::uint8_t* frame, std::uint64_t sent_ns) const noexcept {
    const std::uint32_t before = time_words(frame);
    const std::uint32_t after = write_time(frame, sent_ns);
    if (work_ == FieldWork::kSealed) {
        seal(frame);
        return;
    }
    if (work_ == FieldWork::kNone) {
        return;
    }
    // RFC 1624: ~(~checksum + ~before + after). A right inner checksum hides its data from an
    // outer one. `before` is a sum of up to 6 words, and so is its complement's.
    std::uint8_t* const field = frame + frame_.places.checksum;
    const auto words = static_cast<std::uint32_t>(time_bytes(frame_.form) / 2);
    const auto checksum = static_cast<std::uint16_t>(~load_word(field));
    store(field, checksum_for(checksum + (words * 0xffffu - before) + after, zero_as_));
}

}  // namespace pathproof::load
