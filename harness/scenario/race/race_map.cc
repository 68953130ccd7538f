// dns-race --map
//
// Set:  the NAT box with kube-proxy's rules and two backends; the settings of each way of racing.
// Sent: pairs of A and AAAA of one socket, from 0 to 200 us apart, at loads up to the highest that the
//       DUT carries whole; lookups by getaddrinfo(3) of glibc and musl, with --resolvers by Go's
//       resolver and through systemd-resolved.
// Seen: conntrack's clash_resolve and insert_failed for each point, and when each query came to the far
//       port, by the kernel's clock there.

#include "harness/scenario/race/race_map.h"

#include <algorithm>

#include "dataplane/base/number.h"
#include "harness/agent/dns_server.h"
#include "harness/resolver/resolver.h"
#include "harness/scenario/nat_path_hosts.h"
#include "harness/scenario/race/nat_bench.h"
#include "harness/scenario/resolvers/resolver_trail.h"

namespace pathproof::scenario {
namespace {

constexpr unsigned kResolverLookups = 60;
constexpr unsigned kResolverLookupsPerSecond = 40;
// A load counts as sent from this share of it on.
constexpr double kShareSent = 0.9;

// The number in "qNNNNNNNN" (traffic/pair_plan.h); none: of another name.
std::optional<std::uint64_t> number_of(const std::string& label) {
    const bool named = label.size() == 9 && label[0] == 'q';
    return named ? whole_number<std::uint64_t>(label.substr(1), 16) : std::nullopt;
}

ResolverSkew skew_of_lookups(resolver::Kind who, const agent::Capture& capture) {
    struct Queries {
        std::optional<DnsOnWire> a, aaaa;
    };
    std::map<std::string, Queries> by_name;
    for (const agent::CapturedFrame& frame : capture.frames) {
        const auto query = dns_on_wire(frame);
        if (!query || query->response) {
            continue;
        }
        auto& of_name = by_name[query->name];
        auto& half = query->type == 1 ? of_name.a : of_name.aaaa;
        half = half ? half : query;  // the first sending
    }
    ResolverSkew found{.who = resolver::name(who)};
    std::vector<std::int64_t> of_one_socket;
    std::vector<std::int64_t> of_two;
    for (const auto& [name, queries] : by_name) {
        if (!queries.a || !queries.aaaa) {
            continue;
        }
        ++found.lookups;
        const bool one = queries.a->client == queries.aaaa->client;
        found.one_socket += one ? 1 : 0;
        (one ? of_one_socket : of_two).push_back(queries.aaaa->time_ns - queries.a->time_ns);
    }
    found.skew = skew_of(std::move(found.one_socket != 0 ? of_one_socket : of_two));
    if (found.lookups == 0) {
        found.lacking = "none of its lookups came to the server as A and AAAA";
    }
    return found;
}

Result<ResolverSkew> measure_resolver(NatPathHosts& hosts, resolver::Kind who) {
    const lab::NatPathNames& names = hosts.names();
    std::vector<resolver::Lookup> lookups;
    for (unsigned i = 0; i < kResolverLookups; ++i) {
        lookups.push_back(
            {.name = fmt::format("s{:05}.pathproof.test.", i),
             .resolv_conf = fmt::format("nameserver {}\n", to_string(names.server_address))});
    }
    TRY(hosts.server->start_capture({.device = names.server_device, .most_bytes = 256}));
    const auto outcomes = resolver::look_up(names.client, who, lookups, kResolverLookupsPerSecond);
    const auto capture = TRY(hosts.server->stop_capture());
    return outcomes ? skew_of_lookups(who, capture)
                    : ResolverSkew{.who = resolver::name(who), .lacking = outcomes.error().message};
}

Result<std::vector<ResolverSkew>> measure_resolvers(Context& context) {
    NatPathHosts hosts = TRY(NatPathHosts::open(context));
    TRY(hosts.set({}));
    TRY(hosts.server->start_dns_server(
        {.listen = {hosts.names().server_address, 53},
         .address = frame::IpAddress::v4(0xcb007105),
         .address6 = frame::parse_ip("2001:db8::5").value_or(frame::IpAddress{})}));
    std::vector<ResolverSkew> all;
    for (const resolver::Kind who : {resolver::Kind::kGlibc, resolver::Kind::kMusl,
                                     resolver::Kind::kGo, resolver::Kind::kResolved}) {
        const bool on_demand = who == resolver::Kind::kGo || who == resolver::Kind::kResolved;
        all.push_back(
            on_demand && !context.options.has("resolvers")
                ? ResolverSkew{.who = resolver::name(who), .lacking = "on demand: --resolvers"}
                : TRY(measure_resolver(hosts, who)));
    }
    return all;
}

}  // namespace

Skew skew_of(std::vector<std::int64_t> differences_ns) {
    for (std::int64_t& difference : differences_ns) {
        difference = std::abs(difference);
    }
    std::ranges::sort(differences_ns);
    const std::size_t count = differences_ns.size();
    return count == 0 ? Skew{}
                      : Skew{.pairs = count,
                             .low_ns = differences_ns[count / 10],
                             .middle_ns = differences_ns[count / 2],
                             .high_ns = differences_ns[std::min(count - 1, count * 9 / 10)]};
}

std::string MapPoint::not_carried() const {
    if (!objections.empty()) {
        return objections.front();
    }
    if (sent_per_second < kShareSent * offered) {
        return fmt::format("the tester sent {:.0f} pairs/s", sent_per_second);
    }
    return lost + wrong == 0 ? "" : fmt::format("{} queries got no right answer", lost + wrong);
}

void take(const judge::PairReport& report, MapPoint& point) {
    point.objections = report.objections;
    tell_count(point.objections, report.tester_lost, "the tester's own ports lost {} frames");
    std::vector<std::int64_t> differences;
    std::int64_t first = INT64_MAX;
    std::int64_t last = 0;
    for (std::size_t at = 0; at + 1 < report.records.size(); at += 2) {
        const judge::QueryRecord& a = report.records[at];
        const judge::QueryRecord& b = report.records[at + 1];
        if (a.sent_ns < 0 || b.sent_ns < 0) {
            continue;
        }
        ++point.pairs;
        differences.push_back(b.sent_ns - a.sent_ns);
        first = std::min(first, a.sent_ns);
        last = std::max(last, a.sent_ns);
        point.two_backends +=
            a.server_saw != 0 && b.server_saw != 0 && a.server != b.server ? 1 : 0;
        for (const judge::QueryRecord* half : {&a, &b}) {
            const bool never = half->state == judge::QueryState::kNever;
            point.lost += never ? 1 : 0;
            point.wrong += !never && half->state != judge::QueryState::kAnswered ? 1 : 0;
        }
    }
    point.sent = skew_of(std::move(differences));
    point.sent_per_second = last > first ? static_cast<double>(point.pairs - 1) * 1e9 /
                                               static_cast<double>(last - first)
                                         : 0;
}

void take(const agent::Capture& capture, std::uint64_t pairs, MapPoint& point) {
    std::vector<std::int64_t> came(2 * pairs, 0);
    for (const agent::CapturedFrame& frame : capture.frames) {
        const auto query = dns_on_wire(frame);
        const auto number = query && !query->response ? number_of(first_label(query->name))
                                                      : std::optional<std::uint64_t>();
        if (number && *number < came.size() && came[*number] == 0) {
            came[*number] = query->time_ns;
        }
    }
    std::vector<std::int64_t> differences;
    for (std::size_t at = 0; at < came.size(); at += 2) {
        if (came[at] != 0 && came[at + 1] != 0) {
            differences.push_back(came[at + 1] - came[at]);
        }
    }
    point.far = skew_of(std::move(differences));
    if (point.far.pairs == 0) {
        point.untimed = "no pair was seen at the far port";
    }
}

void MapWay::take_drops(const agent::PathEvents& watched, std::uint64_t full_queue) {
    untraced = watched.untraced;
    for (const drops::DropCount& count : watched.drops.counts) {
        if (count.protocol == "ip/udp" && count.reason != join::kWarmUpReason) {
            dropped[count.reason] += count.packets;
        }
    }
    if (full_queue != 0) {
        dropped["full queue of the vxlan device (rx_dropped)"] += full_queue;
    }
    if (watched.backlog != 0) {
        dropped["full backlogs of the host's CPUs"] += watched.backlog;
    }
}

Result<verdict::ScenarioResult> run_race_map(Context& context) {
    context.progress.begin("dns-race", map_cells().size() + 1);
    RaceMap map;
    {
        auto bench = TRY(NatBench::build(context));
        TRY(bench->describe());
        map = TRY(map_same_tuple(context, *bench));
    }
    for (const MapWay& way : map.ways) {
        context.measured.add(conclude(way));
    }
    context.progress.step("resolvers");
    const std::string lacking = context.lab.lacks(lab::Role::kNatPath);
    auto resolvers = lacking.empty() ? measure_resolvers(context)
                                     : fail(ErrorCode::kNotSupported, "{}", lacking);
    if (resolvers) {
        map.resolvers = std::move(*resolvers);
    } else {
        map.resolvers.push_back({.who = "Resolvers", .lacking = resolvers.error().message});
    }
    return conclude(map);
}

}  // namespace pathproof::scenario
