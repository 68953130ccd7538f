// A stream of numbered queries from one port at a chosen rate, each followed to its answer: what
// `pathproof generate` sends.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/frame_spec.h"
#include "dataplane/judge/intake.h"
#include "dataplane/judge/ledger.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/pair_plan.h"

namespace pathproof::port {
class Eal;
}

namespace pathproof::traffic {

struct StreamPlan {
    // Queries that leave together, in one burst, from one socket: one, or an A/AAAA pair. One type
    // each.
    std::vector<std::uint16_t> group = {1};
    std::uint64_t groups = 0;
    double groups_per_second = 0;
    // Addresses, tags, envelope and checksum modes; its source is the first group's.
    frame::FrameSpec spec;
    // Group i leaves from source port + i % source_ports, source address + i / source_ports.
    std::uint16_t source_ports = 1;
    // In an envelope: query n leaves from outer source port n % these; none: the envelope's own.
    std::vector<std::uint16_t> outer_source_ports;
    std::string suffix = "pathproof.test";
    Nanoseconds answer_timeout = std::chrono::seconds(5);
    Nanoseconds drain = std::chrono::milliseconds(300);
    std::uint64_t seed = 1;
    std::uint32_t keep_bad_frames = 64;

    std::uint64_t queries() const { return groups * group.size(); }
};

struct StreamReport {
    std::uint64_t planned = 0;
    std::uint64_t sent = 0;
    std::uint64_t refused = 0;  // by the driver, for a millisecond each
    std::uint64_t late = 0;     // more than 10 us after their deadline
    std::int64_t worst_late_ns = 0;
    double sending_seconds = 0;     // from the first departure to the last
    double queries_per_second = 0;  // achieved between those; 0 for a single departure
    judge::Ledger::Totals answers;  // "never" counts what was not sent too: see unanswered()
    judge::ReceiveTally received;
    judge::ChecksumCounts checksums{};  // of received frames
    std::vector<judge::KeptFrame> bad_frames;
    port::PortCounters port;              // over the run
    bool partial = false;                 // stopped before the last query
    std::vector<std::string> objections;  // not empty: why these figures are not to be relied on

    // Queries that left and got no answer at all.
    std::uint64_t unanswered() const {
        return answers.states[static_cast<std::size_t>(judge::QueryState::kNever)] -
               (planned - sent);
    }
};

// What makes no sense about the plan; nothing is sent.
Status check_stream(const StreamPlan& plan);

// Occupies worker 0 of `eal` and queue 0 of `port` until all queries have left and the drain has
// passed, or `stop` became true. Any answer with the right id and question from the queries'
// destination counts. Errors, before anything is sent: a rate, count or specification that makes no
// sense.
Result<StreamReport> run_stream(port::Eal& eal, port::Port& port, const StreamPlan& plan,
                                const std::atomic<bool>& stop);

}  // namespace pathproof::traffic
