// A and AAAA of one socket at the same moment: through conntrack to the service, or to a cache on the
// node past it.
//
// Set:  kube-proxy's rules of the DNS service, with eight endpoints that answer after more than a
//       second; NodeLocal DNSCache on the DUT: its device, its rules, dnsmasq in the place of its
//       CoreDNS.
// Sent: pairs of lookups, the two of each by two threads on one socket.
// Seen: which were answered, and from where on the client's wire; conntrack's counters and entries;
//       what the rules counted.

#include "harness/scenario/resolvers/nodelocal.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>

#include "dataplane/frame/view.h"
#include "harness/agent/dns_load_report.h"
#include "harness/agent/name_servers.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/probes.h"
#include "harness/lab/rule_hits.h"
#include "harness/process/json_text.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/settings/endpoints.h"
#include "harness/scenario/settings/service.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using PairAsks = agent::DnsLoadOptions::Asks;

// Rates of the pairs. If a socket overflowed for want of CPU time to read it, the pairs are sent
// again, slower.
constexpr double kPairsPerSecond[] = {1000, 250, 100};
constexpr std::uint32_t kFewPairs = 40;
constexpr double kFewPerSecond = 100;
// Longer than a hidden entry of a resolved clash lives (NAT_CLASH, 1 s).
constexpr auto kServerDelay = 1200ms;
constexpr auto kPairTimeout = 3s;
constexpr auto kFewTimeout = 1s;
constexpr auto kWarmUpTimeout = 5s;
constexpr const char* kName = "api.svc.test";

setting::Settings node_cache_rules(const lab::NatPathNames& names, const NodeCacheRules& rules) {
    using setting::HostRole;
    constexpr const char* kSkip = "-m comment --comment \"NodeLocal DNS Cache: skip conntrack\"";
    constexpr const char* kAllow =
        "-m comment --comment \"NodeLocal DNS Cache: allow DNS traffic\"";
    std::string raw;
    std::string filter;
    // Each is prepended: the last comes first.
    const auto prepend = [](std::string& chain, std::string rule) { chain.insert(0, rule + "\n"); };
    for (const frame::IpAddress& address : {names.node_cache, names.service.address}) {
        const std::string to = fmt::format("-d {}/32", to_string(address));
        const std::string from = fmt::format("-s {}/32", to_string(address));
        const auto skip = [&](const char* chain, const std::string& match) {
            if (rules.notrack) {
                prepend(raw, fmt::format("-A {} {} {} -j NOTRACK", chain, match, kSkip));
            }
        };
        const auto allow = [&](const char* chain, const std::string& match) {
            if (rules.accept) {
                prepend(filter, fmt::format("-A {} {} {} -j ACCEPT", chain, match, kAllow));
            }
        };
        for (const char* protocol : {"tcp", "udp"}) {
            const std::string query =
                fmt::format("{} -p {} -m {} --dport 53", to, protocol, protocol);
            const std::string answer =
                fmt::format("{} -p {} -m {} --sport 53", from, protocol, protocol);
            skip("PREROUTING", query);
            allow("INPUT", query);
            skip("OUTPUT", answer);
            allow("OUTPUT", answer);
            skip("OUTPUT", query);
        }
        // Rules for node-cache's health check.
        skip("OUTPUT", to + " -p tcp -m tcp --dport 8080");
        skip("OUTPUT", from + " -p tcp -m tcp --sport 8080");
    }
    if (rules.input_by_state) {
        filter = ":INPUT DROP [0:0]\n" + filter +
                 "-A INPUT -i lo -j ACCEPT\n"
                 "-A INPUT -m conntrack --ctstate NEW,RELATED,ESTABLISHED -j ACCEPT\n";
    }
    return {setting::rules(HostRole::kDut, "node-cache-raw", "raw", raw),
            setting::rules(HostRole::kDut, "node-cache-filter", "filter", filter)};
}

// The cache's device, of that type, with both addresses.
setting::Setting node_cache_device(const lab::NatPathNames& names, const std::string& type) {
    constexpr const char* kDevice = "nodelocaldns";
    const auto address = [&](const frame::IpAddress& each) {
        const std::string words = fmt::format("{}/32 dev {}", to_string(each), kDevice);
        return std::pair{"address add " + words, "address delete " + words};
    };
    return setting::links(
        lab::HostRole::kDut, "node-cache-device", "$TO_SERVER",
        {{fmt::format("link add {} type {}", kDevice, type),
          fmt::format("link delete {}", kDevice)},
         address(names.node_cache),
         address(names.service.address),
         {fmt::format("link set {} up", kDevice), fmt::format("link set {} down", kDevice)}});
}

class NodelocalBench : public NatPathBench<NodelocalCell, NodelocalValues> {
  public:
    explicit NodelocalBench(Context& context)
        : NatPathBench(
              context,
              {{".rules.txt", "the node's rules with what they counted", "none\n"},
               {".entries.json", "conntrack's entries to port 53 (JSON lines)", "none\n"}}) {}

    Status open() {
        TRY(NatPathBench::open(lab::ClientAt::kNode));
        TRY(add_endpoints(*hosts_.lab));
        const auto address6 = TRY(frame::parse_ip("2001:db8::53"));
        TRY(hosts_.server->start_dns_server({.listen = {frame::IpAddress{}, 53},
                                             .address = hosts_.names().server_address,
                                             .address6 = address6,
                                             .delay = kServerDelay}));
        // Finds out whether dnsmasq is there at all.
        TRY(set_node_cache(NodeCacheRules{}));
        const Status there = start_dnsmasq();
        return !there && there.error().code == ErrorCode::kNotFound
                   ? fail(ErrorCode::kKernelLacks, "{}", there.error().message)
                   : Status(there);
    }

  private:
    // The service's rules with the cache's device and rules, or without. Gives what the device is: "dummy",
    // or where the kernel lacks that "bridge without ports"; empty: none.
    Result<std::string> set_node_cache(const std::optional<NodeCacheRules>& rules) {
        const lab::NatPathNames& names = hosts_.names();
        const setting::Settings service =
            dns_service(names, endpoints_that(EndpointState::kServes));
        if (!rules) {
            TRY(hosts_.set(service, lab::Flows::kKeep));
            return std::string();
        }
        const auto with = [&](const char* type) {
            return hosts_.set(both(both(service, node_cache_rules(names, *rules)),
                                   {node_cache_device(names, type)}),
                              lab::Flows::kKeep);
        };
        const Status dummy = with("dummy");
        if (dummy || dummy.error().code != ErrorCode::kKernelLacks) {
            TRY(Status(dummy));
            return std::string("dummy");
        }
        TRY(with("bridge"));
        return std::string("bridge without ports");
    }

    Status run(const NodelocalCell& what, MeasuredNodelocalCell& cell) override {
        for (const double per_second : kPairsPerSecond) {
            cell.seen = {};
            rules_.clear();
            entries_.clear();
            const auto overflowed = TRY(run_once(what, per_second, cell.seen));
            if (overflowed == 0) {
                break;
            }
            tell(cell.seen.objections, per_second == kPairsPerSecond[2],
                 "sockets of the lab overflowed {} times: it was short of CPU time", overflowed);
        }
        return {};
    }

    Status start_dnsmasq() {
        TRY(hosts_.dut->stop_dnsmasq());
        return hosts_.dut->start_dnsmasq(
            {.addresses = {hosts_.names().node_cache, hosts_.names().service.address},
             .upstream = {hosts_.names().server_address, 53},
             .cache_size = 1000});
    }

    frame::Endpoint asked(const NodelocalCell& what) const {
        return what.cache && what.link_local ? frame::Endpoint{hosts_.names().node_cache, 53}
                                             : hosts_.names().service;
    }

    Status set_up(const NodelocalCell& what, NodelocalValues& seen) {
        TRY(hosts_.dut->stop_dnsmasq());
        // All rules and one lookup first: what follows has the name in the cache.
        NodeCacheRules rules = what.rules;
        rules.accept = true;
        seen.device = TRY(set_node_cache(what.cache ? std::optional(rules) : std::nullopt));
        if (what.cache && what.serves) {
            TRY(start_dnsmasq());
            const auto warm = TRY(hosts_.client->dns_lookup(
                {.server = asked(what), .name = kName, .timeout = kWarmUpTimeout}));
            if (!warm.ok) {
                return fail(ErrorCode::kFailed, "the cache did not answer one lookup: {}",
                            warm.outcome);
            }
        }
        if (what.cache && !what.rules.accept) {
            // The device stays, and dnsmasq goes on.
            TRY(set_node_cache(what.rules));
        }
        TRY(hosts_.dut->conntrack_flush());
        return {};
    }

    // Datagrams that a socket of one of the hosts had no room for, since they were made.
    Result<std::uint64_t> overflows() {
        std::uint64_t all = 0;
        for (agent::Client* host : {hosts_.client.get(), hosts_.dut.get(), hosts_.server.get()}) {
            const auto counters = TRY(host->counters());
            all += value_in(counters, "Udp.RcvbufErrors");
        }
        return all;
    }

    // Gives how many datagrams overflowed a socket.
    Result<std::uint64_t> run_once(const NodelocalCell& what, double per_second,
                                   NodelocalValues& seen) {
        const lab::NatPathNames& names = hosts_.names();
        TRY(set_up(what, seen));
        const auto overflows_before = TRY(overflows());
        const auto rules_before = TRY(hosts_.lab->counted_rules());
        const auto stats_before = TRY(hosts_.dut->conntrack_stats());
        TRY(hosts_.client->start_capture({.device = names.client_device, .most_bytes = 64}));
        const bool few = what.pairs <= kFewPairs;
        const auto load = hosts_.client->dns_load(
            {.server = asked(what),
             .name = kName,
             .asks = what.together ? PairAsks::kPairTogether : PairAsks::kPairOneByOne,
             .lookups = std::min(what.pairs, static_cast<std::uint32_t>(5 * per_second)),
             .per_second = few ? kFewPerSecond : per_second,
             .timeout = few ? std::chrono::milliseconds(kFewTimeout)
                            : std::chrono::milliseconds(kPairTimeout)});
        const auto capture = hosts_.client->stop_capture();
        TRY(first_error(load, capture));
        const auto stats = netfilter::delta(stats_before, TRY(hosts_.dut->conntrack_stats()));
        const auto entries = TRY(hosts_.dut->conntrack_dump(
            {.protocol = IPPROTO_UDP, .original_destination_port = std::uint16_t{53}}));
        rules_ = TRY(hosts_.lab->counted_rules());
        if (what.cache && what.serves) {
            const auto report = TRY(hosts_.dut->dnsmasq_report());
            if (!report.ended.empty()) {
                return fail(ErrorCode::kUnavailable, "{}", report.ended);
            }
        }
        if (capture->missing() != 0) {
            return fail(ErrorCode::kFailed, "{} frames of the client's wire were not captured",
                        capture->missing());
        }
        take_load(*load, *capture, asked(what).address, seen);
        seen.clash_resolve = netfilter::total(stats, "clash_resolve");
        seen.insert_failed = netfilter::total(stats, "insert_failed");
        seen.drop = netfilter::total(stats, "drop");
        for (const netfilter::Entry& entry : entries) {
            ++(entry.original.source.address == names.client_address ? seen.client_entries
                                                                     : seen.cache_entries);
            entries_ += process::to_text(nlohmann::json(entry)) + "\n";
        }
        const auto grown = [&](const std::string& words) {
            return lab::hits_of(rules_, words) - lab::hits_of(rules_before, words);
        };
        seen.service_hits = grown(
            fmt::format("-A KUBE-SERVICES -d {}/32 -p udp", to_string(names.service.address)));
        for (const frame::IpAddress& address : {names.node_cache, names.service.address}) {
            seen.raw_hits +=
                grown(fmt::format("-A PREROUTING -d {}/32 -p udp", to_string(address)));
        }
        seen.policy_drops =
            lab::policy_hits_of(rules_, "INPUT") - lab::policy_hits_of(rules_before, "INPUT");
        return TRY(overflows()) - overflows_before;
    }

    static void take_load(const agent::DnsLoadReport& load, const agent::Capture& capture,
                          const frame::IpAddress& asked, NodelocalValues& seen) {
        std::map<std::uint16_t, bool> lacks;  // by ports: an answer from elsewhere came
        seen.pairs = load.lookups.size();
        for (const agent::DnsLoadReport::Lookup& each : load.lookups) {
            seen.slowest_ms = std::max(seen.slowest_ms, each.milliseconds);
            if (each.rcode != 0) {
                ++seen.errors;
            } else if (each.answered == each.asked) {
                ++seen.answered;
            } else {
                lacks[each.port] = false;
                seen.refused += each.error == ECONNREFUSED ? 1 : 0;
            }
        }
        for (const agent::CapturedFrame& frame : capture.frames) {
            const frame::PacketView view = frame::parse_packet(frame.bytes);
            const auto at = lacks.find(view.destination_port);
            if (view.transport == frame::Transport::kUdp && view.source_port == 53 &&
                view.source != asked && at != lacks.end()) {
                at->second = true;
            }
        }
        seen.untranslated = static_cast<std::uint64_t>(
            std::ranges::count_if(lacks, [](const auto& each) { return each.second; }));
    }

    std::string& rules_ = noted(0);
    std::string& entries_ = noted(1);
};

}  // namespace

std::vector<NodelocalCell> nodelocal_plan() {
    auto cells = with_roles<NodelocalCell>({
        {.id = "control.one-by-one", .label = "control: A, then AAAA", .together = false},
        {.id = "no-cache", .label = "without the cache"},
        {.id = "cure.link-local", .label = "cure: cache, link-local", .cache = true},
        {.id = "cure.service-address",
         .label = "cure: cache, service's address",
         .cache = true,
         .link_local = false},
        {.id = "no-cache.after-cure", .label = "after the cure"},
        {.id = "tracked",
         .label = "cache, raw rules flushed",
         .cache = true,
         .rules = {.notrack = false}},
        {.id = "cache-down",
         .label = "cache down",
         .cache = true,
         .serves = false,
         .pairs = kFewPairs},
        {.id = "input-by-state.notrack-alone",
         .label = "NOTRACK alone, INPUT by state",
         .cache = true,
         .rules = {.accept = false, .input_by_state = true},
         .pairs = kFewPairs},
        {.id = "input-by-state.all-rules",
         .label = "all rules, INPUT by state",
         .cache = true,
         .rules = {.input_by_state = true},
         .pairs = kFewPairs},
    });
    for (NodelocalCell& cell : cells) {
        if (cell.cache && cell.role == CellRole::kMatrix) {
            cell.role = CellRole::kDemonstration;
        }
    }
    return cells;
}

Scenario nodelocal_scenario() {
    return nat_path_scenario<NodelocalBench, nodelocal_plan, nodelocal_conclusions>(
        "nodelocal", "NodeLocal DNSCache as the cure of the race inside conntrack",
        "Do A and AAAA lookups of one socket race inside conntrack on their way to the service, "
        "and do they with a cache on the node?");
}

}  // namespace pathproof::scenario
