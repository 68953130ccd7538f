// Joins what the ledger saw of every query pair to what the DUT's kernel said in that time:
// conntrack's events and counters, drop reasons, devices without a link. What cannot be joined is
// counted as unexplained, never left out.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dataplane/judge/pair_report.h"
#include "dataplane/pairs/pair_plan.h"
#include "harness/drops/link_watch.h"
#include "harness/drops/summary.h"
#include "harness/join/own_drops.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/stats.h"

namespace pathproof::join {

// Reason with which the kernel drops the frames that warm the way (traffic/warm_up.h).
inline constexpr const char* kWarmUpReason = "IP_INVALID_SOURCE";

// Reason why one query did not get its answer in time.
enum class Fate : std::uint8_t {
    kNone,                // it did
    kDroppedAtInsertion,  // another packet's entry took the tuple first: insert_failed
    kUntranslatedAnswer,  // the hidden entry of its clash had expired: an answer older than 1 s
    kFlushed,    // a program had its entry destroyed before the answer came (not our own flush)
    kTableFull,  // it got no entry, or its entry was thrown out early, for want of room
    kLinkDown,   // a device of the DUT had no link
    kDropped,    // the kernel dropped it for a reason of its own
    kOverload,   // a queue of the DUT was full: a ring, a CPU's backlog, a queueing discipline
    kSlow,       // the right answer, after the timeout
    kUnexplained,
};
inline constexpr std::size_t kFates = 10;
const char* name(Fate fate);

// Reports of the DUT's kernel on one run.
struct DutRecord {
    netfilter::EventLog log;
    std::vector<netfilter::CpuStats> stats;  // deltas
    netfilter::TableSize table;              // after the run
    std::int64_t flushed_ns = INT64_MAX;     // the harness's own flush began (CLOCK_REALTIME)
    drops::DropSummary drops;
    std::string untraced = "not asked for";  // why `drops` holds nothing; empty when it does
    OwnDrops own;                            // drops of the queries and of their answers
    std::vector<drops::Outage> outages;      // of the devices that the pairs pass
    // Packets dropped from full queues of which no packet tells: the CPUs' backlogs
    // (/proc/net/softnet_stat), the devices' rings ("eth0.rx_missed_errors").
    std::uint64_t backlog = 0;
    std::map<std::string, std::uint64_t> rings;
    std::int64_t began_ns = 0;  // about the run's start (CLOCK_REALTIME)

    std::uint64_t counter(const std::string& name) const { return netfilter::total(stats, name); }
    // conntrack throws entries out from 95 % on (nf_conntrack_max95 in its garbage collector).
    bool table_full() const {
        return table.maximum != 0 && table.entries * 100 >= table.maximum * 95;
    }
};

// One query that did not end well, with the events that tell why.
struct QueryStory {
    std::uint32_t pair = 0;
    std::uint8_t member = 0;
    judge::QueryState state = judge::QueryState::kNever;
    Fate fate = Fate::kUnexplained;
    std::string query;  // the tuple it left with
    // The entry that stood in its way: original > reply tuple; empty when there is none.
    std::string winner;
    std::string event;  // what proves the fate
};

// Facts about a pair, a bit each.
enum PairBit : unsigned {
    kTwoBackends = 1,   // the responder saw the two halves at different addresses
    kHiddenEntry = 2,   // its clash was resolved by a NAT_CLASH entry: status bit 12 in its events
    kLost = 4,          // a query of it got no answer
    kMisdelivered = 8,  // an answer came that a client socket would throw away
    kLateOrWrong = 16,
};

// Disjoint classes: each query is in exactly one place of `queries`, each pair in one of `pairs`.
// Shares are made of sums over them, so that no part can exceed its whole.
struct PairFindings {
    std::array<std::array<std::uint64_t, kFates>, judge::kQueryStates> queries{};
    std::array<std::uint64_t, 32> pairs{};  // by the set of PairBits

    std::uint64_t count(judge::QueryState state) const;
    std::uint64_t count(Fate fate) const;
    std::uint64_t count(judge::QueryState state, Fate fate) const {
        return queries[static_cast<std::size_t>(state)][static_cast<std::size_t>(fate)];
    }
    std::uint64_t harmed() const;  // queries that did not end well
    // Pairs of which all of `bits` are true; 0: all pairs.
    std::uint64_t with(unsigned bits) const;

    std::uint64_t hidden_unanswered = 0;  // hidden entries destroyed before a reply came
    std::uint64_t source_nat = 0;         // our clients' entries whose source address was changed
    std::uint64_t changed_ports = 0;      // of these: the port as well
    std::uint64_t flushed_entries = 0;    // entries that another program had destroyed
    std::int64_t least_age_ns = 0;        // of the answers of kUntranslatedAnswer
    std::map<std::string, std::uint64_t> dropped;  // kDropped, by how: "by tc at egress, device d1"
    std::map<std::string, std::uint64_t> down;     // kLinkDown, by device
    std::map<std::string, std::uint64_t> overloaded;  // kOverload, by queue

    // Conntrack's entries against the queries: each NEW belongs to a client's flow, and each flow that came through
    // has one, or shares its pair's.
    std::uint64_t entries = 0;          // NEW of flows to the service
    std::uint64_t entries_found = 0;    // of these, found in the table as their message was lost
    std::uint64_t strange_entries = 0;  // of nobody's query, or a flow's second
    std::uint64_t unheard = 0;        // queries that came through, and no event tells of their flow
    std::vector<QueryStory> stories;  // the first kStories that did not end well
    std::vector<std::uint32_t> clashed;  // the first kStories pairs with a hidden entry
    static constexpr std::size_t kStories = 12;
};

// `delay`: how long the responder waited with each answer. Where the packets told of their drops
// (DutRecord::own), a drop is a query's cause only if its own packet was dropped; else counters
// tell. In both cases no more queries get a cause that the kernel counts than it counted. With
// `log.overruns` events are missing and the caller must not judge by them.
PairFindings join_pairs(const pairs::PairPlan& plan, const judge::PairReport& report,
                        const DutRecord& dut, std::chrono::nanoseconds delay);

}  // namespace pathproof::join
