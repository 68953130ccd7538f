// Reads and judges all that one receiving lcore gets: every checksum, outer and inner, of every
// frame; tracked frames are told from others by their stamp, entered in the ledger of their stream
// and in the latency histogram of their class. There are three ways, of which each gives the same
// verdict: frames that look as others of the run did are known (known_shape.h), others of common
// shape are judged in one pass (quick_verifier.h), the rest by the verifier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "dataplane/judge/expectation.h"
#include "dataplane/judge/intake.h"
#include "dataplane/judge/latency.h"
#include "dataplane/judge/sequence_ledger.h"
#include "dataplane/load/allowance.h"
#include "dataplane/load/icmp_errors.h"
#include "dataplane/load/intake.h"
#include "dataplane/load/load_plan.h"
#include "dataplane/load/under_way.h"

namespace pathproof::load {

struct IntakePlan {
    std::vector<std::uint16_t> tunnel_ports = {4789};  // UDP ports that carry VXLAN
    unsigned streams = 1;                              // that are sent
    std::string suffix = "pathproof.test";
    // Kind of tracked frames that come back: the frames themselves, as a DUT forwards them, or
    // answers to them (DNS responses, SYN-ACK or RST, echo replies, reflected UDP).
    enum class Expects : std::uint8_t { kFrames, kAnswers } expects = Expects::kAnswers;
    Nanoseconds late_after = std::chrono::seconds(5);  // longer under way than this: late
    std::uint32_t keep_bad_frames = 64;
    // Frames kept before and after each of the first anomalies (bad checksum, duplicate,
    // reordering, late); 0: none. With them no frame is known: each is looked at on its own.
    std::uint32_t frames_around = 0;
    std::uint32_t anomalies = 16;
    std::uint64_t seed = 1;  // of the sources: DNS ids follow from it
    // Plan of all sources (stream and share of the flows are each one's own): each frame that comes
    // back, or the one it answers, is compared with it. Nothing: only its stamp is looked at.
    std::optional<SourcePlan> sent;
    Allowance allowed;  // what may differ from it
    // Contents of right DNS answers; none: any records, NOERROR.
    std::vector<judge::Expectation> right_answers;
};

// A frame that is not as it was sent, or no right answer.
struct WrongFrame {
    std::vector<std::uint8_t> bytes;
    // The frame as it left, with no time in its stamp; empty: not known which it was, or an answer.
    std::vector<std::uint8_t> sent = {};
    std::size_t port = 0;
    std::int64_t at_ns = 0;
    std::string what;  // lines: fields, and what they are instead of
};

// Number of frames in which a field was not as it had to be.
struct WrongField {
    std::string name;  // "ip.tos", "inner.udp.source_port", "dns.name", "frame.length", ...
    std::uint64_t frames = 0;
};

// One frame out of the ring around an anomaly.
struct RingFrame {
    std::vector<std::uint8_t> bytes;
    std::int64_t at_ns = 0;
    std::uint64_t number = 0;  // frames received before it
};
struct Anomaly {
    enum class Kind : std::uint8_t {
        kBadChecksum,
        kMalformed,
        kDuplicate,
        kReordered,
        kLate,
        kWrongAnswer
    } kind;
    std::uint64_t number = 0;  // of the frame itself
    std::vector<RingFrame> around;
};

// Counts of the NIC's claims about checksums, by what the checksums really are.
struct RxFlagCounts {
    std::uint64_t good_on_good = 0;
    std::uint64_t good_on_bad = 0;  // the NIC passes wrong checksums
    std::uint64_t bad_on_good = 0;
    std::uint64_t bad_on_bad = 0;
    std::uint64_t unknown = 0;  // no claim
};

struct ClassTotals {
    std::uint64_t unique = 0;  // different frames that arrived whole, late ones too
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;
    std::uint64_t late = 0;
    // Not as sent, of another id, from elsewhere, or with an rcode other than NOERROR; of `unique`.
    std::uint64_t wrong = 0;
    // Known to be of the run, and their number, though a checksum is wrong or they cannot be read to
    // their end (cut, shifted): not of `unique`.
    std::uint64_t damaged = 0;
    judge::LatencyHistogram latency;

    // Each frame that was sent is one of: these, late, wrong, damaged, or missing.
    std::uint64_t as_sent() const { return unique - std::min(unique, late + wrong); }
    std::uint64_t arrived() const { return unique + damaged; }
};

struct IntakeTotals {
    judge::ReceiveTally received;  // `answers` are the tracked frames; balances
    judge::ChecksumCounts checksums{};
    RxFlagCounts ip_flags;
    RxFlagCounts l4_flags;
    std::array<ClassTotals, frame::kTrafficClasses> classes;
    std::vector<judge::SequenceTotals> streams;  // by stream
    std::uint64_t quick = 0;                     // frames that took a quick way
    std::uint64_t known = 0;                     // of these, the quickest: see known_shape.h
    std::uint64_t stale = 0;                     // of other traffic: left before the counting began
    std::vector<WrongField> wrong_fields;        // by name, in no order; those with 0 too
    std::vector<IcmpErrorCount> icmp_errors;     // of every port, those only listened to as well

    std::uint64_t wrong_quotes() const;  // ICMP errors that quote another packet than was sent
};

class TrackedIntake final : public Intake {
  public:
    static Result<TrackedIntake> make(const IntakePlan& plan);
    TrackedIntake(TrackedIntake&&) noexcept;
    TrackedIntake& operator=(TrackedIntake&&) noexcept;
    ~TrackedIntake() override;

    // No allocation but for the first bad frames and anomalies.
    void take(std::span<rte_mbuf* const> burst, std::size_t port,
              std::uint64_t now_ns) noexcept override;
    // Counts the ICMP errors among frames of a port at which no answers come back.
    void listen(std::span<rte_mbuf* const> burst, std::size_t port) noexcept;
    const judge::ReceiveTally& received() const noexcept override;
    // Different frames that came, with a wrong checksum too.
    std::uint64_t arrived() const noexcept override;

    // As of the last burst; cheap enough to be asked after each. The lcore's own: for a progress
    // line it has to be copied.
    const IntakeTotals& totals() const noexcept;
    // Give away what was kept and set memory aside for as much again: not between two bursts.
    std::vector<judge::KeptFrame> take_bad_frames();
    std::vector<Anomaly> take_anomalies();
    std::vector<WrongFrame> take_wrong_frames();
    // The first that cannot be read to their end, or came back with a wrong checksum.
    std::vector<WrongFrame> take_damaged_frames();

    // Starts the counting anew (a new trial): ledgers, histograms and counters empty. Tracked
    // frames that left before `began_ns` count as stale.
    void reset(std::uint64_t began_ns = 0) noexcept;
    // From now on each frame that comes for the first time is told there, too; null: nowhere.
    void tell(Returns* returns) noexcept;

  private:
    struct Impl;
    explicit TrackedIntake(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

void add(ClassTotals& to, const ClassTotals& more);
ClassTotals all_classes(const IntakeTotals& intake);
// Totals of several lcores as those of one.
void add(IntakeTotals& to, const IntakeTotals& more);

}  // namespace pathproof::load
