#include <fmt/format.h>

#include "harness/screen/sections.h"

namespace pathproof::screen {
namespace {

using monitor::Snapshot;

constexpr std::size_t kLabel = 10;
// Events go out early in a table that is nearly full, and new flows are refused in a full one.
constexpr double kUseWarning = 0.75;
constexpr double kUseBad = 0.95;

Piece label(const std::string& text) {
    return {left_column(text, kLabel), Style::kFaint};
}

// "name value", with the value in a colour when it should be zero and is not.
enum class Wanted { kAny, kZero };
void put(Line& line, const std::string& name, const std::string& value, bool is_zero,
         Wanted wanted) {
    const Style unless_zero = wanted == Wanted::kZero ? Style::kBad : Style::kStrong;
    const Style style = is_zero ? Style::kPlain : unless_zero;
    line.push_back({name + " ", Style::kPlain});
    line.push_back({value, style});
    line.push_back({"  ", Style::kPlain});
}

struct Rate {
    const char* name;
    double value;
    Wanted wanted;
};
Line rate_line(const char* title, const monitor::Rates& rates, std::initializer_list<Rate> all) {
    Line line{label(title)};
    const bool known = rates.seconds != 0;
    for (const auto& [name, value, wanted] : all) {
        put(line, name, known ? compact_rate(value) : "-", !known || value == 0, wanted);
    }
    return line;
}

void put_count(Line& line, const std::string& name, std::uint64_t count, Wanted wanted) {
    put(line, name, compact(count), count == 0, wanted);
}

Line table(const Snapshot& snapshot, std::size_t columns) {
    const netfilter::TableSize& size = snapshot.table;
    if (size.maximum == 0) {
        return {
            label("table"), {compact(size.entries), Style::kStrong}, {" entries", Style::kPlain}};
    }
    const double share = static_cast<double>(size.entries) / static_cast<double>(size.maximum);
    const Style style = style_of_use(share);
    const std::string text =
        fmt::format("  {} of {}  {}", size.entries, size.maximum, percent(share));
    const std::size_t used = kLabel + text.size() + 1;
    const std::size_t room = columns > used ? columns - used : 0;
    return {label("table"), {bar(share, room), style}, {text, style}};
}

Line totals(const Snapshot& snapshot) {
    Line line{label("total")};
    put_count(line, "new", snapshot.events.created, Wanted::kAny);
    put_count(line, "destroy", snapshot.events.destroyed, Wanted::kAny);
    put_count(line, "insert_failed", total(snapshot.cpus_since_start, "insert_failed"),
              Wanted::kZero);
    put_count(line, "drop", total(snapshot.cpus_since_start, "drop"), Wanted::kZero);
    return line;
}

// Tells how complete the counts of this screen are.
Line completeness(const Snapshot& snapshot) {
    Line line{label("events")};
    if (!snapshot.failure.empty()) {
        line.push_back({snapshot.failure, Style::kBad});
        return line;
    }
    if (!snapshot.counts_are_lower_bounds()) {
        line.push_back({"none lost", Style::kGood});
        if (!snapshot.unheard.empty()) {
            line.push_back({"; " + snapshot.unheard, Style::kWarning});
        }
        return line;
    }
    line.push_back({fmt::format("{} overruns, {} missed found again", snapshot.events.overruns,
                                compact(snapshot.events.missed)),
                    Style::kBad});
    if (snapshot.events.unreadable > 0) {
        line.push_back({fmt::format(", {} unreadable", snapshot.events.unreadable), Style::kBad});
    }
    if (!snapshot.gaps.empty()) {
        const netfilter::Gap& gap = snapshot.gaps.front();
        const bool closed = gap.stage == netfilter::Gap::Stage::kReconciled;
        line.push_back(
            {fmt::format("; last gap {}{}", clock_text(gap.from_ns), closed ? ", reconciled" : ""),
             Style::kWarning});
    }
    return line;
}

}  // namespace

Style style_of_use(double share) {
    if (share >= kUseBad) {
        return Style::kBad;
    }
    return share >= kUseWarning ? Style::kWarning : Style::kGood;
}

Lines head(const Snapshot& snapshot, std::size_t columns) {
    const monitor::Rates& rates = snapshot.rates;
    return {table(snapshot, columns),
            rate_line("per s", rates,
                      {{"new", rates.created, Wanted::kAny},
                       {"destroy", rates.destroyed, Wanted::kAny},
                       {"update", rates.updated, Wanted::kAny},
                       {"clash_resolve", rates.clash_resolve, Wanted::kAny}}),
            rate_line("", rates,
                      {{"insert_failed", rates.insert_failed, Wanted::kZero},
                       {"drop", rates.drop, Wanted::kZero},
                       {"hidden clashes", rates.clashes, Wanted::kAny}}),
            totals(snapshot), completeness(snapshot)};
}

Lines help() {
    const auto key = [](const std::string& keys, const std::string& what) {
        return Line{{"  " + left_column(keys, 16), Style::kStrong}, {what, Style::kPlain}};
    };
    const auto note = [](const std::string& text) { return Line{{text, Style::kPlain}}; };
    return {
        note("Keys"),
        key("q, Ctrl-C", "quit"),
        key("p, space", "pause, and go on: counting goes on meanwhile"),
        key("s", "sort services and backends by the next column"),
        key("r", "reverse the order"),
        key("/", "show only lines that hold a text (Enter: take, Esc: leave)"),
        key("Esc", "show all lines again"),
        key("arrows, j, k", "move through the services; also Page Up, Page Down, Home"),
        key("h, ?", "this page"),
        {},
        note("unansw.  flows of the last minute without an answer; state is drawn from it:"),
        note("         dead is silence, refusing is ICMP errors or resets instead"),
        note("clash    two packets of one flow met in conntrack; the loser's entry is hidden"),
        note("         and lives for 1 s: a later answer arrives un-translated (late). A line"),
        note("         shows the flow, and the backends: of the winner | of the loser"),
        note("red      something was lost: packets (insert_failed, drop) or events"),
        {},
        note("Any key goes back."),
    };
}

}  // namespace pathproof::screen
