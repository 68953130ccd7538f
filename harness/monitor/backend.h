// Answers of the backends behind a service address, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/verdict/result.h"

namespace pathproof::monitor {

// From the best to the worst.
enum class BackendVerdict {
    kHealthy,
    kTooFew,  // fewer flows than BackendRules::enough
    kOneWay,  // no answer passes here, and that harms nobody as far as is seen (BackendHealth::note)
    kSlow,    // answers, but the middle answer takes longer than BackendRules::slow_after
    kLossy,   // leaves more of its flows unanswered than BackendRules::lossy_share
    kRefusing,  // answers nearly nothing, but ICMP errors or resets come back
    kSilent,    // has answered before, and answers nothing now
    kDead,      // answers nearly nothing, and nobody says why: silence
};
const char* name(BackendVerdict verdict);  // "healthy", ..., "too few"

// Packets of a backend, each counted once, since they are followed.
struct BackendTraffic {
    std::uint64_t asked = 0, answered = 0;
    std::uint64_t unanswered = 0;  // asked since the last answer
    std::int64_t silent_ns = 0;    // since the first of these
    std::int64_t idle_ns = 0;      // since the last packet to it
    bool acknowledged = false;     // of TCP: who asks has had answers, and be it by another way
    bool address_seen = false;     // some packet has come from its address
};

// Rules for the verdicts. Shares are of the flows judged: those answered, those that ended
// unanswered, and those that have waited longer than `patience_ns`.
struct BackendRules {
    std::uint64_t enough = 20;
    // Flows with a refusal that tell a refusing backend from a dead one. Few, for a host sends no
    // more than one ICMP error a second to a destination after a burst of six (icmp_ratelimit).
    std::uint64_t refusals = 3;
    double dead_share = 0.9;
    double lossy_share = 0.1;
    std::int64_t patience_ns = 1'000'000'000;
    // A raced query's hidden entry lives for one second: a later answer is lost to its client.
    std::int64_t slow_after_ns = 1'000'000'000;
    // Verdicts and answer times are of the last minute or so, so that a backend that dies is named
    // soon.
    std::int64_t window_ns = 60'000'000'000;
    // A backend is silent when so many packets in so long a time had no answer: of TCP, which repeats
    // itself ever more slowly, fewer. One that nobody has asked for `idle_ns` is not judged so.
    std::uint64_t silent_packets = 20;
    std::uint64_t silent_segments = 5;
    std::int64_t silent_after_ns = 3'000'000'000;
    std::int64_t silent_idle_ns = 30'000'000'000;
};

// A backend of a service. Counts of flows.
struct BackendHealth {
    frame::Endpoint address;    // reply source; the service itself where nothing translates
    std::uint64_t flows = 0;    // seen since the start, and in the table then
    std::int64_t in_table = 0;  // entries now, as far as the events tell
    // Figures of the window:
    std::uint64_t judged = 0;
    std::uint64_t unanswered = 0;  // [UNREPLIED], SYN_SENT
    std::uint64_t refused = 0;     // of these: ICMP errors or TCP resets came instead of answers
    verdict::Interval unanswered_share;            // 95 %, 0 to 1
    std::optional<std::int64_t> median_answer_ns;  // of the last answers timed
    std::optional<std::int64_t> slowest_tenth_ns;  // 90 % of these answers were faster
    std::string last_refusal;  // "port unreachable from 10.1.0.3", "reset"; empty: none seen
    std::uint8_t protocol = 0;
    bool translated = true;        // by a rule: its answers have to come back here
    bool answered_before = false;  // since its flows are known
    std::optional<BackendTraffic> traffic =
        {};                        // nothing: its packets are not followed, or not all
    std::uint64_t astray = 0;      // answers that came from another end than the one asked
    std::string astray_from = "";  // the last of them
    std::string note = "";         // why the verdict is what it is, where counts do not say it
    BackendVerdict verdict = BackendVerdict::kTooFew;

    double unanswered_fraction() const;  // 0 when nothing was judged
};

// By the rules above, from the counts and the median; fills in the interval and the verdict.
void judge(BackendHealth& health, const BackendRules& rules);

struct ServiceHealth {
    frame::Endpoint address;  // original destination
    std::uint8_t protocol = 0;
    std::uint64_t flows = 0;  // the sums over its backends
    std::int64_t in_table = 0;
    std::uint64_t judged = 0;
    std::uint64_t unanswered = 0;
    std::vector<BackendHealth> backends;  // most flows first
};

// Refusals that this machine itself sent for packets of which no unanswered flow is known. A REJECT
// rule drops a first packet before its entry is confirmed, so that conntrack never shows it
// (kube-proxy has such rules for services without endpoints).
struct StrayRefusal {
    frame::Endpoint destination;  // of the refused packets
    std::uint8_t protocol = 0;
    std::string refusal;        // as BackendHealth::last_refusal
    std::uint64_t packets = 0;  // equal ones that follow closely count once
};

struct BackendReport {
    std::vector<ServiceHealth> services;  // most flows first
    std::vector<StrayRefusal> stray_refusals;
    // Flows of services beyond the bound on their number, and flows forgotten before they could be
    // judged because too many waited at once.
    std::uint64_t flows_left_out = 0;
    std::uint64_t flows_forgotten = 0;
    // Source of the refusals, or why none were looked for: then kDead may also be a refusal.
    bool refusals_watched = false;
    std::string refusals_source;
    std::uint64_t refusals_lost = 0;  // packets that the watching socket had no room for
    // The way in which packets each way were counted, or why they were not.
    std::string traffic_source;
    std::uint64_t traffic_lost = 0;  // packets that found the counting socket full
};

}  // namespace pathproof::monitor
