#include "harness/prices/probes.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace pathproof::prices {
namespace {

constexpr unsigned kMostTries = 2;

std::uint64_t value_of(const verdict::Cell& cell, const std::string& measure) {
    const auto found = std::ranges::find(cell.measures, measure, &verdict::Measure::name);
    return found == cell.measures.end() ? 0 : found->value.count();
}

verdict::ProbeOutcome outcome_of(const Probe& probe, const verdict::ScenarioResult& result,
                                 const std::string& id, const std::string& breaks = "") {
    const verdict::Cell* cell = verdict::find_cell(result, id);
    if (cell == nullptr) {
        return {.reason = "the cell was not run"};
    }
    if (!breaks.empty() && cell->verdict == verdict::CellVerdict::kPass) {
        return {verdict::CellVerdict::kFail, breaks, true};
    }
    const std::uint64_t harmed = value_of(*cell, probe.harm.count);
    if (harmed != 0 && cell->verdict != verdict::CellVerdict::kError) {
        return {
            verdict::CellVerdict::kFail,
            fmt::format("{} of {} {}", harmed, value_of(*cell, probe.harm.all), probe.harm.text)};
    }
    if (cell->verdict == verdict::CellVerdict::kFail && cell->cause != probe.cause) {
        return {verdict::CellVerdict::kInconclusive,
                fmt::format("it failed by another cause ({}): {}", cell->cause, cell->reason)};
    }
    return {cell->verdict, cell->reason};
}

bool told(const Probe& probe, const verdict::ScenarioResult& result,
          const std::vector<std::string>& ids) {
    return std::ranges::all_of(ids, [&](const std::string& id) {
        const verdict::CellVerdict verdict = outcome_of(probe, result, id).verdict;
        return verdict == verdict::CellVerdict::kPass || verdict == verdict::CellVerdict::kFail ||
               verdict == verdict::CellVerdict::kSkip;
    });
}

// Some cells of a scenario under a cure. Made once more where one came to no result, as on a machine
// that is short of CPU time.
Result<verdict::ScenarioResult> run_cells_of(scenario::Context& context, const Probe& probe,
                                             const std::vector<std::string>& cells,
                                             const setting::Settings& cure) {
    const scenario::Scenario* scenario = scenario::find_scenario(probe.scenario);
    scenario::Options options = context.options;
    options.cells = cells;
    options.cure = cure;
    options.given = nullptr;
    options.out_dir.clear();
    Result<verdict::ScenarioResult> result = verdict::ScenarioResult{};
    for (unsigned attempt = 0; attempt < kMostTries && context.journal.is_open(); ++attempt) {
        scenario::Measured measured;
        scenario::Context inner{context.lab, context.journal, context.progress,
                                options,     context.profile, measured};
        result = scenario::run_scenario(*scenario, inner);
        if (result && told(probe, *result, cells)) {
            break;
        }
    }
    return result;
}

Result<Tried> run_scenario_probe(scenario::Context& context, const Probe& probe,
                                 const Cures& cures) {
    Tried tried;
    std::vector<std::string> cells{probe.cell};
    std::vector<const OwnCell*> own;
    Cures on_top;
    for (const Cure* cure : cures) {
        if (const OwnCell* cell = probe.own_cell(cure->id)) {
            own.push_back(cell);
            cells.push_back(cell->cell);
        } else {
            on_top.push_back(cure);
        }
    }
    if (!probe.after.empty()) {
        cells.push_back(probe.after);
    }
    const auto first = TRY(run_cells_of(context, probe, cells, {}));
    tried.without.push_back(outcome_of(probe, first, probe.cell));
    for (const OwnCell* cell : own) {
        tried.with[cell->cure] = outcome_of(probe, first, cell->cell, cell->breaks);
    }
    if (!probe.after.empty()) {
        tried.without.push_back(outcome_of(probe, first, probe.after));
    }
    for (const Cure* cure : on_top) {
        const auto with = run_cells_of(context, probe, {probe.cell}, cure->settings);
        tried.with[cure->id] = with ? outcome_of(probe, *with, probe.cell)
                                    : verdict::ProbeOutcome{.reason = with.error().message};
    }
    if (!on_top.empty() || probe.after.empty()) {
        const auto again = TRY(run_cells_of(context, probe, {probe.cell}, {}));
        tried.without.push_back(outcome_of(probe, again, probe.cell));
    }
    return tried;
}

}  // namespace

const OwnCell* Probe::own_cell(const std::string& cure) const {
    const auto found = std::ranges::find(own, cure, &OwnCell::cure);
    return found == own.end() ? nullptr : &*found;
}

std::string Probe::leaves_out(const Cure& cure) const {
    if (does_not_apply(cure)) {
        return lack_of(cure.needs);
    }
    if (own_cell(cure.id) != nullptr) {
        return "";
    }
    // A probe of lookups sets its cures in the resolver, any other probe sets them on the NAT path.
    const bool sets =
        run != nullptr && cure.needs == Part::kResolver ? cure.in_resolver() : cure.on_path();
    const bool refuses =
        std::ranges::count(cannot, cure.id) + std::ranges::count(cannot, std::string("*")) != 0;
    return sets && (cure.in_resolver() || !refuses) ? "" : "its lab cannot set this cure";
}

const std::vector<Probe>& all_probes() {
    using enum Part;
    static const std::vector<Probe> probes = {
        {.id = "vxlan-checksum",
         .text = "pods on an overlay behind SNAT: ping, DNS and a transfer",
         .has = {kTunnel, kClientTcp, kTrackedTcp, kResolver},
         .scenario = "vxlan-checksum",
         .cell = "vx-tx-on.udpcsum.masquerade.eth0-tx-off",
         .cause = "stale-port",
         .own = {{"tx-checksum-off", "cure.flag-off"}},
         .cannot = {"drop-invalid"}},
        {.id = "dns-race",
         .text = "A and AAAA at one moment, answered after 1.5 s",
         .has = {kResolver, kNodeDns},
         .scenario = "dns-race",
         .cell = "late-answer.1500ms",
         .cause = "late-answer",
         .after = "late-answer.after-cure",
         .own = {{"single-request-reopen", "cure.single-request-reopen"}},
         .cannot = {"*"}},
        {.id = "snat-race",
         .text = "two clients with one source port behind MASQUERADE",
         .has = {kMasquerade, kNodeDns},
         .scenario = "snat-race",
         .cell = "snat-collision",
         .cause = "snat-collision",
         .after = "snat-collision.after-cure",
         .own = {{"random-fully", "cure.random-fully"}},
         .cannot = {"*"}},
        {.id = "snat-timestamps",
         .text = "short connections behind MASQUERADE, the server closes first",
         .has = {kMasquerade, kClientTcp, kTrackedTcp},
         .scenario = "snat-timestamps",
         .cell = "control.full-range.masquerade",
         .cause = "stale-timestamp",
         .own = {{"random-fully", "full-range.random-fully"}}},
        {.id = "snat-timestamps.few-ports",
         .text = "the same through MASQUERADE --to-ports with 256 ports",
         .has = {kMasquerade, kClientTcp, kTrackedTcp, kPortRange},
         .scenario = "snat-timestamps",
         .cell = "small-range.masquerade",
         .cause = "stale-timestamp"},
        {.id = "stale-udp",
         .text = "a UDP flow whose service gets another endpoint",
         .has = {kUdpService, kNodeDns},
         .scenario = "stale-udp",
         .cell = "other-endpoint",
         .cause = "stale-entry",
         .after = "other-endpoint.after-cure",
         .own = {{"delete-stale-entries", "cure.delete-entry"}}},
        {.id = "bridge-unnat",
         .text = "lookups of a service whose backend is on the client's bridge",
         .has = {kBridge, kResolver, kNodeDns},
         .scenario = "bridge-unnat",
         .cell = "bridge-nf-off",
         .cause = "untranslated-answer",
         .after = "bridge-nf-off.after-cure",
         .own = {{"bridge-nf", "cure.bridge-nf-on"}, {"hairpin-masquerade", "cure.masquerade"}}},
        {.id = "stale-endpoint",
         .text = "connections to a service of which two endpoints in eight are dead",
         .has = {kEndpoints, kClientTcp, kTrackedTcp},
         .scenario = "stale-endpoint",
         .cell = "dead.closed",
         .cause = "stale-endpoint",
         .after = "dead.closed.after-cure",
         .own = {{"rules-of-the-living", "cure.rules-of-the-living"}}},
        {.id = "table-full",
         .text = "new flows where conntrack's table is full",
         .has = {kFullTable, kClientTcp, kTrackedTcp},
         .scenario = "table-full",
         .cell = "answered",
         .cause = "table-full",
         .after = "answered.after-cure",
         .own = {{"delete-unused-entries", "cure.delete-entries"}}},
        {.id = "snat-exhaustion",
         .text = "new flows through MASQUERADE --to-ports of which 97 % are in use",
         .has = {kPortRange, kMasquerade},
         .scenario = "snat-exhaustion",
         .cell = "fill-99",
         .cause = "port-search",
         .after = "fill-99.after-cure",
         .own = {{"all-ports", "cure.all-ports"}}},
        {.id = "pmtu-blackhole",
         .text = "a large transfer through a tunnel over a smaller hop",
         .has = {kSmallerHop, kTunnel, kClientTcp},
         .scenario = "pmtu-blackhole",
         .cell = "df-unset.icmp-filtered.fragments-dropped",
         .cause = "fragments-dropped",
         .after = "df-unset.icmp-filtered.fragments-dropped.after-cure",
         .own = {{"tunnel-mtu", "cure.mtu"},
                 {"mss-clamp", "cure.mss-clamp"},
                 {"outer-df", "cure.df-set.icmp-passes.fragments-dropped"}}},
        {.id = "invalid-rst",
         .text = "connections that get a segment from outside of the window",
         .has = {kClientTcp, kTrackedTcp},
         .scenario = "invalid-rst",
         .cell = "ahead",
         .cause = "invalid-rst",
         .after = "ahead.after-cure",
         .own = {{"be-liberal", "cure.be-liberal"}, {"drop-invalid", "cure.drop-invalid"}}},
        {.id = "search-path",
         .text = "lookups by glibc with a list of six, one answer in fifty lost",
         .has = {kResolver},
         .scenario = "search-path",
         .cell = "glibc.list-6",
         .cause = "search-path",
         .after = "glibc.list-6.after-cure",
         .own = {{"single-request", "glibc.list-6.single-request"},
                 {"single-request-reopen", "glibc.list-6.single-request-reopen"},
                 {"use-vc", "use-vc.lost-answer", "lookups with a lost answer never end"},
                 {"no-aaaa", "glibc.list-6.no-aaaa"},
                 {"ndots-2", "cure.ndots-2"},
                 {"ndots-1", "cure.ndots-1"},
                 {"trailing-dot", "cure.trailing-dot"}}},
        {.id = "split-answer",
         .text = "lookups by glibc of a name with NXDOMAIN for A and a CNAME for AAAA",
         .has = {kResolver, kNameCache},
         .scenario = "split-answer",
         .cell = "glibc.nx-cname",
         .cause = "split-answer",
         .after = "glibc.nx-cname.after-cure",
         .own = {{"single-request", "glibc.nx-cname.single-request"},
                 {"single-request-reopen", "glibc.nx-cname.single-request-reopen"},
                 {"use-vc", "glibc.nx-cname.use-vc"},
                 {"no-aaaa", "cure.no-aaaa"},
                 {"ndots-2", "cure.ndots-2"},
                 {"trailing-dot", "cure.trailing-dot"},
                 {"consistent-cache", "cure.consistent-cache"}}},
        {.id = "dns-tcp-limit.idle",
         .text = "a lookup by TCP while a cache holds dnsmasq's 20 workers idle",
         .has = {kDnsmasq, kResolver, kClientTcp, kTrackedTcp},
         .scenario = "dns-tcp-limit",
         .cell = "idle-20",
         .cause = "worker-limit",
         .after = "idle-20.after-cure",
         .own = {{"max-idle", "cure.idle-20.max-idle"}},
         // The TCP of its cache begins on the DUT.
         .cannot = {"timestamps-2"}},
        {.id = "dns-tcp-limit.burst",
         .text = "80 names at once through a cache that asks dnsmasq by TCP",
         .has = {kDnsmasq, kResolver, kClientTcp, kTrackedTcp},
         .scenario = "dns-tcp-limit",
         .cell = "burst-80",
         .cause = "worker-limit",
         .after = "burst-80.after-cure",
         .own = {{"more-workers", "cure.burst-80.more-workers"},
                 {"prefer-udp", "cure.burst-80.prefer-udp"}},
         .cannot = {"timestamps-2"}},
        {.id = "dns-tcp-limit.forward",
         .text = "200 names at once by UDP through dnsmasq",
         .has = {kForwards, kResolver},
         .scenario = "dns-tcp-limit",
         .cell = "forward-200",
         .cause = "forward-max",
         .after = "forward-200.after-cure",
         .own = {{"forward-max", "cure.forward-200.more"}}},
        {.id = "dns-race.of-hosts",
         .text = "A and AAAA of one socket at one moment to a service of the node, answered after "
                 "1.2 s",
         .has = {kResolver, kNodeDns},
         .scenario = "nodelocal",
         .cell = "no-cache",
         .cause = "conntrack-race",
         .after = "no-cache.after-cure",
         // One by one is what single-request does.
         .own = {{"nodelocal", "cure.service-address"}, {"single-request", "control.one-by-one"}}},
        // Side effects that are known.
        {.id = "asymmetric-route",
         .text = "connections whose answers pass by the DUT",
         .has = {kClientTcp, kTrackedTcp},
         .scenario = "invalid-rst",
         .cell = "control.one-way",
         .own = {{"be-liberal", "be-liberal.one-way"}, {"drop-invalid", "drop-invalid.one-way"}},
         .harm = {"broken", "connects", "connections broke"}},
        {.id = "long-lived-connection",
         .text = "connections that are open while the cure is set, and are used afterwards",
         .has = {kMasquerade, kClientTcp, kTrackedTcp},
         .run = run_long_lived},
        {.id = "dns-tcp-limit.resolver",
         .text = "lookups by glibc from a dnsmasq whose 20 workers are taken",
         .has = {kResolver, kClientTcp, kTrackedTcp},
         .cannot = {"*"},
         .run = run_taken_workers},
        {.id = "ipv6-only-name",
         .text = "lookups by glibc of a name that has an AAAA record alone",
         .has = {kResolver},
         .run = run_ipv6_only},
        {.id = "short-name",
         .text = "lookups by glibc of a service by its short name",
         .has = {kResolver},
         .run = run_short_name},
        {.id = "sender.udp-segment",
         .text = "a node's sender through its tunnel with UDP_SEGMENT, as QUIC",
         .has = {kTunnel},
         .run = run_segment_sender},
        {.id = "sender.zero-copy",
         .text = "a node's sender through its tunnel with MSG_ZEROCOPY",
         .has = {kTunnel},
         .run = run_zero_copy_sender},
        {.id = "sender.ktls",
         .text = "a node's sender through its tunnel with the kernel's TLS",
         .has = {kTunnel},
         .run = run_tls_sender},
        {.id = "sender.af-xdp",
         .text = "a node's AF_XDP socket on its tunnel",
         .has = {kTunnel},
         .run = run_xdp_sender},
    };
    return probes;
}

Result<Tried> run_probe(scenario::Context& context, const Probe& probe, const Cures& cures) {
    Cures tried;
    std::ranges::copy_if(cures, std::back_inserter(tried),
                         [&](const Cure* cure) { return probe.leaves_out(*cure).empty(); });
    return probe.run != nullptr ? probe.run(context, tried)
                                : run_scenario_probe(context, probe, tried);
}

}  // namespace pathproof::prices
