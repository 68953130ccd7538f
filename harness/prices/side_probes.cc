// The probes for side effects that no scenario looks for.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "harness/agent/connects.h"
#include "harness/agent/socket.h"
#include "harness/prices/probes.h"
#include "harness/process/netns.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/nat_path_hosts.h"
#include "harness/scenario/resolvers/resolver_bench.h"
#include "harness/scenario/settings/service.h"

namespace pathproof::prices {
namespace {

using namespace std::chrono_literals;
using scenario::NatPathHosts;
using scenario::some_of;
using verdict::CellVerdict;
using verdict::ProbeOutcome;

constexpr std::uint32_t kOpenConnections = 8;
constexpr auto kUntilCure = 500ms;  // by then all are open
constexpr auto kUntilUse = 1500ms;
const std::string kServiceSays = "service";

constexpr unsigned kLookupsEach = 3;
constexpr unsigned kLookupRate = 50;
constexpr std::uint16_t kBehindDnsmasq = 10'053;
constexpr unsigned kWorkers = 20;  // of dnsmasq, as it comes
constexpr auto kUntilTaken = 5s;
constexpr auto kLookupLimit = 4s;
const std::vector<std::string> kClusterList = {"default.svc.cluster.local", "svc.cluster.local",
                                               "cluster.local"};

ProbeOutcome outcome(std::uint64_t failed, std::uint64_t all, const std::string& what) {
    return failed == 0
               ? ProbeOutcome{CellVerdict::kPass, ""}
               : ProbeOutcome{CellVerdict::kFail, fmt::format("{} {}", some_of(failed, all), what)};
}

ProbeOutcome outcome_of(const std::vector<resolver::Outcome>& lookups) {
    std::uint64_t failed = 0;
    std::string word;
    for (const resolver::Outcome& each : lookups) {
        failed += each.ok() ? 0 : 1;
        word = each.ok() ? word : each.word;
    }
    return outcome(
        failed, lookups.size(),
        "lookups: " +
            (word == "killed" ? fmt::format("no end in {} s", kLookupLimit.count()) : word));
}

// Without a cure, with each, and without one again.
Cures in_turn(const Cures& cures) {
    Cures variants{&kNoCure};
    variants.insert(variants.end(), cures.begin(), cures.end());
    variants.push_back(&kNoCure);
    return variants;
}

void note(const Cure& cure, const ProbeOutcome& of, Tried& tried) {
    &cure == &kNoCure ? tried.without.push_back(of) : static_cast<void>(tried.with[cure.id] = of);
}

// Three lookups, of names that end so, in each turn. `resolv_conf`: the one that has such options.
Result<Tried> try_lookups(const Cures& cures, const std::string& rest,
                          const std::function<std::string(const std::string&)>& resolv_conf,
                          const std::function<Result<std::vector<resolver::Outcome>>(
                              const std::vector<resolver::Lookup>&)>& make) {
    std::vector<resolver::Lookup> lookups;
    for (const Cure* cure : in_turn(cures)) {
        for (unsigned i = 0; i < kLookupsEach; ++i) {
            lookups.push_back({.name = cure->asked(fmt::format("n{:05}{}", lookups.size(), rest)),
                               .resolv_conf = resolv_conf(cure->options("ndots:5")),
                               .limit = kLookupLimit});
        }
    }
    const auto outcomes = TRY(make(lookups));
    Tried tried;
    auto first = outcomes.begin();
    for (const Cure* cure : in_turn(cures)) {
        note(*cure, outcome_of({first, first + kLookupsEach}), tried);
        first += kLookupsEach;
    }
    return tried;
}

Result<Tried> look_up_with(scenario::Context& context, const std::string& rest,
                           const std::vector<agent::DnsRule>& rules, const Cures& cures) {
    auto hosts = TRY(scenario::ResolverHosts::open(context));
    return try_lookups(
        cures, rest,
        [&](const std::string& options) { return hosts.resolv_conf(kClusterList, options); },
        [&](const auto& lookups) -> Result<std::vector<resolver::Outcome>> {
            std::vector<scenario::AskedLookup> asked;
            for (const resolver::Lookup& lookup : lookups) {
                asked.push_back({.lookup = lookup});
            }
            const auto trails = TRY(hosts.round(asked, {.rules = rules}));
            std::vector<resolver::Outcome> outcomes;
            std::ranges::transform(trails, std::back_inserter(outcomes),
                                   &scenario::LookupTrail::outcome);
            return outcomes;
        });
}

Result<ProbeOutcome> keep_open(NatPathHosts& hosts, const setting::Settings& cure) {
    const lab::NatPathNames& names = hosts.names();
    const setting::Settings settings =
        both({lab::masquerade(names, {.snat = lab::Snat::kMasquerade})},
             scenario::web_service(names, scenario::Proxy::kIptables, {names.endpoints[0]}));
    hosts.cure = {};
    TRY(hosts.set(settings));
    auto connecting = std::async(std::launch::async, [&] {
        return hosts.client->tcp_connects({.server = names.web_service,
                                           .count = kOpenConnections,
                                           .per_second = 200,
                                           .closes_first = agent::Closer::kServerAsked,
                                           .timeout = 3000ms,
                                           .asks_after = kUntilUse});
    });
    std::this_thread::sleep_for(kUntilCure);
    hosts.cure = cure;
    const Status set = hosts.set(settings, lab::Flows::kKeep);
    const auto report = TRY(connecting.get());
    TRY(Status(set));
    std::uint64_t broken = 0;
    for (const agent::Connect& each : report.connects) {
        broken +=
            each.error == 0 && each.end == 0 && each.said == kServiceSays + kServiceSays ? 0 : 1;
    }
    return outcome(broken, report.connects.size(), "connections broke");
}

// Connections of the client to a server that say nothing.
Status take_workers(NatPathHosts& hosts, std::vector<Fd>& held) {
    const frame::IpAddress server = hosts.names().server_address;
    TRY(process::in_netns(hosts.names().client, [&]() -> Status {
        for (unsigned i = 0; i < kWorkers; ++i) {
            Fd socket = TRY(agent::open_socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
            const int wrong =
                agent::connect_before(socket.get(), {server, 53}, agent::Deadline(kUntilTaken));
            if (wrong != 0) {
                return fail(ErrorCode::kFailed, "connect to dnsmasq: {}",
                            agent::describe_errno(wrong));
            }
            held.push_back(std::move(socket));
        }
        return {};
    }));
    for (const auto until = std::chrono::steady_clock::now() + kUntilTaken;;) {
        const auto report = TRY(hosts.server->dnsmasq_report());
        if (report.workers >= kWorkers) {
            return {};
        }
        if (std::chrono::steady_clock::now() > until) {
            return fail(ErrorCode::kUnavailable, "{} of dnsmasq's {} workers were taken",
                        report.workers, kWorkers);
        }
        std::this_thread::sleep_for(100ms);
    }
}

}  // namespace

Result<Tried> run_long_lived(scenario::Context& context, const Cures& cures) {
    auto hosts = TRY(NatPathHosts::open(context));
    TRY(hosts.server->start_closing_server(
        {.listen = {hosts.names().endpoints[0], scenario::kEndpointPort},
         .closes_first = agent::Closer::kServerAsked,
         .greeting = kServiceSays}));
    Tried tried;
    for (const Cure* cure : in_turn(cures)) {
        note(*cure, TRY(keep_open(hosts, cure->settings)), tried);
    }
    return tried;
}

Result<Tried> run_ipv6_only(scenario::Context& context, const Cures& cures) {
    return look_up_with(context, ".v6.example.com",
                        {{.name = "v6.example.com",
                          .address6 = frame::parse_ip("2001:db8::5").value_or(frame::IpAddress{})},
                         {.name = ".", .rcode = 3}},
                        cures);
}

Result<Tried> run_short_name(scenario::Context& context, const Cures& cures) {
    return look_up_with(context, ".kube-system",
                        {{.name = "kube-system.svc.cluster.local",
                          .address = frame::IpAddress::v4(0xcb007105)},  // 203.0.113.5
                         {.name = ".", .rcode = 3}},
                        cures);
}

Result<Tried> run_taken_workers(scenario::Context& context, const Cures& cures) {
    auto hosts = TRY(NatPathHosts::open(context));
    TRY(hosts.set({}));
    const frame::Endpoint behind{frame::IpAddress::v4(0x7f000001), kBehindDnsmasq};
    TRY(hosts.server->start_dns_server({.listen = behind,
                                        .address = hosts.names().server_address,
                                        .address6 = frame::IpAddress{}}));
    TRY(hosts.server->start_dnsmasq(
        {.addresses = {hosts.names().server_address}, .upstream = behind}));
    std::vector<Fd> held;
    TRY(take_workers(hosts, held));
    return try_lookups(
        cures, ".example.com",
        [&](const std::string& options) {
            return fmt::format("nameserver {}\noptions {}\n",
                               to_string(hosts.names().server_address), options);
        },
        [&](const auto& lookups) {
            return resolver::look_up(hosts.names().client, resolver::Kind::kGlibc, lookups,
                                     kLookupRate);
        });
}

}  // namespace pathproof::prices
