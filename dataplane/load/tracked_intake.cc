#include "dataplane/load/tracked_intake.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "dataplane/judge/explain.h"
#include "dataplane/judge/quick_verifier.h"
#include "dataplane/load/anomaly_ring.h"
#include "dataplane/load/arrival_run.h"
#include "dataplane/load/claim_tally.h"
#include "dataplane/load/known_shape.h"
#include "dataplane/load/sent_frames.h"
#include "dataplane/load/stamp_reader.h"

namespace pathproof::load {
namespace {

using frame::Bytes;
using judge::Arrival;
using judge::QuickCode;

// Number of frames by which the prefetch of bytes is ahead of the reading.
constexpr std::size_t kBytesAhead = 4;
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kShapes = 16;
constexpr std::size_t kWrongKept = 16;

void prefetch(const rte_mbuf* mbuf) noexcept {
    const auto* bytes = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
    rte_prefetch0(bytes);
    rte_prefetch0(bytes + kCacheLine);
}

Innermost::Upper upper_of(QuickCode code) noexcept {
    switch (code.upper()) {
        case QuickCode::Upper::kUdp:
        case QuickCode::Upper::kUdpZero: return Innermost::Upper::kUdp;
        case QuickCode::Upper::kTcp: return Innermost::Upper::kTcp;
        case QuickCode::Upper::kIcmp: break;
    }
    return Innermost::Upper::kIcmp;
}

KnownShape::Descriptor descriptor_of(const rte_mbuf& mbuf) noexcept {
    constexpr std::uint64_t kLengthAndTunnel = ~std::uint64_t{0} << 32 | ClaimTally::kTunnelTypes;
    static_assert(offsetof(rte_mbuf, pkt_len) == offsetof(rte_mbuf, packet_type) + 4);
    const auto* both = reinterpret_cast<const std::uint8_t*>(&mbuf.packet_type);
    return {.length_and_type = judge::load<std::uint64_t>(both) & kLengthAndTunnel,
            .claims = mbuf.ol_flags & ClaimTally::kClaims};
}

// Finds the innermost packet; nothing: a packet of this kind is never tracked.
std::optional<Innermost> innermost_of(const frame::PacketView& packet) noexcept {
    Innermost place{.network = packet.network,
                    .transport = packet.transport_offset,
                    .end = packet.transport_offset + packet.transport_length,
                    .ip = packet.network_offset};
    if (packet.fragment != frame::Fragment::kWhole) {
        return std::nullopt;
    }
    switch (packet.transport) {
        case frame::Transport::kUdp: return place;
        case frame::Transport::kTcp: place.upper = Innermost::Upper::kTcp; return place;
        case frame::Transport::kIcmp:
        case frame::Transport::kIcmpv6: place.upper = Innermost::Upper::kIcmp; return place;
        default: return std::nullopt;
    }
}

}  // namespace

struct TrackedIntake::Impl {
    Impl(const IntakePlan& the_plan, StampReader the_reader, std::optional<SentFrames> the_sent)
        : plan(the_plan),
          quick(plan.tunnel_ports),
          reader(std::move(the_reader)),
          sent(std::move(the_sent)),
          late_after_ns(static_cast<std::uint64_t>(plan.late_after.count())),
          keeper(plan.keep_bad_frames),
          ring(plan.frames_around, plan.anomalies),
          ledgers(plan.streams),
          quotes(plan.sent ? QuoteJudge::make(*plan.sent) : std::nullopt) {
        totals.streams.resize(plan.streams);
        name_fields();
    }
    void name_fields();

    // The way of an ordinary frame is one function: handing what was read of it from one to the
    // next through memory costs more than the reading.
    [[gnu::always_inline]] inline void take(const rte_mbuf& mbuf, std::size_t port,
                                            std::uint64_t now_ns) noexcept;
    [[gnu::always_inline]] inline bool take_known(const rte_mbuf& mbuf) noexcept;
    [[gnu::noinline]] void enter_run() noexcept;
    void enter_ordinary(frame::TrafficClass traffic, std::uint64_t age_ns, unsigned count) noexcept;
    void learn(Bytes bytes, const rte_mbuf& mbuf, const judge::QuickFrame& frame,
               const Innermost& packet) noexcept;
    // True: it was as it has to be in all.
    [[gnu::always_inline]] inline bool take_good(Bytes bytes, const Innermost& packet,
                                                 std::uint64_t now_ns) noexcept;
    [[gnu::noinline]] void take_untimely(Bytes bytes, Tracked tracked) noexcept;
    [[gnu::noinline]] bool take_changed(Bytes bytes, const Tracked* claimed) noexcept;
    // Gives the frame that it was, if that can be told.
    [[gnu::noinline]] std::optional<Identified> enter_damaged(Bytes bytes,
                                                              std::uint64_t now_ns) noexcept;
    void keep_damaged(Bytes bytes, const char* why, const std::optional<Identified>& found);
    void note_wrong(Bytes bytes, std::uint64_t fields, const Identified* found) noexcept;
    [[gnu::always_inline]] inline void enter(const Tracked& tracked) noexcept;

    [[gnu::noinline]] Bytes join(const rte_mbuf& mbuf) noexcept;
    [[gnu::noinline]] void take_bad(Bytes bytes, std::size_t port, std::uint64_t now_ns) noexcept;
    [[gnu::noinline]] void take_uncommon(Bytes bytes, const rte_mbuf& mbuf, std::size_t port,
                                         std::uint64_t now_ns) noexcept;
    void take_packetless(Bytes bytes) noexcept;
    [[gnu::noinline]] void enter_odd(Tracked tracked, Arrival arrival) noexcept;
    [[gnu::noinline]] void count_other(Bytes bytes, const Innermost* packet) noexcept;
    void listen(const rte_mbuf& mbuf, std::size_t port) noexcept;

    IntakePlan plan;
    judge::QuickVerifier quick;
    StampReader reader;
    std::optional<SentFrames> sent;  // nothing: frames are not compared
    std::vector<WrongFrame> wrong;
    std::vector<WrongFrame> damaged;
    std::size_t port_number = 0;              // of this burst
    std::array<KnownShape, kShapes> shapes;   // by the frame's length
    const KnownShape* shape = shapes.data();  // of the frame before
    ArrivalRun run;
    std::uint64_t burst_ns = 0;  // when the frames of this burst came
    std::uint32_t unknown = 0;   // frames of none of them since one was learned
    std::uint64_t late_after_ns;
    std::uint64_t began_ns = 0;
    std::uint64_t oldest_ns = 0;  // an age beyond which a frame of this burst is stale
    judge::FrameKeeper keeper;
    AnomalyRing ring;
    ClaimTally claims;
    std::vector<judge::SequenceLedger> ledgers;  // by stream
    std::optional<QuoteJudge> quotes;            // nothing: what ICMP errors quote is not judged
    std::vector<std::uint8_t> joined;            // a frame of several segments
    std::uint64_t uncommon = 0;                  // of one burst
    Returns* returns = nullptr;                  // told of what came back, in a closed loop
    IntakeTotals totals;
};

Bytes TrackedIntake::Impl::join(const rte_mbuf& mbuf) noexcept {
    const std::uint32_t length = rte_pktmbuf_pkt_len(&mbuf);
    if (joined.size() < length) {
        joined.resize(length);
    }
    rte_pktmbuf_read(&mbuf, 0, length, joined.data());
    return {joined.data(), length};
}

void TrackedIntake::Impl::take(const rte_mbuf& mbuf, std::size_t port,
                               std::uint64_t now_ns) noexcept {
    if (!ring.active()) [[likely]] {
        if (take_known(mbuf)) [[likely]] {
            return;
        }
        enter_run();
    }
    Bytes bytes(rte_pktmbuf_mtod(&mbuf, const std::uint8_t*), rte_pktmbuf_pkt_len(&mbuf));
    if (mbuf.nb_segs != 1) [[unlikely]] {
        bytes = join(mbuf);
    }
    if (ring.active()) [[unlikely]] {
        ring.note(bytes, static_cast<std::int64_t>(now_ns));
    }
    judge::QuickFrame frame;
    if (!quick.judge(bytes, frame)) [[unlikely]] {
        ++uncommon;
        if (frame::may_carry_ip(bytes)) {
            take_uncommon(bytes, mbuf, port, now_ns);
        } else {
            take_packetless(bytes);
        }
        return;
    }
    claims.add(frame.code, mbuf.ol_flags, mbuf.packet_type, totals);
    if (frame.code.bad() != 0) [[unlikely]] {
        take_bad(bytes, port, now_ns);
        return;
    }
    const Innermost packet{
        .network = frame.code.ipv6() ? frame::Network::kIpv6 : frame::Network::kIpv4,
        .upper = upper_of(frame.code),
        .transport = frame.transport,
        .end = frame.end,
        .ip = frame.network};
    if (take_good(bytes, packet, now_ns)) [[likely]] {
        learn(bytes, mbuf, frame, packet);
    }
}

bool TrackedIntake::Impl::take_known(const rte_mbuf& mbuf) noexcept {
    const KnownShape::Descriptor descriptor = descriptor_of(mbuf);
    const auto* bytes = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    if (shape->descriptor() != descriptor) [[unlikely]] {
        shape = &shapes[mbuf.pkt_len % kShapes];
        if (shape->descriptor() != descriptor) {
            return false;
        }
    }
    Known known;
    if (mbuf.nb_segs != 1 || !shape->read(bytes, quick, reader.ids(), known)) [[unlikely]] {
        return false;
    }
    if (sent && !sent->flow_fits(bytes, known.stream, known.sequence, known.aaaa != 0,
                                 shape->flow_places())) [[unlikely]] {
        return false;
    }
    if (!run.extend(*shape, known)) [[unlikely]] {
        enter_run();
        run.begin(*shape, known);
    }
    return true;
}

void TrackedIntake::Impl::enter_run() noexcept {
    const unsigned count = run.count();
    if (count == 0) {
        return;
    }
    totals.known += count;
    const KnownShape::Descriptor& descriptor = run.shape().descriptor();
    claims.add(run.shape().code(), descriptor.claims,
               static_cast<std::uint32_t>(descriptor.length_and_type), totals, count);
    const std::uint64_t age_ns = StampReader::age(burst_ns, run.sent_ns());
    if (age_ns > oldest_ns) [[unlikely]] {
        for (unsigned i = 0; i < count; ++i) {
            take_untimely({}, {.traffic = run.traffic(i),
                               .stream = run.stream(),
                               .sequence = run.first() + i,
                               .age_ns = age_ns});
        }
        run.clear();
        return;
    }
    if (sent) {
        sent->note(run.stream(), run.first(), run.traffic(0));
    }
    totals.received.answers += count;
    if (age_ns <= late_after_ns && ledgers[run.stream()].take_run(run.first(), count)) [[likely]] {
        const unsigned aaaa = run.aaaa();
        enter_ordinary(run.shape().traffic(false), age_ns, count - aaaa);
        enter_ordinary(run.shape().traffic(true), age_ns, aaaa);
        if (returns != nullptr) {
            returns->note(run.stream(), burst_ns, age_ns, count);
        }
    } else {
        for (unsigned i = 0; i < count; ++i) {
            enter({.traffic = run.traffic(i),
                   .stream = run.stream(),
                   .sequence = run.first() + i,
                   .age_ns = age_ns});
        }
    }
    run.clear();
}

void TrackedIntake::Impl::enter_ordinary(frame::TrafficClass traffic, std::uint64_t age_ns,
                                         unsigned count) noexcept {
    if (count == 0) {
        return;
    }
    ClassTotals& of_class = totals.classes[static_cast<std::size_t>(traffic)];
    of_class.unique += count;
    of_class.latency.add(static_cast<std::int64_t>(age_ns), count);
}

// Not at once: lengths that share a place would drive each other out with each frame.
void TrackedIntake::Impl::learn(Bytes bytes, const rte_mbuf& mbuf, const judge::QuickFrame& frame,
                                const Innermost& packet) noexcept {
    constexpr std::uint32_t kPatience = 16;
    if (++unknown < kPatience) [[likely]] {
        return;
    }
    unknown = 0;
    const Bytes segment = bytes.subspan(frame.transport, frame.end - frame.transport);
    Tracked tracked;
    const bool dns = reader.is_right_as_sent(segment, tracked);
    if (!dns && !reader.is_binary(segment, tracked)) {
        return;
    }
    KnownShape::Sent known;
    if (sent) {
        known = {.common = sent->common_bytes(tracked),
                 .places = sent->flow_places(tracked, packet),
                 .from_one = sent->sources_fixed(),
                 .whole = sent->judges_records() || !dns};
    }
    shapes[bytes.size() % kShapes].learn(bytes, descriptor_of(mbuf), frame,
                                         {.dns = dns, .question_end = reader.question_end()},
                                         sent ? &known : nullptr);
}

void TrackedIntake::Impl::take_bad(Bytes bytes, std::size_t port, std::uint64_t now_ns) noexcept {
    ++totals.received.bad_checksum;
    ring.mark(Anomaly::Kind::kBadChecksum);
    if (sent) {
        const auto found = enter_damaged(bytes, now_ns);
        // With the frame that left, its name can be told.
        if (found && plan.expects == IntakePlan::Expects::kFrames) {
            keep_damaged(bytes, "a checksum is wrong", found);
        }
    }
    if (keeper.full()) {
        return;
    }
    const judge::FrameVerdict verdict = judge::verify(bytes, plan.tunnel_ports);
    if (const judge::ChecksumFinding* bad = verdict.first_bad(); bad != nullptr) {
        keeper.keep(bytes, port, static_cast<std::int64_t>(now_ns), *bad);
    }
}

void TrackedIntake::Impl::take_uncommon(Bytes bytes, const rte_mbuf& mbuf, std::size_t port,
                                        std::uint64_t now_ns) noexcept {
    const frame::FrameView view = frame::parse_frame(bytes, plan.tunnel_ports);
    const judge::FrameVerdict verdict = judge::verify(bytes, view);
    ClaimTally::add(verdict, mbuf.ol_flags, mbuf.packet_type, totals);
    if (verdict.any_bad()) {
        take_bad(bytes, port, now_ns);
        return;
    }
    if (verdict.malformed != judge::Malformed::kNone) {
        ++totals.received.malformed;
        ring.mark(Anomaly::Kind::kMalformed);
        keep_damaged(bytes, judge::words(verdict.malformed),
                     sent ? enter_damaged(bytes, now_ns) : std::nullopt);
        return;
    }
    if (const auto packet = innermost_of(view.innermost())) {
        static_cast<void>(take_good(bytes, *packet, now_ns));
        return;
    }
    take_packetless(bytes);
}

// Has no packet that could carry a stamp: only a frame that was sent and lost its packet's type on
// the way would be one of the run.
void TrackedIntake::Impl::take_packetless(Bytes bytes) noexcept {
    if (!sent || !sent->has_length(bytes.size()) || !take_changed(bytes, nullptr)) {
        ++totals.received.other_traffic;
    }
}

bool TrackedIntake::Impl::take_good(Bytes bytes, const Innermost& packet,
                                    std::uint64_t now_ns) noexcept {
    Tracked tracked;
    const bool frames = plan.expects == IntakePlan::Expects::kFrames;
    if (!reader.read(bytes, packet, now_ns, tracked)) [[unlikely]] {
        if (!sent || !frames || !sent->goes_there(bytes, packet) || !take_changed(bytes, nullptr)) {
            count_other(bytes, &packet);
        }
        return false;
    }
    if (tracked.age_ns > oldest_ns) [[unlikely]] {
        take_untimely(bytes, tracked);
        return !sent;
    }
    if (sent && frames && !sent->as_sent(bytes, tracked)) [[unlikely]] {
        if (!take_changed(bytes, &tracked)) {
            count_other(bytes, &packet);
        }
        return false;
    }
    if (sent && !frames) {
        const std::uint64_t fields = sent->wrong_in_answer(bytes, packet, tracked);
        tracked.content = fields == 0 ? Tracked::Content::kRight : Tracked::Content::kWrong;
        if (fields != 0) [[unlikely]] {
            note_wrong(bytes, fields, nullptr);
            // To which query it is an answer says its number.
            const frame::TrafficClass asked = sent->class_sent(tracked);
            const bool dns =
                asked == frame::TrafficClass::kDnsA || asked == frame::TrafficClass::kDnsAaaa;
            const bool as_dns = tracked.traffic == frame::TrafficClass::kDnsA ||
                                tracked.traffic == frame::TrafficClass::kDnsAaaa;
            tracked.traffic = dns && as_dns ? asked : tracked.traffic;
        }
    }
    ++totals.received.answers;
    enter(tracked);
    return tracked.content == Tracked::Content::kRight;
}

// Left before the trial began, or later than now. No frame can have done either if one that was
// made before it left in this trial: then its time was changed.
void TrackedIntake::Impl::take_untimely(Bytes bytes, Tracked tracked) noexcept {
    const bool ahead = tracked.age_ns == kAhead;
    if (!ahead && !(sent && sent->left_before(tracked))) {
        ++totals.stale;
        count_other(bytes, nullptr);
        return;
    }
    ++totals.received.answers;
    tracked.age_ns = 0;
    if (sent) {
        tracked.content = Tracked::Content::kWrong;
        note_wrong(bytes, sent->time_field(), nullptr);
    }
    enter(tracked);
}

// A frame with right checksums that is none of those sent; false: nor was it ever one.
bool TrackedIntake::Impl::take_changed(Bytes bytes, const Tracked* claimed) noexcept {
    const std::optional<Identified> found =
        sent->identify(bytes, claimed, SentFrames::Sums::kRight);
    if (!found) {
        return false;
    }
    Tracked tracked{.traffic = found->traffic,
                    .stream = found->stream,
                    .time = Tracked::Time::kUnknown,
                    .sequence = found->sequence};
    if (claimed != nullptr) {
        tracked.time = claimed->time;
        tracked.age_ns = claimed->age_ns;
    }
    if (found->fields != 0) {
        tracked.content = Tracked::Content::kWrong;
        note_wrong(bytes, found->fields, &*found);
    }
    ++totals.received.answers;
    enter(tracked);
    return true;
}

// A frame with a wrong checksum, or that cannot be read to its end: if it can be told which it was,
// it is not missing as well.
std::optional<Identified> TrackedIntake::Impl::enter_damaged(Bytes bytes,
                                                             std::uint64_t now_ns) noexcept {
    const frame::FrameView view = frame::parse_frame(bytes, plan.tunnel_ports);
    const auto packet = innermost_of(view.innermost());
    Tracked tracked;
    const bool readable = view.malformed == frame::Malformed::kNone && packet &&
                          packet->end >= packet->transport + 8 && packet->end <= bytes.size() &&
                          reader.read(bytes, *packet, now_ns, tracked);
    std::optional<Identified> found;
    if (plan.expects == IntakePlan::Expects::kFrames) {
        found = sent->identify(bytes, readable ? &tracked : nullptr, SentFrames::Sums::kWrong);
    } else if (readable && tracked.content == Tracked::Content::kRight) {
        found = {
            .stream = tracked.stream, .sequence = tracked.sequence, .traffic = tracked.traffic};
    }
    if (!found) {
        return found;
    }
    judge::SequenceLedger& ledger = ledgers[found->stream];
    const Arrival arrival = found->traffic == frame::TrafficClass::kTcpSyn
                                ? ledger.take<frame::kTcpSequenceBits>(found->sequence)
                                : ledger.take(found->sequence);
    const bool first = arrival == Arrival::kUnique || arrival == Arrival::kReordered;
    totals.classes[static_cast<std::size_t>(found->traffic)].damaged += first ? 1 : 0;
    if (first && returns != nullptr) {
        returns->note(found->stream, burst_ns, readable ? tracked.age_ns : 0, 1);
    }
    return found;
}

void TrackedIntake::Impl::keep_damaged(Bytes bytes, const char* why,
                                       const std::optional<Identified>& found) {
    if (damaged.size() == kWrongKept) {
        return;
    }
    WrongFrame kept{.bytes = {bytes.begin(), bytes.end()},
                    .port = port_number,
                    .at_ns = static_cast<std::int64_t>(burst_ns),
                    .what = fmt::format("{}\n", why)};
    if (found && plan.expects == IntakePlan::Expects::kFrames) {
        const Bytes left = sent->sent_bytes(*found);
        kept.sent.assign(left.begin(), left.end());
        kept.what += sent->described(bytes, *found);
    } else if (!found) {
        kept.what += "it cannot be told which frame it was\n";
    }
    damaged.push_back(std::move(kept));
}

void TrackedIntake::Impl::name_fields() {
    for (std::size_t n = 0; sent && n < sent->names().size(); ++n) {
        totals.wrong_fields.push_back({sent->names()[n], 0});
    }
    wrong.reserve(kWrongKept);
    damaged.reserve(kWrongKept);
}

void TrackedIntake::Impl::note_wrong(Bytes bytes, std::uint64_t fields,
                                     const Identified* found) noexcept {
    std::string names;
    for (std::size_t n = 0; n < totals.wrong_fields.size() && n < 64; ++n) {
        totals.wrong_fields[n].frames += fields >> n & 1;
        if (wrong.size() < kWrongKept && (fields >> n & 1) != 0) {
            names += totals.wrong_fields[n].name + "\n";
        }
    }
    if (wrong.size() < kWrongKept) {
        const Bytes left = found != nullptr ? sent->sent_bytes(*found) : Bytes();
        wrong.push_back({.bytes = {bytes.begin(), bytes.end()},
                         .sent = {left.begin(), left.end()},
                         .port = port_number,
                         .at_ns = static_cast<std::int64_t>(burst_ns),
                         .what = found != nullptr ? sent->described(bytes, *found) : names});
    }
}

void TrackedIntake::Impl::enter(const Tracked& tracked) noexcept {
    judge::SequenceLedger& ledger = ledgers[tracked.stream];
    ClassTotals& of_class = totals.classes[static_cast<std::size_t>(tracked.traffic)];
    const Arrival arrival = tracked.traffic == frame::TrafficClass::kTcpSyn
                                ? ledger.take<frame::kTcpSequenceBits>(tracked.sequence)
                                : ledger.take(tracked.sequence);
    if (returns != nullptr && (arrival == Arrival::kUnique || arrival == Arrival::kReordered)) {
        returns->note(tracked.stream, burst_ns, tracked.age_ns, 1);
    }
    const bool ordinary = arrival == Arrival::kUnique &&
                          tracked.content == Tracked::Content::kRight &&
                          tracked.age_ns <= late_after_ns;
    if (!ordinary) [[unlikely]] {
        enter_odd(tracked, arrival);
        return;
    }
    ++of_class.unique;
    if (tracked.time == Tracked::Time::kKnown) [[likely]] {
        of_class.latency.add(static_cast<std::int64_t>(tracked.age_ns));
    }
}

// Latencies are of right answers that came for the first time.
void TrackedIntake::Impl::enter_odd(Tracked tracked, Arrival arrival) noexcept {
    ClassTotals& of_class = totals.classes[static_cast<std::size_t>(tracked.traffic)];
    if (arrival == Arrival::kTooOld) {
        return;
    }
    if (arrival == Arrival::kDuplicate) {
        ++of_class.duplicates;
        ring.mark(Anomaly::Kind::kDuplicate);
        return;
    }
    ++of_class.unique;
    if (arrival == Arrival::kReordered) {
        ++of_class.reordered;
        ring.mark(Anomaly::Kind::kReordered);
    }
    if (tracked.content == Tracked::Content::kWrong) {
        ++of_class.wrong;
        ring.mark(Anomaly::Kind::kWrongAnswer);
        return;
    }
    if (tracked.time == Tracked::Time::kUnknown) {
        return;
    }
    of_class.latency.add(static_cast<std::int64_t>(tracked.age_ns));
    if (tracked.age_ns > late_after_ns) {
        ++of_class.late;
        ring.mark(Anomaly::Kind::kLate);
    }
}

void TrackedIntake::Impl::count_other(Bytes bytes, const Innermost* packet) noexcept {
    ++totals.received.other_traffic;
    const bool icmp = packet != nullptr && packet->upper == Innermost::Upper::kIcmp;
    const bool error =
        icmp && count_icmp_error(bytes, packet->network, packet->transport, packet->end,
                                 port_number, quotes ? &*quotes : nullptr, totals.icmp_errors);
    totals.received.icmp_errors += error ? 1 : 0;
}

// Frames there are nobody's but for errors: those with a wrong checksum say nothing.
void TrackedIntake::Impl::listen(const rte_mbuf& mbuf, std::size_t port) noexcept {
    const Bytes bytes = mbuf.nb_segs == 1 ? Bytes(rte_pktmbuf_mtod(&mbuf, const std::uint8_t*),
                                                  rte_pktmbuf_pkt_len(&mbuf))
                                          : join(mbuf);
    const frame::FrameView view = frame::parse_frame(bytes, plan.tunnel_ports);
    const frame::PacketView& packet = view.outer;
    const bool icmp = packet.transport == frame::Transport::kIcmp ||
                      packet.transport == frame::Transport::kIcmpv6;
    if (!icmp || view.malformed != frame::Malformed::kNone ||
        packet.fragment != frame::Fragment::kWhole || judge::verify(bytes, view).any_bad()) {
        return;
    }
    count_icmp_error(bytes, packet.network, packet.transport_offset,
                     packet.transport_offset + packet.transport_length, port,
                     quotes ? &*quotes : nullptr, totals.icmp_errors);
}

TrackedIntake::TrackedIntake(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrackedIntake::TrackedIntake(TrackedIntake&&) noexcept = default;
TrackedIntake& TrackedIntake::operator=(TrackedIntake&&) noexcept = default;
TrackedIntake::~TrackedIntake() = default;

Result<TrackedIntake> TrackedIntake::make(const IntakePlan& plan) {
    StampReader reader = TRY(StampReader::make(plan));
    std::optional<SentFrames> sent;
    if (plan.sent) {
        sent = TRY(SentFrames::make(plan));
    }
    return TrackedIntake(std::make_unique<Impl>(plan, std::move(reader), std::move(sent)));
}

void TrackedIntake::take(std::span<rte_mbuf* const> burst, std::size_t port,
                         std::uint64_t now_ns) noexcept {
    Impl& impl = *impl_;
    for (std::size_t i = 0; i < burst.size() && i < kBytesAhead; ++i) {
        prefetch(burst[i]);
    }
    impl.burst_ns = now_ns;
    impl.port_number = port;
    impl.oldest_ns = now_ns - std::min(now_ns, impl.began_ns);
    for (std::size_t i = 0; i < burst.size(); ++i) {
        if (i + kBytesAhead < burst.size()) {
            prefetch(burst[i + kBytesAhead]);
        }
        impl.take(*burst[i], port, now_ns);
    }
    impl.enter_run();
    impl.totals.received.received += burst.size();
    impl.totals.quick += burst.size() - std::exchange(impl.uncommon, 0);
    impl.claims.flush(impl.totals);
}

void TrackedIntake::listen(std::span<rte_mbuf* const> burst, std::size_t port) noexcept {
    for (const rte_mbuf* mbuf : burst) {
        impl_->listen(*mbuf, port);
    }
}

const IntakeTotals& TrackedIntake::totals() const noexcept {
    for (std::size_t stream = 0; stream < impl_->ledgers.size(); ++stream) {
        impl_->totals.streams[stream] = impl_->ledgers[stream].totals();
    }
    return impl_->totals;
}

const judge::ReceiveTally& TrackedIntake::received() const noexcept {
    return impl_->totals.received;
}

std::vector<judge::KeptFrame> TrackedIntake::take_bad_frames() {
    std::vector<judge::KeptFrame> kept = impl_->keeper.take();
    impl_->keeper = judge::FrameKeeper(impl_->plan.keep_bad_frames);
    return kept;
}

std::vector<Anomaly> TrackedIntake::take_anomalies() {
    return impl_->ring.take();
}

std::vector<WrongFrame> TrackedIntake::take_wrong_frames() {
    return std::exchange(impl_->wrong, {});
}

std::vector<WrongFrame> TrackedIntake::take_damaged_frames() {
    return std::exchange(impl_->damaged, {});
}

std::uint64_t TrackedIntake::arrived() const noexcept {
    std::uint64_t arrived = 0;
    for (const ClassTotals& of_class : totals().classes) {
        arrived += of_class.arrived();
    }
    return arrived;
}

void TrackedIntake::reset(std::uint64_t began_ns) noexcept {
    Impl& impl = *impl_;
    std::vector<judge::SequenceTotals> streams = std::move(impl.totals.streams);
    impl.totals = {};
    impl.totals.streams = std::move(streams);
    impl.wrong.clear();
    impl.damaged.clear();
    impl.name_fields();
    if (impl.sent) {
        impl.sent->begin_trial();
    }
    for (judge::SequenceLedger& ledger : impl.ledgers) {
        ledger.reset();
    }
    impl.began_ns = began_ns;
}

void TrackedIntake::tell(Returns* returns) noexcept {
    impl_->returns = returns;
}

}  // namespace pathproof::load
