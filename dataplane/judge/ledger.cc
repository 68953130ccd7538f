#include "dataplane/judge/ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pathproof::judge {

Ledger::Ledger(const QueryBook& book, const frame::Endpoint& service,
               std::optional<std::vector<Expectation>> rules)
    : book_(book), service_(service), rules_(std::move(rules)), entries_(book.queries()) {}

bool Ledger::content_fits(frame::DnsReader& answer,
                          const frame::DnsQuestion& question) const noexcept {
    if (!rules_) {
        return true;
    }
    const auto rule = first_fit(*rules_, question);
    return as_expected(answer, question, rule ? &(*rules_)[*rule] : nullptr);
}

AnswerKind Ledger::judge(const Datagram& datagram, frame::DnsReader& answer,
                         const frame::DnsQuestion& question, std::uint32_t number) const noexcept {
    const QueryFacts query = book_.query(number);
    const bool right = answer.header().id == query.id && answer.header().questions == 1 &&
                       question.type == query.qtype && question.query_class == frame::kDnsClassIn &&
                       datagram.destination == query.client && content_fits(answer, question);
    if (!right) {
        return AnswerKind::kWrong;
    }
    return datagram.source == service_ ? AnswerKind::kRight : AnswerKind::kWrongSource;
}

Ledger::Seen Ledger::seen_as(AnswerKind kind) noexcept {
    switch (kind) {
        case AnswerKind::kRight: return Seen::kRight;
        case AnswerKind::kWrongSource: return Seen::kWrongSource;
        case AnswerKind::kNotOurs:
        case AnswerKind::kWrong:
        case AnswerKind::kFurther: break;
    }
    return Seen::kWrong;
}

void Ledger::note(Entry& entry, Seen seen, const frame::Endpoint& source,
                  std::int64_t now_ns) noexcept {
    if (entry.seen != Seen::kNothing && entry.further < std::numeric_limits<std::uint8_t>::max()) {
        ++entry.further;
    }
    if (seen <= entry.seen) {
        return;
    }
    entry.seen = seen;
    entry.source = source;
    entry.answered_ns = now_ns;
}

AnswerKind Ledger::take(const Datagram& datagram, std::int64_t now_ns) noexcept {
    frame::DnsReader answer(datagram.payload);
    if (!answer.header().response) {
        return AnswerKind::kNotOurs;
    }
    const auto question = answer.next_question();
    const auto number = question ? frame::sequence_of(question->name) : std::nullopt;
    if (!number || *number >= entries_.size() || !question->name.is_under(book_.suffix())) {
        return AnswerKind::kNotOurs;
    }
    Entry& entry = entries_[*number];
    const AnswerKind kind = judge(datagram, answer, *question, *number);
    if (entry.seen == Seen::kRight) {
        note(entry, Seen::kNothing, datagram.source, now_ns);
        return AnswerKind::kFurther;
    }
    settled_ += kind == AnswerKind::kRight ? 1 : 0;
    note(entry, seen_as(kind), datagram.source, now_ns);
    return kind;
}

QueryState Ledger::state_of(const Entry& entry, std::int64_t sent_ns, std::int64_t timeout_ns) {
    switch (entry.seen) {
        case Seen::kNothing: return QueryState::kNever;
        case Seen::kWrongSource: return QueryState::kWrongSource;
        case Seen::kWrong: return QueryState::kWrong;
        case Seen::kRight: break;
    }
    return entry.answered_ns - sent_ns > timeout_ns ? QueryState::kLate : QueryState::kAnswered;
}

void Ledger::fill(QueryRecord& record, std::uint64_t number, std::int64_t sent_ns,
                  std::int64_t timeout_ns) const {
    const Entry& entry = entries_[number];
    record.state = state_of(entry, sent_ns, timeout_ns);
    record.duplicates = entry.further;
    record.answer_source = entry.source;
    record.sent_ns = sent_ns;
    record.answered_ns = entry.answered_ns;
}

}  // namespace pathproof::judge
