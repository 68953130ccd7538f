#include "harness/cli/inspect/printer.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;
using nlohmann::json;
using Column = netfilter::TextOptions::Column;

Status add_column(const std::string& name, TextOptions& text) {
    if (name == "id") {
        text.id = Column::kShow;
    } else if (name == "extended") {
        text.layer3 = Column::kShow;
    } else if (name == "ktimestamp") {
        text.kernel_times = Column::kShow;
    } else if (name == "timestamp") {
        text.event_time = Column::kShow;
    } else if (name == "status") {
        text.status_names = Column::kShow;
    } else if (name == "labels") {
        auto labels = LabelNames::load();
        if (!labels) {  // conntrack(8) warns and prints the entries too
            fmt::print(stderr, "pathproof: {}: labels are not shown\n", labels.error().message);
            return {};
        }
        text.labels = std::make_shared<LabelNames>(std::move(*labels));
    } else {
        return fail(
            ErrorCode::kBadInput,
            "-o '{}': allowed are id, extended, ktimestamp, timestamp, labels, status; with "
            "--csv the names of columns",
            name);
    }
    return {};
}

std::string_view word(Gap::Stage stage) {
    switch (stage) {
        case Gap::Stage::kNoticed: return "noticed";
        case Gap::Stage::kReconciled: return "reconciled";
        case Gap::Stage::kOpen: return "open";
    }
    return "open";
}

json to_json(const EventCounts& counts) {
    return {{"new", counts.created}, {"update", counts.updated}, {"destroy", counts.destroyed}};
}

json to_json(const Gap& gap) {
    json out{{"number", gap.number},
             {"stage", word(gap.stage)},
             {"from_ns", gap.from_ns},
             {"until_ns", gap.until_ns}};
    if (gap.stage != Gap::Stage::kNoticed) {
        out["missed"] = to_json(gap.missed);
        out["missed_unannounced"] = gap.missed_unannounced;
    }
    if (!gap.problem.empty()) {
        out["problem"] = gap.problem;
    }
    return out;
}

// A line that no entry begins like.
std::string to_text(const Gap& gap) {
    const std::string span =
        fmt::format("# gap {}: events were lost between {} and {} ({:.6f} s)", gap.number,
                    seconds_text(gap.from_ns), seconds_text(gap.until_ns),
                    static_cast<double>(gap.until_ns - gap.from_ns) / 1e9);
    const std::string missed =
        fmt::format("{} NEW, {} UPDATE, {} DESTROY missed", gap.missed.created, gap.missed.updated,
                    gap.missed.destroyed);
    const std::string unannounced =
        gap.missed_unannounced == 0
            ? ""
            : fmt::format(
                  " ({} of these flows were there before watching began and may have ended "
                  "at any time)",
                  gap.missed_unannounced);
    switch (gap.stage) {
        case Gap::Stage::kNoticed: return span + "; the table is read again";
        case Gap::Stage::kReconciled:
            return fmt::format("# gap {} closed: {}{}; what came and went inside it left no trace",
                               gap.number, missed, unannounced);
        case Gap::Stage::kOpen:
            return fmt::format("{}; not closed: {}; {}{}", span, gap.problem, missed, unannounced);
    }
    return span;
}

}  // namespace

void add_print_options(CLI::App& app, PrintOptions& options) {
    app.add_option("-o,--output", options.columns,
                   "text: more columns, of id, extended, ktimestamp, timestamp, labels, status; "
                   "CSV: which columns")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_flag("--csv", options.csv, "comma-separated values (RFC 4180) with a header line")
        ->excludes("--json");
    app.footer(app.get_footer() + "\nColumns of --csv:\n" + netfilter::csv_help());
}

Result<Printer> Printer::make(CsvFormat::Rows rows, const CommonOptions& common,
                              const PrintOptions& options) {
    Printer printer;
    if (common.json && !options.columns.empty()) {
        return fail(ErrorCode::kBadInput, "-o chooses columns of text or --csv; --json has all");
    }
    if (common.json) {
        printer.form_ = Form::kJson;
    } else if (options.csv) {
        printer.form_ = Form::kCsv;
    }
    if (options.csv) {
        printer.csv_ = TRY(CsvFormat::make(rows, options.columns));
        return printer;
    }
    for (const std::string& name : options.columns) {
        TRY(add_column(name, printer.text_));
    }
    return printer;
}

void Printer::put_header(Output& output) const {
    if (form_ == Form::kCsv) {
        csv_.append_header(output.line());
        output.put_line("\r");
    }
}

template <typename Value>
void Printer::put(Output& output, const Value& value) const {
    switch (form_) {
        case Form::kText:
            append_text(output.line(), value, text_);
            output.end_line();
            break;
        case Form::kJson: put_json(output, value); break;
        case Form::kCsv:
            csv_.append_row(output.line(), value);
            output.put_line("\r");
            break;
    }
}

template void Printer::put(Output& output, const Entry& entry) const;
template void Printer::put(Output& output, const Event& event) const;

void Printer::put(Output& output, const Gap& gap) const {
    const bool noticed = gap.stage == Gap::Stage::kNoticed;
    switch (form_) {
        case Form::kText: output.put_line(to_text(gap)); break;
        case Form::kJson: put_json(output, {{"gap", to_json(gap)}}); break;
        case Form::kCsv:
            csv_.append_mark(output.line(), noticed ? "GAP" : "GAP_END",
                             noticed ? gap.from_ns : gap.until_ns);
            output.put_line("\r");
            break;
    }
}

void Printer::put_summary(Output& output, const WatchTotals& totals) const {
    if (form_ == Form::kJson) {
        put_json(output, {{"summary",
                           {{"events", to_json(totals.shown)},
                            {"missed", to_json(totals.missed)},
                            {"gaps", totals.gaps},
                            {"gaps_open", totals.gaps_open},
                            {"overruns", totals.overruns},
                            {"unreadable", totals.unreadable}}}});
    }
}

}  // namespace pathproof::cli::inspect
