// What is said of dns-tcp-limit: each clause from a value that is not zero.
#include <set>

#include "harness/scenario/measures.h"
#include "harness/scenario/resolvers/dns_tcp_limit.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using Limits = std::vector<ConcludedCell<MeasuredTcpLimitCell>>;
using ConcludedLimit = Limits::value_type;
using Failed = agent::ForwarderTry::Outcome;

constexpr std::uint64_t kWorkersAsItComes = 20;  // dnsmasq's MAX_PROCS
constexpr const char* kByWorkers = "worker-limit";
constexpr const char* kByForwards = "forward-max";
constexpr const char* kStandIn = "the cache (a stand-in for CoreDNS: its rules for connections)";

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

// As many as it forwards at a time were answered, and it says why it refused the others.
bool by_forwards(const TcpLimitValues& seen) {
    return seen.refused != 0 && seen.refused == seen.harmed() && seen.forward_max != 0 &&
           seen.answered <= seen.forward_max && seen.lookups > seen.forward_max;
}

std::uint64_t unexplained_in(const TcpLimitCell& what, const TcpLimitValues& seen) {
    if (of_forwards(what)) {
        return by_forwards(seen) ? 0 : seen.harmed();
    }
    const std::uint64_t told = seen.harm.all() - seen.harm.unexplained;
    return seen.harmed() > told ? seen.harmed() - told : 0;
}

std::string harm_text(const TcpLimitValues& seen) {
    Clauses clauses;
    tell_count(clauses, seen.servfail, "{} with an error");
    tell_count(clauses, seen.refused, "{} REFUSED");
    tell_count(clauses, seen.late, "{} after more than {} ms", kLateMs);
    tell_count(clauses, seen.unanswered, "{} not at all");
    return fmt::format("{} lookups were answered badly: {}", some_of(seen.harmed(), seen.lookups),
                       in_a_row(clauses));
}

std::string workers_text(const TcpLimitValues& seen) {
    Clauses clauses;
    tell_count(clauses, seen.workers, "{} child processes of dnsmasq");
    tell_count(clauses, seen.in_use.value_or(0),
               "its log: \"child processes for TCP requests: in use {}, ... max allowed {}\"",
               seen.most_workers);
    tell_count(clauses, seen.most_waiting, "Recv-Q of its socket up to {}");
    tell_count(clauses, seen.overflows, "ListenOverflows rose by {}");
    return in_a_row(clauses);
}

std::string held_text(const TcpLimitValues& seen) {
    Clauses clauses;
    tell(clauses, seen.most_open, "{} had up to {} connections open", kStandIn, seen.most_open);
    clauses.push_back(workers_text(seen));
    clauses.push_back(
        fmt::format("{} lookups that failed or were late waited in the queue of that "
                    "socket or found it full",
                    some_of(seen.harm.by_queue, seen.harmed())));
    clauses.push_back(fmt::format("one by UDP was answered in {:.1f} ms meanwhile", seen.udp_ms));
    tell(clauses, seen.freed_answered ? 1 : 0,
         "one that waited was answered {:.1f} ms after the connections had ended", seen.freed_ms);
    return in_a_row(clauses, "; ");
}

void add_measures(const TcpLimitCell& what, const TcpLimitValues& seen, verdict::Cell& cell) {
    const auto lookups = counts_in("lookups");
    cell.measures = {
        lookups("lookups", "lookups", seen.lookups),
        lookups("answered", "of them answered in time", seen.answered),
        lookups("late", "of them answered late", seen.late),
        lookups("servfail", "of them answered with an error", seen.servfail),
        lookups("refused", "of them answered REFUSED", seen.refused),
        lookups("unanswered", "of them not answered", seen.unanswered),
        milliseconds_of("slowest", "the slowest answer", seen.slowest_ms),
        count_of("workers", "child processes of dnsmasq meanwhile", seen.workers),
        count_of("most_workers", "that it starts, as it says", seen.most_workers),
        count_of(verdict::kUnexplained, "failed or late, and nothing tells why",
                 unexplained_in(what, seen), "lookups"),
    };
    const auto add = [&](const verdict::Measure& measure) { cell.measures.push_back(measure); };
    if (seen.in_use) {
        add(count_of("in_use", "of them in use, as it says", *seen.in_use));
    }
    if (of_forwards(what)) {
        add(count_of("forward_max", "most forwarded at a time, as its log says", seen.forward_max));
        return;
    }
    add(lookups("by_queue", "failed or late: waited in the queue of dnsmasq's socket",
                seen.harm.by_queue));
    add(lookups("by_server", "failed or late: accepted, and not answered", seen.harm.by_server));
    add(lookups("by_loss", "failed or late: answered, and the answer was not acknowledged",
                seen.harm.by_loss));
    add(lookups("by_rubbish", "failed: answered with what is no DNS message",
                seen.harm.by_rubbish));
    add(lookups("by_answer", "failed: the server's own error", seen.harm.by_answer));
    add(lookups("by_refusal", "failed: connections refused or closed", seen.harm.by_refusal));
    add(lookups("not_connected", "failed: not connected, and the queue was not full",
                seen.harm.not_connected));
    add(count_of("dials", "connections that the cache made", seen.dials));
    add(count_of("most_open", "of them open at a time", seen.most_open));
    add(count_of("idle", "of them idle in the end", seen.idle));
    add(count_of("most_waiting", "Recv-Q of dnsmasq's socket, at most", seen.most_waiting));
    add(count_of("overflows", "ListenOverflows of its host", seen.overflows));
    add(milliseconds_of("udp", "a lookup by UDP meanwhile", seen.udp_ms));
    if (seen.freed) {
        add(milliseconds_of("freed", "from the end of the connections to an answer",
                            seen.freed_ms));
    }
}

bool own(const ConcludedLimit& each) {
    return each.cell.verdict == CellVerdict::kFail &&
           (each.cell.cause == kByWorkers || each.cell.cause == kByForwards);
}

std::string cure_name(const TcpLimitCell& what) {
    return what.max_tcp_connections != 0
               ? fmt::format("`dnsmasq --max-tcp-connections={}` (new in 2.90)",
                             what.max_tcp_connections)
           : what.dns_forward_max != 0
               ? fmt::format("`dnsmasq --dns-forward-max={}`", what.dns_forward_max)
           : what.prefer_udp ? "`prefer_udp` in place of `force_tcp` in the cache"
                             : fmt::format("`max_idle_conns {}` in the cache", what.max_idle);
}

// The cures of one kind of load, and whether they were shown.
std::string cures_of(const Limits& cells, TcpLimitLoad load, bool& shown) {
    const auto of_load = [&](const ConcludedLimit& each) { return each.what().load == load; };
    const auto text = [](const ConcludedLimit& each) {
        return cure_name(each.what()) + " (" +
               (each.passes()
                    ? fmt::format("then {} lookups were answered, the slowest after {:.0f} ms",
                                  some_of(each.seen().answered, each.seen().lookups),
                                  each.seen().slowest_ms)
                    : "not shown: " + each.cell.reason) +
               ")";
    };
    const auto* again =
        first_again(cells, [&](const ConcludedLimit& each) { return of_load(each) && own(each); });
    return tell_cures(cells, of_load, text,
                      load == TcpLimitLoad::kForward
                          ? "`dnsmasq --dns-forward-max` (not tried in this run)"
                          : "`dnsmasq --max-tcp-connections` (not tried in this run)",
                      again == nullptr ? "" : harm_text(again->seen()), shown);
}

void conclude_reproduced(const Limits& cells, const ConcludedLimit& /*first*/,
                         verdict::ScenarioResult& result) {
    result.cure_shown = true;
    Clauses found;
    Clauses causes;
    Clauses cures;
    std::set<TcpLimitLoad> told;
    for (const ConcludedLimit& each : cells) {
        const TcpLimitValues& seen = each.seen();
        if (!each.is(CellRole::kMatrix) || !own(each) || !told.insert(each.what().load).second) {
            continue;
        }
        found.push_back(each.cell.id + ": " + harm_text(seen));
        causes.push_back(
            of_forwards(each.what())
                ? fmt::format("{}: dnsmasq forwards {} queries at a time and refuses what comes "
                              "beyond, at once; its log: \"{}\"",
                              each.cell.id, seen.forward_max, seen.forward_line)
                : each.cell.id + ": " + held_text(seen));
        cures.push_back(cures_of(cells, each.what().load, result.cure_shown));
        result.before_cell = result.before_cell.empty() ? each.cell.id : result.before_cell;
        const auto* cure = first_of(cells, [&](const ConcludedLimit& other) {
            return other.is(CellRole::kCure) && other.passes() &&
                   other.what().load == each.what().load;
        });
        if (result.after_cell.empty() && cure != nullptr) {
            result.after_cell = cure->cell.id;
        }
    }
    if (!result.cure_shown) {
        result.before_cell = result.after_cell = "";
    }
    result.headline = in_a_row(found, "; ") + ".";
    result.cause = (told.contains(TcpLimitLoad::kIdle) || told.contains(TcpLimitLoad::kBurst)
                        ? "dnsmasq serves each TCP connection with a process of its own, and "
                          "accepts none while "
                          "all are taken, by idle connections too. "
                        : "") +
                   in_a_row(causes, ". ") + ".";
    result.cure = in_a_row(cures, "; ");
}

std::string load_text(const TcpLimitCell& what) {
    switch (what.load) {
        case TcpLimitLoad::kBurst: return fmt::format("{} names at once", what.names);
        case TcpLimitLoad::kIdle:
            return fmt::format("a lookup by TCP, beside the idle connections of {} names",
                               what.names);
        case TcpLimitLoad::kForward: return fmt::format("{} names at once by UDP", what.names);
    }
    return "";
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
    // Of which the server's host has nothing: a full queue drops the SYN, or the ACK that ends the
    // handshake where SYN cookies took the place of an entry. Each raises ListenOverflows.
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
            } else if (unseen(each)) {
                ++(full ? met.by_queue : !each.connected ? met.not_connected : met.unexplained);
            } else if (failed(each)) {
                ++(waited(each, *place(each))                                ? met.by_queue
                   : place(each)->unacknowledged_ns >= kLongUnacknowledgedNs ? met.by_loss
                                                                             : met.by_server);
            }
        }
        // One by itself: what is not the queue's first.
        ++(met.by_answer != 0       ? harm.by_answer
           : met.by_rubbish != 0    ? harm.by_rubbish
           : met.by_loss != 0       ? harm.by_loss
           : met.by_server != 0     ? harm.by_server
           : met.not_connected != 0 ? harm.not_connected
           : met.unexplained != 0   ? harm.unexplained
           : met.by_queue != 0      ? harm.by_queue
           : met.by_refusal != 0    ? harm.by_refusal
                                    : harm.unexplained);
    }
    return harm;
}

verdict::Cell conclude(const TcpLimitCell& what, const TcpLimitValues& seen) {
    verdict::Cell cell{
        .id = what.id,
        .toggles = {{"load", load_text(what)},
                    {"cache",
                     of_forwards(what)
                         ? "none"
                         : "stand-in for CoreDNS" +
                               std::string(what.prefer_udp ? ", prefer_udp" : ", force_tcp") +
                               (what.max_idle != 0
                                    ? fmt::format(", max_idle_conns {}", what.max_idle)
                                    : "")},
                    {"dnsmasq",
                     what.max_tcp_connections != 0
                         ? fmt::format("--max-tcp-connections={}", what.max_tcp_connections)
                     : what.dns_forward_max != 0
                         ? fmt::format("--dns-forward-max={}", what.dns_forward_max)
                         : "as it comes"}},
        .role = what.role,
        .verdict = CellVerdict::kPass};
    add_measures(what, seen, cell);
    const auto end = ending(cell);
    if (not_measured(cell, seen.skipped, seen.objections, seen.lookups, "no lookup was made")) {
        return cell;
    }
    if (seen.harmed() == 0) {
        return cell;
    }
    const std::string harm = harm_text(seen);
    if (of_forwards(what)) {
        if (by_forwards(seen)) {
            return end(CellVerdict::kFail, kByForwards,
                       fmt::format("{}; dnsmasq's log: \"{}\"", harm, seen.forward_line));
        }
        if (seen.refused != 0 && seen.forward_max == 0) {
            return end(CellVerdict::kFail, "refused",
                       harm + ", and its log says nothing of too many queries");
        }
        return end(CellVerdict::kFail, "lost", harm + ", and no limit of dnsmasq explains it");
    }
    const TcpLimitHarm& by = seen.harm;
    if (by_workers(seen)) {
        return end(CellVerdict::kFail, kByWorkers,
                   fmt::format("{}; {} waited in the queue of dnsmasq's socket; {}", harm,
                               some_of(by.by_queue, seen.harmed()), workers_text(seen)));
    }
    for (const auto& [count, cause, clause] :
         {std::tuple{by.by_answer, "server-error", "the server itself answered with an error"},
          {by.by_rubbish, "rubbish-answer", "what came as an answer is no DNS message"},
          {by.by_loss, "answer-lost",
           "dnsmasq had answered, and what it sent was not acknowledged"},
          {by.by_server, "server-slow", "dnsmasq had accepted the connection, and did not answer"},
          {by.not_connected, "syn-lost",
           "no connection came about, and the queue of dnsmasq's socket was not full"},
          {by.by_refusal, "connection-refused", "connections were refused, reset or closed"},
          {!seen.udp_answered ? by.by_queue : 0, "not-serving",
           "waited in the queue, and by UDP dnsmasq did not answer either"},
          {!at_limit(seen) ? by.by_queue : 0, "not-accepting",
           "waited in the queue, and not all workers were taken"}}) {
        if (count != 0) {
            return end(CellVerdict::kFail, cause,
                       fmt::format("{}; of {} of them: {}", harm, count, clause));
        }
    }
    return end(
        CellVerdict::kInconclusive, "",
        fmt::format("{}, and nothing tells why of {} of them", harm, unexplained_in(what, seen)));
}

verdict::ScenarioResult conclude(const std::vector<MeasuredTcpLimitCell>& measured) {
    const auto harm_of = [](const ConcludedLimit& each, auto&) -> Harm {
        const TcpLimitValues& seen = each.seen();
        return {seen.harmed(), seen.lookups, unexplained_in(each.what(), seen)};
    };
    return conclude_cells(measured, "Lookups that failed or were late", harm_of, own,
                          conclude_reproduced, "All lookups were answered in time.");
}

}  // namespace pathproof::scenario
