#include "harness/history/store.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/compare/compare.h"
#include "harness/history/schema.h"
#include "harness/process/json_text.h"
#include "harness/process/sha256.h"
#include "harness/report/text.h"

namespace pathproof::history {
namespace {

using verdict::Cell;
using verdict::CellVerdict;
using verdict::Measure;
using verdict::RunResult;
using verdict::ScenarioResult;

std::int64_t integer_of(const Field& field) {
    std::int64_t number = 0;
    if (field) {
        std::from_chars(field->data(), field->data() + field->size(), number);
    }
    return number;
}

double number_of(const Field& field) {
    double number = 0;
    if (field) {
        std::from_chars(field->data(), field->data() + field->size(), number);
    }
    return number;
}

Parameter integer(std::size_t number) {
    return static_cast<std::int64_t>(number);
}

std::string trials_text(const std::vector<double>& trials) {
    return fmt::format("{}", fmt::join(trials, " "));
}

std::vector<double> read_trials(const std::string& text) {
    std::vector<double> trials;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        double trial = 0;
        const auto read = std::from_chars(at, end, trial);
        if (read.ec != std::errc()) {
            break;
        }
        trials.push_back(trial);
        at = read.ptr + (read.ptr < end ? 1 : 0);
    }
    return trials;
}

// Devices under test, by the facts that tell one from another.
std::string identity_of(const verdict::FactGroup& group, std::string_view title) {
    std::string facts;
    for (const verdict::Fact& fact : group.facts) {
        const bool identifies =
            fact.name == "driver" || fact.name == "firmware" || fact.name == "bus";
        if (identifies && fact.status == verdict::Fact::Status::kRead && !fact.value.empty()) {
            facts += fmt::format("{}{} {}", facts.empty() ? ": " : ", ", fact.name, fact.value);
        }
    }
    std::string_view name = std::string_view(group.title).substr(title.size());
    return std::string(name.substr(0, name.find(':'))) + facts;
}

std::string environment_text(const RunResult& run) {
    nlohmann::ordered_json groups = nlohmann::ordered_json::array();
    for (const verdict::FactGroup& group : compare::lasting_facts(run.environment)) {
        nlohmann::ordered_json facts = nlohmann::ordered_json::array();
        for (const verdict::Fact& fact : group.facts) {
            facts.push_back({fact.name, fact.value, static_cast<int>(fact.status)});
        }
        groups.push_back({group.title, std::move(facts)});
    }
    return process::to_text(groups);
}

std::vector<verdict::FactGroup> read_facts(const std::string& text) {
    std::vector<verdict::FactGroup> groups;
    for (const auto& group : process::json_or_null(text)) {
        verdict::FactGroup& read = groups.emplace_back();
        read.title = process::text_of(group.at(0));
        for (const auto& fact : group.at(1)) {
            const auto status = process::number_of(fact.at(2));
            read.facts.push_back({.name = process::text_of(fact.at(0)),
                                  .value = process::text_of(fact.at(1)),
                                  .status = static_cast<verdict::Fact::Status>(status)});
        }
    }
    return groups;
}

constexpr const char* kRunColumns =
    "run_key, id, started_at, seconds, version, command, lab, profile, evidence_class, device, "
    "kernel, verdict, exit_code, passed, failed, others, reason, environment_key";

RunRow run_of(const Row& row) {
    const auto text = [&](std::size_t at) { return row[at].value_or(""); };
    return {.key = integer_of(row[0]),
            .id = text(1),
            .started_at = text(2),
            .seconds = number_of(row[3]),
            .version = text(4),
            .command = text(5),
            .lab = text(6),
            .profile = text(7),
            .evidence_class = text(8),
            .device = text(9),
            .kernel = text(10),
            .verdict = text(11),
            .exit_code = row[12] ? std::optional(integer_of(row[12])) : std::nullopt,
            .passed = integer_of(row[13]),
            .failed = integer_of(row[14]),
            .others = integer_of(row[15]),
            .reason = text(16),
            .environment = row[17] ? std::optional(integer_of(row[17])) : std::nullopt};
}

FigureRow figure_of(const Row& row, std::size_t from) {
    FigureRow figure{.id = row[from].value_or(""), .value = number_of(row[from + 1])};
    if (row[from + 2] && row[from + 3]) {
        figure.interval = verdict::Interval{number_of(row[from + 2]), number_of(row[from + 3])};
    }
    figure.unit = row[from + 4].value_or("");
    figure.trials = read_trials(row[from + 5].value_or(""));
    return figure;
}

// A pattern with * and ? as one of LIKE, for both kinds of database.
std::string like_pattern(const std::string& pattern) {
    std::string like;
    for (const char each : pattern) {
        switch (each) {
            case '*': like += '%'; break;
            case '?': like += '_'; break;
            case '%':
            case '_':
            case '!': like += '!'; [[fallthrough]];
            default: like += each;
        }
    }
    return like;
}

// " WHERE a LIKE $1 AND ..." and what its parameters are.
struct Condition {
    std::string text = {};
    std::vector<Parameter> parameters = {};

    void add(const std::string& column, const char* is, const std::string& value) {
        if (!value.empty()) {
            parameters.emplace_back(value);
            text +=
                fmt::format("{} {} {} ${}{}", text.empty() ? " WHERE" : " AND", column, is,
                            parameters.size(), std::string_view(is) == "LIKE" ? " ESCAPE '!'" : "");
        }
    }
};

Condition condition_of(const Filter& filter) {
    Condition condition;
    condition.add("device", "LIKE", like_pattern(filter.device));
    condition.add("lab", "LIKE", like_pattern(filter.lab));
    condition.add("verdict", "=", filter.verdict);
    condition.add("started_at", ">=", filter.since);
    // All of the last day: "T" sorts behind every digit and "U" behind "T".
    condition.add("started_at", "<", filter.until.empty() ? "" : filter.until + "U");
    condition.text += " ORDER BY started_at DESC, run_key DESC";
    condition.text += filter.last == 0 ? "" : fmt::format(" LIMIT {}", filter.last);
    return condition;
}

// Names that match one of the patterns, in the runs of a filter; `table` has their values.
Condition matching(const std::string& table, const std::vector<std::string>& patterns,
                   const Filter& filter) {
    Condition all = condition_of(filter);
    all.text = fmt::format(" WHERE {}.run_key IN (SELECT run_key FROM runs{})", table, all.text);
    std::string any;
    for (const std::string& pattern : patterns) {
        all.parameters.emplace_back(like_pattern(pattern));
        any += fmt::format("{}n.name LIKE ${} ESCAPE '!'", any.empty() ? "" : " OR ",
                           all.parameters.size());
    }
    all.text += any.empty() ? "" : " AND (" + any + ")";
    return all;
}

// All that a run has, ready to be inserted.
struct Contents {
    std::vector<std::pair<std::string, const Cell*>> cells;
    std::vector<std::pair<std::string, const Measure*>> figures;
    std::size_t passed = 0, failed = 0, others = 0;
};

Contents contents_of(const RunResult& run) {
    Contents contents;
    std::set<std::string> ids;
    for (const ScenarioResult& scenario : run.scenarios) {
        for (const Cell& cell : all_cells(scenario)) {
            const std::string id = verdict::cell_id(scenario.id, cell);
            if (!ids.insert(id).second) {
                continue;
            }
            contents.cells.emplace_back(id, &cell);
            const bool failed = verdict::fails(cell.verdict);
            const bool passed = cell.verdict == CellVerdict::kPass;
            contents.passed += passed ? 1 : 0;
            contents.failed += failed ? 1 : 0;
            contents.others += !passed && !failed ? 1 : 0;
            for (const Measure& measure : cell.measures) {
                if (measure.value.is_number() && std::isfinite(measure.value.number())) {
                    contents.figures.emplace_back(id + "/" + measure.name, &measure);
                }
            }
        }
    }
    return contents;
}

}  // namespace

std::string device_of(const RunResult& run) {
    std::string devices;
    for (const verdict::FactGroup& group : run.environment) {
        for (const std::string_view title :
             {"DUT device ", "Device under test ", "Underlay device "}) {
            if (group.title.starts_with(title)) {
                devices += (devices.empty() ? "" : "; ") + identity_of(group, title);
            }
        }
    }
    return devices;
}

Result<Store> Store::open(const Target& target, Access access, std::chrono::milliseconds patience) {
    auto database = TRY(open_database(target, access, patience));
    if (access == Access::kRead && TRY(database->count_tables()) == 0) {
        return fail(ErrorCode::kNotFound, "{} has no history: runs of qualify and repro write one",
                    target.shown);
    }
    TRY(migrate(*database, target));
    return Store(std::move(database));
}

Result<bool> Store::add(const RunResult& run, std::optional<int> exit_code) {
    TRY(database_->begin());
    auto added = insert(run, exit_code);
    const Status committed = added && *added ? database_->commit() : Status();
    if (!added || !*added || !committed) {
        database_->rollback();
    }
    return committed ? added : Result<bool>(pass_on(committed.error()));
}

Result<bool> Store::insert(const RunResult& run, std::optional<int> exit_code) {
    const Contents contents = contents_of(run);
    const auto environment = TRY(environment_key(run));
    const auto inserted = TRY(database_->query(
        "INSERT INTO runs (id, started_at, seconds, version, command, lab, profile, "
        "evidence_class, device, kernel, verdict, exit_code, passed, failed, others, reason, "
        "environment_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
        "$15, $16, $17) ON CONFLICT (id) DO NOTHING RETURNING run_key",
        {run.id, run.started_at, run.seconds, run.version, run.repeat_command, run.lab, run.profile,
         run.evidence_class, device_of(run), report::fact_of(run, "Kernel", "release"),
         std::string(verdict::name(run.verdict)),
         exit_code ? Parameter(std::int64_t{*exit_code}) : Parameter(), integer(contents.passed),
         integer(contents.failed), integer(contents.others),
         run.reasons.empty() ? std::string() : run.reasons.front(), environment}));
    if (inserted.empty()) {
        return false;
    }
    const std::int64_t key = integer_of(inserted[0][0]);
    std::vector<std::string> names;
    for (const auto& [id, cell] : contents.cells) {
        names.push_back(id);
    }
    for (const auto& [id, measure] : contents.figures) {
        names.push_back(id);
    }
    const auto keys = TRY(keys_of(names));
    std::vector<Parameter> values;
    for (const auto& [id, cell] : contents.cells) {
        values.insert(values.end(),
                      {keys.at(id), key, std::string(verdict::name(cell->verdict)), cell->cause});
    }
    TRY(insert_rows("cells (name_key, run_key, verdict, cause)", 4, values));
    values.clear();
    for (const auto& [id, measure] : contents.figures) {
        const auto& interval = measure->interval;
        values.insert(values.end(), {keys.at(id), key, measure->value.number(),
                                     interval ? Parameter(interval->low) : Parameter(),
                                     interval ? Parameter(interval->high) : Parameter(),
                                     measure->unit, trials_text(measure->trials)});
    }
    TRY(insert_rows("figures (name_key, run_key, value, low, high, unit, trials)", 7, values));
    return true;
}

// Many rows a statement: a server is not asked once a row.
Status Store::insert_rows(const std::string& into, std::size_t columns,
                          const std::vector<Parameter>& values) {
    constexpr std::size_t kRowsAtOnce = 200;
    const std::size_t step = kRowsAtOnce * columns;
    for (std::size_t from = 0; from < values.size(); from += step) {
        const std::vector<Parameter> some(
            values.begin() + static_cast<std::ptrdiff_t>(from),
            values.begin() + static_cast<std::ptrdiff_t>(std::min(from + step, values.size())));
        std::string text = "INSERT INTO " + into + " VALUES ";
        for (std::size_t at = 0; at < some.size(); ++at) {
            const char* const new_row = at == 0 ? "(" : "), (";
            text += fmt::format("{}${}", at % columns == 0 ? new_row : ", ", at + 1);
        }
        TRY(database_->query(text + ")", some));
    }
    return {};
}

// Keys of names, each of which is there afterwards.
Result<std::map<std::string, std::int64_t>> Store::keys_of(const std::vector<std::string>& names) {
    std::map<std::string, std::int64_t> keys;
    const auto read = [&]() -> Status {
        for (const Row& row : TRY(database_->query("SELECT name, name_key FROM names"))) {
            keys[*row[0]] = integer_of(row[1]);
        }
        return {};
    };
    TRY(read());
    // Sorted: two programs that add the same names do not wait for each other.
    std::set<std::string> missing(names.begin(), names.end());
    std::erase_if(missing, [&](const std::string& name) { return keys.contains(name); });
    if (missing.empty()) {
        return keys;
    }
    for (const std::string& name : missing) {
        TRY(database_->query("INSERT INTO names (name) VALUES ($1) ON CONFLICT (name) DO NOTHING",
                             {name}));
    }
    TRY(read());
    return keys;
}

Result<std::int64_t> Store::environment_key(const RunResult& run) {
    const std::string text = environment_text(run);
    const std::string digest = process::sha256_of(text);
    TRY(
        database_->query("INSERT INTO environments (digest, document) VALUES ($1, $2) ON CONFLICT "
                         "(digest) DO NOTHING",
                         {digest, text}));
    const auto rows = TRY(
        database_->query("SELECT environment_key FROM environments WHERE digest = $1", {digest}));
    return integer_of(rows.at(0)[0]);
}

Result<std::vector<RunRow>> Store::list(const Filter& filter) {
    const Condition condition = condition_of(filter);
    const auto rows = TRY(database_->query(
        fmt::format("SELECT {} FROM runs{}", kRunColumns, condition.text), condition.parameters));
    std::vector<RunRow> runs;
    runs.reserve(rows.size());
    for (const Row& row : rows) {
        runs.push_back(run_of(row));
    }
    return runs;
}

Result<std::int64_t> Store::count() {
    const auto rows = TRY(database_->query("SELECT COUNT(*) FROM runs"));
    return integer_of(rows.at(0)[0]);
}

Result<RunRow> Store::find(const std::string& id) {
    const auto rows = TRY(database_->query(
        fmt::format("SELECT {} FROM runs WHERE id LIKE $1 ESCAPE '!' LIMIT 2", kRunColumns),
        {boost::replace_all_copy(
             boost::replace_all_copy(boost::replace_all_copy(id, "!", "!!"), "%", "!%"), "_",
             "!_") +
         "%"}));
    if (rows.empty()) {
        return fail(
            ErrorCode::kNotFound,
            "no run of the history has an id that begins with '{}' (pathproof history list)", id);
    }
    if (rows.size() > 1) {
        return fail(ErrorCode::kBadInput, "several runs have ids that begin with '{}'", id);
    }
    return run_of(rows[0]);
}

Result<std::vector<CellRow>> Store::cells(const RunRow& run) {
    const auto rows = TRY(database_->query(
        "SELECT n.name, c.verdict, c.cause FROM cells c JOIN names n ON n.name_key = c.name_key "
        "WHERE c.run_key = $1 ORDER BY n.name",
        {run.key}));
    std::vector<CellRow> cells;
    for (const Row& row : rows) {
        cells.push_back({row[0].value_or(""), row[1].value_or(""), row[2].value_or("")});
    }
    return cells;
}

Result<std::vector<FigureRow>> Store::figures(const RunRow& run) {
    const auto rows = TRY(database_->query(
        "SELECT n.name, f.value, f.low, f.high, f.unit, f.trials FROM figures f JOIN names n ON "
        "n.name_key = f.name_key WHERE f.run_key = $1 ORDER BY n.name",
        {run.key}));
    std::vector<FigureRow> figures;
    for (const Row& row : rows) {
        figures.push_back(figure_of(row, 0));
    }
    return figures;
}

Result<Store::Series<CellRow>> Store::cell_series(const std::vector<std::string>& patterns,
                                                  const Filter& filter) {
    const Condition chosen = matching("c", patterns, filter);
    const auto rows = TRY(database_->query(
        "SELECT c.run_key, n.name, c.verdict, c.cause FROM names n JOIN cells c ON n.name_key = "
        "c.name_key" +
            chosen.text,
        chosen.parameters));
    Series<CellRow> series;
    for (const Row& row : rows) {
        series[*row[1]].emplace_back(integer_of(row[0]),
                                     CellRow{*row[1], row[2].value_or(""), row[3].value_or("")});
    }
    return series;
}

Result<Store::Series<FigureRow>> Store::figure_series(const std::vector<std::string>& patterns,
                                                      const Filter& filter) {
    const Condition chosen = matching("f", patterns, filter);
    const auto rows = TRY(database_->query(
        "SELECT f.run_key, n.name, f.value, f.unit FROM names n JOIN figures f ON n.name_key = "
        "f.name_key" +
            chosen.text,
        chosen.parameters));
    Series<FigureRow> series;
    for (const Row& row : rows) {
        FigureRow figure{.id = *row[1], .value = number_of(row[2])};
        figure.unit = row[3].value_or("");
        series[*row[1]].emplace_back(integer_of(row[0]), std::move(figure));
    }
    return series;
}

Result<std::vector<verdict::FactGroup>> Store::environment(std::int64_t key) {
    const auto rows = TRY(
        database_->query("SELECT document FROM environments WHERE environment_key = $1", {key}));
    return rows.empty() ? std::vector<verdict::FactGroup>() : read_facts(rows[0][0].value_or(""));
}

}  // namespace pathproof::history
