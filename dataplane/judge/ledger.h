// Follows every query of a run: one record each, set aside before the run and found again by the
// sequence in the answer's question name, whatever NAT made of addresses and ports.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/judge/expectation.h"
#include "dataplane/judge/pair_report.h"

namespace pathproof::judge {

// One query as it was sent.
struct QueryFacts {
    frame::Endpoint client;
    std::uint16_t id = 0;
    std::uint16_t qtype = 0;
};

// Knows each query of a run by its number; asked on the data path.
class QueryBook {
  public:
    virtual ~QueryBook() = default;
    virtual std::uint64_t queries() const noexcept = 0;
    virtual QueryFacts query(std::uint64_t number) const noexcept = 0;
    virtual const frame::DnsName& suffix() const noexcept = 0;
};

// A UDP datagram that a client port received.
struct Datagram {
    frame::Endpoint source;
    frame::Endpoint destination;
    std::span<const std::uint8_t> payload;
};

enum class AnswerKind : std::uint8_t {
    kNotOurs,      // no answer to one of our queries
    kRight,        // the first right one
    kWrongSource,  // right but for where it came from
    kWrong,        // another id, question, client or content
    kFurther,      // the query had its right answer before
};

class Ledger {
  public:
    // `service` is where right answers come from. Without `rules` any content is right.
    Ledger(const QueryBook& book, const frame::Endpoint& service,
           std::optional<std::vector<Expectation>> rules);

    // Takes what a client port received at `now_ns` since the run's start. One caller; no
    // allocation.
    AnswerKind take(const Datagram& datagram, std::int64_t now_ns) noexcept;

    // Queries that have had their right answer.
    std::uint64_t settled() const { return settled_; }

    // Fills state, duplicates, answer_source, sent_ns and answered_ns of query `number`.
    void fill(QueryRecord& record, std::uint64_t number, std::int64_t sent_ns,
              std::int64_t timeout_ns) const;

  private:
    // Ordered: a later kind overrules an earlier one's claim on the record.
    enum class Seen : std::uint8_t { kNothing, kWrongSource, kWrong, kRight };
    struct Entry {
        std::int64_t answered_ns = -1;
        frame::Endpoint source;
        Seen seen = Seen::kNothing;
        std::uint8_t further = 0;
    };

    bool content_fits(frame::DnsReader& answer, const frame::DnsQuestion& question) const noexcept;
    AnswerKind judge(const Datagram& datagram, frame::DnsReader& answer,
                     const frame::DnsQuestion& question, std::uint32_t number) const noexcept;
    static Seen seen_as(AnswerKind kind) noexcept;
    void note(Entry& entry, Seen seen, const frame::Endpoint& source, std::int64_t now_ns) noexcept;
    static QueryState state_of(const Entry& entry, std::int64_t sent_ns, std::int64_t timeout_ns);

    const QueryBook& book_;
    frame::Endpoint service_;
    std::optional<std::vector<Expectation>> rules_;
    std::vector<Entry> entries_;
    std::uint64_t settled_ = 0;
};

}  // namespace pathproof::judge
