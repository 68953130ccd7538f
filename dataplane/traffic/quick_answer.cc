#include "dataplane/traffic/quick_answer.h"

#include <rte_udp.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/be.h"
#include "dataplane/traffic/turn.h"

namespace pathproof::traffic {
namespace {

using frame::Bytes;
using Header = frame::DnsWireHeader;
using QuestionTail = frame::DnsQuestionTail;
using frame::PartialSum;

constexpr std::uint16_t kResponseAndOpcode = frame::kDnsResponse | frame::kDnsOpcodeMask;

// Returns the addend that takes `sum` out of a sum it was part of.
PartialSum without(PartialSum sum) noexcept {
    return frame::without_word(frame::folded(sum));
}

// The sum of bytes that begin at an odd place (RFC 1071 section 2(B)).
PartialSum at_odd_place(PartialSum sum) noexcept {
    return frame::folded(sum);
}

std::uint8_t lower(std::uint8_t byte) noexcept {
    return byte >= 'A' && byte <= 'Z' ? static_cast<std::uint8_t>(byte | 0x20) : byte;
}

// Most names are written as the rule is: compared as they are first.
bool is_same_name(Bytes a, Bytes b) noexcept {
    return std::memcmp(a.data(), b.data(), a.size()) == 0 ||
           std::ranges::equal(a, b, {}, lower, lower);
}

bool is_under(Bytes name, Bytes suffix) noexcept {
    if (suffix.size() == 1) {
        return true;
    }
    while (name.size() > suffix.size()) {
        name = name.subspan(name[0] + 1u);
    }
    return name.size() == suffix.size() && is_same_name(name, suffix);
}

}  // namespace

// All words of the header but the id, which an answer repeats.
PartialSum QuickAnswers::raw_sum(const Header& header) noexcept {
    return PartialSum{header.flags.raw()} + header.questions.raw() + header.answers.raw() +
           header.authorities.raw() + header.additionals.raw();
}

QuickAnswers::QuickAnswers(std::span<const AnswerRule> rules,
                           std::span<const judge::Expectation> answers) {
    for (std::size_t n = 0; n < rules.size(); ++n) {
        rules_.push_back(prepare(rules[n], answers[n]));
    }
    const frame::DnsAnswer refusal{.rcode = frame::Rcode::kRefused};
    rules_.push_back({.suffix = {},
                      .qtype = 0,
                      .a = lay_out(refusal, frame::kDnsTypeA),
                      .aaaa = lay_out(refusal, frame::kDnsTypeAaaa)});
}

QuickAnswers::Prepared QuickAnswers::prepare(const AnswerRule& rule,
                                             const judge::Expectation& said) {
    Prepared made{.suffix = said.suffix, .qtype = said.qtype, .a = {}, .aaaa = {}};
    if (rule.delay != Nanoseconds(0) || rule.loss > 0 || said.cname) {
        return made;
    }
    const frame::DnsAnswer answer{
        .rcode = said.rcode, .truncated = said.truncated, .addresses = said.addresses};
    made.a = lay_out(answer, frame::kDnsTypeA);
    made.aaaa = lay_out(answer, frame::kDnsTypeAaaa);
    return made;
}

// The records own the question's name by a pointer to it, so that they are the same behind any
// name: those behind the shortest one, the root, are kept.
std::optional<QuickAnswers::Records> QuickAnswers::lay_out(const frame::DnsAnswer& answer,
                                                           std::uint16_t type) {
    std::array<std::uint8_t, 64> query;
    const std::size_t asked =
        frame::write_query(query, {.id = 0, .name = {}, .type = type, .recursion_desired = false});
    std::array<std::uint8_t, kMostAnswerBytes> message;
    const std::size_t size = frame::write_answer(message, Bytes(query).first(asked), answer);
    Header header;
    std::memcpy(&header, message.data(), sizeof header);
    const bool all_fit = answer.truncated == frame::DnsReader(message).header().truncated;
    if (size == 0 || !all_fit) {
        return std::nullopt;
    }
    Records records{.bytes = {},
                    .size = static_cast<std::uint16_t>(size - asked),
                    .count = header.answers.value(),
                    .flags = header.flags.value()};
    std::copy_n(message.begin() + static_cast<std::ptrdiff_t>(asked), records.size,
                records.bytes.begin());
    records.sum = frame::sum_bytes(Bytes(records.bytes).first(records.size));
    records.odd_sum = at_odd_place(records.sum);
    return records;
}

std::optional<QuickAnswers::Question> QuickAnswers::read(Bytes message) noexcept {
    const auto header = frame::view<Header>(message, 0);
    if (!header || (header->flags.value() & kResponseAndOpcode) != 0 ||
        header->questions != Be16(1) || header->answers != Be16(0)) {
        return std::nullopt;
    }
    constexpr std::uint8_t kMostLabel = frame::DnsName::kMostLabel;
    std::size_t at = frame::kDnsHeaderBytes;
    while (at < message.size() && message[at] != 0) {
        if (message[at] > kMostLabel) {
            return std::nullopt;
        }
        at += message[at] + 1u;
    }
    const auto tail = frame::view<QuestionTail>(message, at + 1);
    const std::size_t name_bytes = at + 1 - frame::kDnsHeaderBytes;
    if (!tail || tail->query_class != Be16(frame::kDnsClassIn) ||
        name_bytes > frame::DnsName::kMostBytes) {
        return std::nullopt;
    }
    return Question{message.subspan(frame::kDnsHeaderBytes, name_bytes), tail->type.value()};
}

const QuickAnswers::Records* QuickAnswers::records_for(const Question& question) const noexcept {
    const bool is_a = question.type == frame::kDnsTypeA;
    if (!is_a && question.type != frame::kDnsTypeAaaa) {
        return nullptr;
    }
    for (const Prepared& rule : rules_) {
        if ((rule.qtype == 0 || rule.qtype == question.type) &&
            is_under(question.name, rule.suffix.wire())) {
            const std::optional<Records>& records = is_a ? rule.a : rule.aaaa;
            return records ? &*records : nullptr;
        }
    }
    return nullptr;
}

std::uint16_t QuickAnswers::answer_checksum(const Edit& edit) noexcept {
    // RFC 1624: the query's checksum, less what goes, and what comes. The lengths stand in the
    // pseudo-header as well; exchanged addresses and ports change nothing.
    PartialSum sum = frame::without_word(edit.checksum) + without(raw_sum(edit.query_header)) +
                     raw_sum(edit.answer_header);
    const auto grown = static_cast<std::uint16_t>(edit.asked + edit.records->size);
    const auto shrunk = static_cast<std::uint16_t>(edit.query.size());
    sum += 2 * (frame::sum_word(grown) + frame::without_word(shrunk));
    const bool odd = (edit.asked & 1) != 0;
    if (edit.query.size() > edit.asked) {
        const PartialSum tail = frame::sum_bytes(edit.query.subspan(edit.asked));
        sum += without(odd ? at_odd_place(tail) : tail);
    }
    return frame::udp_checksum_of(sum + (odd ? edit.records->odd_sum : edit.records->sum));
}

std::size_t QuickAnswers::turn(std::span<std::uint8_t> room,
                               const frame::FrameView& view) const noexcept {
    if (!is_turnable(view)) {
        return 0;
    }
    const frame::PacketView& packet = view.innermost();
    Edit edit{.query = packet.payload(room)};
    const auto question = read(edit.query);
    edit.records = question ? records_for(*question) : nullptr;
    const std::size_t checksum_at = packet.transport_offset + offsetof(rte_udp_hdr, dgram_cksum);
    edit.checksum = frame::view<Be16>(room, checksum_at)->value();
    if (edit.records == nullptr || edit.checksum == 0) {
        return 0;
    }
    edit.asked = sizeof(Header) + question->name.size() + sizeof(QuestionTail);
    const std::size_t answered = edit.asked + edit.records->size;
    if (answered > kMostAnswerBytes || packet.payload_offset + answered > room.size()) {
        return 0;
    }
    std::uint8_t* message = room.data() + packet.payload_offset;
    std::memcpy(&edit.query_header, message, sizeof(Header));
    const std::uint16_t desired = edit.query_header.flags.value() & frame::kDnsRecursionDesired;
    edit.answer_header = {.id = edit.query_header.id,
                          .flags = Be16(static_cast<std::uint16_t>(edit.records->flags | desired)),
                          .questions = Be16(1),
                          .answers = Be16(edit.records->count),
                          .authorities = {},
                          .additionals = {}};
    const std::uint16_t checksum = answer_checksum(edit);
    std::memcpy(message, &edit.answer_header, sizeof(Header));
    std::memcpy(message + edit.asked, edit.records->bytes.data(), edit.records->size);
    turn_headers(room.data(), view, answered, checksum);
    return packet.payload_offset + answered;
}

}  // namespace pathproof::traffic
