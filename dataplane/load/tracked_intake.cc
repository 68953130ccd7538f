#include "dataplane/load/tracked_intake.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "dataplane/judge/quick_verifier.h"
#include "dataplane/load/anomaly_ring.h"
#include "dataplane/load/arrival_run.h"
#include "dataplane/load/claim_tally.h"
#include "dataplane/load/known_shape.h"
#include "dataplane/load/stamp_reader.h"

namespace pathproof::load {
namespace {

using frame::Bytes;
using judge::Arrival;
using judge::QuickCode;

// So far ahead a frame's bytes are asked for while another is read.
constexpr std::size_t kAhead = 4;
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kShapes = 16;

void prefetch(const rte_mbuf* mbuf) noexcept {
    const auto* bytes = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
    rte_prefetch0(bytes);
    rte_prefetch0(bytes + kCacheLine);
}

Innermost::Upper upper_of(QuickCode code) noexcept {
    switch (code.upper()) {
        case QuickCode::Upper::kUdp:
        case QuickCode::Upper::kUdpZero:
            return Innermost::Upper::kUdp;
        case QuickCode::Upper::kTcp:
            return Innermost::Upper::kTcp;
        case QuickCode::Upper::kIcmp:
            break;
    }
    return Innermost::Upper::kIcmp;
}

KnownShape::Said said_of(const rte_mbuf& mbuf) noexcept {
    constexpr std::uint64_t kLengthAndTunnel = ~std::uint64_t{0} << 32 | ClaimTally::kTunnelTypes;
    static_assert(offsetof(rte_mbuf, pkt_len) == offsetof(rte_mbuf, packet_type) + 4);
    const auto* both = reinterpret_cast<const std::uint8_t*>(&mbuf.packet_type);
    return {.length_and_type = judge::load<std::uint64_t>(both) & kLengthAndTunnel,
            .claims = mbuf.ol_flags & ClaimTally::kClaims};
}

// Nothing: what a packet carries is never tracked.
std::optional<Innermost> innermost_of(const frame::PacketView& packet) noexcept {
    Innermost place{.network = packet.network,
                    .transport = packet.transport_offset,
                    .end = packet.transport_offset + packet.transport_length};
    if (packet.fragment != frame::Fragment::kWhole) {
        return std::nullopt;
    }
    switch (packet.transport) {
        case frame::Transport::kUdp:
            return place;
        case frame::Transport::kTcp:
            place.upper = Innermost::Upper::kTcp;
            return place;
        case frame::Transport::kIcmp:
        case frame::Transport::kIcmpv6:
            place.upper = Innermost::Upper::kIcmp;
            return place;
        default:
            return std::nullopt;
    }
}

}  // namespace

struct TrackedIntake::Impl {
    Impl(const IntakePlan& the_plan, StampReader the_reader)
        : plan(the_plan),
          quick(plan.tunnel_ports),
          reader(std::move(the_reader)),
          late_after_ns(static_cast<std::uint64_t>(plan.late_after.count())),
          keeper(plan.keep_bad_frames),
          ring(plan.frames_around, plan.anomalies),
          ledgers(plan.streams) {
        totals.streams.resize(plan.streams);
    }

    // The way of an ordinary frame is one function: handing what was read of it from one to the
    // next through memory costs more than the reading.
    [[gnu::always_inline]] inline void take(const rte_mbuf& mbuf, std::size_t port,
                                            std::uint64_t now_ns) noexcept;
    [[gnu::always_inline]] inline bool take_known(const rte_mbuf& mbuf) noexcept;
    [[gnu::noinline]] void enter_run() noexcept;
    void enter_ordinary(frame::TrafficClass traffic, std::uint64_t age_ns, unsigned count) noexcept;
    void learn(Bytes bytes, const rte_mbuf& mbuf, const judge::QuickFrame& frame) noexcept;
    [[gnu::always_inline]] inline void take_good(Bytes bytes, const Innermost& packet,
                                                 std::uint64_t now_ns) noexcept;
    [[gnu::always_inline]] inline void enter(const Tracked& tracked) noexcept;

    [[gnu::noinline]] Bytes join(const rte_mbuf& mbuf) noexcept;
    [[gnu::noinline]] void take_bad(Bytes bytes, std::size_t port, std::uint64_t now_ns) noexcept;
    [[gnu::noinline]] void take_uncommon(Bytes bytes, const rte_mbuf& mbuf, std::size_t port,
                                         std::uint64_t now_ns) noexcept;
    [[gnu::noinline]] void enter_odd(Tracked tracked, Arrival arrival) noexcept;
    [[gnu::noinline]] void count_other(Bytes bytes, const Innermost* packet) noexcept;
    void mark(Anomaly::Kind kind) noexcept;

    IntakePlan plan;
    judge::QuickVerifier quick;
    StampReader reader;
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
        take_uncommon(bytes, mbuf, port, now_ns);
        return;
    }
    claims.add(frame.code, mbuf.ol_flags, mbuf.packet_type, totals);
    if (frame.code.bad() != 0) [[unlikely]] {
        take_bad(bytes, port, now_ns);
        return;
    }
    take_good(bytes,
              {.network = frame.code.ipv6() ? frame::Network::kIpv6 : frame::Network::kIpv4,
               .upper = upper_of(frame.code),
               .transport = frame.transport,
               .end = frame.end},
              now_ns);
    learn(bytes, mbuf, frame);
}

bool TrackedIntake::Impl::take_known(const rte_mbuf& mbuf) noexcept {
    const KnownShape::Said said = said_of(mbuf);
    const auto* bytes = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    if (shape->said() != said) [[unlikely]] {
        shape = &shapes[mbuf.pkt_len % kShapes];
        if (shape->said() != said) {
            return false;
        }
    }
    Known known;
    if (mbuf.nb_segs != 1 || !shape->read(bytes, quick, reader.ids(), known)) [[unlikely]] {
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
    const KnownShape::Said& said = run.shape().said();
    claims.add(run.shape().code(), said.claims, static_cast<std::uint32_t>(said.length_and_type),
               totals, count);
    const std::uint64_t age_ns = StampReader::age(burst_ns, run.sent_ns());
    if (age_ns > oldest_ns) [[unlikely]] {
        totals.stale += count;
        totals.received.other_traffic += count;
        run.clear();
        return;
    }
    totals.received.answers += count;
    if (age_ns <= late_after_ns && ledgers[run.stream()].take_run(run.first(), count)) [[likely]] {
        const unsigned aaaa = run.aaaa();
        enter_ordinary(frame::TrafficClass::kDnsA, age_ns, count - aaaa);
        enter_ordinary(frame::TrafficClass::kDnsAaaa, age_ns, aaaa);
        if (returns != nullptr) {
            returns->note(run.stream(), burst_ns, age_ns, count);
        }
    } else {
        for (unsigned i = 0; i < count; ++i) {
            enter({.traffic =
                       run.is_aaaa(i) ? frame::TrafficClass::kDnsAaaa : frame::TrafficClass::kDnsA,
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
void TrackedIntake::Impl::learn(Bytes bytes, const rte_mbuf& mbuf,
                                const judge::QuickFrame& frame) noexcept {
    constexpr std::uint32_t kPatience = 16;
    if (++unknown < kPatience) [[likely]] {
        return;
    }
    unknown = 0;
    const Bytes segment = bytes.subspan(frame.transport, frame.end - frame.transport);
    if (reader.is_right_as_sent(segment)) {
        shapes[bytes.size() % kShapes].learn(bytes, said_of(mbuf), frame, reader.question_end());
    }
}

void TrackedIntake::Impl::mark(Anomaly::Kind kind) noexcept {
    if (ring.active()) {
        ring.mark(kind);
    }
}

void TrackedIntake::Impl::take_bad(Bytes bytes, std::size_t port, std::uint64_t now_ns) noexcept {
    ++totals.received.bad_checksum;
    mark(Anomaly::Kind::kBadChecksum);
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
    ++uncommon;
    const frame::FrameView view = frame::parse_frame(bytes, plan.tunnel_ports);
    const judge::FrameVerdict verdict = judge::verify(bytes, view);
    ClaimTally::add(verdict, mbuf.ol_flags, mbuf.packet_type, totals);
    if (verdict.any_bad()) {
        take_bad(bytes, port, now_ns);
        return;
    }
    if (verdict.malformed != judge::Malformed::kNone) {
        ++totals.received.malformed;
        return;
    }
    if (const auto packet = innermost_of(view.innermost())) {
        take_good(bytes, *packet, now_ns);
        return;
    }
    ++totals.received.other_traffic;
}

void TrackedIntake::Impl::take_good(Bytes bytes, const Innermost& packet,
                                    std::uint64_t now_ns) noexcept {
    Tracked tracked;
    if (!reader.read(bytes, packet, now_ns, tracked)) [[unlikely]] {
        count_other(bytes, &packet);
        return;
    }
    if (tracked.age_ns > oldest_ns) [[unlikely]] {
        ++totals.stale;
        count_other(bytes, nullptr);
        return;
    }
    ++totals.received.answers;
    enter(tracked);
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
        mark(Anomaly::Kind::kDuplicate);
        return;
    }
    ++of_class.unique;
    if (arrival == Arrival::kReordered) {
        ++of_class.reordered;
        mark(Anomaly::Kind::kReordered);
    }
    if (tracked.content == Tracked::Content::kWrong) {
        ++of_class.wrong;
        mark(Anomaly::Kind::kWrongAnswer);
        return;
    }
    if (tracked.time == Tracked::Time::kUnknown) {
        return;
    }
    of_class.latency.add(static_cast<std::int64_t>(tracked.age_ns));
    if (tracked.age_ns > late_after_ns) {
        ++of_class.late;
        mark(Anomaly::Kind::kLate);
    }
}

void TrackedIntake::Impl::count_other(Bytes bytes, const Innermost* packet) noexcept {
    ++totals.received.other_traffic;
    const bool icmp = packet != nullptr && packet->upper == Innermost::Upper::kIcmp;
    totals.received.icmp_errors +=
        icmp && judge::is_icmp_error(packet->network, bytes[packet->transport]) ? 1 : 0;
}

TrackedIntake::TrackedIntake(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrackedIntake::TrackedIntake(TrackedIntake&&) noexcept = default;
TrackedIntake& TrackedIntake::operator=(TrackedIntake&&) noexcept = default;
TrackedIntake::~TrackedIntake() = default;

Result<TrackedIntake> TrackedIntake::make(const IntakePlan& plan) {
    Result<StampReader> reader = StampReader::make(plan);
    if (!reader) {
        return pass_on(reader.error());
    }
    return TrackedIntake(std::make_unique<Impl>(plan, std::move(*reader)));
}

void TrackedIntake::take(std::span<rte_mbuf* const> burst, std::size_t port,
                         std::uint64_t now_ns) noexcept {
    Impl& impl = *impl_;
    for (std::size_t i = 0; i < burst.size() && i < kAhead; ++i) {
        prefetch(burst[i]);
    }
    impl.burst_ns = now_ns;
    impl.oldest_ns = now_ns - std::min(now_ns, impl.began_ns);
    for (std::size_t i = 0; i < burst.size(); ++i) {
        if (i + kAhead < burst.size()) {
            prefetch(burst[i + kAhead]);
        }
        impl.take(*burst[i], port, now_ns);
    }
    impl.enter_run();
    impl.totals.received.received += burst.size();
    impl.totals.quick += burst.size() - std::exchange(impl.uncommon, 0);
    impl.claims.flush(impl.totals);
}

const IntakeTotals& TrackedIntake::totals() const noexcept {
    for (std::size_t stream = 0; stream < impl_->ledgers.size(); ++stream) {
        impl_->totals.streams[stream] = impl_->ledgers[stream].totals();
    }
    return impl_->totals;
}

std::vector<judge::KeptFrame> TrackedIntake::take_bad_frames() {
    std::vector<judge::KeptFrame> kept = impl_->keeper.take();
    impl_->keeper = judge::FrameKeeper(impl_->plan.keep_bad_frames);
    return kept;
}

std::vector<Anomaly> TrackedIntake::take_anomalies() {
    return impl_->ring.take();
}

void TrackedIntake::reset(std::uint64_t began_ns) noexcept {
    Impl& impl = *impl_;
    std::vector<judge::SequenceTotals> streams = std::move(impl.totals.streams);
    impl.totals = {};
    impl.totals.streams = std::move(streams);
    for (judge::SequenceLedger& ledger : impl.ledgers) {
        ledger.reset();
    }
    impl.began_ns = began_ns;
}

void TrackedIntake::tell(Returns* returns) noexcept {
    impl_->returns = returns;
}

}  // namespace pathproof::load
