// Conclusions of dns-tcp-limit, as data (model/README.md).
#include <algorithm>

#include "harness/scenario/resolvers/dns_tcp_limit.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using Failed = agent::ForwarderTry::Outcome;

constexpr std::uint64_t kWorkersAsItComes = 20;  // dnsmasq's MAX_PROCS

bool of_forwards(const TcpLimitCell& what) {
    return what.load == TcpLimitLoad::kForward;
}

// All workers are taken, as dnsmasq says; where it does not say, as the process table has them.
bool at_limit(const TcpLimitValues& seen) {
    return seen.in_use ? seen.most_workers != 0 && *seen.in_use >= seen.most_workers
                       : seen.workers >= kWorkersAsItComes;
}

bool by_workers(const TcpLimitValues& seen) {
    return seen.harm.by_queue != 0 && seen.harm.by_queue == seen.harmed() && at_limit(seen) &&
           seen.udp_answered;
}

// Returns whether the limit of forwards explains all harm: no more lookups were answered than
// dnsmasq forwards at a time, and the others were all REFUSED, with the reason in its log.
bool by_forwards(const TcpLimitValues& seen) {
    return seen.refused != 0 && seen.refused == seen.harmed() && seen.forward_max != 0 &&
           seen.answered <= seen.forward_max && seen.lookups > seen.forward_max;
}

std::uint64_t unexplained_by_limits(const TcpLimitCell& what, const TcpLimitValues& seen) {
    if (of_forwards(what)) {
        return by_forwards(seen) ? 0 : seen.harmed();
    }
    const std::uint64_t told = seen.harm.all() - seen.harm.unexplained;
    return seen.harmed() > told ? seen.harmed() - told : 0;
}

std::string load_text(const TcpLimitCell& what, const TcpLimitValues&) {
    switch (what.load) {
        case TcpLimitLoad::kBurst: return fmt::format("{} names at once", what.names);
        case TcpLimitLoad::kIdle:
            return fmt::format("a lookup by TCP, beside the idle connections of {} names",
                               what.names);
        case TcpLimitLoad::kForward: return fmt::format("{} names at once by UDP", what.names);
    }
    return "";
}

// The cure of a cell, in words.
std::string cure_words(const TcpLimitCell& what, const TcpLimitValues&) {
    if (what.max_tcp_connections != 0) {
        return fmt::format("`{}={}` (new in 2.90)", setting::cure("more-workers").told_command,
                           what.max_tcp_connections);
    }
    if (what.dns_forward_max != 0) {
        return fmt::format("`{}={}`", setting::cure("forward-max").told_command,
                           what.dns_forward_max);
    }
    return what.prefer_udp ? "`prefer_udp` in place of `force_tcp` in the cache"
                           : fmt::format("`max_idle_conns {}` in the cache", what.max_idle);
}

std::string limit_cache_text(const TcpLimitCell& what, const TcpLimitValues&) {
    if (of_forwards(what)) {
        return "none";
    }
    return std::string("stand-in for CoreDNS") +
           (what.prefer_udp ? ", prefer_udp" : ", force_tcp") +
           (what.max_idle != 0 ? fmt::format(", max_idle_conns {}", what.max_idle) : "");
}

std::string dnsmasq_text(const TcpLimitCell& what, const TcpLimitValues&) {
    if (what.max_tcp_connections != 0) {
        return fmt::format("--max-tcp-connections={}", what.max_tcp_connections);
    }
    return what.dns_forward_max != 0 ? fmt::format("--dns-forward-max={}", what.dns_forward_max)
                                     : "as it comes";
}

const char* load_word(const TcpLimitCell& what, const TcpLimitValues&) {
    switch (what.load) {
        case TcpLimitLoad::kBurst: return "burst";
        case TcpLimitLoad::kIdle: return "idle";
        case TcpLimitLoad::kForward: return "forward";
    }
    return "";
}

TcpLimitConclusions::Figures limit_figures() {
    using Seen = TcpLimitValues;
    const auto by = [](auto member) {
        return [member](const Seen& seen) { return seen.harm.*member; };
    };
    const model::FigureText through_cache{.where = "load != 'forward'"};
    return {
        {"lookups", "lookups", "lookups", &Seen::lookups},
        {"answered", "lookups", "of them answered in time", &Seen::answered},
        {"late", "lookups", "of them answered late", &Seen::late},
        {"servfail", "lookups", "of them answered with an error", &Seen::servfail},
        {"refused", "lookups", "of them answered REFUSED", &Seen::refused},
        {"unanswered", "lookups", "of them not answered", &Seen::unanswered},
        {"slowest", "ms", "the slowest answer", &Seen::slowest_ms},
        {"workers", "", "child processes of dnsmasq meanwhile", &Seen::workers},
        {"most_workers", "", "that it starts, as it says", &Seen::most_workers},
        {verdict::kUnexplained, "lookups", "failed or late, and nothing tells why",
         unexplained_by_limits},
        {"in_use", "", "of them in use, as it says", &Seen::in_use, {.where = "says_in_use"}},
        {"forward_max",
         "",
         "most forwarded at a time, as its log says",
         &Seen::forward_max,
         {.where = "load == 'forward'"}},
        {"by_queue", "lookups", "failed or late: waited in the queue of dnsmasq's socket",
         by(&TcpLimitHarm::by_queue), through_cache},
        {"by_server", "lookups", "failed or late: accepted, and not answered",
         by(&TcpLimitHarm::by_server), through_cache},
        {"by_loss", "lookups", "failed or late: answered, and the answer was not acknowledged",
         by(&TcpLimitHarm::by_loss), through_cache},
        {"by_rubbish", "lookups", "failed: answered with what is no DNS message",
         by(&TcpLimitHarm::by_rubbish), through_cache},
        {"by_answer", "lookups", "failed: the server's own error", by(&TcpLimitHarm::by_answer),
         through_cache},
        {"by_refusal", "lookups", "failed: connections refused or closed",
         by(&TcpLimitHarm::by_refusal), through_cache},
        {"not_connected", "lookups", "failed: not connected, and the queue was not full",
         by(&TcpLimitHarm::not_connected), through_cache},
        {"dials", "", "connections that the cache made", &Seen::dials, through_cache},
        {"most_open", "", "of them open at a time", &Seen::most_open, through_cache},
        {"idle", "", "of them idle in the end", &Seen::idle, through_cache},
        {"most_waiting", "", "Recv-Q of dnsmasq's socket, at most", &Seen::most_waiting,
         through_cache},
        {"overflows", "", "ListenOverflows of its host", &Seen::overflows, through_cache},
        {"udp", "ms", "a lookup by UDP meanwhile", &Seen::udp_ms, through_cache},
        {"freed",
         "ms",
         "from the end of the connections to an answer",
         &Seen::freed_ms,
         {.where = "load != 'forward' and was_freed"}},
        {"hurt", &Seen::harmed},
        {"says_in_use", [](const Seen& seen) { return seen.in_use.has_value(); }},
        {"at_limit", at_limit},
        {"by_workers", by_workers},
        {"by_forwards", by_forwards},
        {"udp_answered", &Seen::udp_answered},
        {"was_freed", &Seen::freed},
        {"freed_answered", &Seen::freed_answered},
        {"forward_line", &Seen::forward_line},
        {"load", load_word},
        {"load_text", load_text},
        {"cache_text", limit_cache_text},
        {"dnsmasq_text", dnsmasq_text},
        {"cure_words", cure_words},
    };
}

// A lookup that failed or was late, for a reason that is not a limit of dnsmasq.
model::Rule other_harm(const char* count, const char* cause, const char* why,
                       const std::string& where = "") {
    return {.when = std::string(count) + " != 0" + where,
            .is = model::CellVerdict::kFail,
            .cause = cause,
            .text = std::string("{harm}; of {") + count + "} of them: " + why};
}

model::Finding limit_finding(const std::string& load, const char* cure, const std::string& why) {
    return {.of = "harmed and load == '" + load + "'",
            .headline = "{id}: {harm}",
            .why = why,
            .cures = {{.cure = cure,
                       .with = "is_cure and load == '" + load + "'",
                       .again = "again and harmed and load == '" + load + "'",
                       .shown_by = model::CureText::ShownBy::kAll,
                       .text = "[tried_" + load + "?{tried_" + load +
                               "}|{command} (not tried in this run)]; [again.id?without it again "
                               "{again.harm}|not shown: without it the failure was not seen "
                               "again]"}}};
}

model::Listing limit_cures(const std::string& load) {
    return {.name = "tried_" + load,
            .text =
                "{cure_words} ([passed?then {answered of lookups} lookups were answered, the "
                "slowest after {slowest:.0f} ms|not shown: {reason}])",
            .of = "is_cure and load == '" + load + "'"};
}

// A lookup counts once, first by a cause other than the queue.
constexpr std::uint64_t TcpLimitHarm::*kHarmOrder[] = {
    &TcpLimitHarm::by_answer, &TcpLimitHarm::by_rubbish,    &TcpLimitHarm::by_loss,
    &TcpLimitHarm::by_server, &TcpLimitHarm::not_connected, &TcpLimitHarm::unexplained,
    &TcpLimitHarm::by_queue,  &TcpLimitHarm::by_refusal,
};

// Adds a lookup to `harm` by what its tries met.
void count_once(const TcpLimitHarm& met, TcpLimitHarm& harm) {
    for (const auto cause : kHarmOrder) {
        if (met.*cause != 0) {
            ++(harm.*cause);
            return;
        }
    }
    ++harm.unexplained;
}

}  // namespace

TcpLimitHarm tell_harm(const agent::DnsLoadReport& load, const agent::ForwarderReport& forwarder,
                       const agent::TcpQueue& queue, const frame::IpAddress& from,
                       std::uint64_t overflows) {
    const auto failed = [](const agent::ForwarderTry& each) {
        return each.outcome == Failed::kTimedOut || each.outcome == Failed::kGivenUp;
    };
    const auto place = [&](const agent::ForwarderTry& each) {
        return std::ranges::find(queue.connections, frame::Endpoint{from, each.port},
                                 &agent::TcpQueue::Connection::peer);
    };
    // The server's host has no trace of such a try: a full queue drops the SYN, or the ACK that
    // ends the handshake where SYN cookies took the place of an entry. Each raises ListenOverflows.
    const auto unseen = [&](const agent::ForwarderTry& each) {
        return failed(each) && (!each.connected || place(each) == queue.connections.end());
    };
    const bool full =
        overflows != 0 &&
        overflows >= static_cast<std::uint64_t>(std::ranges::count_if(forwarder.tries, unseen));
    // A connection whose query was not looked at: for the larger part of the try it waited.
    const auto waited = [&](const agent::ForwarderTry& each,
                            const agent::TcpQueue::Connection& connection) {
        const std::int64_t until = connection.accepted_ns == 0
                                       ? each.end_ns
                                       : std::min(connection.accepted_ns, each.end_ns);
        return connection.first_waiting_ns != 0 &&
               2 * (until - each.start_ns) >= each.end_ns - each.start_ns;
    };
    TcpLimitHarm harm;
    for (const agent::DnsLoadReport::Lookup& lookup : load.lookups) {
        if (!is_harmed(lookup)) {
            continue;
        }
        TcpLimitHarm met;  // by its tries
        for (const agent::ForwarderTry& each : forwarder.tries) {
            if (each.client_port != lookup.port) {
                continue;
            }
            if (each.outcome == Failed::kAnswered) {
                met.by_answer += lookup.rcode != 0 ? 1 : 0;
            } else if (each.outcome == Failed::kRubbish) {
                ++met.by_rubbish;
            } else if (each.outcome == Failed::kRefused) {
                ++met.by_refusal;
            } else if (unseen(each) && full) {
                ++met.by_queue;
            } else if (unseen(each)) {
                ++(each.connected ? met.unexplained : met.not_connected);
            } else if (failed(each) && waited(each, *place(each))) {
                ++met.by_queue;
            } else if (failed(each)) {
                ++(place(each)->unacknowledged_ns >= kLongUnacknowledgedNs ? met.by_loss
                                                                           : met.by_server);
            }
        }
        count_once(met, harm);
    }
    return harm;
}

const TcpLimitConclusions& dns_tcp_limit_conclusions() {
    using enum model::CellVerdict;
    static const std::string kByTcp =
        "[leads?dnsmasq serves each TCP connection with a process of its own, and accepts none "
        "while all are taken, by idle connections too. ]{id}: {held}";
    static const TcpLimitConclusions conclusions(
        limit_figures(),
        {
            .toggles = {{"load", "{load_text}"},
                        {"cache", "{cache_text}"},
                        {"dnsmasq", "{dnsmasq_text}"}},
            .phrases =
                {{"ways",
                  {{"{servfail} with an error"},
                   {"{refused} REFUSED"},
                   {fmt::format("{{late}} after more than {} ms", kLateMs)},
                   {"{unanswered} not at all"}}},
                 {"harm",
                  {{"{hurt of lookups} lookups were answered badly: {ways}", "lookups != 0"}}},
                 {"said",
                  {{"{workers} child processes of dnsmasq"},
                   {"its log: \"child processes for TCP requests: in use {in_use}, ... max "
                    "allowed {most_workers}\"",
                    "in_use != 0"},
                   {"Recv-Q of its socket up to {most_waiting}"},
                   {"ListenOverflows rose by {overflows}"}}},
                 {.name = "held",
                  .clauses = {{"the cache (a stand-in for CoreDNS: its rules for connections) had "
                               "up to {most_open} connections open",
                               "most_open != 0"},
                              {"{said}"},
                              {"{by_queue of hurt} lookups that failed or were late waited in the "
                               "queue of that socket or found it full",
                               "hurt != 0"},
                              {"one by UDP was answered in {udp:.1f} ms meanwhile", "udp_answered"},
                              {"one that waited was answered {freed:.1f} ms after the connections "
                               "had ended",
                               "freed_answered"}},
                  .between = "; "}},
            .rules =
                {
                    {.when = "lookups == 0", .text = "no lookup was made"},
                    {.when = "hurt == 0", .is = kPass},
                    {.when = "load == 'forward' and by_forwards",
                     .is = kFail,
                     .cause = "forward-max",
                     .text = "{harm}; dnsmasq's log: \"{forward_line}\""},
                    {.when = "load == 'forward' and refused != 0 and forward_max == 0",
                     .is = kFail,
                     .cause = "refused",
                     .text = "{harm}, and its log says nothing of too many queries"},
                    {.when = "load == 'forward'",
                     .is = kFail,
                     .cause = "lost",
                     .text = "{harm}, and no limit of dnsmasq explains it"},
                    {.when = "by_workers",
                     .is = kFail,
                     .cause = "worker-limit",
                     .text = "{harm}; {by_queue of hurt} waited in the queue of dnsmasq's socket; "
                             "{said}"},
                    other_harm("by_answer", "server-error",
                               "the server itself answered with an error"),
                    other_harm("by_rubbish", "rubbish-answer",
                               "what came as an answer is no DNS message"),
                    other_harm("by_loss", "answer-lost",
                               "dnsmasq had answered, and what it sent was not acknowledged"),
                    other_harm("by_server", "server-slow",
                               "dnsmasq had accepted the connection, and did not answer"),
                    other_harm(
                        "not_connected", "syn-lost",
                        "no connection came about, and the queue of dnsmasq's socket was not "
                        "full"),
                    other_harm("by_refusal", "connection-refused",
                               "connections were refused, reset or closed"),
                    other_harm("by_queue", "not-serving",
                               "waited in the queue, and by UDP dnsmasq did not answer either",
                               " and not udp_answered"),
                    other_harm("by_queue", "not-accepting",
                               "waited in the queue, and not all workers were taken",
                               " and not at_limit"),
                    {.when = "", .text = "{harm}, and nothing tells why of {unexplained} of them"},
                },
            .own = "fails and (cause == 'worker-limit' or cause == 'forward-max')",
            .chart = {.title = "Lookups that failed or were late",
                      .hits = "hurt",
                      .trials = "lookups"},
            .listings = {limit_cures("idle"), limit_cures("burst"), limit_cures("forward")},
            .findings = {limit_finding("idle", "more-workers", kByTcp),
                         limit_finding("burst", "more-workers", kByTcp),
                         limit_finding("forward", "forward-max",
                                       "{id}: dnsmasq forwards {forward_max} queries at a time and "
                                       "refuses what comes beyond, at once; its log: "
                                       "\"{forward_line}\"")},
            .whys = {.between = ". ", .end = "."},
            .cures = {.between = "; "},
            .otherwise = "All lookups were answered in time.",
        },
        {.lacks = &TcpLimitValues::skipped});
    return conclusions;
}

}  // namespace pathproof::scenario
