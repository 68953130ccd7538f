#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "dataplane/base/contains.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/pods/pod_paths.h"

namespace pathproof::scenario {
namespace {

using frame::Family;
using verdict::Cell;
using verdict::CellVerdict;

constexpr const char* kMasqueraded = "masqueraded";
constexpr const char* kCheckFailed = "check-failed";

bool is_pod_to_pod(PodPath path) {
    return path == PodPath::kSameNode || path == PodPath::kAcross;
}

// The first rule that counted and ends so.
const PodPathValues::Hit* hit_of(const PodPathValues& seen,
                                 std::initializer_list<const char*> targets) {
    return first_of(seen.hits, [&](const PodPathValues::Hit& hit) {
        return std::ranges::any_of(targets, [&](const char* target) {
            return (hit.rule + " ").find(fmt::format("-j {} ", target)) != std::string::npos;
        });
    });
}

std::string rule_in_words(const PodPathValues::Hit& hit) {
    return fmt::format("{} of {} counted {}", hit.rule, hit.node, hit.packets);
}

// The word behind `option` in a rule as iptables-save prints it; empty: it has no such option.
std::string word_behind(const std::string& rule, const std::string& option) {
    const std::size_t at = (" " + rule).find(" " + option + " ");
    if (at == std::string::npos) {
        return "";
    }
    const std::size_t begin = at + option.size() + 1;
    return rule.substr(begin, rule.find(' ', begin) - begin);
}

// Returns whether the rule can have dropped a packet of this protocol in that hook; empty: in any
// hook.
bool can_drop(const std::string& rule, PodProtocol protocol, const std::string& hook) {
    if (const std::string target = word_behind(rule, "-j");
        target != "DROP" && target != "REJECT") {
        return false;
    }
    const std::string of = word_behind(rule, "-p");
    if (!of.empty() && !of.starts_with(name(protocol))) {  // "icmp", "icmpv6"
        return false;
    }
    static constexpr std::string_view kHooks[] = {"PREROUTING", "INPUT", "FORWARD", "OUTPUT",
                                                  "POSTROUTING"};
    std::string chain = word_behind(rule, "-A");
    if (!contains(kHooks, chain) || hook.empty()) {
        return true;  // a chain that others jump to
    }
    std::ranges::transform(chain, chain.begin(), [](unsigned char c) { return std::tolower(c); });
    return hook.starts_with(chain);
}

// A rule that counted and can have dropped the probe: of the host and hook where a packet of it was
// dropped by netfilter, or where packets were not followed of any.
const PodPathValues::Hit* dropping_rule(const PodPathCell& what, const PodPathValues& seen,
                                        const OwnEnds::Kind* end) {
    return first_of(seen.hits, [&](const PodPathValues::Hit& hit) {
        return can_drop(hit.rule, what.protocol, end == nullptr ? "" : end->hook) &&
               (end == nullptr || end->netns == hit.node);
    });
}

// Returns whether nothing but this cause is known to have dropped a packet.
bool none_but(const OwnEnds& ends, std::string_view cause) {
    return ends.all() == ends.by(cause);
}

// The drops of the probe's packets, as they told themselves; an empty cause: none was dropped.
std::pair<std::string, std::string> cause_of_ends(const PodPathCell& what,
                                                  const PodPathValues& seen) {
    Clauses clauses;
    bool by_rule = false;
    for (const OwnEnds::Kind& end : seen.ends.dropped) {
        const auto* hit = is_by_rule(end) ? dropping_rule(what, seen, &end) : nullptr;
        by_rule |= hit != nullptr;
        clauses.push_back(fmt::format("{} {} on {}{}", end.packets, end.text, end.netns,
                                      hit == nullptr ? "" : ": the rule " + rule_in_words(*hit)));
    }
    return {by_rule ? "dropped-by-rule" : causes(seen.ends),
            "sent once more and followed, " + in_a_row(clauses)};
}

// Returns cause and sentence of a cell in which a probe did not come through, from the cell's
// values.
std::pair<std::string, std::string> cause_of_loss(const PodPathCell& what,
                                                  const PodPathValues& seen) {
    const PodPathValues::Size& failed = seen.sizes.back();
    const std::string probe =
        fmt::format("{} ({} bytes) {}: {}", failed.name, failed.bytes,
                    failed.arrived ? "arrived, and no right answer came back" : "did not arrive",
                    failed.outcome);
    if (seen.wire_bad > 0 || seen.receiver_bad > 0) {
        return {
            "wrong-checksum",
            fmt::format("{}; {} frames on the wire and {} at the receiver have a wrong checksum",
                        probe, seen.wire_bad, seen.receiver_bad)};
    }
    if (seen.passed_again) {
        return {"lost", probe + "; sent once more and followed, it came through"};
    }
    const auto [cause, how] = cause_of_ends(what, seen);
    if (std::ranges::any_of(seen.ends.dropped, is_by_rule)) {
        return {cause, fmt::format("{}; {}", probe, how)};
    }
    if (const auto* hit = dropping_rule(what, seen, nullptr); hit && !seen.ends.by_packet()) {
        return {"dropped-by-rule",
                fmt::format("{}; the rule {} ({})", probe, rule_in_words(*hit), fate::kByCounters)};
    }
    if (seen.too_big > 0 && seen.sizes.size() > 1 && none_but(seen.ends, "mtu")) {
        return {"too-big", fmt::format("{}; the nodes refused {} packets as larger than the next "
                                       "hop takes",
                                       probe, seen.too_big)};
    }
    if (what.path == PodPath::kServiceSelf && seen.hairpin == false && !failed.arrived &&
        none_but(seen.ends, "no-reason")) {
        return {"hairpin-off",
                fmt::format("{}; the pod's bridge port has hairpin off, and a bridge sends nothing "
                            "back out of the port by which it came",
                            probe)};
    }
    if (what.path == PodPath::kServiceSelf && hit_of(seen, {"MASQUERADE"}) == nullptr &&
        failed.arrived) {
        return {"hairpin-not-masqueraded",
                fmt::format("{}; no MASQUERADE rule counted it, so that the pod answers itself",
                            probe)};
    }
    if (!seen.ends.dropped.empty()) {
        return {cause, fmt::format("{}; {}", probe, how)};
    }
    return {"lost", probe + "; nothing that was measured says why"};
}

Cell with_figures(const PodPathCell& what, const PodPathValues& seen) {
    Cell cell{.id = what.id,
              .toggles = {{"network", what.chain},
                          {"path", name(what.path)},
                          {"protocol", name(what.protocol)},
                          {"family", what.family == Family::kIpv4 ? "IPv4" : "IPv6"}},
              .role = what.role};
    for (const PodPathValues::Size& size : seen.sizes) {
        cell.measures.push_back({.name = size.name,
                                 .label = fmt::format("{}, {} bytes", size.name, size.bytes),
                                 .value = size.arrived && size.answered,
                                 .note = size.outcome});
    }
    if (!seen.no_pieces.empty()) {
        cell.measures.push_back({.name = "over",
                                 .label = "over the MTU",
                                 .value = nullptr,
                                 .note = "not measured: " + seen.no_pieces});
    }
    cell.measures.push_back(
        count_of("receiver_frames", "frames at the receiver", seen.receiver_frames, "frames"));
    if (seen.crosses_wire) {
        cell.measures.push_back(
            count_of("wire_frames", "frames on the wire", seen.wire_frames, "frames"));
        cell.measures.push_back(
            count_of("wire_bad", "of them with a wrong checksum", seen.wire_bad, "frames"));
    }
    cell.measures.push_back(
        words_of("source", "source seen", fmt::format("{}", fmt::join(seen.sources, ", "))));
    cell.measures.push_back(
        count_of("entries", "conntrack entries made", seen.entries.size(), "entries"));
    std::set<std::string> rules;
    for (const PodPathValues::Hit& hit : seen.hits) {
        rules.insert(fmt::format("{}: {} ({})", hit.node, hit.rule, hit.packets));
    }
    cell.measures.push_back(count_of("rules_hit", "rules that counted", rules.size(), "rules"));
    cell.measures.back().note = fmt::format("{}", fmt::join(rules, "; "));
    return cell;
}

// The table's word for a combination; `why_absent`: the reason why there is none, if so.
std::string outcome_text(const std::string& why_absent,
                         const ConcludedCell<MeasuredPodPath>* concluded) {
    if (!why_absent.empty()) {
        return "n/a";
    }
    if (concluded == nullptr) {
        return "not asked for";
    }
    if (concluded->passes()) {
        return "ok";
    }
    const Cell& cell = concluded->cell;
    return cell.cause.empty() ? std::string(verdict::name(cell.verdict)) : "FAIL " + cell.cause;
}

// Rows of paths, columns of protocols in both families.
verdict::Proof table_of(const PodPathsMeasured::Chain& chain,
                        const std::vector<ConcludedCell<MeasuredPodPath>>& cells) {
    verdict::Proof table{.title = "Connectivity of " + chain.name, .columns = {"path"}};
    std::map<std::string, std::string> reasons;
    const auto protocols = {PodProtocol::kTcp, PodProtocol::kUdp, PodProtocol::kSctp,
                            PodProtocol::kIcmp};
    for (std::size_t at = 0; at < kPodPaths; ++at) {
        const auto path = static_cast<PodPath>(at);
        table.rows.push_back({name(path)});
        for (const PodProtocol protocol : protocols) {
            for (const Family family : {Family::kIpv4, Family::kIpv6}) {
                if (at == 0) {
                    table.columns.push_back(fmt::format("{} {}", name(protocol),
                                                        family == Family::kIpv4 ? "v4" : "v6"));
                }
                const auto* cell = first_of(cells, [&](const auto& each) {
                    return each.what().chain == chain.name && each.what().path == path &&
                           each.what().protocol == protocol && each.what().family == family;
                });
                const std::string why = absent(chain.network, path, protocol, family);
                table.rows.back().push_back(outcome_text(why, cell));
                if (!why.empty()) {
                    reasons[why] += (reasons[why].empty() ? "" : ", ") + std::string(name(path));
                }
            }
        }
    }
    Clauses clauses;
    for (const auto& [why, where] : reasons) {
        clauses.push_back(why);
    }
    table.conclusion = clauses.empty() ? "Every combination there is was asked for."
                                       : "n/a: " + in_a_row(clauses, "; ") + ".";
    return table;
}

// A cell of this scenario demonstrates the hairpin hazards.
bool is_hairpin(const PodHazard& hazard) {
    return hazard.id.starts_with("hairpin");
}

// Tells if this run showed the hazard; `failed`: the cell that shows it, or nullptr.
std::string shown_text(const PodHazard& hazard, const PodPathsMeasured& measured,
                       const ConcludedCell<MeasuredPodPath>* failed) {
    if (failed != nullptr) {
        return "yes: " + failed->cell.id;
    }
    if (is_hairpin(hazard)) {
        return "no";
    }
    const auto earlier = measured.earlier.find(hazard.scenario);
    if (earlier != measured.earlier.end()) {
        return fmt::format("see {} of this run: {}", hazard.scenario,
                           verdict::name(earlier->second));
    }
    return hazard.scenario.empty() ? "not measured" : hazard.scenario + " was not run before";
}

verdict::Proof hazards_of(const PodPathsMeasured& measured,
                          const std::vector<ConcludedCell<MeasuredPodPath>>& cells) {
    verdict::Proof table{.title = "Known hazards in the rules and devices of the nodes",
                         .columns = {"network", "hazard", "where", "rule or value", "scenario",
                                     "shown in this run"}};
    for (const PodHazard& hazard : measured.hazards) {
        const auto* shown = first_of(cells, [&](const auto& each) {
            return is_hairpin(hazard) && each.what().chain == hazard.chain &&
                   each.what().path == PodPath::kServiceSelf && !each.passes();
        });
        table.rows.push_back({hazard.chain, hazard.id, hazard.where, hazard.rule,
                              hazard.command.empty() ? "none" : hazard.command,
                              shown_text(hazard, measured, shown)});
    }
    table.conclusion = fmt::format(
        "{} found{}.", measured.hazards.size(),
        measured.unread.empty() ? "" : "; not read: " + in_a_row(measured.unread, "; "));
    return table;
}

// "masqueraded: bridge: pod-pod.across.tcp.ipv4, ...: reason of the first".
std::string causes_in_words(const std::vector<const Cell*>& failing) {
    std::map<std::string, std::vector<const Cell*>> by_cause;
    for (const Cell* cell : failing) {
        by_cause[cell->cause].push_back(cell);
    }
    Clauses clauses;
    for (const auto& [cause, cells] : by_cause) {
        clauses.push_back(
            fmt::format("{} ({}): {}: {}.", cause,
                        cells.size() == 1 ? "one cell" : fmt::format("{} cells", cells.size()),
                        cells.front()->id, cells.front()->reason));
    }
    return in_a_row(clauses, " ");
}

// The cause of a failed step of the protocol.
const char* failure_word(const std::string& operation) {
    if (operation == "attach") {
        return "add-failed";
    }
    return operation == "check" ? kCheckFailed : "del-failed";
}

// "; failing: FIRST and 2 more"; empty: none fails.
std::string failing_text(const std::vector<const Cell*>& failing) {
    if (failing.empty()) {
        return "";
    }
    const std::string first = "; failing: " + failing.front()->id;
    return failing.size() > 1 ? fmt::format("{} and {} more", first, failing.size() - 1) : first;
}

}  // namespace

const char* name(PodPath path) {
    switch (path) {
        case PodPath::kSameNode: return "pod-pod.same-node";
        case PodPath::kAcross: return "pod-pod.across";
        case PodPath::kService: return "pod-service";
        case PodPath::kServiceSelf: return "pod-itself";
        case PodPath::kNodePod: return "node-pod";
        case PodPath::kHostPort: return "host-port";
        case PodPath::kExternal: break;
    }
    return "external";
}

const char* name(PodProtocol protocol) {
    switch (protocol) {
        case PodProtocol::kTcp: return "tcp";
        case PodProtocol::kUdp: return "udp";
        case PodProtocol::kSctp: return "sctp";
        case PodProtocol::kIcmp: break;
    }
    return "icmp";
}

std::string absent(const PodNetwork& network, PodPath path, PodProtocol protocol, Family family) {
    if (family == Family::kIpv6 && !network.ipv6) {
        return "pods have no IPv6 address in this network";
    }
    if (!network.passes_nodes && !is_pod_to_pod(path)) {
        return "packets of these pods pass their node's device, and nothing of the node's own";
    }
    const bool translated =
        path == PodPath::kService || path == PodPath::kServiceSelf || path == PodPath::kHostPort;
    if (protocol == PodProtocol::kIcmp && translated) {
        return "services and host ports have no ICMP";
    }
    if (path == PodPath::kHostPort && !network.host_ports) {
        return "no plug-in of the list makes host ports";
    }
    if (path == PodPath::kExternal &&
        !(family == Family::kIpv4 ? network.masquerades : network.masquerades6)) {
        return "nothing in this network translates what leaves it";
    }
    if (path == PodPath::kNodePod && protocol == PodProtocol::kSctp) {
        return "SCTP is forged, for the kernel has no such sockets, and what is forged on a node's "
               "device passes none of its hooks";
    }
    return "";
}

std::vector<PodPathCell> pod_paths_plan(const std::string& chain, const std::string& prefix) {
    std::vector<PodPathCell> cells;
    for (std::size_t at = 0; at < kPodPaths; ++at) {
        for (const Family family : {Family::kIpv4, Family::kIpv6}) {
            for (const PodProtocol protocol :
                 {PodProtocol::kIcmp, PodProtocol::kUdp, PodProtocol::kTcp, PodProtocol::kSctp}) {
                PodPathCell cell{.chain = chain,
                                 .path = static_cast<PodPath>(at),
                                 .protocol = protocol,
                                 .family = family};
                cell.id = fmt::format("{}{}.{}.{}", prefix, name(cell.path), name(protocol),
                                      family == Family::kIpv4 ? "ipv4" : "ipv6");
                cells.push_back(std::move(cell));
            }
        }
    }
    return cells;
}

Cell conclude(const PodPathCell& what, const PodPathValues& seen) {
    Cell cell = with_figures(what, seen);
    const auto end = ending(cell);
    if (!seen.objections.empty() || seen.sizes.empty()) {
        return end(CellVerdict::kError, "",
                   seen.objections.empty() ? "nothing was sent" : in_a_row(seen.objections, "; "));
    }
    if (seen.wire_lost > 0) {
        return end(CellVerdict::kError, "",
                   fmt::format("the tester did not carry {} frames on", seen.wire_lost));
    }
    if (seen.lost()) {
        const auto [cause, reason] = cause_of_loss(what, seen);
        if (cause == "lost") {
            cell.measures.push_back(count_of(verdict::kUnexplained, "unexplained", 1, "probes"));
        }
        return end(CellVerdict::kFail, cause, reason);
    }
    if (seen.wire_bad > 0 || seen.receiver_bad > 0) {
        return end(CellVerdict::kFail, "wrong-checksum",
                   fmt::format("{} frames on the wire and {} at {} have a wrong checksum",
                               seen.wire_bad, seen.receiver_bad, seen.received_at));
    }
    if (seen.crosses_wire && seen.wire_frames == 0) {
        return end(CellVerdict::kError, "", "it was answered, and no frame was on the wire");
    }
    Clauses foreign;
    for (const std::string& source : seen.sources) {
        if (std::ranges::find(seen.expected, source) == seen.expected.end()) {
            foreign.push_back(source);
        }
    }
    if (seen.sources.empty()) {
        return end(CellVerdict::kError, "", "it was answered, and no frame of it was seen");
    }
    if (!foreign.empty()) {
        const auto* hit = hit_of(seen, {"MASQUERADE", "SNAT"});
        return end(CellVerdict::kFail, hit != nullptr ? kMasqueraded : "other-source",
                   fmt::format("it comes to {} from {} in place of {}{}", seen.received_at,
                               in_a_row(foreign), in_a_row(seen.expected, " or "),
                               hit != nullptr ? ": the rule " + rule_in_words(*hit) : ""));
    }
    return end(CellVerdict::kPass, "", "");
}

Cell conclude(const PodProtocolStep& step) {
    Cell cell{.id = step.id, .toggles = {{"network", step.chain}}};
    cell.measures = {count_of("calls", "calls of plug-ins", step.calls, "calls"),
                     milliseconds_of("milliseconds", "all of them", step.milliseconds)};
    cell.evidence = step.evidence;
    const auto end = ending(cell);
    if (step.complaints.empty()) {
        return end(CellVerdict::kPass, "", "");
    }
    if (step.kernel_lacks) {
        return end(CellVerdict::kSkip, "",
                   "the kernel lacks what it takes: " + in_a_row(step.complaints, "; "));
    }
    const std::string operation = step.id.substr(step.id.rfind('.') + 1);
    return end(CellVerdict::kFail, failure_word(operation), in_a_row(step.complaints, "; "));
}

verdict::ScenarioResult conclude(const PodPathsMeasured& measured) {
    verdict::ScenarioResult result;
    auto cells = conclude_each(measured.cells);
    for (const PodPathsMeasured::Chain& chain : measured.chains) {
        result.proofs.push_back(table_of(chain, cells));
    }
    if (!measured.hazards.empty() || !measured.unread.empty()) {
        result.proofs.push_back(hazards_of(measured, cells));
    }
    // Networks of this run in which pods reach each other untranslated from node to node.
    std::map<std::string, bool> plain;
    for (const auto& each : cells) {
        if (each.what().path == PodPath::kAcross) {
            plain.try_emplace(each.what().chain, true).first->second &= each.passes();
        }
    }
    for (const PodProtocolStep& step : measured.steps) {
        result.cells.push_back(conclude(step));
    }
    for (auto& each : cells) {
        result.cells.push_back(std::move(each.cell));
    }
    std::vector<const Cell*> failing;
    std::size_t open = 0, passed = 0;
    for (const Cell& cell : result.cells) {
        if (cell.verdict == CellVerdict::kFail) {
            failing.push_back(&cell);
            result.unexplained += cell.cause == "lost" ? 1 : 0;
        }
        open += cell.verdict == CellVerdict::kError ? 1 : 0;
        passed += cell.verdict == CellVerdict::kPass ? 1 : 0;
    }
    if (!failing.empty()) {
        result.verdict = verdict::ScenarioVerdict::kDefectFound;
    } else if (open > 0 || passed == 0) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
    } else {
        result.verdict = verdict::ScenarioVerdict::kNoDefectFound;
    }
    result.headline =
        fmt::format("{} of {} cells of {} networks pass{}.", passed, passed + failing.size() + open,
                    measured.chains.size(), failing_text(failing));
    if (failing.empty()) {
        return result;
    }
    result.cause = causes_in_words(failing);
    const bool only_masqueraded =
        std::ranges::all_of(failing, [](const Cell* cell) { return cell->cause == kMasqueraded; });
    if (std::ranges::any_of(failing,
                            [](const Cell* cell) { return cell->cause == kMasqueraded; })) {
        const auto cured =
            std::ranges::find(plain, true, [](const auto& each) { return each.second; });
        result.cure =
            "masqueraded: `\"ipMasq\": false` in the plug-in, which knows the subnet of its own "
            "node only, and one MASQUERADE of what leaves the cluster, as flannel has it";
        if (cured != plain.end()) {
            result.cure += fmt::format(
                " (seen in this run: {}, where pods of both nodes see each other's own addresses)",
                cured->first);
        }
        result.cure_shown = cured != plain.end() && only_masqueraded;
    }
    return result;
}

}  // namespace pathproof::scenario
