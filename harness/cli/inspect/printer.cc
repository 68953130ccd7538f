#include "harness/cli/inspect/printer.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "harness/process/json_text.h"

namespace pathproof::cli::inspect {

using netfilter::CsvFormat;
using netfilter::Entry;
using netfilter::Event;
using netfilter::Gap;
using netfilter::WatchTotals;

namespace {

using namespace netfilter;
using nlohmann::json;
using Column = netfilter::TextOptions::Column;

Status add_column(const std::string& name, Columns& columns) {
    if (name == "id") {
        columns.text.id = Column::kShow;
    } else if (name == "extended") {
        columns.text.layer3 = Column::kShow;
    } else if (name == "ktimestamp") {
        columns.text.kernel_times = Column::kShow;
    } else if (name == "timestamp") {
        columns.text.event_time = Column::kShow;
    } else if (name == "status") {
        columns.text.status_names = Column::kShow;
    } else if (name == "labels") {
        auto labels = LabelNames::load();
        if (!labels) {  // conntrack(8) warns and prints the entries too
            fmt::print(stderr, "pathproof: {}: labels are not shown\n", labels.error().message);
            return {};
        }
        columns.labels = std::make_unique<LabelNames>(std::move(*labels));
        columns.text.labels = columns.labels.get();
    } else {
        return fail(
            ErrorCode::kBadInput,
            "-o '{}': allowed are id, extended, ktimestamp, timestamp, labels, status; with "
            "--csv the names of columns",
            name);
    }
    return {};
}

// "1763692000.123456", as -o timestamp has it.
std::string seconds(std::int64_t time_ns) {
    return fmt::format("{}.{:06}", time_ns / 1'000'000'000, time_ns % 1'000'000'000 / 1000);
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
    const std::string span = fmt::format("# gap {}: events were lost between {} and {} ({:.6f} s)",
                                         gap.number, seconds(gap.from_ns), seconds(gap.until_ns),
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

Result<Columns> parse_columns(const std::vector<std::string>& names) {
    Columns columns;
    for (const std::string& name : names) {
        TRY(add_column(name, columns));
    }
    return columns;
}

Result<Printer> Printer::make(CsvFormat::Rows rows, const CommonOptions& common,
                              const PrintOptions& options) {
    Printer printer;
    if (common.json && !options.columns.empty()) {
        return fail(ErrorCode::kBadInput, "-o chooses columns of text or --csv; --json has all");
    }
    printer.form_ = common.json ? Form::kJson : options.csv ? Form::kCsv : Form::kText;
    if (options.csv) {
        printer.csv_ = TRY(CsvFormat::make(rows, options.columns));
        return printer;
    }
    printer.columns_ = TRY(parse_columns(options.columns));
    return printer;
}

void Printer::put_header(Output& output) const {
    if (form_ == Form::kCsv) {
        csv_.append_header(output.line());
        output.line() += '\r';
        output.end_line();
    }
}

void Printer::put(Output& output, const Entry& entry) const {
    if (form_ == Form::kCsv) {
        csv_.append_row(output.line(), entry);
        output.line() += '\r';
        output.end_line();
        return;
    }
    inspect::put(output, entry, columns_.text,
                 form_ == Form::kJson ? Format::kJson : Format::kText);
}

void Printer::put(Output& output, const Event& event) const {
    if (form_ == Form::kCsv) {
        csv_.append_row(output.line(), event);
        output.line() += '\r';
        output.end_line();
        return;
    }
    inspect::put(output, event, columns_.text,
                 form_ == Form::kJson ? Format::kJson : Format::kText);
}

void Printer::put(Output& output, const Gap& gap) const {
    switch (form_) {
        case Form::kText: output.line() += to_text(gap); break;
        case Form::kJson: output.line() += process::to_text(json{{"gap", to_json(gap)}}); break;
        case Form::kCsv:
            csv_.append_mark(output.line(), gap.stage == Gap::Stage::kNoticed ? "GAP" : "GAP_END",
                             gap.stage == Gap::Stage::kNoticed ? gap.from_ns : gap.until_ns);
            output.line() += '\r';
            break;
    }
    output.end_line();
}

void Printer::put_summary(Output& output, const WatchTotals& totals) const {
    if (form_ != Form::kJson) {
        return;
    }
    output.line() += process::to_text(json{{"summary",
                                            {{"events", to_json(totals.shown)},
                                             {"missed", to_json(totals.missed)},
                                             {"gaps", totals.gaps},
                                             {"gaps_open", totals.gaps_open},
                                             {"overruns", totals.overruns},
                                             {"unreadable", totals.unreadable}}}});
    output.end_line();
}

}  // namespace pathproof::cli::inspect
