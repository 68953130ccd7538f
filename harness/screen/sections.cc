#include "harness/screen/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "harness/netfilter/names.h"

namespace pathproof::screen {
namespace {

using monitor::BackendHealth;
using monitor::BackendVerdict;
using monitor::ServiceHealth;
using monitor::Snapshot;

// Width from which on the interval of the unanswered share has room too.
constexpr std::size_t kWide = 100;
constexpr std::size_t kCount = 9;
constexpr std::size_t kShare = 9;
constexpr std::size_t kTime = 10;
constexpr std::size_t kState = 12;
constexpr std::size_t kInterval = 18;

bool holds(const std::string& text, const std::string& filter) {
    return filter.empty() || text.find(filter) != std::string::npos;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct Columns {
    std::size_t name = 0;
    bool interval = false;
};

Columns columns_for(std::size_t columns) {
    const bool interval = columns >= kWide;
    const std::size_t others = 2 * kCount + kShare + kTime + kState + (interval ? kInterval : 0);
    return {.name = columns > others + 10 ? columns - others : 10, .interval = interval};
}

struct Row {
    std::string name;
    std::string flows;
    std::string in_table;
    std::string unanswered;
    std::string interval;
    std::string answer;
    std::string state;
};

Line row_line(const Row& row, const Columns& columns, Style style, Style state_style) {
    std::string text = left_column(row.name, columns.name) + right_column(row.flows, kCount) +
                       right_column(row.in_table, kCount) + right_column(row.unanswered, kShare);
    if (columns.interval) {
        text += right_column(row.interval, kInterval);
    }
    text += right_column(row.answer, kTime);
    return {{text, style}, {"  " + row.state, state_style}};
}

std::string in_table_text(std::int64_t entries) {
    return compact(static_cast<std::uint64_t>(std::max<std::int64_t>(entries, 0)));
}

Row row_of(const BackendHealth& backend) {
    Row row{.name = "  " + to_string(backend.address),
            .flows = compact(backend.flows),
            .in_table = in_table_text(backend.in_table),
            .unanswered = "-",
            .interval = "",
            .answer = "-",
            .state = name(backend.verdict)};
    if (backend.judged > 0) {
        row.unanswered = percent(backend.unanswered_fraction());
        row.interval = fmt::format("[{:.1f}, {:.1f}] %", backend.unanswered_share.low * 100,
                                   backend.unanswered_share.high * 100);
    }
    if (backend.median_answer_ns) {
        row.answer = duration_text(*backend.median_answer_ns);
    }
    return row;
}

std::string service_name(const ServiceHealth& service) {
    return fmt::format("{} {}", netfilter::protocol_name(service.protocol),
                       to_string(service.address));
}

Row row_of(const ServiceHealth& service) {
    const bool judged = service.judged > 0;
    return {.name = service_name(service),
            .flows = compact(service.flows),
            .in_table = in_table_text(service.in_table),
            .unanswered = judged ? percent(share_of(service.unanswered, service.judged)) : "-",
            .interval = "",
            .answer = "",
            .state = ""};
}

// The worst first.
double badness(const BackendHealth& backend) {
    return static_cast<double>(backend.verdict);
}

double badness(const ServiceHealth& service) {
    double worst = 0;
    for (const BackendHealth& backend : service.backends) {
        worst = std::max(worst, badness(backend));
    }
    return worst;
}

template <typename Health>
double weight(const Health& health, Sort sort) {
    switch (sort) {
        case Sort::kFlows: return static_cast<double>(health.flows);
        case Sort::kInTable: return static_cast<double>(health.in_table);
        case Sort::kUnanswered: return share_of(health.unanswered, health.judged);
        case Sort::kVerdict: return badness(health);
        case Sort::kAddress: return 0;
    }
    return 0;
}

// The heaviest first, equal ones by address; or all of it backwards.
template <typename Health>
std::vector<const Health*> sorted(const std::vector<Health>& list, const ViewState& state) {
    std::vector<const Health*> order;
    for (const Health& health : list) {
        order.push_back(&health);
    }
    std::ranges::sort(order, {}, [&](const Health* health) {
        return std::tuple(-weight(*health, state.sort), health->address);
    });
    if (state.order == ViewState::Order::kReversed) {
        std::ranges::reverse(order);
    }
    return order;
}

// A service that matches the filter shows all its backends, another one those that match.
void add_service(Lines& rows, const ServiceHealth& service, const ViewState& state,
                 const Columns& columns) {
    Lines backends;
    const bool all = holds(service_name(service), state.filter);
    for (const BackendHealth* backend : sorted(service.backends, state)) {
        const Row row = row_of(*backend);
        if (all || holds(row.name + " " + row.state, state.filter)) {
            backends.push_back(row_line(row, columns, Style::kPlain, style_of(backend->verdict)));
        }
    }
    if (!all && backends.empty()) {
        return;
    }
    rows.push_back(row_line(row_of(service), columns, Style::kStrong, Style::kPlain));
    rows.insert(rows.end(), backends.begin(), backends.end());
}

std::string what_sorts(const ViewState& state) {
    const bool reversed = state.order == ViewState::Order::kReversed;
    return fmt::format("SERVICES by {}{}", name(state.sort), reversed ? ", reversed" : "");
}

std::string flow_text(const netfilter::Tuple& tuple) {
    return to_string(tuple.source) + " > " + to_string(tuple.destination);
}

Style style_of(netfilter::Clash::Fate fate) {
    switch (fate) {
        case netfilter::Clash::Fate::kAnswered: return Style::kGood;
        case netfilter::Clash::Fate::kUnanswered: return Style::kBad;
        case netfilter::Clash::Fate::kOpen: return Style::kFaint;
    }
    return Style::kPlain;
}

// A line and when it happened, for two lists to be merged.
struct Happening {
    std::int64_t time_ns = 0;
    Line line;
};

Happening happening_of(const netfilter::Clash& clash, std::size_t columns) {
    const std::string winner =
        clash.winner ? to_string(clash.winner->reply.source.address) : "unknown";
    const std::string loser = to_string(clash.hidden.reply.source.address);
    const std::string backends = columns < kWide
                                     ? fmt::format(" {}|{}", winner, loser)
                                     : fmt::format("  winner {}  loser {}", winner, loser);
    return {clash.found_ns,
            {{clock_text(clash.found_ns) + " ", Style::kFaint},
             {left_column(name(clash.fate), 11), style_of(clash.fate)},
             {flow_text(clash.hidden.original) + backends, Style::kPlain}}};
}

Happening happening_of(const netfilter::LateAnswer& late, std::size_t columns) {
    return {late.event.time_ns,
            {{clock_text(late.event.time_ns) + " ", Style::kFaint},
             {left_column("late", 11), Style::kBad},
             {fmt::format("{}{}{}", flow_text(late.event.entry.original),
                          columns < kWide ? "" : "  arrives un-translated",
                          late.clash ? "  after a clash" : ""),
              Style::kPlain}}};
}

void add_matching(Lines& rows, const Line& line, const std::string& filter) {
    if (holds(plain(line), filter)) {
        rows.push_back(line);
    }
}

std::string reasons_text(const drops::DropSummary& summary) {
    std::string text;
    for (const drops::DropCount& count : by_reason(summary.counts)) {
        text += fmt::format("  {} {}", count.reason, compact(count.packets));
    }
    return text;
}

bool same_kind(const drops::Drop& a, const drops::Drop& b) {
    return a.reason == b.reason && a.location == b.location && a.protocol == b.protocol;
}

// Newest first; drops of one kind that follow each other share a line.
void add_last_drops(Lines& rows, const std::vector<drops::Drop>& last, const std::string& filter) {
    for (std::size_t i = 0; i < last.size();) {
        std::size_t next = i + 1;
        while (next < last.size() && same_kind(last[i], last[next])) {
            ++next;
        }
        const std::string times = next - i > 1 ? fmt::format("  {} times", next - i) : "";
        const Line line{{clock_text(last[i].time_ns) + " ", Style::kFaint},
                        {last[i].reason + " ", Style::kWarning},
                        {last[i].protocol + " at " + last[i].location + times, Style::kPlain}};
        add_matching(rows, line, filter);
        i = next;
    }
}

}  // namespace

Style style_of(BackendVerdict verdict) {
    switch (verdict) {
        case BackendVerdict::kDead:
        case BackendVerdict::kSilent:
        case BackendVerdict::kRefusing: return Style::kBad;
        case BackendVerdict::kLossy:
        case BackendVerdict::kSlow: return Style::kWarning;
        case BackendVerdict::kOneWay:
        case BackendVerdict::kTooFew: return Style::kFaint;
        case BackendVerdict::kHealthy: return Style::kGood;
    }
    return Style::kPlain;
}

Section service_section(const Snapshot& snapshot, const ViewState& state, std::size_t width_now) {
    const Columns columns = columns_for(width_now);
    const Row titles{what_sorts(state), "flows", "in table", "unansw.", "95 %", "median", "state"};
    Section section{.heading = row_line(titles, columns, Style::kStrong, Style::kStrong),
                    .rows = {},
                    .nothing = state.filter.empty()
                                   ? "no flow to a translated address (DNAT) was seen yet"
                                   : "no service or backend holds '" + state.filter + "'"};
    for (const ServiceHealth* service : sorted(snapshot.backends.services, state)) {
        add_service(section.rows, *service, state, columns);
    }
    for (const monitor::StrayRefusal& refusal : snapshot.backends.stray_refusals) {
        const Line line{
            {fmt::format("  {} {}: {} first packets refused: {}",
                         netfilter::protocol_name(refusal.protocol), to_string(refusal.destination),
                         compact(refusal.packets), refusal.refusal),
             Style::kBad}};
        add_matching(section.rows, line, state.filter);
    }
    return section;
}

Section clash_section(const Snapshot& snapshot, const ViewState& state, std::size_t columns) {
    const netfilter::ClashCounts& counts = snapshot.clashes;
    Section section{.heading = {{"CLASHES", Style::kStrong},
                                {fmt::format("  {}{} hidden: {} answered, {} not, {} open; ",
                                             snapshot.counts_are_lower_bounds() ? "at least " : "",
                                             compact(counts.hidden), compact(counts.answered),
                                             compact(counts.unanswered), compact(counts.open)),
                                 Style::kPlain},
                                {compact(counts.late_answers) + " late answers",
                                 counts.late_answers > 0 ? Style::kBad : Style::kPlain}},
                    .rows = {},
                    .nothing = "none shown"};
    std::vector<Happening> all;
    for (const netfilter::Clash& clash : snapshot.last_clashes) {
        all.push_back(happening_of(clash, columns));
    }
    for (const netfilter::LateAnswer& late : snapshot.last_late_answers) {
        all.push_back(happening_of(late, columns));
    }
    std::ranges::stable_sort(all, std::greater(), &Happening::time_ns);
    for (const Happening& happening : all) {
        add_matching(section.rows, happening.line, state.filter);
    }
    return section;
}

Section finding_section(const Snapshot& snapshot, const ViewState& state) {
    Section section{.heading = {{"FINDINGS", Style::kStrong}}, .rows = {}, .nothing = "none"};
    if (!snapshot.findings) {
        return section;
    }
    section.heading.push_back({"  as of " + clock_text(snapshot.findings->time_ns), Style::kFaint});
    for (const monitor::Finding& finding : snapshot.findings->found) {
        const bool harms =
            finding.kind == "happening" || finding.kind == "old entry" || finding.kind == "severe";
        add_matching(section.rows,
                     {{left_column(finding.kind, 11), harms ? Style::kBad : Style::kWarning},
                      {finding.what, Style::kPlain}},
                     state.filter);
    }
    for (const std::string& missing : snapshot.findings->missing) {
        add_matching(section.rows, {{"not seen: " + missing, Style::kWarning}}, state.filter);
    }
    return section;
}

Section drop_section(const Snapshot& snapshot, const ViewState& state) {
    Section section{.heading = {{"DROPS", Style::kStrong}}, .rows = {}, .nothing = "none shown"};
    if (!snapshot.drops) {
        section.nothing = snapshot.drops_missing.empty() ? "not followed" : snapshot.drops_missing;
        return section;
    }
    const drops::DropSummary& summary = *snapshot.drops;
    const bool machine = summary.scope == drops::Scope::kMachine;
    section.heading.push_back(
        {fmt::format("  {}{} {}", summary.lost > 0 ? "at least " : "", compact(summary.drops),
                     machine ? "in all namespaces of this machine" : "in this namespace"),
         summary.drops > 0 ? Style::kWarning : Style::kPlain});
    section.heading.push_back({reasons_text(summary), Style::kPlain});
    add_last_drops(section.rows, summary.last, state.filter);
    return section;
}

}  // namespace pathproof::screen
