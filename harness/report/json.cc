#include "harness/report/json.h"

#include "harness/message/fields.h"
#include "harness/process/json_text.h"
#include "harness/report/badge.h"
#include "harness/report/coverage.h"
#include "harness/verdict/findings.h"
#include "harness/verdict/preflight.h"

namespace pathproof::report {
namespace {

using nlohmann::ordered_json;
using namespace verdict;

const char* name(Bar::Kind kind) {
    switch (kind) {
        case Bar::Kind::kGood: return "good";
        case Bar::Kind::kBad: return "bad";
        case Bar::Kind::kNeutral: break;
    }
    return "neutral";
}

const char* name(Fact::Status status) {
    switch (status) {
        case Fact::Status::kRead: return "read";
        case Fact::Status::kDenied: return "denied";
        case Fact::Status::kAbsent: break;
    }
    return "absent";
}

// Lists of strings and what else the library takes as it is.
template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::same_as<T, std::string> ||
    std::same_as<T, std::vector<std::string>> ||
    std::same_as<T, std::vector<std::vector<std::string>>>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// fields(archive, value) names each field of a type once, in the order in which people read them: a
// Writer puts them out, a Reader takes them in.
class Writer {
  public:
    static constexpr bool kReads = false;

    template <typename T, typename... More>
    void operator()(const char* key, const T& value, const More&... more) {
        out_[key] = write(value);
        if constexpr (sizeof...(more) != 0) {
            (*this)(more...);
        }
    }
    // Writes a field that follows from other fields; a Reader skips it.
    template <typename T>
    void derived(const char* key, const T& value) {
        out_[key] = write(value);
    }
    // Returns whether the document has the field.
    bool has(const char*, bool there) const { return there; }
    template <typename T>
    void optional(const char* key, bool there, const T& value) {
        if (there) {
            (*this)(key, value);
        }
    }

    template <typename T>
    static ordered_json write(const T& value) {
        if constexpr (Plain<T>) {
            return value;
        } else if constexpr (std::is_enum_v<T>) {
            return name(value);
        } else {
            Writer writer;
            fields(writer, const_cast<T&>(value));  // a Writer only reads
            return std::move(writer.out_);
        }
    }
    template <typename T>
    static ordered_json write(const std::optional<T>& value) {
        return value ? write(*value) : ordered_json(nullptr);
    }
    template <typename T>
    static ordered_json write(const std::shared_ptr<const T>& value) {
        return write(*value);
    }
    template <typename T>
    requires(!Plain<std::vector<T>>) static ordered_json write(const std::vector<T>& values) {
        ordered_json all = ordered_json::array();
        for (const T& value : values) {
            all.push_back(write(value));
        }
        return all;
    }
    static ordered_json write(const Pairs& pairs) {
        ordered_json all = ordered_json::object();
        for (const auto& [key, value] : pairs) {
            all[key] = value;
        }
        return all;
    }
    static ordered_json write(const std::vector<Measure>& measures) {
        ordered_json all = ordered_json::object();
        for (const Measure& measure : measures) {
            all[measure.name] = write(measure);
        }
        return all;
    }
    static ordered_json write(const ScenarioOptions& options) {
        ordered_json all = ordered_json::object();
        for (const auto& [option, value] : options) {
            if (value.number) {
                all[option] = *value.number;
            } else if (value.text.empty()) {
                all[option] = true;
            } else {
                all[option] = value.text;
            }
        }
        return all;
    }
    static ordered_json write(const Value& value) {
        return std::visit(
            []<typename Held>(const Held& held) -> ordered_json {
                if constexpr (std::same_as<Held, std::monostate>) {
                    return nullptr;
                } else {
                    return held;
                }
            },
            value.kinds());
    }

  private:
    ordered_json out_ = ordered_json::object();
};

// The schema has been checked before.
class Reader {
  public:
    static constexpr bool kReads = true;
    static constexpr int kMostValues = 16;  // of an enum

    explicit Reader(const ordered_json& from) : from_(from) {}

    template <typename T, typename... More>
    void operator()(const char* key, T& value, More&... more) {
        read(from_.at(key), value);
        if constexpr (sizeof...(more) != 0) {
            (*this)(more...);
        }
    }
    template <typename T>
    void derived(const char*, const T&) {}
    bool has(const char* key, bool) const { return from_.contains(key); }
    template <typename T>
    void optional(const char* key, bool, T& value) {
        if (has(key, true)) {
            (*this)(key, value);
        }
    }

    template <typename T>
    static void read(const ordered_json& from, T& value) {
        if constexpr (Plain<T>) {
            from.get_to(value);
        } else if constexpr (std::is_enum_v<T>) {
            // The first of its name: what is no value of the enum has the name of one that is.
            for (int each = kMostValues; each-- > 0;) {
                value = from == name(static_cast<T>(each)) ? static_cast<T>(each) : value;
            }
        } else {
            Reader reader(from);
            fields(reader, value);
        }
    }
    template <typename T>
    static void read(const ordered_json& from, std::optional<T>& value) {
        value.reset();
        if (!from.is_null()) {
            read(from, value.emplace());
        }
    }
    template <typename T>
    static void read(const ordered_json& from, std::shared_ptr<const T>& value) {
        auto all = std::make_shared<T>();
        read(from, *all);
        value = std::move(all);
    }
    template <typename T>
    requires(!Plain<std::vector<T>>) static void read(const ordered_json& from,
                                                      std::vector<T>& values) {
        for (const ordered_json& each : from) {
            read(each, values.emplace_back());
        }
    }
    static void read(const ordered_json& from, Pairs& pairs) {
        for (const auto& [key, value] : from.items()) {
            pairs.emplace_back(key, value);
        }
    }
    static void read(const ordered_json& from, std::vector<Measure>& measures) {
        for (const auto& [key, value] : from.items()) {
            read(value, measures.emplace_back());
            measures.back().name = key;
        }
    }
    static void read(const ordered_json& from, ScenarioOptions& options) {
        for (const auto& [option, value] : from.items()) {
            if (value.is_boolean()) {
                options[option] = verdict::OptionValue();
            } else if (value.is_string()) {
                options[option] = value.get<std::string>();
            } else {
                options[option] = value.get<std::uint64_t>();
            }
        }
    }
    // The schema allows no lists or objects here.
    static void read(const ordered_json& from, Value& value) {
        switch (from.type()) {
            case ordered_json::value_t::boolean: value = from.get<bool>(); break;
            case ordered_json::value_t::number_integer: value = from.get<std::int64_t>(); break;
            case ordered_json::value_t::number_unsigned: value = from.get<std::uint64_t>(); break;
            case ordered_json::value_t::number_float: value = from.get<double>(); break;
            case ordered_json::value_t::string: value = from.get<std::string>(); break;
            default: value = {};
        }
    }

  private:
    const ordered_json& from_;
};

FIELDS(Interval, low, high)

void fields(auto& archive, EvidenceFile& all) {
    archive("path", all.path, "description", all.description);
    archive.optional("sha256", !all.sha256.empty(), all.sha256);
}

void fields(auto& archive, Measure& all) {
    archive("value", all.value, "unit", all.unit, "interval", all.interval, "label", all.label,
            "note", all.note);
    archive.optional("trials", !all.trials.empty(), all.trials);
}

void fields(auto& archive, Runs& all) {
    archive("n", all.n, "failed", all.failed);
    archive.derived("interval", share_of(all).interval);
    archive("kept", all.kept);
}

FIELDS(Waiver, reason, link, approver, until)

void fields(auto& archive, Cell& all) {
    archive("id", all.id, "toggles", all.toggles, "role", all.role, "verdict", all.verdict,
            "reason", all.reason, "cause", all.cause);
    archive.optional("known", !all.known.empty(), all.known);
    archive.optional("waiver", all.waiver.has_value(), all.waiver);
    archive.optional("new", all.fresh, all.fresh);
    archive.optional("runs", all.runs.has_value(), all.runs);
    archive.optional("seconds", all.seconds.has_value(), all.seconds);
    archive("measures", all.measures, "evidence", all.evidence);
}

FIELDS(Proof, title, columns, rows, conclusion)
FIELDS(Bar, label, value, interval, kind)
FIELDS(Curve::Point, x, y, interval)
FIELDS(Curve, label, points)
FIELDS(AxisMark, label, low, middle, high)

void fields(auto& archive, Chart& all) {
    archive("title", all.title, "unit", all.unit, "maximum", all.maximum, "bars", all.bars);
    if (archive.has("curves", !all.curves.empty())) {
        archive("x_label", all.x_label, "curves", all.curves, "marks", all.marks);
    }
}

FIELDS(Observation, observed, frames, wrong, names, cell, note)
FIELDS(KnownErratum, id, title, workaround, source, certainty)
FIELDS(TruthRow, offload, direction, expected, advertised, observed, finding, errata)
FIELDS(TruthTable, title, device, conditions, rows, excluded)
FIELDS(CalibrationRow, id, fault, detected, named, located, given_name, changed, caught, note)
FIELDS(Calibration::Confusion, planted, given, count)
FIELDS(Calibration, instrument, seed, faults, open_world, judge_mutants, healthy_frames,
       false_alarms, pairs, pairs_both_named, pairs_masked, pairs_missed, confusion)
FIELDS(Repetition, seed, verdict, headline)
FIELDS(Part, became, reason, cells)

void fields(auto& archive, ScenarioResult& all) {
    archive("id", all.id, "title", all.title, "question", all.question, "verdict", all.verdict,
            "part", all.part, "headline", all.headline, "cause", all.cause, "cure", all.cure,
            "cure_shown", all.cure_shown, "before_cell", all.before_cell, "after_cell",
            all.after_cell, "explanation", all.explanation, "cells", all.cells);
    if constexpr (std::decay_t<decltype(archive)>::kReads) {
        archive("controls", all.controls);
    } else {
        std::vector<Cell> controls = all.controls;
        for (Cell& control : controls) {
            control.role = role_among_controls(control);
        }
        archive("controls", controls);
    }
    archive("proofs", all.proofs, "charts", all.charts, "truth_tables", all.truth_tables,
            "calibration", all.calibration, "unexplained", all.unexplained, "evidence",
            all.evidence, "seconds", all.seconds);
    archive.optional("area", true, all.area);
    archive.optional("planned", !all.planned.empty(), all.planned);
    archive.derived("coverage", coverage_of(all).parts);
    if (archive.has("repetitions", !all.repetitions.empty())) {
        archive("repetitions", all.repetitions);
        archive.optional("kept", true, all.kept);
    }
}

void fields(auto& archive, Fact& all) {
    auto value = all.status == Fact::Status::kRead ? std::optional(all.value) : std::nullopt;
    archive("name", all.name, "value", value, "status", all.status, "source", all.source);
    if constexpr (std::decay_t<decltype(archive)>::kReads) {
        all.value = value.value_or("");
    }
}

FIELDS(FactGroup, title, facts)

void fields(auto& archive, RunOptions& all) {
    std::string lab = to_text(all.lab);
    archive("command", all.command, "lab", lab, "profile", all.profile, "scenarios", all.scenarios,
            "cells", all.cells);
    if constexpr (std::decay_t<decltype(archive)>::kReads) {
        all.lab = parse_lab_request(lab);
    }
    archive.optional("of_scenarios", true, all.of_scenarios);
    archive("repeat", all.repeat, "no_hugepages", all.no_hugepages);
    archive.optional("serials", all.serials, all.serials);
    archive.optional("prices", true, all.prices);
    archive.optional("performance", all.performance.has_value(), all.performance);
    archive.optional("limits", !all.limits.empty(), all.limits);
    archive.optional("requirements", !all.requirements.empty(), all.requirements);
    archive("device", all.device, "netns", all.netns, "tester", all.tester, "tester_netns",
            all.tester_netns, "quick", all.quick);
    archive.optional("path_proven_by", !all.path_proven_by.empty(), all.path_proven_by);
    // Reports before 2026-12 have two options of scenarios beside the others.
    std::uint64_t pairs = 0;
    bool full = false;
    archive.optional("pairs", false, pairs);
    archive.optional("full", false, full);
    if (pairs != 0) {
        all.of_scenarios["pairs"] = pairs;
    }
    if (full) {
        all.of_scenarios["full"] = std::nullopt;
    }
}

FIELDS(PriceRow, id, text)

void fields(auto& archive, PriceCell& all) {
    archive.derived("id", all.cure + "/" + all.probe);
    archive("cure", all.cure, "probe", all.probe, "effect", all.effect, "without", all.without,
            "with", all.with, "reason", all.reason);
}

void fields(auto& archive, Cost& all) {
    archive.derived("id", all.cure + "/" + all.load + "/" + all.figure);
    archive("cure", all.cure, "load", all.load, "figure", all.figure, "verdict", all.verdict,
            "without", all.without, "with", all.with, "more", all.more);
    if constexpr (std::decay_t<decltype(archive)>::kReads) {
        all.without.name = "without";
        all.with.name = "with";
        all.more.name = "more";
    }
}

void fields(auto& archive, PriceTable& all) {
    archive("kernel", all.key.kernel, "version", all.key.version, "tools", all.key.tools,
            "measured_at", all.measured_at, "seconds", all.seconds, "cures", all.cures, "probes",
            all.probes, "loads", all.loads, "cells", all.cells, "costs", all.costs);
}

void fields(auto& archive, Parties& all) {
    archive("laboratory", all.laboratory, "place", all.place, "customer", all.customer, "operator",
            all.operator_name);
    archive.optional("plan_id", !all.plan_id.empty(), all.plan_id);
    archive.optional("plan_revision", !all.plan_revision.empty(), all.plan_revision);
    archive.optional("received", !all.received.empty(), all.received);
    archive.optional("condition", !all.condition.empty(), all.condition);
}

FIELDS(Amendment, id, sha256, reason)
FIELDS(Reading, name, unit, begin, end, source)
FIELDS(FirmwareComponent, name, running, stored)
FIELDS(Item, device, title, identity, firmware, driver, module, readings)
FIELDS(KernelMessage, seconds, kind, text, trace, subject, against)

void fields(auto& archive, HostWatch& all) {
    archive("host", all.host, "log", all.log, "lines", all.lines, "lost", all.lost, "messages",
            all.messages, "taint_before", all.taint_before, "taint_after", all.taint_after,
            "temperatures", all.temperatures);
}

FIELDS(KeyFinding, scenario, area, state, headline, cause, cure, price)

// An area's cells by their verdicts, and the failures that a baseline knows.
struct AreaCounts {
    std::uint64_t planned = 0, executed = 0, passed = 0, failed = 0, unstable = 0, no_verdict = 0,
                  skipped = 0, not_run = 0, not_testable = 0, known = 0, fresh = 0;
};

void fields(auto& archive, AreaCounts& all) {
    archive("planned", all.planned, "executed", all.executed, "passed", all.passed, "failed",
            all.failed, "unstable", all.unstable, "no_verdict", all.no_verdict, "skipped",
            all.skipped, "not_run", all.not_run, "not_testable", all.not_testable, "known",
            all.known, "new", all.fresh);
}

struct AreaLine {
    AreaVerdict judged;
    AreaCounts cells;
};

void fields(auto& archive, AreaLine& all) {
    archive("area", all.judged.area, "verdict", all.judged.verdict, "sentence", all.judged.sentence,
            "cells", all.cells);
}

std::vector<AreaLine> area_lines(const std::vector<ScenarioResult>& scenarios) {
    std::vector<AreaLine> lines;
    for (const AreaVerdict& judged : judge_areas(scenarios)) {
        AreaLine line{judged, {}};
        for (const ScenarioResult& scenario : scenarios) {
            if (scenario.area != judged.area) {
                continue;
            }
            const Coverage coverage = coverage_of(scenario);
            AreaCounts& cells = line.cells;
            cells.planned += coverage.planned;
            cells.executed += coverage.executed();
            cells.passed += coverage.count(Became::kPassed);
            cells.failed += coverage.count(Became::kFailed);
            cells.unstable += coverage.count(Became::kUnstable);
            cells.no_verdict += coverage.count(Became::kNoVerdict);
            cells.skipped += coverage.count(Became::kSkipped);
            cells.not_run += coverage.count(Became::kNotRun);
            cells.not_testable += coverage.count(Became::kNotTestable);
            for (const Cell& cell : all_cells(scenario)) {
                cells.known += cell.known.empty() ? 0 : 1;
                cells.fresh += cell.fresh ? 1 : 0;
            }
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

FIELDS(Preflight::Check, outcome, of, what, found)
FIELDS(Preflight::Port, host, name, device, driver, firmware, mac, addresses, link_mbps, mtu,
       numa_node, pcie)
FIELDS(Preflight::Cable, port, device, proof, found)

void fields(auto& archive, Preflight& all) {
    archive("checks", all.checks, "ports", all.ports, "cables", all.cables);
    archive.derived("topology_svg", topology_svg(all));
}

void fields(auto& archive, RunResult& all) {
    archive.derived("schema", std::string("pathproof-report/1"));
    archive("verdict", all.verdict, "reasons", all.reasons, "evidence_class", all.evidence_class,
            "evidence_note", all.evidence_note, "command", all.command, "repeat_command",
            all.repeat_command, "seed", all.seed, "lab", all.lab, "profile", all.profile, "version",
            all.version, "started_at", all.started_at, "seconds", all.seconds, "environment",
            all.environment, "scenarios", all.scenarios);
    archive.derived("areas", area_lines(all.scenarios));
    archive.derived("findings", key_findings(all.scenarios));
    archive.derived("meaning", meaning(all));
    archive.optional("id", !all.id.empty(), all.id);
    archive.optional("parties", !(all.parties == Parties{}), all.parties);
    archive.optional("ended_at", !all.ended_at.empty(), all.ended_at);
    archive.optional("issued_at", !all.issued_at.empty(), all.issued_at);
    archive.optional("amends", all.amends.has_value(), all.amends);
    archive.optional("items", !all.items.empty(), all.items);
    archive.optional("meanwhile", !all.meanwhile.empty(), all.meanwhile);
    archive.optional("options", !all.options.command.empty(), all.options);
    archive.optional("prices", all.prices != nullptr, all.prices);
    archive.optional("preflight", all.preflight != nullptr, all.preflight);
}

template <typename T>
T read(const ordered_json& from) {
    T value;
    Reader::read(from, value);
    return value;
}

}  // namespace

ordered_json to_json(const Calibration& calibration) {
    return Writer::write(calibration);
}

ordered_json to_json(const PriceTable& table) {
    return Writer::write(table);
}

ordered_json to_json(const RunResult& run) {
    return Writer::write(run);
}

std::string json_text(const RunResult& run) {
    return process::to_text(to_json(run), 2) + "\n";
}

std::string json_line(const RunResult& run) {
    return process::to_text(to_json(run));
}

Result<PriceTable> price_table(const ordered_json& from) {
    TRY(validate_price_table(from));
    try {
        PriceTable table = read<PriceTable>(from);
        TRY(check_prices(table));
        return table;
    } catch (const nlohmann::json::exception& wrong) {
        return fail(ErrorCode::kBadInput, "prices: {}", wrong.what());
    }
}

Result<RunResult> from_json(const std::string& text) {
    TRY(validate(text));
    try {
        auto document = process::ordered_json_or_null(text);
        if (document["verdict"] == "QUALIFIED WITH EXCEPTIONS") {  // as older reports have it
            document["verdict"] = name(RunVerdict::kConditionallyQualified);
        }
        return read<RunResult>(document);
    } catch (const nlohmann::json::exception& wrong) {
        return fail(ErrorCode::kBadInput, "report: {}", wrong.what());
    }
}

}  // namespace pathproof::report
