// The DNS server behind the DUT: answers each query as its rules say, after a delay of its own, and
// notes where every numbered query arrived and from whom. It knows nothing of ports: frames in,
// frames out when due.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/random.h"
#include "dataplane/base/result.h"
#include "dataplane/frame/dns.h"
#include "dataplane/frame/view.h"
#include "dataplane/judge/expectation.h"
#include "dataplane/judge/intake.h"
#include "dataplane/neighbour/station.h"
#include "dataplane/traffic/answer_rule.h"
#include "dataplane/traffic/quick_answer.h"

namespace pathproof::traffic {

// The rules in the form in which the ledger compares answers with them. Errors name the rule and
// its fault.
Result<std::vector<judge::Expectation>> expectations(std::span<const AnswerRule> rules);

enum class Reflect : std::uint8_t {
    kNothing,
    kStamped,  // tracked TCP SYNs, echo requests and UDP datagrams (reflect.h)
};

struct ResponderOptions {
    std::size_t port = 0;  // the number kept frames get
    std::vector<AnswerRule> rules;
    std::uint64_t seed = 1;
    std::vector<std::uint16_t> tunnel_ports;  // UDP ports whose payload is VXLAN
    std::size_t pending = 4096;               // answers that can wait at one time
    std::uint64_t numbered_queries = 0;       // queries whose arrival is noted: q00000000 to this
    frame::DnsName suffix;                    // under which numbered queries lie
    std::uint32_t keep_bad_frames = 0;
    Reflect reflect = Reflect::kNothing;  // by take_in_place() only
    // Station for whose addresses ARP and neighbour discovery are answered, by take_in_place()
    // only.
    std::optional<neighbour::Station> station;
};

// Arrival of a numbered query.
struct Arrival {
    frame::Endpoint server;
    frame::Endpoint client;
    std::uint8_t copies = 0;  // saturates
};

// queries = answered + waiting + lost_on_purpose + no_room + not_sent.
struct ResponderCounts {
    std::uint64_t queries = 0;
    std::uint64_t answered = 0;
    std::uint64_t lost_on_purpose = 0;
    std::uint64_t no_room = 0;        // every place for a waiting answer was taken
    std::uint64_t not_sent = 0;       // the driver would not take the answer
    std::uint64_t quick = 0;          // of those answered: in place, without a copy
    std::uint64_t reflected = 0;      // frames that are no queries, sent back
    std::uint64_t not_reflected = 0;  // the driver would not take them
    std::uint64_t neighbours = 0;     // answers to ARP and neighbour discovery
    std::uint64_t neighbours_not_sent = 0;
};

// Action that the caller owes a frame after take_in_place().
struct Turned {
    enum class Kind : std::uint8_t {
        kNothing,  // an answer, if there is one, waits
        kAnswer,
        kReflection,
        kNeighbour,
    } kind = Kind::kNothing;
    std::uint16_t bytes = 0;  // the frame's length
};

class Responder {
  public:
    static constexpr Nanoseconds kLongestDelay = std::chrono::seconds(10);

    // Errors (kBadInput): a rule's suffix, CNAME, delay, loss or rcode is out of its range.
    static Result<Responder> make(const ResponderOptions& options);

    // Reads a frame that arrived at `now_ns`. No allocation.
    void take(frame::Bytes frame, std::int64_t now_ns) noexcept;

    // Reads a frame that lies in the first `size` bytes of `room`. What can be sent at once is
    // written over it and has to be sent and reported with departed(); everything else is dealt
    // with as take() does, as are all queries of a responder that notes their arrival.
    Turned take_in_place(std::span<std::uint8_t> room, std::size_t size,
                         std::int64_t now_ns) noexcept;
    enum class Outcome : std::uint8_t { kSent, kRefused };
    void departed(Turned::Kind kind, Outcome outcome) noexcept;

    // Returns when the next answer is to leave, if one waits.
    std::optional<std::int64_t> next_due() const noexcept;
    // The frame of that answer; valid until it is taken off as sent or as not sent.
    frame::Bytes next_answer() const noexcept;
    void take_off(Outcome outcome) noexcept;

    std::size_t waiting() const { return heap_.size(); }
    const ResponderCounts& counts() const { return counts_; }
    // Frames received; its `answers` are the queries among them.
    const judge::Intake& intake() const { return intake_; }
    judge::Intake& intake() { return intake_; }
    std::span<const Arrival> arrivals() const { return arrivals_; }

  private:
    // Room for a UDP answer of 512 bytes (RFC 1035 section 2.3.4) in a VLAN-tagged IPv6 VXLAN
    // envelope.
    static constexpr std::size_t kFrameBytes = kMostAnswerBytes + 2 * (22 + 40 + 8) + 8;

    struct Slot {
        std::array<std::uint8_t, kFrameBytes> bytes;
        std::uint16_t size = 0;
    };
    struct Waiting {
        std::int64_t due_ns;
        std::uint64_t order;  // answers due at one time leave in the order of their queries
        std::uint32_t slot;
        auto operator<=>(const Waiting&) const = default;
    };

    Responder(const ResponderOptions& options, std::vector<judge::Expectation> answers);

    std::size_t answer_neighbour(std::span<std::uint8_t> room, std::size_t size,
                                 const frame::FrameView& view) noexcept;
    void take_admitted(frame::Bytes frame, const frame::FrameView& view,
                       std::int64_t now_ns) noexcept;
    void answer(frame::Bytes frame, const frame::FrameView& view,
                const frame::DnsQuestion& question, std::int64_t now_ns) noexcept;
    void note_arrival(const frame::DnsQuestion& question, const frame::PacketView& packet) noexcept;
    bool lose(double share) noexcept;
    std::size_t write(std::span<std::uint8_t> out, frame::Bytes query,
                      std::optional<std::size_t> rule) const noexcept;

    std::vector<AnswerRule> rules_;
    std::vector<judge::Expectation> answers_;  // one a rule
    QuickAnswers quick_;
    Reflect reflect_;
    std::optional<neighbour::Station> station_;
    frame::DnsName suffix_;
    std::size_t port_;
    Random random_;
    std::uint64_t order_ = 0;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_slots_;
    std::vector<Waiting> heap_;
    std::vector<Arrival> arrivals_;
    ResponderCounts counts_;
    judge::Intake intake_;
};

}  // namespace pathproof::traffic
