// Conclusions of the exposure map: each clause comes from a value that is not zero.
#include <algorithm>
#include <cmath>
#include <set>

#include "harness/scenario/concluded.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/race/race_map.h"
#include "harness/scenario/race/race_words.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;

std::string micros(std::int64_t ns) {
    return fmt::format("{:.{}f} us", static_cast<double>(ns) / 1e3, ns < 10'000 ? 1 : 0);
}

std::string pairs_a_second(double load) {
    return fmt::format("{:.0f} pairs/s", load);
}

// Returns the skew for the axis: that at the far port if it was measured there.
const Skew& axis_skew(const MapPoint& point) {
    return point.untimed.empty() ? point.far : point.sent;
}

std::vector<double> loads_of(const MapWay& way) {
    std::set<double> loads;
    for (const MapPoint& point : way.points) {
        loads.insert(point.offered);
    }
    return {loads.begin(), loads.end()};
}

// The two lowest loads are those of every way, and low ones.
bool is_high(const MapWay& way, const MapPoint& point) {
    const std::vector<double> loads = loads_of(way);
    return loads.size() > 2 && point.offered > loads[1];
}

// More than the DUT or the tester carries at that moment: what is lost then is a matter of the load,
// and the share of the others is none of this load's.
bool is_overload(const MapWay& way, const MapPoint& point) {
    return is_high(way, point) && point.lost + point.wrong != 0;
}

// Returns whether the point's number of racing pairs is a result.
bool is_result(const MapWay& way, const MapPoint& point) {
    return point.objections.empty() && !is_overload(way, point);
}

// Sums over a way's points.
struct WaySums {
    std::uint64_t points = 0, refused = 0;              // refused: no result
    std::uint64_t overloaded = 0, lost_overloaded = 0;  // points, and their queries
    std::uint64_t pairs = 0, raced = 0, insert_failed = 0, lost = 0, wrong = 0, two_backends = 0;
    std::uint64_t dropped = 0;
    const MapPoint* most = nullptr;  // with the largest share
    // The least skew of the axis from which on no pair raced, and the pairs that far apart.
    std::int64_t none_from_ns = 0;
    std::uint64_t pairs_from = 0;
    std::string objection;

    std::uint64_t unexplained() const {
        const std::uint64_t known = insert_failed + dropped;
        return lost + wrong > known ? lost + wrong - known : 0;
    }
};

WaySums sums_of(const MapWay& way) {
    WaySums sums;
    std::int64_t raced_up_to = -1;
    for (const MapPoint& point : way.points) {
        ++sums.points;
        if (!point.objections.empty()) {
            ++sums.refused;
            sums.objection = point.objections.front();
            continue;
        }
        if (is_overload(way, point)) {
            ++sums.overloaded;
            sums.lost_overloaded += point.lost + point.wrong;
            continue;
        }
        sums.pairs += point.pairs;
        sums.raced += point.raced();
        sums.insert_failed += point.insert_failed;
        sums.lost += point.lost;
        sums.wrong += point.wrong;
        sums.two_backends += point.two_backends;
        const auto share = [](const MapPoint& each) {
            return static_cast<double>(each.raced()) /
                   static_cast<double>(std::max<std::uint64_t>(each.pairs, 1));
        };
        if (sums.most == nullptr || share(point) > share(*sums.most)) {
            sums.most = &point;
        }
        if (point.raced() != 0) {
            raced_up_to = std::max(raced_up_to, axis_skew(point).middle_ns);
        }
    }
    sums.none_from_ns = INT64_MAX;
    for (const MapPoint& point : way.points) {
        if (is_result(way, point) && axis_skew(point).middle_ns > raced_up_to) {
            sums.none_from_ns = std::min(sums.none_from_ns, axis_skew(point).middle_ns);
            sums.pairs_from += point.pairs;
        }
    }
    for (const auto& [reason, packets] : way.dropped) {
        sums.dropped += packets;
    }
    return sums;
}

std::string drops_text(const MapWay& way) {
    Clauses clauses;
    for (const auto& [reason, packets] : way.dropped) {
        clauses.push_back(fmt::format("{} {}", packets, reason));
    }
    return in_a_row(clauses);
}

std::string most_text(const WaySums& sums) {
    return fmt::format("{} of {} pairs race {} apart at {}",
                       percent(sums.most->raced(), sums.most->pairs), sums.most->pairs,
                       micros(axis_skew(*sums.most).middle_ns), pairs_a_second(sums.most->offered));
}

// The table's text for pairs sent `skew` ns apart at `load`.
std::string point_text(const MapWay& way, std::int64_t skew, double load) {
    const auto at = std::ranges::find_if(way.points, [&](const MapPoint& point) {
        return point.offered == load && point.asked_ns == skew;
    });
    if (at == way.points.end()) {
        return "not sent: longer than a pair's turn";
    }
    if (!at->objections.empty()) {
        return "no result";
    }
    if (is_overload(way, *at)) {
        return "not carried: " + at->not_carried();
    }
    return fmt::format("{} ({} to {})", percent(at->raced(), at->pairs),
                       micros(axis_skew(*at).low_ns), micros(axis_skew(*at).high_ns));
}

verdict::Proof table_of(const MapWay& way) {
    const std::vector<double> loads = loads_of(way);
    verdict::Proof table{
        .title = fmt::format("{}: pairs that raced, and how far apart they came", way.what.label),
        .columns = {"sent apart"}};
    std::set<std::int64_t> skews;
    for (const MapPoint& point : way.points) {
        skews.insert(point.asked_ns);
    }
    std::ranges::transform(loads, std::back_inserter(table.columns), pairs_a_second);
    for (const std::int64_t skew : skews) {
        std::vector<std::string> row{micros(skew)};
        for (const double load : loads) {
            row.push_back(point_text(way, skew, load));
        }
        table.rows.push_back(std::move(row));
    }
    table.conclusion =
        way.highest == 0 ? "" : fmt::format("{} was carried whole", pairs_a_second(way.highest));
    if (!way.limit.empty()) {
        table.conclusion += (table.conclusion.empty() ? "Not more: " : "; ") + way.limit;
    }
    table.conclusion += table.conclusion.empty() ? "" : ".";
    return table;
}

verdict::Chart chart_of(const MapWay& way, const std::vector<ResolverSkew>& resolvers) {
    const bool timed = std::ranges::all_of(
        way.points, [](const MapPoint& point) { return point.untimed.empty(); });
    verdict::Chart chart{
        .title = fmt::format("{}: pairs that race", way.what.label),
        .unit = "%",
        .maximum = 100,
        .x_label = timed ? "time between A and AAAA as they came to the far port, us, median"
                         : "time between A and AAAA as they were sent, us, median"};
    for (const double load : loads_of(way)) {
        verdict::Curve curve{.label = pairs_a_second(load)};
        for (const MapPoint& point : way.points) {
            if (point.offered == load && is_result(way, point)) {
                const verdict::Bar share = verdict::share_bar("", point.raced(), point.pairs,
                                                              verdict::Bar::Kind::kNeutral);
                curve.points.push_back({static_cast<double>(axis_skew(point).middle_ns) / 1e3,
                                        share.value, share.interval});
            }
        }
        std::ranges::sort(curve.points, {}, &verdict::Curve::Point::x);
        if (!curve.points.empty()) {
            chart.curves.push_back(std::move(curve));
        }
    }
    for (const ResolverSkew& resolver : resolvers) {
        if (timed && resolver.lacking.empty() && resolver.skew.pairs != 0) {
            const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1e3; };
            chart.marks.push_back(
                {resolver.who + (resolver.one_socket == 0 ? " (two sockets)" : ""),
                 us(resolver.skew.low_ns), us(resolver.skew.middle_ns), us(resolver.skew.high_ns)});
        }
    }
    return chart;
}

// The share at the lowest load whose skew is nearest.
std::string share_near(const MapWay& way, std::int64_t skew_ns) {
    const MapPoint* nearest = nullptr;
    const double lowest = loads_of(way).empty() ? 0 : loads_of(way).front();
    for (const MapPoint& point : way.points) {
        const auto away = [&](const MapPoint& each) {
            return std::abs(axis_skew(each).middle_ns - skew_ns);
        };
        if (point.offered == lowest && is_result(way, point) &&
            (nearest == nullptr || away(point) < away(*nearest))) {
            nearest = &point;
        }
    }
    return nearest == nullptr
               ? ""
               : fmt::format("{} by {} ({} apart)", percent(nearest->raced(), nearest->pairs),
                             way.what.label, micros(axis_skew(*nearest).middle_ns));
}

std::string resolver_text(const RaceMap& map, const ResolverSkew& resolver) {
    if (!resolver.lacking.empty()) {
        return fmt::format("{}: not measured ({}).", resolver.who, resolver.lacking);
    }
    if (resolver.one_socket == 0) {
        return fmt::format(
            "{}: none of {} lookups sent both queries from one socket, so that they cannot race "
            "({} apart, median).",
            resolver.who, resolver.lookups, micros(resolver.skew.middle_ns));
    }
    Clauses near;
    for (const MapWay& way : map.ways) {
        if (way.what.role != CellRole::kControl) {
            near.push_back(share_near(way, resolver.skew.middle_ns));
        }
    }
    std::erase(near, "");
    return fmt::format(
        "{}: in {} lookups both queries left one socket and came {} apart (median; four in five {} "
        "to {}). So far apart, or as near to it as was measured, at the lowest load there race: "
        "{}.",
        resolver.who, some_of(resolver.one_socket, resolver.lookups),
        micros(resolver.skew.middle_ns), micros(resolver.skew.low_ns),
        micros(resolver.skew.high_ns), in_a_row(near));
}

}  // namespace

verdict::Cell conclude(const MapWay& way) {
    const WaySums sums = sums_of(way);
    verdict::Cell cell{.id = way.what.id,
                       .toggles = {{"experiment", "exposure map"},
                                   {"way", way.what.way},
                                   {"setting", way.what.setting}},
                       .role = way.what.role,
                       .verdict = CellVerdict::kPass};
    cell.measures = {
        count_of("points", "points of the map", sums.points),
        count_of("pairs", "query pairs sent", sums.pairs, "pairs"),
        verdict::share("raced_share", "pairs that met the race, of all points", sums.raced,
                       sums.pairs),
        verdict::share("most_share", "of the point with the most",
                       sums.most ? sums.most->raced() : 0, sums.most ? sums.most->pairs : 0),
        count_of("two_backends", "pairs whose queries came to two backends", sums.two_backends,
                 "pairs"),
        count_of("insert_failed", "conntrack insert_failed", sums.insert_failed),
        count_of("lost", "queries without an answer", sums.lost, "queries"),
        count_of("wrong", "queries with a wrong answer", sums.wrong, "queries"),
        count_of("overloaded", "points of high loads that were not carried whole", sums.overloaded),
        count_of("overloaded_lost", "their queries without a right answer", sums.lost_overloaded,
                 "queries"),
        count_of("dropped", "UDP packets that the kernel dropped", sums.dropped, "packets"),
        count_of(verdict::kUnexplained, "harmed: no cause could be joined", sums.unexplained(),
                 "queries"),
        count_of("highest", "highest load that was carried whole",
                 static_cast<std::uint64_t>(way.highest), "pairs/s"),
    };
    const auto end = ending(cell);
    const bool control = way.what.role == CellRole::kControl;
    if (sums.points == 0 || 2 * sums.refused > sums.points) {
        return end(CellVerdict::kError, "",
                   sums.points == 0 ? "no point was measured" : "no result: " + sums.objection);
    }
    if (sums.unexplained() != 0) {
        return end(
            CellVerdict::kInconclusive, "",
            fmt::format("{} queries got no right answer and {} have no cause{}",
                        sums.lost + sums.wrong, sums.unexplained(),
                        way.untraced.empty()
                            ? ""
                            : fmt::format(" (drop reasons were not read: {})", way.untraced)));
    }
    if (sums.insert_failed != 0 || (control && sums.raced != 0)) {
        return end(
            CellVerdict::kFail, "same-tuple-race",
            fmt::format("{}, insert_failed rose by {}", most_text(sums), sums.insert_failed));
    }
    if (!control && !way.hindrances.empty()) {
        return end(sums.raced != 0 ? CellVerdict::kPass : CellVerdict::kInconclusive, "",
                   in_a_row(way.hindrances));
    }
    Clauses clauses;
    if (sums.raced != 0) {
        clauses.push_back("exposed, harmless here: " + most_text(sums));
    }
    tell_count(clauses, sums.lost, "{} queries were dropped by the kernel ({})", drops_text(way));
    tell_count(
        clauses, sums.overloaded,
        "{} points of high loads were not carried whole ({} queries without a right answer), and "
        "are left out",
        sums.lost_overloaded);
    cell.reason = in_a_row(clauses, "; ");
    return cell;
}

verdict::ScenarioResult conclude(const RaceMap& map) {
    verdict::ScenarioResult result;
    result.question =
        "How many pairs race inside conntrack, by the time between their queries and the load?";
    Clauses hindered;
    Clauses exposed;
    bool harmed = false;
    std::uint64_t pairs = 0;
    for (const MapWay& way : map.ways) {
        const WaySums sums = sums_of(way);
        verdict::Cell cell = conclude(way);
        const bool control = cell.role == CellRole::kControl;
        pairs += sums.pairs;
        result.unexplained += sums.unexplained();
        result.planned.push_back(cell.id);
        if (cell.verdict == CellVerdict::kError || cell.verdict == CellVerdict::kInconclusive ||
            (control && cell.verdict != CellVerdict::kPass)) {
            hindered.push_back(fmt::format("{}: {}", cell.id, cell.reason));
        }
        harmed |= !control && cell.verdict == CellVerdict::kFail;
        if (!control && sums.raced != 0) {
            exposed.push_back(fmt::format(
                "by {} {}{}", way.what.label, most_text(sums),
                sums.pairs_from == 0 ? ""
                                     : fmt::format(", and none of {} pairs from {} on",
                                                   sums.pairs_from, micros(sums.none_from_ns))));
        }
        if (verdict::Chart chart = chart_of(way, map.resolvers);
            !control && !chart.curves.empty()) {
            result.charts.push_back(std::move(chart));
        }
        result.proofs.push_back(table_of(way));
        (control ? result.controls : result.cells).push_back(std::move(cell));
    }
    for (const ResolverSkew& resolver : map.resolvers) {
        result.explanation.push_back(resolver_text(map, resolver));
    }
    if (!hindered.empty() || map.ways.empty()) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline = "Nothing is concluded: " +
                          (map.ways.empty() ? "nothing was measured" : in_a_row(hindered, "; ")) +
                          ".";
        return result;
    }
    if (exposed.empty()) {
        result.verdict = verdict::ScenarioVerdict::kNotReproduced;
        result.headline =
            fmt::format("No pair raced: {} pairs of {} ways.", pairs, map.ways.size());
        return result;
    }
    result.verdict =
        harmed ? verdict::ScenarioVerdict::kReproduced : verdict::ScenarioVerdict::kExposed;
    result.headline = fmt::format("Exposure map of {} pairs: {}.", pairs, in_a_row(exposed, "; "));
    result.cause =
        "A and AAAA leave one socket together, and both packets pass conntrack's lookup before "
        "either entry is confirmed.\n" +
        in_a_row(result.explanation, "\n");
    result.cure = cure_of(Race::kSameTuple) + " (not tried in this run)";
    return result;
}

}  // namespace pathproof::scenario
