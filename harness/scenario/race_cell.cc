#include <set>

#include "harness/scenario/measures.h"
#include "harness/scenario/race_experiments.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {

using verdict::Cell;
using verdict::CellVerdict;

Cell race_cell(const std::string& id, std::vector<std::pair<std::string, std::string>> toggles,
               const PairOutcome& outcome) {
    const join::PairFindings& found = outcome.findings;
    const judge::PairReport& report = outcome.report;
    Cell cell{.id = id, .toggles = std::move(toggles), .verdict = CellVerdict::kPass, .reason = "", .cause = ""};
    cell.measures = {
        count_of("pairs", "query pairs sent", found.pairs, "pairs"),
        verdict::share("raced_share", "pairs that met the race (clash_resolve per pair)", outcome.counter("clash_resolve"),
                 found.pairs),
        verdict::share("lost_pair_share", "pairs that lost a query", found.with_loss, found.pairs),
        verdict::share("misdelivered_pair_share", "pairs with an answer that came back un-translated", found.with_misdelivery,
                 found.pairs),
        count_of("clash_resolve", "conntrack clash_resolve", outcome.counter("clash_resolve")),
        count_of("insert_failed", "conntrack insert_failed", outcome.counter("insert_failed")),
        count_of("drop", "conntrack drop", outcome.counter("drop")),
        count_of("hidden_entries", "clashes resolved by a hidden entry (NAT_CLASH events)", found.hidden_entries),
        count_of("hidden_unanswered", "hidden entries that saw no reply in time", found.hidden_unanswered),
        count_of("met_two_backends", "pairs whose halves reached two backends", found.met_two_backends, "pairs"),
        count_of("queries_sent", "queries sent", report.departures.sent, "queries"),
        count_of("queries_answered", "answered in time by the service", report.count(judge::QueryState::kAnswered),
                 "queries"),
        count_of("queries_lost", "never answered", found.lost, "queries"),
        count_of("queries_misdelivered", "answered from the backend's own address", found.misdelivered, "queries"),
        count_of("queries_late", "answered after the 5 s timeout", report.count(judge::QueryState::kLate), "queries"),
        count_of("queries_wrong", "answered with other content", report.count(judge::QueryState::kWrong), "queries"),
        count_of("unexplained", "lost or misdelivered without a conntrack event that says why", found.unexplained),
        count_of("tester_lost", "frames lost by the tester itself", report.tester_lost),
        count_of("attempts", "runs until the tester lost nothing itself", outcome.attempts),
        milliseconds_of("skew_p50", "time between a pair's two queries, median",
                        static_cast<double>(report.departures.skew_p50_ns) / 1e6),
        count_of("late_departures", "queries that left more than 10 us after their instant", report.departures.late,
                 "queries"),
        milliseconds_of("answer_p50", "time to the answer, median", static_cast<double>(report.latency.p50_ns) / 1e6),
    };
    const std::vector<std::string> objections = outcome.objections();
    if (!objections.empty()) {
        cell.verdict = CellVerdict::kError;
        cell.reason = "no result: " + objections.front();
    }
    return cell;
}

Status keep_race_evidence(const Context& context, const PairOutcome& outcome, Cell& cell) {
    std::set<frame::Endpoint> clients;
    for (const join::QueryStory& story : outcome.findings.stories) {
        clients.insert(outcome.plan.client(story.pair, 0));
        clients.insert(outcome.plan.client(story.pair, 1));
    }
    std::string events;
    for (const netfilter::Event& event : outcome.log.events) {
        const netfilter::Tuple& original = event.entry.original;
        if (clients.contains(original.source) || clients.contains(original.destination)) {
            events += nlohmann::json(event).dump() + "\n";
        }
    }
    for (const auto& [suffix, description, content] :
         {std::tuple{".events.json", "conntrack events of the first failed pairs (JSON lines)", events},
          {".counters.txt", "conntrack counters per CPU, as deltas over the cell", stats_text(outcome.stats)}}) {
        const auto kept = keep_evidence(context.options.out_dir, cell.id + suffix, description, content);
        if (!kept) {
            return pass_on(kept.error());
        }
        cell.evidence.insert(cell.evidence.end(), kept->begin(), kept->end());
    }
    if (!outcome.capture.empty()) {
        cell.evidence.push_back({"evidence/" + cell.id + ".pcapng",
                                 "answers that a client would throw away and frames with a wrong checksum (pcapng)"});
    }
    return {};
}

verdict::Proof story_proof(const std::string& title, const PairOutcome& outcome) {
    verdict::Proof proof{.title = title,
                         .columns = {"pair", "query", "became", "why", "the entry in its way", "conntrack's events"},
                         .rows = {},
                         .conclusion = ""};
    for (const join::QueryStory& story : outcome.findings.stories) {
        proof.rows.push_back({fmt::format("{}", story.pair), story.query, judge::name(story.state),
                              join::name(story.fate), story.winner, story.event});
    }
    const join::PairFindings& found = outcome.findings;
    proof.conclusion =
        fmt::format("{} lost and {} misdelivered queries: {} joined to a failed insertion (insert_failed counted {}), "
                    "{} to an expired hidden entry, {} unexplained.",
                    found.lost, found.misdelivered, found.dropped_at_insertion, outcome.counter("insert_failed"),
                    found.untranslated, found.unexplained);
    return proof;
}

}  // namespace pathproof::scenario
