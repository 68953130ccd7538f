// A resolver asks for a name in all of its search list before it asks for the name itself, A and AAAA each:
// a loss that hits one query in fifty hits one lookup in four.
//
// Set:  search list, ndots and other options of a resolv.conf in a mount namespace of the client's own;
//       which answers the DNS server withholds: so many of the queries' first ones, drawn by the seed.
// Sent: lookups by getaddrinfo(3) of glibc and of musl, on demand by Go's resolver and through
//       systemd-resolved, each in a fresh process, side by side.
// Seen: how each ended, its queries on the client's wire and at the server, its answers.

#include "harness/scenario/resolvers/search_path.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "harness/scenario/resolvers/resolver_bench.h"

namespace pathproof::scenario {
namespace {

using resolver::Kind;

const std::vector<std::string> kSearchList = {
    "default.svc.cluster.local", "svc.cluster.local", "cluster.local",
    "zone.project.internal",     "project.internal",  "internal"};
constexpr std::uint16_t kTypes[] = {1, 28};  // A, AAAA
constexpr std::uint8_t kNxDomain = 3;
// A lookup with more takes longer than the run may.
constexpr unsigned kMostLossesEach = 2;

class SearchPathBench : public SideBySide<SearchPathCell, SearchPathValues> {
  public:
    explicit SearchPathBench(Context& context)
        : SideBySide(context, search_path_plan()), random_(context.options.seed) {}

  private:
    const char* lookups_told() const override {
        return "every lookup that waited or failed, with its queries";
    }

    static std::vector<std::string> list_of(const SearchPathCell& what) {
        return {kSearchList.begin(), kSearchList.begin() + what.list};
    }

    std::vector<agent::DnsRule> otherwise() const override {
        return {found_rule("example.com"), {.name = ".", .rcode = kNxDomain}};
    }

    // The places of the losses are drawn among the first answers of all queries of the cell.
    void plan(const SearchPathCell& what, SearchPathValues& seen, Round& round) override {
        struct Place {
            std::size_t lookup;
            std::string name;
            std::uint16_t type;
        };
        std::vector<Place> places;
        for (unsigned i = 0; i < what.lookups; ++i) {
            const std::string label = next_label();
            round.ask(what,
                      {.who = what.who,
                       .lookup = {.name = label + what.rest,
                                  .resolv_conf = hosts().resolv_conf(list_of(what), what.options),
                                  .limit = agent::milliseconds(what.limit_ms)}});
            if (!what.found_below.empty()) {
                round.rules.push_back(found_rule(found_name(what, label)));
            }
            for (const std::string& name : names_asked(what, label)) {
                for (const std::uint16_t type : kTypes) {
                    if (type == kTypes[0] || !what.one_type()) {
                        places.push_back({i, name, type});
                    }
                }
            }
        }
        seen.places = places.size();
        seen.computed_queries = places.size() / what.lookups;
        seen.planned = (places.size() * what.lost_permille + 500) / 1000;
        seen.computed_hit = what.one_each
                                ? static_cast<double>(seen.planned)
                                : computed_hits(what.lookups, seen.computed_queries, seen.planned);
        std::ranges::shuffle(places, random_);
        std::map<std::size_t, unsigned> of_lookup;
        std::size_t drawn = 0;
        for (const Place& place : places) {
            if (drawn < seen.planned &&
                of_lookup[place.lookup] < (what.one_each ? 1 : kMostLossesEach)) {
                ++of_lookup[place.lookup];
                ++drawn;
                round.losses.push_back(
                    {.name = place.name, .type = place.type, .first = what.lost_copies});
            }
        }
    }

    void take(const SearchPathCell& what, const std::string& asked, const LookupTrail& trail,
              Taken& of_cell) override {
        SearchPathValues& seen = of_cell.seen;
        std::set<std::pair<std::string, std::uint16_t>> queries;
        std::set<std::string> names;
        std::uint64_t of_others = 0;
        std::uint64_t own = 0;
        bool found_asked = false;
        bool came_bare = false, came_whole = false;  // answers for the name that there is
        const std::string found = found_name(what, first_label(asked));
        for (const QueryTrail& query : trail.queries) {
            seen.resent += queries.emplace(query.name, query.type).second ? 0 : 1;
            names.insert(query.name);
            if (!query.tcp) {
                seen.packets += query.came ? 2 : 1;
            }
            found_asked = found_asked || query.name == found;
            if (query.name == found && query.came && !query.tcp) {
                (query.addresses == 0 ? came_bare : came_whole) = true;
            }
            if (query.taken && !query.answered) {
                ++(query.name == found ? own : of_others);
            }
        }
        seen.withheld += own + of_others;
        ++seen.lookups;
        seen.ok += trail.outcome.ok() ? 1 : 0;
        seen.killed += trail.outcome.word == "killed" ? 1 : 0;
        seen.longest_ms = std::max(seen.longest_ms, trail.outcome.milliseconds);
        const double patience = 0.9 * what.wait_ms;
        if (trail.outcome.ok() && trail.outcome.milliseconds < patience) {
            // Lookups that lost an answer do not count here: they may go on otherwise.
            seen.fewest_queries = seen.most_queries == 0 ? queries.size()
                                                         : std::min<std::uint64_t>(
                                                               seen.fewest_queries, queries.size());
            seen.most_queries = std::max<std::uint64_t>(seen.most_queries, queries.size());
            seen.names = std::max<std::uint64_t>(seen.names, names.size());
            return;
        }
        of_cell.text += trail_text(asked, trail);
        const std::string strange = strange_fate(trail.queries, patience);
        if (!strange.empty()) {
            ++seen.by_other;
            seen.other = strange;
        } else if (!trail.outcome.ok() && own == 0 && came_bare && !came_whole) {
            ++seen.by_other;
            seen.other = "bare-answer";
        } else if (own != 0) {
            ++seen.by_name;
        } else if (of_others != 0) {
            ++seen.by_search;
            seen.failed_by_search += trail.outcome.ok() ? 0 : 1;
        } else if (!found_asked && !trail.queries.empty() && trail.outcome.word != "killed") {
            ++seen.by_other;
            seen.other = "not-searched";
        } else {
            ++seen.unexplained;
        }
    }

    std::mt19937_64 random_;
};

}  // namespace

std::string found_name(const SearchPathCell& what, const std::string& label) {
    std::string name = label + what.rest;
    if (name.ends_with('.')) {
        name.pop_back();
    }
    return what.found_below.empty() ? name : name + "." + what.found_below;
}

std::vector<std::string> names_asked(const SearchPathCell& what, const std::string& label) {
    const std::string name = label + what.rest;
    const std::string found = found_name(what, label);
    if (name.ends_with('.')) {
        return {found};
    }
    const std::size_t at = what.options.find("ndots:");
    const unsigned ndots =
        at == std::string::npos ? 1 : static_cast<unsigned>(what.options[at + 6] - '0');
    const bool itself_first = static_cast<unsigned>(std::ranges::count(name, '.')) >= ndots;
    std::vector<std::string> names;
    for (unsigned i = 0; i < what.list; ++i) {
        names.push_back(name + "." + kSearchList[i]);
    }
    names.insert(itself_first ? names.begin() : names.end(), name);
    if (itself_first && what.who == Kind::kMusl) {
        names.resize(1);  // it never searches then
    }
    const auto end = std::ranges::find(names, found);
    names.erase(end == names.end() ? end : end + 1, names.end());
    return names;
}

std::vector<SearchPathCell> search_path_plan() {
    std::vector<SearchPathCell> cells = with_roles<SearchPathCell>({
        {.id = "glibc.list-3", .label = "list of 3", .list = 3, .lookups = 60},
        {.id = "glibc.list-6", .label = "list of 6", .lookups = 60},
        {.id = "glibc.list-6.loss-1",
         .label = "list of 6, 1 %",
         .lookups = 60,
         .lost_permille = 10},
        {.id = "glibc.list-6.loss-4",
         .label = "list of 6, 4 %",
         .lookups = 60,
         .lost_permille = 40},
        {.id = "glibc.list-6.lost-twice",
         .label = "list of 6, lost twice",
         .lost_copies = 2,
         .one_each = true},
        {.id = "glibc.list-6.timeout-2",
         .label = "timeout:2",
         .options = "ndots:5 timeout:2 attempts:3",
         .wait_ms = 2000},
        {.id = "glibc.list-6.single-request",
         .label = "single-request",
         .options = "ndots:5 single-request"},
        {.id = "glibc.list-6.single-request-reopen",
         .label = "single-request-reopen",
         .options = "ndots:5 single-request-reopen"},
        {.id = "glibc.list-6.no-aaaa",
         .label = "no-aaaa",
         .options = "ndots:5 no-aaaa",
         .lookups = 60},
        {.id = "musl.list-3", .label = "musl, list of 3", .list = 3, .lookups = 60},
        {.id = "musl.list-6", .label = "musl, list of 6", .lookups = 60},
        {.id = "musl.list-6.lost-twice",
         .label = "musl, lost twice",
         .lost_copies = 2,
         .one_each = true},
        {.id = "control.no-loss", .label = "control: no loss", .lost_permille = 0},
        {.id = "control.musl.no-loss", .label = "control: musl, no loss", .lost_permille = 0},
        {.id = "control.first-of-list",
         .label = "control: found at once",
         .rest = "",
         .found_below = "default.svc.cluster.local"},
        {.id = "control.five-dots",
         .label = "control: name with 5 dots",
         .rest = ".b.c.d.example.com"},
        {.id = "cure.trailing-dot",
         .label = "cure: trailing dot",
         .rest = ".example.com.",
         .lookups = 60},
        {.id = "cure.musl.trailing-dot",
         .label = "cure: musl, trailing dot",
         .rest = ".example.com."},
        {.id = "cure.ndots-2", .label = "cure: ndots:2", .options = "ndots:2", .lookups = 60},
        {.id = "cure.musl.ndots-2", .label = "cure: musl, ndots:2", .options = "ndots:2"},
        {.id = "cure.ndots-1", .label = "cure: ndots:1", .options = "ndots:1"},
        {.id = "go.list-6", .label = "Go, list of 6"},
        {.id = "control.go.no-loss", .label = "control: Go, no loss", .lost_permille = 0},
        {.id = "cure.go.trailing-dot", .label = "cure: Go, trailing dot", .rest = ".example.com."},
        {.id = "resolved.list-6", .label = "systemd-resolved, list of 6"},
        {.id = "control.resolved.no-loss",
         .label = "control: systemd-resolved, no loss",
         .lost_permille = 0},
        {.id = "cure.resolved.trailing-dot",
         .label = "cure: systemd-resolved, trailing dot",
         .rest = ".example.com."},
        // Demonstrates what the cures break: a service's name with as many dots as ndots.
        {.id = "musl.ndots-1.service-name",
         .label = "musl, ndots:1, a service",
         .options = "ndots:1",
         .rest = ".kube-system",
         .found_below = "svc.cluster.local",
         .lookups = 3,
         .lost_permille = 0,
         .shows = PathShows::kNotSearched},
        {.id = "use-vc.lost-answer",
         .label = "use-vc",
         .options = "ndots:5 use-vc",
         .lookups = 2,
         .lost_permille = 72,
         .one_each = true,
         .limit_ms = 11'000,
         .shows = PathShows::kNeverEnds},
        {.id = "glibc.list-6.after-cure", .label = "after the cure", .one_each = true},
        {.id = "musl.list-6.after-cure", .label = "musl, after the cure", .one_each = true},
    });
    for (SearchPathCell& cell : cells) {
        cell.who = resolver_in(cell.id);
        cell.wait_ms = cell.who == Kind::kMusl ? 2500 : cell.wait_ms;
        cell.role = cell.shows == PathShows::kNothing ? cell.role : CellRole::kDemonstration;
    }
    return cells;
}

Scenario search_path_scenario() {
    return nat_path_scenario<SearchPathBench, search_path_plan, search_path_conclusions>(
        "search-path", "Lookups that a search list multiplies, and each loss with them",
        "How many queries does a lookup make, and how many lookups does a loss hit?", {kResolvers});
}

}  // namespace pathproof::scenario
