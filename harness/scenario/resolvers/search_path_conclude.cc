// Conclusions of search-path, as data (model/README.md).
#include "harness/scenario/resolvers/resolver_trail.h"
#include "harness/scenario/resolvers/search_path.h"

namespace pathproof::scenario {
namespace {

const char* shows_text(const SearchPathCell& what, const SearchPathValues&) {
    switch (what.shows) {
        case PathShows::kNothing: return "";
        case PathShows::kNotSearched: return "not-searched";
        case PathShows::kNeverEnds: return "never-ends";
    }
    return "";
}

std::string other_text(const SearchPathValues& seen) {
    if (seen.other == "not-searched") {
        return "the name that there is was not asked for";
    }
    if (seen.other == "bare-answer") {
        return "answers for the name that there is came without an address";
    }
    return fate_text(seen.other);
}

SearchPathConclusions::Figures search_path_figures() {
    using What = SearchPathCell;
    using Seen = SearchPathValues;
    return {
        {"lookups", "lookups", "lookups", &Seen::lookups},
        {"names", "", "names that a lookup asks for", &Seen::names},
        {"queries", "queries", "queries of a lookup that did not wait, at most",
         &Seen::most_queries},
        {"fewest_queries", "queries", "queries of a lookup that did not wait, at least",
         &Seen::fewest_queries},
        {"computed_queries", "queries", "queries of a lookup, computed", &Seen::computed_queries},
        {"packets", "packets", "packets on the client's wire, both ways", &Seen::packets},
        {"resent", "queries", "queries that were sent again", &Seen::resent},
        {"places", "answers", "first answers", &Seen::places},
        {"planned", "answers", "of them to be withheld", &Seen::planned},
        {"withheld", "answers", "answers withheld by the server", &Seen::withheld},
        {"hit_share",
         "%",
         "lookups that waited or failed",
         {},
         {.hits = "hit", .trials = "lookups"}},
        {"hit", "lookups", "waited or failed", &Seen::hit},
        {"longest", "ms", "the longest lookup", &Seen::longest_ms},
        {"resolved", "lookups", "with an address in the end", &Seen::ok},
        {"by_search", "lookups", "waited or failed for names of the search list alone",
         &Seen::by_search},
        {"by_name", "lookups", "waited or failed for the name itself", &Seen::by_name},
        {"by_other", "lookups", "waited or failed for something else", &Seen::by_other},
        {"killed", "lookups", "that did not end", &Seen::killed},
        {verdict::kUnexplained, "lookups", "waited or failed, and nothing tells why",
         &Seen::unexplained},
        {"computed_hit", "", "waited or failed, computed",
         [](const Seen& seen) { return fmt::format("{:.1f}", seen.computed_hit); }},
        {"computed", &Seen::computed_hit},
        {"untold",
         [](const What& what, const Seen& seen) {
             return what.role == CellRole::kDemonstration ? 0 : seen.unexplained;
         }},
        {"resolver", [](const What& what, const Seen&) { return resolver::name(what.who); }},
        {"list", &What::list},
        {"options", &What::options},
        {"rest", &What::rest},
        {"lost_percent", [](const What& what, const Seen&) { return what.lost_permille / 10.0; }},
        {"copies", &What::lost_copies},
        {"limit_s", [](const What& what, const Seen&) { return what.limit_ms / 1000; }},
        {"shows", shows_text},
        {"short_label",
         [](const What& what, const Seen&) { return what.label.substr(what.label.find(' ') + 1); }},
        {"failed_by_search", &Seen::failed_by_search},
        {"other", &Seen::other},
        {"other_text", other_text},
        {"packets_without_loss", [](const Seen& seen) { return 2 * seen.computed_queries; }},
        {"packets_each",
         [](const Seen& seen) {
             return static_cast<double>(seen.packets) / static_cast<double>(seen.lookups);
         }},
    };
}

model::Finding multiplied_finding(const char* of, bool alone) {
    return {.of = of,
            .headline =
                "{id}: {names} names, {computed_queries} queries a lookup "
                "({packets_without_loss} packets where nothing is lost). Lookups that "
                "waited or failed[: {found}]",
            .why =
                "The name has fewer dots than ndots, so the resolver asks for it in each of the "
                "search list first, A and AAAA, and waits for the answers to names that do not "
                "exist as long as for the one that does. In {id} with {lost} a lookup of "
                "{computed_queries} queries is hit by one loss or more in 1 - (1 - "
                "p)^{computed_queries} of the cases. Of the lookups of all cells {all_joined}; "
                "each is joined to the answer that the server withheld.",
            .cures = {{.cure = "ask-for-the-name-first",
                       .shown_by = model::CureText::ShownBy::kAll,
                       .text = "{cure_name}, so that the name itself is asked for first[is_shown?. "
                               "Seen with as many losses a query: {helped}; without it again "
                               "{again.hit of again.lookups} lookups waited or failed[. What it "
                               "breaks: with {broken.options} {broken.resolver} does not find "
                               "{broken.hit of broken.lookups} names of a service with as many "
                               "dots][. `use-vc` is none: {endless.killed of endless.lookups} "
                               "lookups with one lost answer had not ended after {endless.limit_s} "
                               "s]| ({why})]"}},
            .alone = alone};
}

}  // namespace

double computed_hits(std::uint64_t lookups, std::uint64_t each, std::uint64_t losses) {
    const std::uint64_t places = lookups * each;
    if (places == 0 || losses > places) {
        return 0;
    }
    // Probability that none of a lookup's places is among those drawn without putting back.
    double none = 1;
    for (std::uint64_t i = 0; i < each; ++i) {
        none *= static_cast<double>(places - losses) - static_cast<double>(i) <= 0
                    ? 0
                    : (static_cast<double>(places - losses) - static_cast<double>(i)) /
                          (static_cast<double>(places) - static_cast<double>(i));
    }
    return static_cast<double>(lookups) * (1 - none);
}

const SearchPathConclusions& search_path_conclusions() {
    using enum model::CellVerdict;
    static const SearchPathConclusions conclusions(
        search_path_figures(),
        {
            .toggles = {{"resolver", "{resolver}"},
                        {"search list", "{list}"},
                        {"options", "{options}"},
                        {"name", "NAME{rest}"},
                        {"answers withheld", "{lost_percent:.1f} %[copies > 1?, twice each]"}},
            .phrases =
                {{.name = "lost",
                  .clauses = {{"no answer was withheld", "withheld == 0"},
                              {"{planned of places} first answers withheld", "withheld != 0"}},
                  .told = model::Phrase::Told::kFirst},
                 {"parts",
                  {{"{by_search} for names of the search list alone"},
                   {"{by_name} for the name itself"},
                   {"{by_other} since {other_text}"},
                   {"{unexplained} for nothing that was seen"}}},
                 {"hits",
                  {{"{hit of lookups} lookups waited or failed[: {parts}][; {failed_by_search} had "
                    "no address in the end]",
                    "lookups != 0"}}}},
            .rules =
                {
                    {.when = "lookups == 0", .text = "no name was looked up"},
                    {.when = "shows == 'not-searched' and by_other == lookups and other == "
                             "'not-searched'",
                     .is = kPass},
                    {.when = "shows == 'never-ends' and killed == lookups", .is = kPass},
                    {.when = "shows == 'not-searched'",
                     .is = kFail,
                     .text = "names were found, or not asked for otherwise: {hits}"},
                    {.when = "shows == 'never-ends'", .is = kFail, .text = "lookups ended: {hits}"},
                    {.when = "unexplained != 0", .text = "{hits}"},
                    {.when = "by_other != 0",
                     .is = kFail,
                     .cause = "[by_search != 0?search-path+]{other}",
                     .text = "{hits}"},
                    {.when = "queries != 0 and (fewest_queries != computed_queries or queries != "
                             "computed_queries)",
                     .text = "a lookup made {fewest_queries} to {queries} queries, and "
                             "{computed_queries} are computed"},
                    {.when = "withheld < planned",
                     .text = "the server withheld {withheld or none} answers of the {planned} that "
                             "it was told to"},
                    {.when = "by_search != 0",
                     .is = kFail,
                     .cause = "search-path",
                     .text = "{computed_queries} queries a lookup, {lost}: {hits} (computed: "
                             "{computed:.1f})"},
                },
            .own = "fails and cause == 'search-path'",
            .unexplained = "untold",
            .without_skipped = true,
            .chart = {.title = "Lookups that waited or failed",
                      .hits = "hit",
                      .trials = "lookups",
                      .of = "not again and not is_demonstration",
                      .computed = "computed"},
            .tables = {{.title = "Lookups that waited or failed, seen and computed",
                        .columns = {{"cell", "{id}"},
                                    {"resolver", "{resolver}"},
                                    {"queries a lookup", "{computed_queries}"},
                                    {"packets a lookup", "{packets_each:.1f}"},
                                    {"answers withheld", "{planned of places}"},
                                    {"waited or failed", "{hit of lookups}"},
                                    {"computed", "{computed:.1f}"},
                                    {"longest", "{longest:.1f s}"}},
                        .of = "lookups != 0 and not is_demonstration"}},
            .totals = {{"all_by_search", "by_search", "harmed"},
                       {"all_by_name", "by_name", "harmed"}},
            .cells = {{"broken", "shows == 'not-searched' and passed"},
                      {"endless", "shows == 'never-ends' and passed"}},
            .listings = {{"found", "{id}: {hit of lookups}, computed {computed:.1f}",
                          "harmed and not again"},
                         {"helped",
                          "{short_label} ({resolver} {computed_queries} queries a lookup, {hit of "
                          "lookups} waited or failed)",
                          "is_cure and passed"}},
            .summaries = {{"all_joined",
                           {{"{all_by_search} waited or failed for such answers alone"},
                            {"{all_by_name} for answers to the name itself"}}}},
            .findings = {multiplied_finding("harmed and list == 6", false),
                         multiplied_finding("harmed", true)},
            .otherwise = "No lookup waited or failed for a name of the search list.",
        },
        {.lacks = &SearchPathValues::lacking});
    return conclusions;
}

}  // namespace pathproof::scenario
