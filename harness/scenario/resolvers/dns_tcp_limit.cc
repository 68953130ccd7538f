// DNS over TCP through a server that takes 20 connections at a time.
//
// Set:  dnsmasq on the server, with its command line alone; behind it a DNS server that answers after
//       a while; on the DUT a cache with CoreDNS's rules for connections, which stands in for it.
// Sent: names at once through the cache; or a lookup by TCP of another client while the cache's
//       connections are idle; or names at once by UDP, straight to dnsmasq.
// Seen: what came of each lookup; each try of the cache, and where its connection was meanwhile; the
//       workers, as the process table has them and as dnsmasq says; the queue of its socket.

#include "harness/scenario/resolvers/dns_tcp_limit.h"

#include <algorithm>
#include <future>
#include <limits>
#include <map>
#include <thread>

#include "harness/agent/name_servers.h"
#include "harness/agent/probes.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/nat_path_bench.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using Asks = agent::DnsLoadOptions::Asks;
using TryOutcome = agent::ForwarderTry::Outcome;

constexpr std::uint16_t kUpstreamPort = 10'053;      // as beside kube-dns
constexpr std::uint16_t kSlowUpstreamPort = 10'054;  // of kForward
constexpr auto kUpstreamDelay = 200ms;
constexpr auto kSlowUpstreamDelay = 1s;
constexpr auto kLoadTimeout = 7s;  // SERVFAIL comes after 5 s
constexpr auto kForwardTimeout = 5s;
constexpr auto kLookAfter = 600ms;  // at the workers, from the start of the load
constexpr auto kProbeTimeout = 2s;  // A and AAAA, one after the other: twice the delay
constexpr auto kFreeAfter = 500ms;
constexpr auto kFreedTimeout = 6s;
constexpr const char* kSuffix = "svc.test";
constexpr const char* kForwardLine = "Maximum number of concurrent DNS queries";

const char* answer_text(const agent::DnsLoadReport::Lookup& lookup) {
    if (lookup.answered == 0) {
        return "no answer for the client";
    }
    return lookup.rcode != 0 ? "the client gets SERVFAIL" : "the client has its answer";
}

class TcpLimitBench : public NatPathBench<TcpLimitCell, TcpLimitValues> {
  public:
    explicit TcpLimitBench(Context& context)
        : NatPathBench(context, {{".dnsmasq.log", "what dnsmasq said", "nothing\n"},
                                 {".tries.txt", "each try of the cache (stand-in for CoreDNS)",
                                  "nothing\n"}}) {}

    Status open() {
        TRY(NatPathBench::open());
        TRY(hosts_.set({}));
        for (const auto& [port, delay] :
             {std::pair{kUpstreamPort, std::chrono::milliseconds(kUpstreamDelay)},
              {kSlowUpstreamPort, std::chrono::milliseconds(kSlowUpstreamDelay)}}) {
            TRY(hosts_.server->start_dns_server({.listen = {kLoopback, port},
                                                 .address = hosts_.names().server_address,
                                                 .address6 = frame::IpAddress{},
                                                 .delay = delay}));
        }
        // Finds out whether dnsmasq is there at all.
        const Status there = start_dnsmasq({});
        return !there && there.error().code == ErrorCode::kNotFound
                   ? fail(ErrorCode::kKernelLacks, "{}", there.error().message)
                   : Status(there);
    }

  private:
    static inline const frame::IpAddress kLoopback = frame::IpAddress::v4(0x7f000001);

    void object(const Error& error, TcpLimitValues& seen) override {
        const bool skipped = error.code == ErrorCode::kNotSupported;
        (skipped ? seen.skipped : seen.objections.emplace_back()) = error.message;
    }

    Status run(const TcpLimitCell& what, MeasuredTcpLimitCell& cell) override {
        const Status made = run_load(what, cell);
        // Leftovers of the load must not get in the next cell's way.
        (void)hosts_.dut->stop_forwarder();
        (void)hosts_.server->stop_tcp_queue();
        return made;
    }

    frame::Endpoint dnsmasq_at() const { return {hosts_.names().server_address, 53}; }
    frame::Endpoint cache_at() const { return {hosts_.names().dut_client_address, 53}; }

    Status start_dnsmasq(const TcpLimitCell& what) {
        TRY(hosts_.server->stop_dnsmasq());
        return hosts_.server->start_dnsmasq(
            {.addresses = {dnsmasq_at().address},
             .upstream = {kLoopback,
                          what.load == TcpLimitLoad::kForward ? kSlowUpstreamPort : kUpstreamPort},
             .max_tcp_connections = what.max_tcp_connections,
             .dns_forward_max = what.dns_forward_max});
    }

    // Kept for evidence. An error where it has ended.
    Result<agent::DnsmasqReport> look_at_dnsmasq() {
        const auto report = TRY(hosts_.server->dnsmasq_report());
        log_ = in_a_row(report.log, "\n") + "\n";
        if (!report.ended.empty()) {
            return fail(ErrorCode::kUnavailable, "{}", report.ended);
        }
        return report;
    }

    static void take_workers(const agent::DnsmasqReport& report, TcpLimitValues& seen) {
        seen.workers = report.workers;
        if (report.said) {
            seen.in_use = report.said->in_use;
            seen.most_workers = report.said->most;
        }
    }

    // The count among which the lookup is.
    static std::uint64_t& tally_of(const agent::DnsLoadReport::Lookup& lookup, double late_ms,
                                   TcpLimitValues& seen) {
        if (lookup.answered == 0) {
            return seen.unanswered;
        }
        if (lookup.rcode == 5) {
            return seen.refused;
        }
        if (lookup.rcode != 0) {
            return seen.servfail;
        }
        return lookup.milliseconds > late_ms ? seen.late : seen.answered;
    }

    static void take_load(const agent::DnsLoadReport& load, double late_ms, TcpLimitValues& seen) {
        seen.lookups = load.lookups.size();
        for (const agent::DnsLoadReport::Lookup& each : load.lookups) {
            seen.slowest_ms = std::max(seen.slowest_ms, each.milliseconds);
            ++tally_of(each, late_ms, seen);
        }
    }

    agent::DnsLoadOptions names(const TcpLimitCell& what) const {
        const bool forward = what.load == TcpLimitLoad::kForward;
        return {.server = forward ? dnsmasq_at() : cache_at(),
                .name = kSuffix,
                .own_names = true,
                .asks = Asks::kA,
                .lookups = what.names,
                .timeout = forward ? std::chrono::milliseconds(kForwardTimeout)
                                   : std::chrono::milliseconds(kLoadTimeout)};
    }

    Result<agent::ProbeResult> probe(bool tcp, std::chrono::milliseconds timeout) {
        return hosts_.client->dns_lookup({.server = dnsmasq_at(),
                                          .name = "probe." + std::string(kSuffix),
                                          .tcp = tcp,
                                          .timeout = timeout});
    }

    Status run_load(const TcpLimitCell& what, MeasuredTcpLimitCell& cell) {
        TRY(start_dnsmasq(what));
        if (what.load == TcpLimitLoad::kForward) {
            return run_forward(what, cell.seen);
        }
        const auto before = TRY(hosts_.server->counters());
        TRY(hosts_.server->start_tcp_queue(dnsmasq_at()));
        TRY(hosts_.dut->start_forwarder({.listen = cache_at(),
                                         .upstream = dnsmasq_at(),
                                         .prefer_udp = what.prefer_udp,
                                         .max_idle = what.max_idle}));
        auto loading = std::async(std::launch::async,
                                  [this, &what] { return hosts_.client->dns_load(names(what)); });
        const Status looked = what.load == TcpLimitLoad::kBurst ? look_during(cell.seen) : Status();
        const auto load = loading.get();
        TRY(first_error(looked, load));
        if (what.load == TcpLimitLoad::kIdle) {
            TRY(ask_meanwhile(what, cell.seen));
        }
        auto forwarder = forwarder_ ? std::move(*forwarder_) : TRY(hosts_.dut->stop_forwarder());
        forwarder_.reset();
        const auto queue = TRY(hosts_.server->stop_tcp_queue());
        const auto after = TRY(hosts_.server->counters());
        TRY(look_at_dnsmasq());
        cell.seen.overflows = value_in(agent::delta(before, after), "TcpExt.ListenOverflows");
        cell.seen.dials = forwarder.dials;
        cell.seen.most_open = forwarder.most_open;
        cell.seen.idle = forwarder.idle;
        cell.seen.most_waiting = queue.most_waiting;
        tell_tries(*load, forwarder, queue);
        if (what.load == TcpLimitLoad::kIdle) {
            tell_probe(queue, cell.seen);
            return {};
        }
        take_load(*load, kLateMs, cell.seen);
        cell.seen.harm = tell_harm(*load, forwarder, queue, hosts_.names().dut_server_address,
                                   cell.seen.overflows);
        if (what.again && cell.seen.harmed() != 0) {
            cell.timeline = story(what, *load, forwarder, queue);
        }
        return {};
    }

    Status look_during(TcpLimitValues& seen) {
        std::this_thread::sleep_for(kLookAfter);
        return look_now(seen);
    }

    Status look_now(TcpLimitValues& seen) {
        const auto udp = TRY(probe(false, kProbeTimeout));
        seen.udp_answered = udp.ok;
        seen.udp_ms = udp.milliseconds;
        take_workers(TRY(look_at_dnsmasq()), seen);
        return {};
    }

    // The cache's connections are idle: another client asks. Then one more does, and they end.
    Status ask_meanwhile(const TcpLimitCell& what, TcpLimitValues& seen) {
        TRY(look_now(seen));
        const auto asked = TRY(probe(true, kProbeTimeout));
        seen.lookups = 1;
        if (asked.ok) {
            seen.answered = 1;
        } else if (asked.received == 0) {
            seen.unanswered = 1;
        } else {
            seen.servfail = 1;
        }
        seen.slowest_ms = asked.milliseconds;
        probe_outcome_ = asked.outcome;
        if (asked.ok || what.again) {
            return {};
        }
        auto waiting =
            std::async(std::launch::async, [this] { return probe(true, kFreedTimeout); });
        std::this_thread::sleep_for(kFreeAfter);
        const auto ended = std::chrono::steady_clock::now();
        auto forwarder = hosts_.dut->stop_forwarder();
        const auto freed = waiting.get();
        TRY(first_error(forwarder, freed));
        forwarder_ = std::move(*forwarder);
        seen.freed = true;
        seen.freed_answered = freed->ok;
        seen.freed_ms =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - ended)
                .count();
        return {};
    }

    // Tells the harm to the other client by where its connection was meanwhile.
    void tell_probe(const agent::TcpQueue& queue, TcpLimitValues& seen) const {
        if (seen.harmed() == 0) {
            return;
        }
        // The one that asks while the connections end is of the same client, and came later.
        const auto since = [&](const agent::TcpQueue::Connection& each) -> std::int64_t {
            if (each.peer.address != hosts_.names().client_address) {
                return INT64_MAX;
            }
            return each.first_waiting_ns != 0 ? each.first_waiting_ns : each.accepted_ns;
        };
        auto at = std::ranges::min_element(queue.connections, {}, since);
        at =
            at != queue.connections.end() && since(*at) == INT64_MAX ? queue.connections.end() : at;
        TcpLimitHarm& harm = seen.harm;
        const bool waited =
            at != queue.connections.end() && at->first_waiting_ns != 0 &&
            (at->accepted_ns == 0 || at->accepted_ns - at->first_waiting_ns >
                                         std::chrono::nanoseconds(kProbeTimeout).count() / 2);
        if (seen.servfail != 0) {
            ++harm.by_answer;
        } else if (waited) {
            ++harm.by_queue;
        } else if (at != queue.connections.end()) {
            ++(at->unacknowledged_ns >= kLongUnacknowledgedNs ? harm.by_loss : harm.by_server);
        } else if (probe_outcome_.find("connect: ") != std::string::npos) {
            ++harm.by_refusal;
        } else if (probe_outcome_.find("connect timed out") != std::string::npos) {
            ++harm.not_connected;
        } else {
            ++harm.unexplained;
        }
    }

    Status run_forward(const TcpLimitCell& what, TcpLimitValues& seen) {
        const auto load = TRY(hosts_.client->dns_load(names(what)));
        const auto report = TRY(look_at_dnsmasq());
        take_workers(report, seen);
        take_load(load, std::numeric_limits<double>::infinity(), seen);
        for (const std::string& line : report.log) {
            const std::size_t at = line.find(kForwardLine);
            const std::size_t most = line.find("(max: ");
            if (at != std::string::npos && most != std::string::npos) {
                seen.forward_line = line.substr(at);
                seen.forward_max = std::strtoull(line.c_str() + most + 6, nullptr, 10);
            }
        }
        return {};
    }

    static const char* text(TryOutcome outcome) {
        switch (outcome) {
            case TryOutcome::kOpen: return "still open";
            case TryOutcome::kAnswered: return "answered";
            case TryOutcome::kTimedOut: return "no answer in 2 s";
            case TryOutcome::kGivenUp: return "5 s are over: SERVFAIL";
            case TryOutcome::kRefused: return "refused, reset or closed";
            case TryOutcome::kRubbish: return "what came is no DNS message";
        }
        return "";
    }

    void tell_tries(const agent::DnsLoadReport& load, const agent::ForwarderReport& forwarder,
                    const agent::TcpQueue& queue) {
        const std::int64_t begin = load.lookups.empty() ? 0 : load.lookups.front().start_ns;
        const auto ms = [&](std::int64_t at) {
            return at == 0 ? -1.0 : static_cast<double>(at - begin) / 1e6;
        };
        for (const agent::ForwarderTry& each : forwarder.tries) {
            tries_ +=
                fmt::format("client port {}: from port {}, {:.1f} to {:.1f} ms, {}: {}\n",
                            each.client_port, each.port, ms(each.start_ns), ms(each.end_ns),
                            each.connected ? "connected" : "not connected", text(each.outcome));
        }
        for (const agent::TcpQueue::Connection& each : queue.connections) {
            tries_ += fmt::format(
                "dnsmasq's socket: {} waits from {:.1f} to {:.1f} ms, accepted at {:.1f} ms, "
                "unacknowledged for {:.1f} ms\n",
                to_string(each.peer), ms(each.first_waiting_ns), ms(each.last_waiting_ns),
                ms(each.accepted_ns), static_cast<double>(each.unacknowledged_ns) / 1e6);
        }
    }

    // Tells one lookup that failed, in the order of time.
    std::optional<verdict::Proof> story(const TcpLimitCell& what, const agent::DnsLoadReport& load,
                                        const agent::ForwarderReport& forwarder,
                                        const agent::TcpQueue& queue) const {
        // The slowest, of those seen in dnsmasq's queue if one of them failed or was late: a connection
        // that finds the queue full never waits there.
        const auto waited = [&](std::uint16_t client_port) {
            return std::ranges::any_of(forwarder.tries, [&](const agent::ForwarderTry& each) {
                return each.client_port == client_port &&
                       std::ranges::any_of(queue.connections, [&](const auto& connection) {
                           return connection.peer.port == each.port &&
                                  connection.first_waiting_ns != 0;
                       });
            });
        };
        const auto failed = std::ranges::max_element(load.lookups, {}, [&](const auto& each) {
            return std::pair(is_harmed(each) && waited(each.port), each.milliseconds);
        });
        std::multimap<std::int64_t, std::string> rows;
        const std::string client =
            to_string(frame::Endpoint{hosts_.names().client_address, failed->port});
        rows.emplace(failed->start_ns, client + " asks the cache (stand-in for CoreDNS)");
        for (const agent::ForwarderTry& each : forwarder.tries) {
            if (each.client_port != failed->port) {
                continue;
            }
            const frame::Endpoint from{hosts_.names().dut_server_address, each.port};
            rows.emplace(each.start_ns,
                         fmt::format("the cache asks dnsmasq from {}", to_string(from)));
            rows.emplace(each.end_ns, fmt::format("{}: {}", to_string(from), text(each.outcome)));
            for (const agent::TcpQueue::Connection& connection : queue.connections) {
                if (connection.peer == from && connection.first_waiting_ns != 0) {
                    rows.emplace(connection.first_waiting_ns,
                                 to_string(from) + " waits in the queue of dnsmasq's socket");
                    if (connection.accepted_ns == 0) {
                        rows.emplace(connection.last_waiting_ns,
                                     to_string(from) + " is seen waiting there for the last time");
                    }
                }
                if (connection.peer == from && connection.accepted_ns != 0) {
                    rows.emplace(connection.accepted_ns, to_string(from) + " is seen accepted");
                }
            }
        }
        rows.emplace(failed->start_ns + static_cast<std::int64_t>(failed->milliseconds * 1e6),
                     answer_text(*failed));
        verdict::Proof proof{.title = what.id + ": one lookup that failed or was late",
                             .columns = {"ms", "what"}};
        for (const auto& [at, said] : rows) {
            proof.rows.push_back(
                {fmt::format("{:.1f}", static_cast<double>(at - failed->start_ns) / 1e6), said});
        }
        return proof;
    }

    std::string& log_ = noted(0);
    std::string& tries_ = noted(1);
    std::string probe_outcome_;
    std::optional<agent::ForwarderReport> forwarder_;  // that was stopped before its time
};

TcpLimitLoad load_by_id(const std::string& id) {
    if (id.find("idle-") != std::string::npos) {
        return TcpLimitLoad::kIdle;
    }
    return id.find("forward-") != std::string::npos ? TcpLimitLoad::kForward : TcpLimitLoad::kBurst;
}

}  // namespace

std::vector<TcpLimitCell> dns_tcp_limit_plan() {
    std::vector<TcpLimitCell> cells = with_roles<TcpLimitCell>({
        {.id = "control.idle-19", .label = "control: 19 idle", .names = 19},
        {.id = "idle-20", .label = "20 idle connections", .names = 20},
        {.id = "cure.idle-20.max-idle",
         .label = "cure: 10 idle at most",
         .names = 20,
         .max_idle = 10},
        {.id = "idle-20.after-cure", .label = "after the cure", .names = 20},
        {.id = "control.burst-15", .label = "control: 15 names at once", .names = 15},
        {.id = "burst-80", .label = "80 names at once", .names = 80},
        {.id = "cure.burst-80.more-workers",
         .label = "cure: 200 workers",
         .names = 80,
         .max_tcp_connections = 200},
        {.id = "cure.burst-80.prefer-udp",
         .label = "cure: UDP to dnsmasq",
         .names = 80,
         .prefer_udp = true},
        {.id = "burst-80.after-cure", .label = "after the cure", .names = 80},
        {.id = "control.forward-100", .label = "control: 100 by UDP", .names = 100},
        {.id = "forward-200", .label = "200 by UDP", .names = 200},
        {.id = "cure.forward-200.more",
         .label = "cure: 1500 forwarded",
         .names = 200,
         .dns_forward_max = 1500},
        {.id = "forward-200.after-cure", .label = "after the cure", .names = 200},
    });
    for (TcpLimitCell& cell : cells) {
        cell.load = load_by_id(cell.id);
    }
    return cells;
}

Scenario dns_tcp_limit_scenario() {
    return nat_path_scenario<TcpLimitBench, dns_tcp_limit_plan, dns_tcp_limit_conclusions>(
        "dns-tcp-limit", "DNS over TCP: more connections than dnsmasq has workers",
        "Are lookups through a cache that asks dnsmasq by TCP answered in time? (The cache is a "
        "stand-in for CoreDNS, with its rules for connections.)");
}

}  // namespace pathproof::scenario
