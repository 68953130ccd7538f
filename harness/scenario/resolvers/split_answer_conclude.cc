// Conclusions of split-answer, as data (model/README.md).
#include "harness/scenario/resolvers/resolver_trail.h"
#include "harness/scenario/resolvers/split_answer.h"

namespace pathproof::scenario {
namespace {

using SplitKind = SplitAnswerCell::Kind;

bool is_pair_table(const SplitAnswerCell& what, const SplitAnswerValues&) {
    return what.kind == SplitKind::kTable;
}

const char* reply_text(SplitKind kind, PairReply reply, const char* expires) {
    switch (kind) {
        case SplitKind::kPair: return name(reply);
        case SplitKind::kExpiry: return expires;
        case SplitKind::kTable: return "all";
    }
    return "";
}

std::string why_text(const SplitAnswerValues& seen) {
    if (const std::string fate = fate_text(seen.other); !fate.empty()) {
        return fate;
    }
    if (seen.other == "refused") {
        return "the server refused";
    }
    if (seen.other == "servfail") {
        return "the server failed";
    }
    return seen.other == "no-answer" ? "the server did not answer" : seen.other;
}

// Finds the error by which a table proves nothing: two equal answers (both data, both NXDOMAIN) did
// not lead to an address, or a lookup did not end.
std::string wrong_in_table(const SplitAnswerValues& seen) {
    for (const PairOutcome& pair : seen.table) {
        const bool plain =
            pair.a == pair.aaaa && (pair.a == PairReply::kData || pair.a == PairReply::kNx);
        if (plain && pair.outcome != "ok") {
            return fmt::format("{} for both came to {}", name(pair.a), pair.outcome);
        }
        if (pair.outcome == "killed") {
            return fmt::format("{} and {} came to no end in {:.0f} s", name(pair.a),
                               name(pair.aaaa), pair.seconds);
        }
    }
    return "";
}

// A row a pair, a column a C library.
verdict::Proof pairs_of(
    const std::vector<std::pair<const SplitAnswerCell*, const SplitAnswerValues*>>& cells) {
    verdict::Proof proof{.title =
                             "What getaddrinfo(3) makes of each pair of answers to the first name "
                             "of the search list",
                         .columns = {"A", "AAAA"}};
    for (const auto& [what, seen] : cells) {
        const auto& table = seen->table;
        if (table.empty()) {
            continue;
        }
        proof.columns.push_back(resolver::name(what->who));
        if (proof.rows.empty()) {
            for (const PairOutcome& pair : table) {
                proof.rows.push_back({name(pair.a), name(pair.aaaa)});
            }
        }
        for (std::size_t i = 0; i < table.size() && i < proof.rows.size(); ++i) {
            proof.rows[i].push_back(fmt::format("{} after {:.1f} s ({} queries)", table[i].outcome,
                                                table[i].seconds, table[i].queries));
        }
    }
    return proof;
}

SplitAnswerConclusions::Figures split_answer_figures() {
    using What = SplitAnswerCell;
    using Seen = SplitAnswerValues;
    return {
        {"lookups", "lookups", "lookups", &Seen::lookups},
        {"resolved", "lookups", "with an address", &Seen::resolved},
        {"failed", "lookups", "failed", &Seen::failed},
        {"by_split", "lookups", "ended where one answer was NXDOMAIN, the other NOERROR",
         &Seen::by_split},
        {"by_nodata", "lookups", "ended where both were NOERROR without an address",
         &Seen::by_nodata},
        {"by_other", "lookups", "failed for something else", &Seen::by_other},
        // Most pairs of the table are there to fail, so its failures are no unexplained ones.
        {"other_pairs",
         "lookups",
         "failed, and nothing tells why",
         &Seen::unexplained,
         {.where = "is_table"}},
        {verdict::kUnexplained,
         "lookups",
         "failed, and nothing tells why",
         &Seen::unexplained,
         {.where = "not is_table"}},
        {"queries", "queries", "queries of a lookup, at most", &Seen::most_queries},
        {"fewest_queries", "queries", "queries of a lookup, at least", &Seen::fewest_queries},
        {"longest", "ms", "the longest lookup", &Seen::longest_ms},
        {"failed_for",
         "ms",
         "from the first to the last that failed",
         &Seen::failed_for_ms,
         {.where = "expires"}},
        {"split_for", "ms", "between the two expiries", &Seen::split_for_ms, {.where = "expires"}},
        {"is_table", is_pair_table},
        {"expires", [](const What& what, const Seen&) { return what.kind == SplitKind::kExpiry; }},
        {"untold",
         [](const What& what, const Seen& seen) {
             return is_pair_table(what, seen) ? 0 : seen.unexplained;
         }},
        {"resolver", [](const What& what, const Seen&) { return resolver::name(what.who); }},
        {"a", [](const What& what,
                 const Seen&) { return reply_text(what.kind, what.a, "expires first"); }},
        {"aaaa", [](const What& what,
                    const Seen&) { return reply_text(what.kind, what.aaaa, "expires later"); }},
        {"options", &What::options},
        {"addrconfig", &What::addrconfig},
        {"dot", &What::dot},
        {"ipv4_alone",
         [](const What& what, const Seen&) { return what.family == resolver::Family::kIpv4; }},
        {"short_label",
         [](const What& what, const Seen&) { return what.label.substr(what.label.find(' ') + 1); }},
        {"error", &Seen::outcome},
        {"other", &Seen::other},
        {"other_text", why_text},
        {"ends_at", &Seen::ends_at},
        {"wrong_pair", wrong_in_table},
    };
}

model::Finding ended_finding(const char* of, bool alone) {
    return {.of = of,
            .headline = "Lookups of a name that has addresses: [found?{found}|{id}: {failures}]",
            .why =
                "A resolver goes on to the next name of its search list only while both answers "
                "allow it: {all_ended}, and the name itself was not asked for. {id}: "
                "\"{ends_at}\", after {queries} queries.{caches}",
            .cures = {{.cure = "ask-for-the-name-first",
                       .shown_by = model::CureText::ShownBy::kAll,
                       .text = "{cure_name}; in the cache: keep A and AAAA of one name "
                               "together[is_shown?. Seen to help: {helped}; without it again "
                               "{again.failed of again.lookups} lookups failed[. Seen not to help: "
                               "{no_cures}]| ({why})]"}},
            .alone = alone};
}

}  // namespace

const SplitAnswerConclusions& split_answer_conclusions() {
    using enum model::CellVerdict;
    static const std::string kNamesOption = "(options != 'ndots:5' or addrconfig)";
    static const SplitAnswerConclusions conclusions(
        split_answer_figures(),
        {
            .toggles = {{"resolver", "{resolver}"},
                        {"A", "{a}"},
                        {"AAAA", "{aaaa}"},
                        {"options", "{options}[addrconfig?, AI_ADDRCONFIG]"},
                        {"name", "[dot?with a dot behind it|as it is]"},
                        {"family", "[ipv4_alone?AF_INET|AF_UNSPEC]"}},
            .phrases =
                {{"parts",
                  {{"{by_split} ended the search where one answer was NXDOMAIN and the other "
                    "NOERROR without an address"},
                   {"{by_nodata} ended the search where both answers were NOERROR without an "
                    "address"},
                   {"{by_other} since {other_text}"},
                   {"{unexplained} for nothing that was seen"}}},
                 {"failures",
                  {{"{failed of lookups} lookups failed[error and failed != 0? with {error}][: "
                    "{parts}]",
                    "lookups != 0"}}}},
            .rules =
                {
                    {.when = "lookups == 0", .text = "no name was looked up"},
                    {.when = "is_table and wrong_pair", .is = kFail, .text = "{wrong_pair}"},
                    {.when = "is_table or failed == 0", .is = kPass},
                    {.when = "unexplained != 0", .text = "{failures}"},
                    {.when = "",
                     .is = kFail,
                     .cause = "[by_split != 0?split-answer|[by_nodata != "
                              "0?nodata-answer]][by_other != 0?[by_split + by_nodata != "
                              "0?+]{other}]",
                     .text = "{failures}"},
                },
            .own = "fails and (cause == 'split-answer' or cause == 'nodata-answer')",
            .unexplained = "untold",
            .without_skipped = true,
            .chart = {.title = "Lookups that failed",
                      .hits = "failed",
                      .trials = "lookups",
                      .of = "not again and not is_table"},
            .totals = {{"all_by_split", "by_split", "harmed"},
                       {"all_by_nodata", "by_nodata", "harmed"}},
            .listings = {{"found", "{id}: {failed of lookups} failed with {error}",
                          "harmed and not again and not " + kNamesOption},
                         {.name = "caches",
                          .text = " Where a cache holds A and AAAA apart and A's entry expires "
                                  "{split_for:.1f s} before AAAA's, the name was unknown for "
                                  "{failed_for:.1f s}.",
                          .of = "own and split_for != 0 and failed_for != 0",
                          .between = ""},
                         {.name = "helped",
                          .text = "{short_label} ({queries} queries)",
                          .of = "is_cure and passed",
                          .between = ", "},
                         {.name = "no_cures",
                          .text = "{label}",
                          .of = "harmed and " + kNamesOption,
                          .between = ", "}},
            .summaries = {{"all_ended",
                           {{"{all_by_split} lookups ended where one answer was NXDOMAIN and the "
                             "other was not"},
                            {"{all_by_nodata} lookups ended where both were NOERROR without an "
                             "address"}}}},
            .findings = {ended_finding("harmed and cause == 'split-answer'", false),
                         ended_finding("harmed", true)},
            .otherwise = "Every lookup found the name, whatever the names of the search list were "
                         "answered with.",
        },
        {.lacks = &SplitAnswerValues::lacking, .proof = pairs_of});
    return conclusions;
}

}  // namespace pathproof::scenario
