#include "dataplane/load/sent_frames.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <array>
#include <cstring>

#include "dataplane/base/be.h"
#include "dataplane/judge/frame_difference.h"
#include "dataplane/load/prepared_frame.h"

namespace pathproof::load {
namespace {

using frame::Bytes;
using frame::ChecksumMode;
using frame::TrafficClass;
using judge::load;

constexpr std::size_t kVectorBytes = 16;
// Frames around the next one that a frame whose number says nothing may be.
constexpr std::int64_t kAround[] = {0, 1, -1, 2, -2, 3, -3};
// A frame that differs in more bytes was never one of ours, unless all its headers are.
constexpr unsigned kFewBytes = 8;
// Step forward up to this distance from the last frame looked at; seek beyond it.
constexpr std::uint64_t kNearby = 64;
// Largest number of bytes by which a frame may be shifted in front of its payload: four tags, or
// headers that were lost.
constexpr int kFarthestShift = 16;
constexpr std::size_t kShortestHeaders = 14;
constexpr std::size_t kShortestFrame = 60;  // IEEE 802.3, without FCS

// Names in the order of SentFrames::AnswerField.
constexpr const char* kAnswerFields[] = {"source address",   "source port", "destination address",
                                         "destination port", "dns.id",      "dns.rcode",
                                         "dns.name",         "dns.type",    "payload",
                                         "dns.records"};

void right(ChecksumMode& mode) {
    mode = mode == ChecksumMode::kOffload ? ChecksumMode::kSoftware : mode;
}

// Returns the plan of one stream, with the checksums that a NIC completes as they leave the NIC.
SourcePlan plan_of_stream(const IntakePlan& plan, unsigned stream) {
    SourcePlan sent = *plan.sent;
    sent.stream = static_cast<std::uint8_t>(stream);
    sent.first_flow = stream;
    sent.flow_step = plan.streams;
    right(sent.spec.packet.ip_checksum);
    right(sent.spec.packet.transport_checksum);
    if (sent.spec.tunnel) {
        right(sent.spec.tunnel->outer.ip_checksum);
        right(sent.spec.tunnel->outer.transport_checksum);
    }
    return sent;
}

std::size_t tag_bytes(Bytes frame) {
    std::size_t bytes = 0;
    while (bytes < 16 && 14 + bytes <= frame.size()) {
        const auto type = load<std::uint16_t>(frame.data() + 12 + bytes);
        if (type != 0x0081 && type != 0xa888 && type != 0x0091) {
            break;
        }
        bytes += 4;
    }
    return bytes;
}

// Returns whether any of the bytes is an upper-case letter: names come back as they were sent.
bool has_capitals(const std::uint8_t* at, std::size_t bytes) {
    bool any = false;
    for (std::size_t i = 0; i < bytes; ++i) {
        any |= (at[i] & 0x60) == 0x40;
    }
    return any;
}

// Fields that a path may change, by how their names end, and which bits of them: all without any.
struct MayChange {
    const char* field;
    unsigned word;
    std::array<std::uint8_t, 4> bits{};
};
constexpr MayChange kMayChange[] = {
    {"eth.destination", Allowance::kMac},
    {"eth.source", Allowance::kMac},
    {".type", Allowance::kVlan},  // of a tag
    {".control", Allowance::kVlan},
    {"ip.ttl", Allowance::kTtl},
    {"ip.hop_limit", Allowance::kTtl},
    {"ip.tos", Allowance::kDscp, {0xfc}},
    {"ip.tos", Allowance::kEcn, {0x03}},
    {"class_and_flow", Allowance::kDscp, {0x0f, 0xc0}},
    {"class_and_flow", Allowance::kEcn, {0, 0x30}},
    {"class_and_flow", Allowance::kFlowLabel, {0, 0x0f, 0xff, 0xff}},
    {"ip.id", Allowance::kId},
    {"ip.fragment", Allowance::kDf, {0x40}},
    {"ip.source", Allowance::kSource},
    {"ip.destination", Allowance::kDestination},
    {"source_port", Allowance::kSourcePort},
    {"icmp.rest", Allowance::kSourcePort, {0xff, 0xff}},
    {"destination_port", Allowance::kDestinationPort}};

// Bits of byte `index` that one entry of the table lets change.
unsigned changeable_bits(const MayChange& entry, std::size_t index) {
    if (entry.bits == std::array<std::uint8_t, 4>{}) {
        return 0xff;
    }
    return index < entry.bits.size() ? entry.bits[index] : 0;
}

// Bits of byte `index` of an outermost field.
std::uint8_t may_change(const std::string& name, std::size_t index, const Allowance& allowance) {
    std::uint8_t bits = 0;
    const bool inside = name.starts_with("inner.") || name.starts_with("tunnel.") ||
                        name == "eth.type" || name == "outer.eth.type" || name == "icmp.type" ||
                        name == "dns.type";
    for (const MayChange& one : kMayChange) {
        if (!inside && allowance.has(one.word) && name.ends_with(one.field)) {
            bits = static_cast<std::uint8_t>(bits | changeable_bits(one, index));
        }
    }
    return bits;
}

// Bits of byte `index` in which a service tag's 0x88a8 changes: a packet socket's driver puts the
// outermost tag back as 0x8100 (rte_vlan_insert).
std::uint8_t service_tag_bits(std::size_t index) {
    return index == 0 ? 0x88 ^ 0x81 : 0xa8;
}

// The time that a frame was sent at is the one it has, if it has one: `at` in both.
void take_time(StampForm form, std::size_t at, Bytes seen, Bytes sent) {
    const std::size_t bytes = time_bytes(form);
    if (at + bytes > seen.size()) {
        return;
    }
    const Bytes time = seen.subspan(at, bytes);
    const auto is_digit = [](std::uint8_t digit) {
        return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
    };
    if (form == StampForm::kDigits && !std::ranges::all_of(time, is_digit)) {
        return;
    }
    // The binary form's upper two bytes are always 0.
    const std::size_t from = form == StampForm::kBinary ? 2 : 0;
    // `sent` lies in SentFrames' own room.
    std::ranges::copy(time.subspan(from), const_cast<std::uint8_t*>(sent.data()) + at + from);
}

// The payload by what the stamp is in it.
void name_stamp(std::vector<judge::Field>& fields, const ClassFrame& frame) {
    const auto payload = std::ranges::find_if(
        fields, [&](const judge::Field& one) { return one.offset == frame.layout.packet.payload; });
    if (payload == fields.end() || frame.form == StampForm::kSyn) {
        return;
    }
    const judge::Field whole = *payload;
    fields.erase(payload);
    std::uint32_t at = whole.offset;
    const auto add = [&](const char* name, std::uint32_t end) {
        fields.push_back({name, at, end - at, judge::FieldKind::kPayload});
        at = end;
    };
    if (frame.form == StampForm::kDigits) {
        add("dns.id", at + 2);
        add("dns.header", whole.offset + frame::kDnsHeaderBytes);
        add("dns.name", frame.places.query_type);
        add("dns.type", frame.places.query_type + 2u);
    } else {
        add("stamp", frame.places.number);
        add("stamp.number", frame.places.time);
        add("stamp.time", frame.places.time + 8u);
    }
    if (at < whole.offset + whole.length) {
        add("payload", whole.offset + whole.length);
    }
}

}  // namespace

Result<SentFrames> SentFrames::make(const IntakePlan& plan) {
    SentFrames made;
    made.expects_ = plan.expects;
    made.allowance_ = plan.allowed;
    made.flow_checked_ =
        !plan.allowed.has(plan.expects == IntakePlan::Expects::kFrames
                              ? Allowance::kSource | Allowance::kSourcePort
                              : Allowance::kDestination | Allowance::kDestinationPort);
    made.service_ = plan.sent->spec.packet.destination;
    std::memcpy(&made.last_four_, &made.service_.address.bytes[made.service_.address.size() - 4],
                4);
    made.echo_port_ = plan.sent->background_port;
    made.rules_ = plan.right_answers;
    made.tunnel_ports_ = plan.tunnel_ports;
    if (plan.expects == IntakePlan::Expects::kAnswers) {
        for (const char* name : kAnswerFields) {
            made.name_index(name);
        }
    }
    for (unsigned stream = 0; stream < plan.streams; ++stream) {
        const SourcePlan sent = plan_of_stream(plan, stream);
        auto source = TRY(FrameSource::make(sent));
        made.ids_.emplace_back(plan.seed, static_cast<std::uint8_t>(stream));
        made.room_.resize(RTE_PKTMBUF_HEADROOM + source.longest_frame() + 64u);
        made.moved_.reserve(source.longest_frame());
        made.streams_.push_back({.source = std::move(source), .run = {}});
    }
    Stream& first = made.streams_.front();
    for (std::size_t n = 0; n < first.source.parts(); ++n) {
        made.parts_.push_back(made.part_of(first.source.part(n),
                                           plan.sent->pairing == SourcePlan::Pairing::kPairs &&
                                               plan.sent->mix[n].traffic == TrafficClass::kDnsA,
                                           !plan.sent->outer_source_ports.empty()));
    }
    return made;
}

std::uint8_t SentFrames::name_index(const std::string& name) {
    auto at = std::ranges::find(names_, name);
    if (at == names_.end()) {
        names_.push_back(name);
        at = names_.end() - 1;
    }
    // More names than bits no frame of the classes has; the last one then stands for the rest.
    return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(at - names_.begin(), 63));
}

SentFrames::Part SentFrames::part_of(const PreparedFrame& prepared, bool pairs,
                                     bool ports_in_turn) {
    const ClassFrame& frame = prepared.frame();
    const FieldPlaces& places = frame.places;
    const frame::PacketSpec& packet = frame.spec.packet;
    Part part{.traffic = frame.traffic,
              .places = places,
              .form = frame.form,
              .payload = frame.layout.packet.payload,
              .udp = packet.transport == frame::Transport::kUdp,
              .has_checksum = packet.transport_checksum != ChecksumMode::kZero};
    part.has_outer_checksum = places.outer_checksum != 0 &&
                              frame.spec.tunnel->outer.transport_checksum != ChecksumMode::kZero;
    const Bytes bytes(prepared.bytes(), prepared.size());
    part.fields = judge::fields_of(bytes, frame::parse_frame(bytes, tunnel_ports_));
    name_stamp(part.fields, frame);
    part.common.assign(bytes.size(), 0xff);
    part.may.assign(bytes.size(), 0);
    part.field_of.assign(bytes.size(), 0);
    const auto open = [&](std::size_t at, std::size_t count) {
        std::fill_n(part.common.begin() + static_cast<std::ptrdiff_t>(at), count, std::uint8_t{0});
    };
    for (std::size_t n = 0; n < part.fields.size(); ++n) {
        const judge::Field& field = part.fields[n];
        part.name_of.push_back(name_index(field.name));
        const bool zero = (field.offset == places.checksum && !part.has_checksum) ||
                          (places.outer_checksum != 0 && field.offset == places.outer_checksum &&
                           !part.has_outer_checksum);
        if (field.kind == judge::FieldKind::kChecksum && !zero) {
            open(field.offset, field.length);
        }
        const bool service_tag =
            field.name.ends_with("eth.vlan1.type") && bytes[field.offset] == 0x88;
        for (std::uint32_t i = 0; i < field.length; ++i) {
            part.field_of[field.offset + i] = static_cast<std::uint8_t>(n);
            part.may[field.offset + i] =
                service_tag ? service_tag_bits(i) : may_change(field.name, i, allowance_);
        }
        if (part.ttl == 0 &&
            (field.name.ends_with("ip.ttl") || field.name.ends_with("hop_limit"))) {
            part.ttl = field.offset;
        }
    }
    open(places.number, number_bytes(frame.form));
    // The binary time's upper two bytes are 0.
    const std::size_t constant = frame.form == StampForm::kBinary ? 2 : 0;
    open(places.time + constant, time_bytes(frame.form) - constant);
    open(places.port, 2);
    open(places.address, 4);
    if (places.id != 0) {
        open(places.id, 2);
    }
    if (pairs) {
        open(places.query_type, 2);
    }
    if (ports_in_turn && places.outer_port != 0) {
        open(places.outer_port, 2);
    }
    part.compared = part.common;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        part.compared[i] &= static_cast<std::uint8_t>(~part.may[i]);
        part.mixed_end =
            part.compared[i] != 0xff ? static_cast<std::uint32_t>(i + 1) : part.mixed_end;
    }
    for (const char* name : {"eth.vlan", "frame.length", "stamp.time"}) {
        name_index(name);
    }
    return part;
}

std::uint64_t SentFrames::bit(const char* name) noexcept {
    const auto at = std::ranges::find(names_, name);
    return std::uint64_t{1} << std::min<std::ptrdiff_t>(at - names_.begin(), 63);
}

// The number closest to the one expected next whose lower bits these are.
std::uint64_t SentFrames::number_of(const Stream& stream, std::uint32_t sequence,
                                    TrafficClass traffic) noexcept {
    const unsigned bits = traffic == TrafficClass::kTcpSyn ? frame::kTcpSequenceBits : 32;
    const auto ahead = static_cast<std::int32_t>(
                           (sequence - static_cast<std::uint32_t>(stream.next)) << (32 - bits)) >>
                       (32 - bits);
    const auto number = static_cast<std::int64_t>(stream.next) + ahead;
    return number < 0 ? sequence : static_cast<std::uint64_t>(number);
}

void SentFrames::find_run(Stream& stream, std::uint64_t number) noexcept {
    if (number < stream.position || number - stream.position > kNearby) {
        stream.source.seek(number);
        stream.position = number;
    }
    do {
        stream.run = stream.source.ahead();
        stream.run.first = stream.position;
        stream.source.skip(stream.run.frames);
        stream.position += stream.run.frames;
    } while (number >= stream.position);
}

TrafficClass SentFrames::class_of(const FlowRun& run, std::uint64_t number) const noexcept {
    const bool second = run.pairs && run.is_second(static_cast<std::uint32_t>(number - run.first));
    return second ? TrafficClass::kDnsAaaa : parts_[run.part].traffic;
}

bool SentFrames::ttl_fits(const Part& part, const std::uint8_t* seen,
                          const std::uint8_t* sent) const noexcept {
    const auto fewer = static_cast<std::uint8_t>(*sent - *seen);
    return part.ttl == 0 || fewer == 0 ||
           (allowance_.has(Allowance::kTtl) && fewer == allowance_.hops);
}

bool SentFrames::as_sent(Bytes frame, const Tracked& claimed) noexcept {
    Stream& stream = streams_[claimed.stream];
    const std::uint64_t number = number_of(stream, claimed.sequence, claimed.traffic);
    const FlowRun& run = run_with(stream, number);
    const auto index = static_cast<std::uint32_t>(number - run.first);
    const Part& part = parts_[run.part];
    const std::uint8_t* const seen = frame.data();
    const std::uint8_t* const sent = stream.source.part(run.part).bytes();
    const std::size_t size = part.compared.size();
    if (frame.size() != size) {
        return false;
    }
    const auto wrong = [&](std::size_t at) {
        return _mm_and_si128(_mm_xor_si128(load<__m128i>(seen + at), load<__m128i>(sent + at)),
                             load<__m128i>(part.compared.data() + at));
    };
    __m128i any = wrong(size - kVectorBytes);
    std::size_t at = 0;
    for (; at < part.mixed_end && at + kVectorBytes <= size; at += kVectorBytes) {
        any = _mm_or_si128(any, wrong(at));
    }
    for (; at + kVectorBytes <= size; at += kVectorBytes) {
        any = _mm_or_si128(any, _mm_xor_si128(load<__m128i>(seen + at), load<__m128i>(sent + at)));
    }
    const FieldPlaces& places = part.places;
    bool same = _mm_testz_si128(any, any) != 0;
    if (flow_checked_) {
        same = same && load<std::uint16_t>(seen + places.port) == run.port_word(index) &&
               load<std::uint32_t>(seen + places.address) == run.address;
    }
    if (run.outer_ports != nullptr && !allowance_.has(Allowance::kSourcePort)) {
        same = same && load<std::uint16_t>(seen + places.outer_port) == run.outer_ports[index];
    }
    if (allowance_.has(Allowance::kTtl)) {
        same = same && ttl_fits(part, seen + part.ttl, sent + part.ttl);
    }
    switch (part.form) {
        case StampForm::kDigits:
            same = same && claimed.content == Tracked::Content::kRight &&
                   class_of(run, number) == claimed.traffic &&
                   !has_capitals(seen + places.number, 24);
            break;
        case StampForm::kBinary:
            same = same && (places.id == 0 || load<std::uint16_t>(seen + places.id) ==
                                                  load<std::uint16_t>(seen + places.number + 2));
            break;
        case StampForm::kSyn: break;
    }
    // Under UDP 0 is no checksum at all; elsewhere 0xffff adds up to the same and is never written.
    const std::uint16_t never = part.udp ? 0 : 0xffff;
    same = same && (!part.has_checksum || load<std::uint16_t>(seen + places.checksum) != never) &&
           (!part.has_outer_checksum || load<std::uint16_t>(seen + places.outer_checksum) != 0);
    if (same) [[likely]] {
        stream.next = std::max(stream.next, number + 1);
        stream.first_seen = std::min(stream.first_seen, number);
    }
    return same;
}

Bytes SentFrames::rebuild(Stream& stream, std::uint64_t number) noexcept {
    rte_mbuf mbuf{};
    mbuf.buf_addr = room_.data();
    rte_mbuf* burst[] = {&mbuf};
    stream.source.seek(number);
    stream.source.fill(burst, 0);
    stream.position = number + 1;
    return {rte_pktmbuf_mtod(&mbuf, const std::uint8_t*), mbuf.pkt_len};
}

void SentFrames::compare_bytes(const std::uint8_t* seen, const std::uint8_t* sent, std::size_t from,
                               std::size_t to, const Part& part, Identified& found) const noexcept {
    for (std::size_t i = from; i < to; ++i) {
        const auto bits = static_cast<std::uint8_t>(seen[i] ^ sent[i]);
        const std::size_t field = part.field_of[i];
        const bool follows =
            part.common[i] == 0 && part.fields[field].kind == judge::FieldKind::kChecksum;
        if (bits == 0 || follows) {
            continue;
        }
        ++found.bytes;
        found.header_bytes += i < part.payload ? 1 : 0;
        if ((bits & ~part.may[i]) != 0) {
            found.fields |= std::uint64_t{1} << part.name_of[field];
        }
    }
}

Identified SentFrames::compare(Bytes seen, unsigned number_of_stream,
                               std::uint64_t number) noexcept {
    Stream& stream = streams_[number_of_stream];
    const FlowRun& run = run_with(stream, number);
    const Part& part = parts_[run.part];
    Identified found{.stream = static_cast<std::uint8_t>(number_of_stream),
                     .sequence = static_cast<std::uint32_t>(number),
                     .traffic = class_of(run, number),
                     .part = run.part};
    const Bytes sent = rebuild(stream, number);
    const std::size_t sent_tags = tag_bytes(sent);
    const std::size_t seen_tags = seen.size() == sent.size() ? sent_tags : tag_bytes(seen);
    const std::size_t same_from = seen_tags == sent_tags ? 12 : 12 + sent_tags;
    // As if the tags were as many.
    const std::uint8_t* const shifted = seen.data() + seen_tags - sent_tags;
    const std::size_t length = seen.size() + sent_tags - seen_tags;
    const auto word = [&](std::size_t at) { return load<std::uint16_t>(shifted + at); };
    const FieldPlaces& places = part.places;
    take_time(part.form, places.time, {shifted, length}, sent);
    compare_bytes(seen.data(), sent.data(), 0, std::min<std::size_t>(12, seen.size()), part, found);
    compare_bytes(shifted, sent.data(), same_from, std::min(sent.size(), length), part, found);
    const auto tag = load<std::uint16_t>(seen.data() + 12);
    const auto sent_tag = load<std::uint16_t>(sent.data() + 12);
    if (sent_tags > 0 && seen_tags == sent_tags && tag != sent_tag && tag != 0x0081) {
        found.fields |= std::uint64_t{1} << part.name_of[part.field_of[12]];
    }
    if (seen_tags != sent_tags) {
        ++found.bytes;
        found.fields |= allowance_.has(Allowance::kVlan) ? 0 : bit("eth.vlan");
    }
    const bool filled_up = seen_tags < sent_tags && seen.size() == kShortestFrame;
    if (length != sent.size() && !filled_up) {
        ++found.bytes;
        found.fields |= bit("frame.length");
    }
    if (part.ttl != 0 && part.ttl < length &&
        !ttl_fits(part, shifted + part.ttl, sent.data() + part.ttl)) {
        found.fields |= std::uint64_t{1} << part.name_of[part.field_of[part.ttl]];
    }
    const std::uint16_t never = part.udp ? 0 : 0xffff;
    if (part.has_checksum && places.checksum + 2u <= length && word(places.checksum) == never) {
        found.fields |= std::uint64_t{1} << part.name_of[part.field_of[places.checksum]];
    }
    if (part.has_outer_checksum && word(places.outer_checksum) == 0) {
        found.fields |= std::uint64_t{1} << part.name_of[part.field_of[places.outer_checksum]];
    }
    return found;
}

bool SentFrames::is_near(const Stream& stream, std::uint64_t number) noexcept {
    return number < stream.next + kNearby && number + kNearby >= stream.next;
}

std::optional<Identified> SentFrames::identify(Bytes frame, const Tracked* claimed,
                                               Sums sums) noexcept {
    std::optional<Identified> best;
    if (frame.size() < 34) {
        return best;
    }
    const auto consider = [&](unsigned stream, std::uint64_t number) {
        const Identified one = compare(frame, stream, number);
        best = !best || one.bytes < best->bytes ? one : *best;
    };
    std::uint64_t claims = 0;
    if (claimed != nullptr) {
        const Stream& stream = streams_[claimed->stream];
        claims = number_of(stream, claimed->sequence, claimed->traffic);
        if (claims == stream.next) {
            consider(claimed->stream, claims);
        }
    }
    if (!best || best->bytes > kFewBytes) {
        for (unsigned stream = 0; stream < streams_.size(); ++stream) {
            for (const std::int64_t apart : kAround) {
                const auto number = static_cast<std::int64_t>(streams_[stream].next) + apart;
                if (number >= 0) {
                    consider(stream, static_cast<std::uint64_t>(number));
                }
            }
        }
        const bool near_one_fits = best && best->bytes <= kFewBytes;
        if (claimed != nullptr && (sums == Sums::kRight || !near_one_fits)) {
            consider(claimed->stream, claims);
        }
    }
    // Any SYN could be read as one of ours.
    const bool believed =
        claimed != nullptr && (sums == Sums::kRight || is_near(streams_[claimed->stream], claims));
    const bool sure = believed && claimed->traffic != TrafficClass::kTcpSyn;
    if (!sure && best->bytes > kFewBytes && best->header_bytes > 0) {
        best = identify_shifted(frame);
        if (!best) {
            return best;
        }
    }
    // A number far off may be a changed one: where the stream is, frames that are as they were say.
    const Stream& stream = streams_[best->stream];
    const std::uint64_t number = number_of(stream, best->sequence, best->traffic);
    if (number < stream.next + kNearby) {
        note(best->stream, best->sequence, best->traffic);
    }
    return best;
}

std::optional<Identified> SentFrames::identify_shifted(Bytes frame) noexcept {
    for (unsigned stream = 0; stream < streams_.size(); ++stream) {
        for (const std::int64_t apart : kAround) {
            const auto number = static_cast<std::int64_t>(streams_[stream].next) + apart;
            if (number < 0) {
                continue;
            }
            for (int shift = -kFarthestShift; shift <= kFarthestShift; shift += 2) {
                if (auto found =
                        compare_payload(frame, stream, static_cast<std::uint64_t>(number), shift)) {
                    return found;
                }
            }
        }
    }
    return std::nullopt;
}

std::optional<Identified> SentFrames::compare_payload(Bytes seen, unsigned number_of_stream,
                                                      std::uint64_t number, int shift) noexcept {
    Stream& stream = streams_[number_of_stream];
    const FlowRun& run = run_with(stream, number);
    const Part& part = parts_[run.part];
    const std::int64_t begin = static_cast<std::int64_t>(part.payload) + shift;
    const Bytes sent = rebuild(stream, number);
    if (begin < static_cast<std::int64_t>(kShortestHeaders) ||
        begin + static_cast<std::int64_t>(sent.size() - part.payload) >
            static_cast<std::int64_t>(seen.size()) ||
        sent.size() < part.payload + kFewBytes) {
        return std::nullopt;
    }
    // As if what was sent were the payload alone, at the place where it is seen.
    std::vector<std::uint8_t>& moved = moved_;
    moved.assign(sent.begin(), sent.end());
    std::copy_n(seen.begin() + begin, sent.size() - part.payload, moved.begin() + part.payload);
    take_time(part.form, part.places.time, moved, sent);
    Identified found{.stream = static_cast<std::uint8_t>(number_of_stream),
                     .sequence = static_cast<std::uint32_t>(number),
                     .traffic = class_of(run, number),
                     .fields = bit("frame.length"),
                     .part = run.part};
    compare_bytes(moved.data(), sent.data(), part.payload, sent.size(), part, found);
    return found.bytes == 0 ? std::optional(found) : std::nullopt;
}

bool SentFrames::payload_as_sent(Bytes seen, const Part& part, const std::uint8_t* sent) noexcept {
    if (seen.size() != part.common.size() - part.payload) {
        return false;
    }
    bool same = true;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        same &= ((seen[i] ^ sent[part.payload + i]) & part.common[part.payload + i]) == 0;
    }
    return same;
}

bool SentFrames::records_fit(Bytes message) const noexcept {
    frame::DnsReader reader(message);
    const auto question = reader.next_question();
    const auto rule = question ? judge::first_fit(rules_, *question) : std::nullopt;
    return question && judge::as_expected(reader, *question, rule ? &rules_[*rule] : nullptr);
}

std::uint64_t SentFrames::wrong_in_answer(Bytes frame, const Innermost& packet,
                                          const Tracked& claimed) noexcept {
    Stream& stream = streams_[claimed.stream];
    const std::uint64_t number = number_of(stream, claimed.sequence, claimed.traffic);
    const FlowRun& run = run_with(stream, number);
    const auto index = static_cast<std::uint32_t>(number - run.first);
    const Part& part = parts_[run.part];
    std::uint64_t wrong = 0;
    const auto note_if = [&](bool is, AnswerField field) {
        wrong |= std::uint64_t{is ? 1u : 0u} << static_cast<unsigned>(field);
    };
    const bool ipv4 = packet.network == frame::Network::kIpv4;
    const std::size_t bytes = ipv4 ? 4 : 16;
    const std::uint8_t* const source = frame.data() + packet.ip + (ipv4 ? 12 : 8);
    const std::uint8_t* const transport = frame.data() + packet.transport;
    const bool echo = claimed.traffic == TrafficClass::kIcmpEcho;
    const bool dns = part.form == StampForm::kDigits;
    if (!allowance_.has(Allowance::kSource)) {
        note_if(std::memcmp(source, service_.address.bytes.data(), bytes) != 0,
                AnswerField::kSource);
    }
    const std::uint16_t port = claimed.traffic == TrafficClass::kUdp ? echo_port_ : service_.port;
    if (!echo && !allowance_.has(Allowance::kSourcePort)) {
        note_if(load<std::uint16_t>(transport) != __builtin_bswap16(port),
                AnswerField::kSourcePort);
    }
    if (flow_checked_) {
        note_if(load<std::uint32_t>(source + 2 * bytes - 4) != run.address,
                AnswerField::kDestination);
        note_if(load<std::uint16_t>(transport + (echo ? 4 : 2)) != run.port_word(index),
                AnswerField::kDestinationPort);
    }
    note_if(claimed.other_type || class_of(run, number) != claimed.traffic, AnswerField::kType);
    const Bytes payload = frame.subspan(packet.transport + 8, packet.end - packet.transport - 8);
    if (dns && !claimed.other_type && class_of(run, number) == claimed.traffic) {
        const auto id = __builtin_bswap16(load<std::uint16_t>(payload.data()));
        note_if(id != ids_[claimed.stream].of(claimed.sequence), AnswerField::kId);
        if (!claimed.as_sent) {
            const std::size_t end = part.places.query_type - part.payload;
            bool same = payload.size() >= end && !has_capitals(payload.data() + 14, 24);
            const std::uint8_t* const sent = stream.source.part(run.part).bytes() + part.payload;
            for (std::size_t i = frame::kDnsHeaderBytes; same && i < end; ++i) {
                same = ((payload[i] ^ sent[i]) & part.common[part.payload + i]) == 0;
            }
            note_if(!same, AnswerField::kName);
        }
        if (rules_.empty()) {
            note_if((payload[3] & 0x0f) != 0, AnswerField::kRcode);
        } else {
            note_if(!records_fit(payload), AnswerField::kRecords);
        }
    } else if (!dns && part.form == StampForm::kBinary) {
        note_if(!payload_as_sent(payload, part, stream.source.part(run.part).bytes()),
                AnswerField::kPayload);
    }
    if ((wrong >> static_cast<unsigned>(AnswerField::kId) & 1) == 0) {
        note(claimed.stream, claimed.sequence, claimed.traffic);
    }
    return wrong;
}

TrafficClass SentFrames::class_sent(const Tracked& claimed) noexcept {
    Stream& stream = streams_[claimed.stream];
    const std::uint64_t number = number_of(stream, claimed.sequence, claimed.traffic);
    return class_of(run_with(stream, number), number);
}

std::span<const std::uint8_t> SentFrames::common_bytes(const Tracked& claimed) noexcept {
    if (expects_ == IntakePlan::Expects::kAnswers) {
        return {};
    }
    Stream& stream = streams_[claimed.stream];
    return parts_[run_with(stream, number_of(stream, claimed.sequence, claimed.traffic)).part]
        .common;
}

// Parts differ in nothing but class and length; of answers to DNS the length says nothing.
std::uint64_t SentFrames::parts_like(const Part& part) const noexcept {
    const bool any_length =
        expects_ == IntakePlan::Expects::kAnswers && part.form == StampForm::kDigits;
    std::uint64_t like = 0;
    for (std::size_t n = 0; n < parts_.size() && n < 64; ++n) {
        const Part& other = parts_[n];
        const bool same = other.form == part.form && other.udp == part.udp &&
                          (any_length || other.common.size() == part.common.size());
        like |= std::uint64_t{same ? 1u : 0u} << n;
    }
    return like;
}

FlowPlaces SentFrames::flow_places(const Tracked& claimed, const Innermost& packet) noexcept {
    Stream& stream = streams_[claimed.stream];
    const FlowRun& run = run_with(stream, number_of(stream, claimed.sequence, claimed.traffic));
    const Part& part = parts_[run.part];
    if (expects_ == IntakePlan::Expects::kAnswers) {
        const bool ipv4 = packet.network == frame::Network::kIpv4;
        return {.port = packet.transport + 2,
                .address = packet.ip + (ipv4 ? 16u : 36u),
                .parts = parts_like(part)};
    }
    const bool outer = run.outer_ports != nullptr && !allowance_.has(Allowance::kSourcePort);
    return {.port = part.places.port,
            .address = part.places.address,
            .outer_port = outer ? part.places.outer_port : 0u,
            .parts = parts_like(part)};
}

bool SentFrames::left_before(const Tracked& claimed) const noexcept {
    const Stream& stream = streams_[claimed.stream];
    return stream.first_seen != ~std::uint64_t{0} &&
           number_of(stream, claimed.sequence, claimed.traffic) > stream.first_seen;
}

void SentFrames::note(std::uint8_t stream, std::uint32_t sequence, TrafficClass traffic) noexcept {
    Stream& of = streams_[stream];
    const std::uint64_t number = number_of(of, sequence, traffic);
    of.next = std::max(of.next, number + 1);
    of.first_seen = std::min(of.first_seen, number);
}

void SentFrames::begin_trial() noexcept {
    for (Stream& stream : streams_) {
        stream.first_seen = ~std::uint64_t{0};
    }
}

std::string SentFrames::described(Bytes seen, const Identified& found) {
    const Bytes sent = sent_bytes(found);
    std::string lines;
    for (std::size_t n = 0; n < names_.size() && n < 64; ++n) {
        lines += (found.fields >> n & 1) != 0 ? names_[n] + "\n" : "";
    }
    if (seen.size() != sent.size()) {
        return lines + fmt::format("{} bytes, of them {} of VLAN tags, instead of {} and {}\n",
                                   seen.size(), tag_bytes(seen), sent.size(), tag_bytes(sent));
    }
    const Part& part = parts_[found.part];
    take_time(part.form, part.places.time, seen, sent);
    // The sums are not those of that time.
    frame::TunnelPorts tunnels(frame::IpTunnels::kIgnored);
    for (const std::uint16_t port : tunnel_ports_) {
        tunnels.add(port, frame::Tunnel::kVxlan);
    }
    judge::FrameDifference difference = judge::compare_frames(sent, seen, tunnels);
    std::erase_if(difference.fields, [](const judge::FieldDifference& one) {
        return one.kind == judge::DifferenceKind::kChecksum;
    });
    return lines + judge::text(difference);
}

}  // namespace pathproof::load
