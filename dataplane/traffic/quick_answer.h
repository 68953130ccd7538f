// The answers of a DNS server whose rules ask for nothing but records: laid out once for every rule
// and type, and written behind the question where the query lies. A frame costs a copy of its
// records and a few additions; frames of any other shape are left to the general way
// (responder.h), which gives the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/dns_wire.h"
#include "dataplane/frame/view.h"
#include "dataplane/judge/expectation.h"
#include "dataplane/traffic/answer_rule.h"

namespace pathproof::traffic {

inline constexpr std::size_t kMostAnswerBytes = 512;  // over UDP (RFC 1035 section 4.2.1)

class QuickAnswers {
  public:
    // `answers`: one a rule. Rules with a delay, a loss or a CNAME, and questions for other types
    // than A and AAAA or another class than IN, take the general way.
    QuickAnswers(std::span<const AnswerRule> rules, std::span<const judge::Expectation> answers);

    // Turns the frame at the beginning of `room`, of which `view` is and whose checksums are right,
    // into its answer; the answer may take all of `room`. Returns its length, or 0, and then
    // nothing was changed: the query takes the general way, or it is none.
    std::size_t turn(std::span<std::uint8_t> room, const frame::FrameView& view) const noexcept;

  private:
    // The records that follow the question, and the flags that go with them.
    struct Records {
        std::array<std::uint8_t, kMostAnswerBytes> bytes;
        std::uint16_t size = 0;
        std::uint16_t count = 0;
        std::uint16_t flags = 0;
        frame::PartialSum sum = 0;  // beginning at an even place of the datagram
        frame::PartialSum odd_sum = 0;
    };
    struct Prepared {
        frame::DnsName suffix;
        std::uint16_t qtype = 0;
        std::optional<Records> a;  // nothing: the general way
        std::optional<Records> aaaa;
    };
    struct Question {
        frame::Bytes name;  // with its last, empty label
        std::uint16_t type = 0;
    };
    struct Edit {
        frame::Bytes query;
        std::size_t asked = 0;  // bytes of the query that the answer repeats: header and question
        const Records* records = nullptr;
        std::uint16_t checksum = 0;  // of the query's datagram, host order
        frame::DnsWireHeader query_header;
        frame::DnsWireHeader answer_header;
    };

    static std::optional<Records> lay_out(const frame::DnsAnswer& answer, std::uint16_t type);
    static Prepared prepare(const AnswerRule& rule, const judge::Expectation& said);
    static std::optional<Question> read(frame::Bytes message) noexcept;
    static frame::PartialSum raw_sum(const frame::DnsWireHeader& header) noexcept;
    static std::uint16_t answer_checksum(const Edit& edit) noexcept;
    const Records* records_for(const Question& question) const noexcept;

    std::vector<Prepared> rules_;  // the last fits all names and refuses
};

}  // namespace pathproof::traffic
