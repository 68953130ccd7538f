#include "dataplane/traffic/responder.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "dataplane/traffic/reflect.h"
#include "dataplane/traffic/reply.h"

namespace pathproof::traffic {
namespace {

using frame::Bytes;
using frame::DnsName;
using frame::FrameView;

constexpr std::uint8_t kOpcodeQuery = 0;
constexpr std::uint8_t kHighestRcode = 15;

Status check_rule(const AnswerRule& rule, std::size_t number) {
    if (rule.rcode > kHighestRcode) {
        return fail(ErrorCode::kBadInput, "answer rule {}: rcode {} is not in 0..15", number,
                    rule.rcode);
    }
    if (rule.delay < Nanoseconds(0) || rule.delay > Responder::kLongestDelay) {
        return fail(ErrorCode::kBadInput, "answer rule {}: a delay of {} ms is not in 0..10000 ms",
                    number, rule.delay.count() / 1'000'000);
    }
    if (!(rule.loss >= 0 && rule.loss <= 1)) {
        return fail(ErrorCode::kBadInput, "answer rule {}: a loss of {} is not in 0..1", number,
                    rule.loss);
    }
    return {};
}

Result<judge::Expectation> expectation(const AnswerRule& rule, std::size_t number) {
    TRY(check_rule(rule, number));
    judge::Expectation made{.suffix = {},
                            .qtype = rule.qtype,
                            .rcode = static_cast<frame::Rcode>(rule.rcode),
                            .cname = std::nullopt,
                            .addresses = rule.addresses,
                            .truncated = rule.truncated};
    if (!rule.suffix.empty()) {
        made.suffix = TRY(doing(DnsName::from_text(rule.suffix), "answer rule {}: suffix", number));
    }
    if (!rule.cname.empty()) {
        made.cname = TRY(doing(DnsName::from_text(rule.cname), "answer rule {}: CNAME", number));
    }
    return made;
}

}  // namespace

Result<std::vector<judge::Expectation>> expectations(std::span<const AnswerRule> rules) {
    std::vector<judge::Expectation> made;
    for (const AnswerRule& rule : rules) {
        judge::Expectation one = TRY(expectation(rule, made.size() + 1));
        made.push_back(std::move(one));
    }
    return made;
}

Responder::Responder(const ResponderOptions& options, std::vector<judge::Expectation> answers)
    : rules_(options.rules),
      answers_(std::move(answers)),
      quick_(rules_, answers_),
      reflect_(options.reflect),
      station_(options.station),
      suffix_(options.suffix),
      port_(options.port),
      random_(options.seed),
      slots_(options.pending),
      free_slots_(options.pending),
      arrivals_(options.numbered_queries),
      intake_(options.tunnel_ports, options.keep_bad_frames) {
    std::iota(free_slots_.begin(), free_slots_.end(), 0u);
    heap_.reserve(options.pending);
}

Result<Responder> Responder::make(const ResponderOptions& options) {
    std::vector<judge::Expectation> answers = TRY(expectations(options.rules));
    return Responder(options, std::move(answers));
}

void Responder::take(Bytes frame, std::int64_t now_ns) noexcept {
    const std::optional<FrameView> view = intake_.admit(frame, port_, now_ns);
    if (view) {
        take_admitted(frame, *view, now_ns);
    }
}

void Responder::take_admitted(Bytes frame, const FrameView& view, std::int64_t now_ns) noexcept {
    const frame::PacketView& packet = view.innermost();
    frame::DnsReader message(judge::is_whole_udp(packet) ? packet.payload(frame) : Bytes());
    const auto question = message.next_question();
    if (!question || message.header().response || message.header().opcode != kOpcodeQuery) {
        intake_.count_other(frame, view);
        return;
    }
    intake_.count_answer();
    ++counts_.queries;
    note_arrival(*question, packet);
    answer(frame, view, *question, now_ns);
}

Turned Responder::take_in_place(std::span<std::uint8_t> room, std::size_t size,
                                std::int64_t now_ns) noexcept {
    const std::span<std::uint8_t> frame = room.first(size);
    const std::optional<FrameView> view = intake_.admit(frame, port_, now_ns);
    if (!view) {
        return {};
    }
    if (const std::size_t answer = arrivals_.empty() ? quick_.turn(room, *view) : 0; answer > 0) {
        intake_.count_answer();
        ++counts_.queries;
        return {Turned::Kind::kAnswer, static_cast<std::uint16_t>(answer)};
    }
    if (reflect_ == Reflect::kStamped && reflect(frame, *view)) {
        intake_.count_other(frame, *view);
        return {Turned::Kind::kReflection, static_cast<std::uint16_t>(size)};
    }
    if (const std::size_t answer = answer_neighbour(room, size, *view); answer > 0) {
        return {Turned::Kind::kNeighbour, static_cast<std::uint16_t>(answer)};
    }
    take_admitted(frame, *view, now_ns);
    return {};
}

std::size_t Responder::answer_neighbour(std::span<std::uint8_t> room, std::size_t size,
                                        const FrameView& view) noexcept {
    const frame::PacketView& packet = view.outer;
    if (!station_ || (packet.network != frame::Network::kNone &&
                      packet.transport != frame::Transport::kIcmpv6)) {
        return 0;
    }
    std::array<std::uint8_t, neighbour::kMostFrame> answer;
    const std::size_t bytes = neighbour::write_answer(answer, room.first(size), *station_);
    if (bytes == 0 || bytes > room.size()) {
        return 0;
    }
    intake_.count_other(room.first(size), view);
    std::copy_n(answer.begin(), bytes, room.begin());
    return bytes;
}

void Responder::departed(Turned::Kind kind, Outcome outcome) noexcept {
    const bool sent = outcome == Outcome::kSent;
    switch (kind) {
        case Turned::Kind::kNothing: return;
        case Turned::Kind::kAnswer:
            ++(sent ? counts_.answered : counts_.not_sent);
            counts_.quick += sent ? 1 : 0;
            return;
        case Turned::Kind::kReflection:
            ++(sent ? counts_.reflected : counts_.not_reflected);
            return;
        case Turned::Kind::kNeighbour:
            ++(sent ? counts_.neighbours : counts_.neighbours_not_sent);
            return;
    }
}

void Responder::note_arrival(const frame::DnsQuestion& question,
                             const frame::PacketView& packet) noexcept {
    const auto number = frame::sequence_of(question.name);
    if (!number || *number >= arrivals_.size() || !question.name.is_under(suffix_)) {
        return;
    }
    Arrival& arrival = arrivals_[*number];
    if (arrival.copies == 0) {
        arrival.server = packet.destination_endpoint();
        arrival.client = packet.source_endpoint();
    }
    if (arrival.copies < std::numeric_limits<std::uint8_t>::max()) {
        ++arrival.copies;
    }
}

bool Responder::lose(double share) noexcept {
    return share > 0 && as_share(random_()) < share;
}

void Responder::answer(Bytes frame, const FrameView& view, const frame::DnsQuestion& question,
                       std::int64_t now_ns) noexcept {
    const auto rule = judge::first_fit(answers_, question);
    if (rule && lose(rules_[*rule].loss)) {
        ++counts_.lost_on_purpose;
        return;
    }
    if (free_slots_.empty()) {
        ++counts_.no_room;
        return;
    }
    const std::uint32_t number = free_slots_.back();
    Slot& slot = slots_[number];
    std::array<std::uint8_t, kMostAnswerBytes> message;
    const Bytes query = view.innermost().payload(frame);
    const std::size_t size = write(message, query, rule);
    slot.size = static_cast<std::uint16_t>(
        size == 0 ? 0 : write_reply(slot.bytes, frame, view, Bytes(message).first(size)));
    if (slot.size == 0) {
        ++counts_.no_room;
        return;
    }
    free_slots_.pop_back();
    const Nanoseconds delay = rule ? rules_[*rule].delay : Nanoseconds(0);
    heap_.push_back({now_ns + delay.count(), order_++, number});
    std::ranges::push_heap(heap_, std::ranges::greater());
}

std::size_t Responder::write(std::span<std::uint8_t> out, Bytes query,
                             std::optional<std::size_t> rule) const noexcept {
    if (!rule) {
        return frame::write_answer(out, query, {.rcode = frame::Rcode::kRefused});
    }
    const judge::Expectation& said = answers_[*rule];
    return frame::write_answer(out, query,
                               {.rcode = said.rcode,
                                .truncated = said.truncated,
                                .cname = said.cname ? &*said.cname : nullptr,
                                .addresses = said.addresses});
}

std::optional<std::int64_t> Responder::next_due() const noexcept {
    return heap_.empty() ? std::nullopt : std::optional(heap_.front().due_ns);
}

Bytes Responder::next_answer() const noexcept {
    const Slot& slot = slots_[heap_.front().slot];
    return Bytes(slot.bytes).first(slot.size);
}

void Responder::take_off(Outcome outcome) noexcept {
    std::ranges::pop_heap(heap_, std::ranges::greater());
    free_slots_.push_back(heap_.back().slot);  // within the memory it began with
    heap_.pop_back();
    ++(outcome == Outcome::kSent ? counts_.answered : counts_.not_sent);
}

}  // namespace pathproof::traffic
