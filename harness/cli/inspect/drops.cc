// pathproof inspect drops: which packets the kernel dropped, why and where, beside what conntrack
// counted in the same time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "dataplane/base/contains.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/seconds.h"
#include "harness/drops/agreement.h"
#include "harness/drops/tracer.h"
#include "harness/fate/follower.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/stats.h"
#include "harness/predict/simulator.h"
#include "harness/process/foreign.h"

namespace pathproof::cli::inspect {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct DropsOptions {
    CommonOptions common;
    std::optional<double> duration_s;
    std::optional<double> interval_s;
    bool all_namespaces = false;
    bool flows = false;
};

// conntrack's counters of the namespace, or why they cannot be read.
using Counters = Result<std::vector<netfilter::CpuStats>>;

std::string scope_text(const drops::DropSummary& summary, const DropsOptions& options) {
    if (summary.scope == drops::Scope::kNamespace) {
        return options.common.netns.empty() ? "this network namespace"
                                            : "network namespace " + options.common.netns;
    }
    return summary.scope_reason.empty()
               ? "all namespaces of this machine"
               : fmt::format(
                     "all namespaces of this machine, for a packet's own cannot be told: {}",
                     summary.scope_reason);
}

json to_json(const drops::DropCount& count) {
    json line{{"reason", count.reason},
              {"location", count.location},
              {"protocol", count.protocol},
              {"packets", count.packets}};
    if (count.flow != drops::FlowState::kUntold) {
        line["flow"] = name(count.flow);
    }
    return line;
}

json to_json(const std::vector<drops::DropCount>& counts) {
    json lines = json::array();
    for (const drops::DropCount& count : counts) {
        lines.push_back(to_json(count));
    }
    return lines;
}

std::string to_text(const std::vector<drops::DropCount>& counts) {
    std::size_t reason = 6, location = 8, protocol = 8;
    for (const drops::DropCount& count : counts) {
        reason = std::max(reason, count.reason.size());
        location = std::max(location, count.location.size());
        protocol = std::max(protocol, count.protocol.size());
    }
    const auto line = [&](const auto& packets, std::string_view why, std::string_view where,
                          std::string_view what, std::string_view flow) {
        std::string text = fmt::format("{:>10}  {:<{}}  {:<{}}  {:<{}}  {}", packets, why, reason,
                                       where, location, what, protocol, flow);
        text.erase(text.find_last_not_of(' ') + 1);
        return text + "\n";
    };
    std::string text = line("packets", "reason", "location", "protocol", "flow");
    for (const drops::DropCount& count : counts) {
        text += line(count.packets, count.reason, count.location, count.protocol, name(count.flow));
    }
    return text;
}

// Returns further remarks on the counts, a line each.
std::string remarks(const drops::DropSummary& summary) {
    std::string text;
    if (summary.unspecified > 0) {
        text += fmt::format(
            "{} frees gave no reason (NOT_SPECIFIED): not counted, many of them are no loss\n",
            summary.unspecified);
    }
    if (summary.nowhere > 0) {
        text += fmt::format(
            "{} drops on this machine told no namespace (no device, socket or route): not "
            "counted\n",
            summary.nowhere);
    }
    if (summary.other_kinds > 0) {
        text += fmt::format("{} drops were of further kinds\n", summary.other_kinds);
    }
    if (summary.lost > 0) {
        text += fmt::format("{} events were lost: the counts are lower bounds\n", summary.lost);
    }
    return text;
}

json to_json(const drops::DropSummary& summary, const DropsOptions& options) {
    json reasons = json::object();
    for (const drops::DropCount& count : by_reason(summary.counts)) {
        reasons[count.reason] = count.packets;
    }
    const bool one = summary.scope == drops::Scope::kNamespace;
    return {{"kernel", netfilter::running_kernel_release()},
            {"scope", one ? "namespace" : "machine"},
            {"scope_reason", summary.scope_reason},
            {"netns", options.common.netns},
            {"seconds", summary.seconds},
            {"drops", summary.drops},
            {"reasons", reasons},
            {"counts", to_json(summary.counts)},
            {"unspecified", summary.unspecified},
            {"nowhere", summary.nowhere},
            {"other_kinds", summary.other_kinds},
            {"lost", summary.lost}};
}

json to_json(const drops::Agreement& agreement, const std::string& sentence) {
    return {{"insert_failed", agreement.insert_failed},
            {"drop", agreement.drop},
            {"chaintoolong", agreement.chain_too_long},
            {"refused", agreement.refused},
            {"seen", agreement.seen},
            {"seen_past_nat", agreement.seen_past_nat},
            {"by_rules", agreement.by_rules},
            {"difference", agreement.difference()},
            {"agree", agreement.agree()},
            {"sentence", sentence}};
}

// Packets of one flow that ended alike.
struct DroppedFlow {
    fate::Packet packet;  // the first
    fate::End end;
    std::uint64_t packets = 0;
};

// Most packets first. Frees without a reason are apart: many are no loss, and their place tells which.
std::vector<DroppedFlow> dropped_flows(const fate::Fates& fates, const DropsOptions& options) {
    const std::string& netns = options.common.netns.empty() ? fates.netns : options.common.netns;
    using Key = std::tuple<frame::Endpoint, frame::Endpoint, std::uint8_t, std::uint32_t>;
    std::map<Key, std::size_t> known;
    std::vector<DroppedFlow> flows;
    for (const fate::Packet& packet : fates.each) {
        const fate::End& end = fates.ends.at(packet.end).end;
        if (end.ending != fate::Ending::kDropped ||
            (!options.all_namespaces && end.netns != netns)) {
            continue;
        }
        const Key key{packet.source, packet.destination, packet.protocol, packet.end};
        const auto [at, is_new] = known.emplace(key, flows.size());
        if (is_new) {
            flows.push_back({.packet = packet, .end = end});
        }
        ++flows[at->second].packets;
    }
    std::ranges::stable_sort(flows, [](const DroppedFlow& a, const DroppedFlow& b) {
        const bool a_unnamed = a.end.reason == "NOT_SPECIFIED";
        const bool b_unnamed = b.end.reason == "NOT_SPECIFIED";
        return a_unnamed != b_unnamed ? b_unnamed : a.packets > b.packets;
    });
    return flows;
}

std::string flow_text(const fate::Packet& packet) {
    return fmt::format(
        "{} {} > {}", netfilter::protocol_name(packet.protocol),
        packet.source.port == 0 ? to_string(packet.source.address) : to_string(packet.source),
        packet.destination.port == 0 ? to_string(packet.destination.address)
                                     : to_string(packet.destination));
}

// The rules of the namespace as they are now, held against packets that netfilter dropped.
class RuleFinder {
  public:
    explicit RuleFinder(const std::string& netns)
        : facts_(hazards::read_facts(netns, hazards::ConntrackTable::kNotRead)),
          router_(predict::kernel_router(netns)) {
        if (facts_ && router_) {
            simulator_.emplace(*facts_, **router_);
        }
    }

    // The rule or policy that surely drops such a packet in that hook; empty: there is none that does.
    std::string rule_of(const DroppedFlow& flow) const {
        if (!simulator_ || !fate::is_by_netfilter(flow.end.cause) ||
            !netfilter::has_ports(flow.packet.protocol)) {
            return "";
        }
        predict::Question question;
        question.tuple = {.source = flow.packet.source,
                          .destination = flow.packet.destination,
                          .protocol = flow.packet.protocol};
        question.in =
            contains(std::array{"output", "postrouting"}, flow.end.hook) ? "" : flow.end.device;
        const auto outcomes = simulator_->simulate(question);
        const predict::Outcome& outcome = outcomes.front();
        const bool drops =
            outcome.end == predict::End::kDropped || outcome.end == predict::End::kRejected;
        if (outcomes.size() != 1 || !drops) {
            return "";
        }
        if (outcome.by_rule != nullptr) {
            return predict::rule_text(*outcome.by_rule);
        }
        return outcome.by_chain != nullptr ? predict::policy_text(*outcome.by_chain) : "";
    }

  private:
    Result<hazards::Facts> facts_;
    Result<std::unique_ptr<predict::Router>> router_;
    std::optional<predict::Simulator> simulator_;
};

constexpr std::size_t kMostFlows = 50;

// Lists the flows as text, or the reason why they are not known.
void put_flows(Output& output, const Result<fate::Fates>& fates, const DropsOptions& options) {
    if (!fates) {
        output.put_line("flows of dropped packets are not known: " + fates.error().message);
        return;
    }
    const auto flows = dropped_flows(*fates, options);
    const RuleFinder rules(options.common.netns);
    for (std::size_t i = 0; i < std::min(flows.size(), kMostFlows); ++i) {
        const DroppedFlow& flow = flows[i];
        const std::string rule = options.all_namespaces ? "" : rules.rule_of(flow);
        output.put_line(fmt::format("{:>10}  {}: dropped {}{}", flow.packets,
                                    flow_text(flow.packet), flow.end.text,
                                    flow.end.device.empty() ? "" : ", device " + flow.end.device));
        if (!rule.empty()) {
            output.put_line("            by the rules of now: " + process::without_controls(rule));
        }
    }
    if (flows.size() > kMostFlows) {
        output.put_line(fmt::format("            and {} more flows", flows.size() - kMostFlows));
    }
    if (fates->lost != 0) {
        output.put_line(fmt::format("{} packets more were not looked at", fates->lost));
    }
}

json to_json(const std::vector<DroppedFlow>& flows, const DropsOptions& options) {
    const RuleFinder rules(options.common.netns);
    json lines = json::array();
    for (const DroppedFlow& flow : flows) {
        lines.push_back({{"packets", flow.packets},
                         {"rule", options.all_namespaces ? "" : rules.rule_of(flow)},
                         {"protocol", netfilter::protocol_name(flow.packet.protocol)},
                         {"source", to_string(flow.packet.source)},
                         {"destination", to_string(flow.packet.destination)},
                         {"cause", flow.end.cause},
                         {"text", flow.end.text},
                         {"hook", flow.end.hook},
                         {"reason", flow.end.reason},
                         {"place", flow.end.place},
                         {"device", flow.end.device},
                         {"netns", flow.end.netns}});
    }
    return lines;
}

void put_summary(Output& output, const drops::DropSummary& summary, const Counters& before,
                 const Counters& after, const std::optional<Result<fate::Fates>>& fates,
                 const DropsOptions& options) {
    std::optional<drops::Agreement> agreement;
    std::string sentence;
    if (before && after) {
        agreement = compare(summary, netfilter::delta(*before, *after));
        sentence = explain(*agreement, summary);
    } else {
        sentence = "not compared: " + (before ? after : before).error().message;
    }
    if (options.common.json) {
        json line = to_json(summary, options);
        line["conntrack"] =
            agreement ? to_json(*agreement, sentence) : json{{"not_compared", sentence}};
        if (fates) {
            line["flows"] = *fates ? to_json(dropped_flows(**fates, options), options) : json();
            line["flows_unknown"] = *fates ? "" : fates->error().message;
        }
        put_json(output, line);
    } else {
        output.line() += fmt::format("{} packets dropped for a reason in {:.1f} s, {}\n",
                                     summary.drops, summary.seconds, scope_text(summary, options));
        if (!summary.counts.empty()) {
            output.line() += to_text(summary.counts);
        }
        output.put_line(remarks(summary) +
                        "NETFILTER_DROP beside conntrack's counters: " + sentence);
        if (fates) {
            put_flows(output, *fates, options);
        }
    }
    output.flush();
}

// The drops since the summary before.
void put_interval(Output& output, const drops::DropSummary& before, const drops::DropSummary& now,
                  const DropsOptions& options) {
    const auto grown = growth(before.counts, now.counts);
    const std::uint64_t drops = now.drops - before.drops;
    const double seconds = now.seconds - before.seconds;
    if (options.common.json) {
        put_json(output, {{"interval_s", seconds},
                          {"drops", drops},
                          {"counts", to_json(grown)},
                          {"lost", now.lost - before.lost}});
    } else if (drops > 0) {
        output.put_line(
            fmt::format("{} packets dropped in {:.1f} s\n{}", drops, seconds, to_text(grown)));
    }
    output.flush();
}

// Until interrupted, the duration is over or nobody reads any more.
void follow(drops::DropTracer& tracer, Output& output, const DropsOptions& options) {
    const auto deadline = Limits{.duration_s = options.duration_s, .count = {}}.deadline();
    auto next = Clock::now();
    drops::DropSummary last;
    while (!process::stopping() && output.open() && Clock::now() < deadline) {
        if (!options.interval_s) {
            process::sleep_until(deadline);
            continue;
        }
        next += nanoseconds_of(*options.interval_s);
        process::sleep_until(std::min(next, deadline));
        drops::DropSummary now = tracer.poll();
        put_interval(output, last, now, options);
        last = std::move(now);
    }
}

Result<int> run_drops(const DropsOptions& options) {
    process::stop_on_signals();
    const auto scope = options.all_namespaces ? drops::Scope::kMachine : drops::Scope::kNamespace;
    auto tracer = TRY(drops::DropTracer::start({.netns = options.common.netns, .scope = scope}));
    const Counters before = netfilter::cpu_stats(options.common.netns);
    fmt::print(stderr, "pathproof: counting drops (skb:kfree_skb) of {}{}\n",
               scope_text(tracer->poll(), options),
               options.duration_s ? "" : ", until interrupted");
    Result<std::unique_ptr<fate::Follower>> follower;
    if (options.flows) {
        follower = fate::Follower::start({.flows = {fate::Flow{}}, .only_drops = true});
    }
    Output output;
    follow(*tracer, output, options);
    const drops::DropSummary summary = tracer->stop();
    const Counters after = netfilter::cpu_stats(options.common.netns);
    std::optional<Result<fate::Fates>> fates;
    if (options.flows) {
        fates = follower ? Result<fate::Fates>((*follower)->stop())
                         : Result<fate::Fates>(pass_on(follower.error()));
    }
    put_summary(output, summary, before, after, fates, options);
    if (!options.all_namespaces) {
        TRY(still_there(options.common.netns));
    }
    return summary.lost > 0 ? kIncomplete : kDone;
}

}  // namespace

void add_drops(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "drops", "Packets that the kernel drops: why, where and of which protocol");
    const auto options = options_for<DropsOptions>(*app, chosen, run_drops);
    add_common(*app, options->common);
    app->add_option("--duration", options->duration_s,
                    "end after so many seconds (default: when interrupted)")
        ->check(number_in(kShortestInterval, kLongestDuration));
    app->add_option("--interval", options->interval_s,
                    "also print the drops of every so many seconds")
        ->check(number_in(kShortestInterval, kLongestInterval));
    app->add_flag("--flows", options->flows,
                  "also print addresses and ports of the dropped packets, and frees without a "
                  "reason by their place");
    app->add_flag("--all-netns", options->all_namespaces,
                  "count the drops of all namespaces of this machine");
    app->footer(
        "Needs root (CAP_PERFMON, CAP_BPF) and Linux 5.17 or later. Where the kernel does not let "
        "a\n"
        "packet's namespace be read, the drops of the whole machine are counted and the output "
        "says\n"
        "so. Exit codes: 0 done, 2 bad input or no root, 3 the kernel has no drops, events were "
        "lost or the namespace went away.");
}

}  // namespace pathproof::cli::inspect
