#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "dataplane/base/number.h"
#include "dataplane/frame/dns.h"
#include "dataplane/traffic/respond_run.h"
#include "harness/cli/answer_rule.h"
#include "harness/cli/commands.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/seconds.h"
#include "harness/cli/traffic_rows.h"
#include "harness/ports/open.h"
#include "harness/process/json_text.h"
#include "harness/process/stop.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;
using traffic::AnswerRule;

struct RespondOptions {
    std::string port;
    std::string netns;
    std::vector<int> cpus = {0};
    std::uint16_t queues = 0;  // 0: one a CPU
    bool reflect = false;
    std::vector<std::string> rules;
    std::vector<std::uint16_t> vxlan_ports = {4789};
    std::vector<std::string> addresses;  // ARP and neighbour discovery are answered for these
    bool no_arp = false;
    std::uint64_t seed = 1;
    double seconds = 0;  // 0: until a signal
    bool json = false;
};

// Answers of 660 bytes that may wait at one time.
constexpr std::size_t kPending = 100'000;

std::optional<std::uint16_t> parse_type(const std::string& text) {
    if (text == "A") {
        return frame::kDnsTypeA;
    }
    if (text == "AAAA") {
        return frame::kDnsTypeAaaa;
    }
    return text == "any" ? std::optional<std::uint16_t>(0) : std::nullopt;
}

Status set_type(AnswerRule& rule, const std::string& text) {
    const auto type = parse_type(text);
    if (!type) {
        return fail(ErrorCode::kBadInput, "type '{}' is none of A, AAAA and any", text);
    }
    rule.qtype = *type;
    return {};
}

Status set_rcode(AnswerRule& rule, const std::string& text) {
    constexpr std::array kNames = {"NOERROR",  "FORMERR", "SERVFAIL",
                                   "NXDOMAIN", "NOTIMP",  "REFUSED"};
    for (std::size_t n = 0; n < kNames.size(); ++n) {
        if (text == kNames[n]) {
            rule.rcode = static_cast<std::uint8_t>(n);
            return {};
        }
    }
    return fail(ErrorCode::kBadInput, "rcode '{}' is none of {}", text, fmt::join(kNames, ", "));
}

Status set_number(AnswerRule& rule, const std::string& key, const std::string& text) {
    const auto value = whole_number<double>(text);
    if (!value) {
        return fail(ErrorCode::kBadInput, "{}: '{}' is not a number", key, text);
    }
    if (key == "loss") {
        rule.loss = *value;
        return {};
    }
    // Beyond 10 s is refused with the rule's number later on; what no clock holds, here.
    if (!(*value >= 0 && *value <= 1e6)) {
        return fail(ErrorCode::kBadInput, "a delay of {} ms is not in 0..10000 ms", text);
    }
    rule.delay = traffic::Nanoseconds(static_cast<std::int64_t>(*value * 1e6));
    return {};
}

Status set(AnswerRule& rule, const std::string& key, const std::string& value) {
    if (value.empty() && key != "tc") {
        return fail(ErrorCode::kBadInput, "there is no value behind '{}'", key);
    }
    if (key == "suffix") {
        rule.suffix = value;
    } else if (key == "cname") {
        rule.cname = value;
    } else if (key == "tc" && value.empty()) {
        rule.truncated = true;
    } else if (key == "type") {
        return set_type(rule, value);
    } else if (key == "rcode") {
        return set_rcode(rule, value);
    } else if (key == "delay-ms" || key == "loss") {
        return set_number(rule, key, value);
    } else if (key == "address") {
        const auto address = TRY(frame::parse_ip(value));
        rule.addresses.push_back(address);
    } else {
        return fail(
            ErrorCode::kBadInput,
            "'{}' is none of suffix=, type=, address=, cname=, rcode=, delay-ms=, loss= and tc",
            key);
    }
    return {};
}

}  // namespace

Result<AnswerRule> parse_rule(const std::string& text) {
    AnswerRule rule;
    std::set<std::string> given;
    for (const std::string& part : CLI::detail::split(text, ',')) {
        const std::size_t equals = std::min(part.find('='), part.size());
        const std::string key = part.substr(0, equals);
        TRY(set(rule, key, part.substr(std::min(equals + 1, part.size()))));
        if (!given.insert(key).second && key != "address") {
            return fail(ErrorCode::kBadInput, "it has '{}' twice", key);
        }
    }
    const frame::Family family =
        rule.qtype == frame::kDnsTypeA ? frame::Family::kIpv4 : frame::Family::kIpv6;
    if (rule.qtype != 0 && !rule.addresses.empty() &&
        std::ranges::find(rule.addresses, family, &frame::IpAddress::family) ==
            rule.addresses.end()) {
        return fail(ErrorCode::kBadInput, "none of its addresses can be in an answer of type {}",
                    family == frame::Family::kIpv4 ? "A" : "AAAA");
    }
    return rule;
}

namespace {

std::string respond_table(const traffic::RespondReport& report, const port::PortInfo& port) {
    const traffic::ResponderCounts& queries = report.queries;
    return fmt::format("port {} ({}, {}), {:.1f} s\n", port.name, port.driver,
                       port::evidence_name(port.evidence), report.seconds) +
           row("queries", queries.queries) + row("  answered", queries.answered) +
           row("    of them in place", queries.quick) +
           row("  lost on purpose", queries.lost_on_purpose) +
           row("  still waiting for their time", report.waiting) +
           row("  no room", queries.no_room) + row("  not sent", queries.not_sent) +
           row("reflected", queries.reflected) + row("  not sent", queries.not_reflected) +
           row("ARP and neighbour discovery answered", queries.neighbours) +
           row("  not sent", queries.neighbours_not_sent) +
           received_rows(report.received, "  queries") + checksum_rows(report.checksums) +
           objection_rows(report.objections) +
           (report.partial ? "PARTIAL: the link was down for a part of the time; the counts are "
                             "right\n"
                           : "");
}

json driver_json(const std::vector<port::NamedCounter>& counters) {
    json out = json::object();
    for (const port::NamedCounter& counter : counters) {
        out[counter.name] = counter.value;
    }
    return out;
}

// "driver_counters": what grew of the driver's own, by its names.
json respond_json(const traffic::RespondReport& report, const port::PortInfo& port) {
    json out = head_json(port);
    out.update({{"seconds", report.seconds},
                {"queries",
                 {{"received", report.queries.queries},
                  {"answered", report.queries.answered},
                  {"in_place", report.queries.quick},
                  {"lost_on_purpose", report.queries.lost_on_purpose},
                  {"waiting", report.waiting},
                  {"no_room", report.queries.no_room},
                  {"not_sent", report.queries.not_sent}}},
                {"reflected",
                 {{"sent", report.queries.reflected}, {"not_sent", report.queries.not_reflected}}},
                {"neighbours",
                 {{"answered", report.queries.neighbours},
                  {"not_sent", report.queries.neighbours_not_sent}}},
                {"received", received_json(report.received, "queries")},
                {"received_by_lcore", report.received_by_worker},
                {"checksums", checksum_json(report.checksums)},
                {"driver_counters", driver_json(report.driver_counters)},
                {"objections", report.objections},
                {"partial", report.partial}});
    return out;
}

Result<traffic::ResponderOptions> responder_options(const RespondOptions& options) {
    traffic::ResponderOptions made{
        .seed = options.seed,
        .tunnel_ports = options.vxlan_ports,
        .pending = kPending,
        .keep_bad_frames = 0,
        .reflect = options.reflect ? traffic::Reflect::kStamped : traffic::Reflect::kNothing};
    for (const std::string& text : options.rules) {
        const AnswerRule rule = TRY(doing(parse_rule(text), "--rule {}", text));
        made.rules.push_back(rule);
    }
    TRY(traffic::expectations(made.rules));
    if (!options.addresses.empty()) {
        made.station = neighbour::Station{.mac = {}, .addresses = {}, .vlans = std::nullopt};
    }
    for (const std::string& text : options.addresses) {
        const auto range = TRY(doing(neighbour::parse_addresses(text), "--address"));
        made.station->addresses.push_back(range);
    }
    return made;
}

Result<int> run(const RespondOptions& options) {
    auto responder = TRY(responder_options(options));
    const auto lcores = static_cast<std::uint16_t>(options.cpus.size());
    const std::uint16_t queues = options.queues == 0 ? lcores : options.queues;
    if (queues < lcores) {
        return fail(ErrorCode::kBadInput,
                    "--queues {} is fewer than the {} CPUs of --cpu: each lcore "
                    "needs a queue of its own",
                    queues, lcores);
    }
    const std::atomic<bool>& stop = process::stop_on_signals();
    ports::OwnPorts own =
        TRY(ports::OwnPorts::open({.ports = {{.name = options.port, .queues = queues}},
                                   .netns = options.netns,
                                   .cpus = options.cpus}));
    port::Port& port = own.set.ports.front();
    const port::PortInfo& info = port.info();
    if (responder.station) {
        responder.station->mac = info.mac;
    } else if (!options.no_arp) {
        fmt::print(stderr,
                   "pathproof: ARP and neighbour discovery are not answered: --address says for "
                   "which addresses (--no-arp: for none)\n");
    }
    fmt::print(stderr, "answering on {} ({}){}\n", info.name, info.driver,
               options.seconds > 0 ? "" : "; Ctrl-C ends it");
    const traffic::RespondPlan plan{
        .responder = responder, .duration = nanoseconds_of(options.seconds), .workers = lcores};
    auto report = TRY(traffic::run_responder(own.set.eal, port, plan, stop));
    const std::vector<std::string> objections = own.objections();
    std::ranges::copy(objections, std::back_inserter(report.objections));
    fmt::print("{}", options.json ? process::to_text(respond_json(report, info)) + "\n"
                                  : respond_table(report, info));
    return report.objections.empty() ? 0 : 3;
}

}  // namespace

void add_respond(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("respond",
                                           "Answer DNS queries on a port as rules say, and ARP and "
                                           "neighbour discovery for its addresses");
    const auto options = options_for<RespondOptions>(*command, chosen, run);
    command
        ->add_option("port", options->port,
                     "kernel interface, af_xdp:INTERFACE, DPDK vdev (net_tap,iface=t0) or PCI "
                     "address")
        ->required();
    command
        ->add_option("--rule", options->rules,
                     "[suffix=NAME][,type=A|AAAA|any][,address=IP]...[,cname=NAME][,rcode=NXDOMAIN]"
                     "[,delay-ms=N][,loss=SHARE][,tc]; the first that fits counts, none: REFUSED")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->required();
    CLI::Option* no_arp =
        command->add_flag("--no-arp", options->no_arp, "answer no ARP and no neighbour discovery");
    command
        ->add_option(
            "--address", options->addresses,
            "ADDRESS or FIRST-LAST of the server: for these ARP and neighbour discovery are "
            "answered (may be repeated)")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->excludes(no_arp);
    command->add_option("--netns", options->netns, "network namespace in which the port is");
    command->add_option("--cpu", options->cpus, "CPUs, one lcore each: 0,1 (default 0)")
        ->delimiter(',')
        ->check(kCpu);
    command
        ->add_option("--queues", options->queues,
                     "queues of the port, shared out among the lcores (default: one an lcore)")
        ->check(whole(1, 1024));
    command->add_flag("--reflect", options->reflect,
                      "send tracked TCP SYN, ICMP echo and UDP frames of 'generate' back too");
    command->add_option("--duration", options->seconds, "seconds; without it until Ctrl-C")
        ->check(kAboveZero);
    command
        ->add_option("--vxlan-port", options->vxlan_ports,
                     "UDP ports that carry VXLAN (default 4789)")
        ->check(kUdpPort);
    command->add_option("--seed", options->seed, "for losses (default 1)")->check(kWhole);
    command->add_flag("--json", options->json, "print the result as one JSON object");
}

}  // namespace pathproof::cli
