#include "harness/scenario/model/conclusions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "harness/scenario/model/tell.h"
#include "harness/setting/cures.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario::model {
namespace {

using verdict::Cell;
using verdict::ScenarioResult;
using verdict::ScenarioVerdict;
using CellRole = Cell::Role;

// Stage of telling, which decides the names that a text may use: those of a cell that is being
// concluded, of a concluded cell, of a cell while a finding is told, of such a cell beside named
// cells, of the whole scenario, of the scenario and a cure.
enum class Stage { kCell, kConcluded, kTold, kListed, kScenario, kCure };

enum class Kind { kFigure, kPhrase, kWord, kTotal, kListing, kSummary };

// Words that every scenario has, and the stage from which on.
enum class Word {
    kId,
    kLabel,
    kAgain,
    kIsMatrix,
    kIsControl,
    kIsCure,
    kIsDemonstration,
    kPasses,
    kFails,
    kSkipped,
    kMeasured,
    kCause,
    kReason,
    kOwn,
    kHarmed,
    kMeant,
    kFirst,
    kLeads,
    kCommand,
    kCureName,
    kIsShown,
    kWhy,
    kOutcome,
};
struct KnownWord {
    const char* name;
    Word word;
    Stage from;
};
constexpr KnownWord kWords[] = {
    {"id", Word::kId, Stage::kCell},
    {"label", Word::kLabel, Stage::kCell},
    {"again", Word::kAgain, Stage::kCell},
    {"is_matrix", Word::kIsMatrix, Stage::kCell},
    {"is_control", Word::kIsControl, Stage::kCell},
    {"is_cure", Word::kIsCure, Stage::kCell},
    {"is_demonstration", Word::kIsDemonstration, Stage::kCell},
    {"passed", Word::kPasses, Stage::kConcluded},
    {"fails", Word::kFails, Stage::kConcluded},
    {"skipped", Word::kSkipped, Stage::kConcluded},
    {"measured", Word::kMeasured, Stage::kConcluded},
    {"cause", Word::kCause, Stage::kConcluded},
    {"reason", Word::kReason, Stage::kConcluded},
    {"own", Word::kOwn, Stage::kConcluded},
    {"harmed", Word::kHarmed, Stage::kConcluded},
    {"meant", Word::kMeant, Stage::kTold},
    {"first", Word::kFirst, Stage::kTold},
    {"leads", Word::kLeads, Stage::kScenario},
    {"command", Word::kCommand, Stage::kCure},
    {"cure_name", Word::kCureName, Stage::kCure},
    {"is_shown", Word::kIsShown, Stage::kCure},
    {"why", Word::kWhy, Stage::kCure},
    {"outcome", Word::kOutcome, Stage::kCure},
};

// The cell that a name is about: the text's own, one with a cure, one after it, one that has a name.
constexpr int kOwnCell = 0;
constexpr int kCureCell = 1;
constexpr int kAgainCell = 2;
constexpr int kFirstNamedCell = 3;

struct Reference {
    Kind kind = Kind::kFigure;
    int index = 0;
    int cell = kOwnCell;
    bool operator==(const Reference&) const = default;
};

struct ParsedClause {
    Condition when;
    Sentence text;
    std::optional<int> counts;  // without a condition
};
using ParsedPhrase = std::vector<ParsedClause>;

struct ParsedRule {
    Condition when;
    Sentence cause, text;
};

struct ParsedCure {
    Condition with, again;
    Sentence outcome, text;
};

struct ParsedFinding {
    Condition of;
    Sentence headline, why;
    std::vector<ParsedCure> cures;
};

struct ParsedListing {
    Condition of;
    Sentence text;
};

struct ParsedTable {
    Condition of;
    std::vector<Sentence> columns;
};

using Facts = std::vector<CellFacts>;

}  // namespace

struct Program::Compiled {
    std::vector<FigureText> figures;
    ConclusionTexts texts;
    std::vector<std::string> problems;

    mutable std::vector<Reference> references;
    mutable std::set<std::string> used;  // names of the scenario

    std::vector<Condition> figures_where;
    std::vector<Sentence> toggles;
    std::vector<ParsedPhrase> phrases, summaries;
    std::vector<ParsedRule> rules;
    Condition own;
    Condition bar_of, computed_of;
    std::vector<ParsedTable> tables;
    Condition proof_of;
    Sentence proof_title, proof_conclusion;
    std::vector<Condition> totals_of;
    std::vector<int> totals_figure;
    std::vector<Condition> cells_of;
    std::vector<ParsedListing> listings;
    std::vector<ParsedFinding> findings;
    struct ParsedRemark {
        Condition about;
        Sentence text;
    };
    std::vector<ParsedRemark> remarks;
    Sentence otherwise;

    Compiled(std::vector<FigureText> given, ConclusionTexts conclusions);

    std::optional<Reference> find(const std::string& name, Stage stage,
                                  std::size_t phrases_before) const;
    int figure(const std::string& name);
    void check();
    void check_causes();
};

namespace {

// The names of one text.
class Scope : public Names {
  public:
    // `phrases_before`: how many phrases (or summaries) it may name, so that none names itself.
    Scope(const Program::Compiled& program, Stage stage,
          std::size_t phrases_before = static_cast<std::size_t>(-1))
        : program_(program), stage_(stage), phrases_before_(phrases_before) {}

    std::optional<int> find(const std::string& name) const override;
    std::string unit(int number) const override;
    bool may_lack(int number) const override;

  private:
    const Program::Compiled& program_;
    Stage stage_;
    std::size_t phrases_before_;
};

template <typename Texts>
int index_of(const Texts& texts, const std::string& name) {
    const auto at =
        std::ranges::find_if(texts, [&](const auto& each) { return each.name == name; });
    return at == texts.end() ? -1 : static_cast<int>(at - texts.begin());
}

// Subject of a finding.
struct Story {
    const Facts* cells = nullptr;
    const Condition* of = nullptr;
    const CellFacts* first = nullptr;
    bool leads = false;  // of the findings that are told
    const CellFacts* cure = nullptr;
    const CellFacts* again = nullptr;
    std::string command, cure_name, why, outcome;
};

class Telling : public Values {
  public:
    Telling(const Program::Compiled& program, const CellFacts* cell, const Story* story = nullptr)
        : program_(program), cell_(cell), story_(story) {}

    Value value(int number) const override;

    bool holds(const Condition& condition) const { return condition.holds(*this); }
    std::string text(const Sentence& sentence) const { return sentence.text(*this); }
    std::string text(const ParsedPhrase& phrase, const Phrase& how) const;

  private:
    const CellFacts* cell_of(int cell) const;
    Value word(Word word, const CellFacts& cell) const;
    Value total(std::size_t index) const;
    std::string listing(std::size_t index) const;

    const Program::Compiled& program_;
    const CellFacts* cell_;
    const Story* story_;
};

std::optional<int> Scope::find(const std::string& name) const {
    const auto reference = program_.find(name, stage_, phrases_before_);
    if (!reference) {
        return std::nullopt;
    }
    auto& references = program_.references;
    const auto at = std::ranges::find(references, *reference);
    if (at != references.end()) {
        return static_cast<int>(at - references.begin());
    }
    references.push_back(*reference);
    return static_cast<int>(references.size() - 1);
}

std::string Scope::unit(int number) const {
    const Reference& reference = program_.references[static_cast<std::size_t>(number)];
    return reference.kind == Kind::kFigure
               ? program_.figures[static_cast<std::size_t>(reference.index)].unit
               : "";
}

bool Scope::may_lack(int number) const {
    return program_.references[static_cast<std::size_t>(number)].cell != kOwnCell;
}

const CellFacts* Telling::cell_of(int cell) const {
    if (cell == kOwnCell) {
        return cell_;
    }
    if (cell == kCureCell) {
        return story_->cure;
    }
    if (cell == kAgainCell) {
        return story_->again;
    }
    const Condition& of = program_.cells_of[static_cast<std::size_t>(cell - kFirstNamedCell)];
    for (const CellFacts& each : *story_->cells) {
        if (Telling(program_, &each, story_).holds(of)) {
            return &each;
        }
    }
    return nullptr;
}

Value Telling::value(int number) const {
    const Reference& reference = program_.references[static_cast<std::size_t>(number)];
    const auto index = static_cast<std::size_t>(reference.index);
    if (reference.kind == Kind::kTotal) {
        return total(index);
    }
    if (reference.kind == Kind::kListing) {
        return listing(index);
    }
    if (reference.kind == Kind::kSummary) {
        return text(program_.summaries[index], program_.texts.summaries[index]);
    }
    const CellFacts* cell = cell_of(reference.cell);
    if (reference.kind == Kind::kWord && reference.cell == kOwnCell) {
        const Word asked = static_cast<Word>(reference.index);
        switch (asked) {  // of the story, whatever the cell
            case Word::kLeads: return story_->leads;
            case Word::kCommand: return story_->command;
            case Word::kCureName: return story_->cure_name;
            case Word::kWhy: return story_->why;
            case Word::kIsShown: return story_->why.empty();
            case Word::kOutcome: return story_->outcome;
            default: break;
        }
    }
    if (cell == nullptr) {
        return {};
    }
    if (reference.kind == Kind::kFigure) {
        return cell->values[index];
    }
    if (reference.kind == Kind::kPhrase) {
        return Telling(program_, cell, story_)
            .text(program_.phrases[index], program_.texts.phrases[index]);
    }
    return word(static_cast<Word>(reference.index), *cell);
}

Value Telling::word(Word word, const CellFacts& cell) const {
    const auto is_own = [&] { return Telling(program_, &cell, story_).holds(program_.own); };
    switch (word) {
        case Word::kId: return cell.id;
        case Word::kLabel: return cell.label;
        case Word::kAgain: return cell.again;
        case Word::kIsMatrix: return cell.role == CellRole::kMatrix;
        case Word::kIsControl: return cell.role == CellRole::kControl;
        case Word::kIsCure: return cell.role == CellRole::kCure;
        case Word::kIsDemonstration: return cell.role == CellRole::kDemonstration;
        case Word::kPasses: return cell.cell.verdict == CellVerdict::kPass;
        case Word::kFails: return cell.cell.verdict == CellVerdict::kFail;
        case Word::kSkipped: return cell.cell.verdict == CellVerdict::kSkip;
        case Word::kMeasured: return cell.cell.verdict != CellVerdict::kError;
        case Word::kCause: return cell.cell.cause;
        case Word::kReason: return cell.cell.reason;
        case Word::kOwn: return is_own();
        case Word::kHarmed: return cell.role == CellRole::kMatrix && is_own();
        case Word::kMeant:
            return story_ != nullptr && story_->of != nullptr &&
                   Telling(program_, &cell, story_).holds(*story_->of);
        case Word::kFirst: return story_ != nullptr && story_->first == &cell;
        default: return {};
    }
}

std::string Telling::text(const ParsedPhrase& phrase, const Phrase& how) const {
    std::vector<std::string> told;
    for (const ParsedClause& clause : phrase) {
        const bool tells = clause.counts ? model::holds(value(*clause.counts)) : holds(clause.when);
        if (tells) {
            told.push_back(text(clause.text));
            if (how.told == Phrase::Told::kFirst) {
                break;
            }
        }
    }
    return fmt::format("{}", fmt::join(told, how.between));
}

Value Telling::total(std::size_t index) const {
    const auto figure = static_cast<std::size_t>(program_.totals_figure[index]);
    const bool fewest = program_.texts.totals[index].how == Total::How::kFewest;
    std::uint64_t total = fewest ? UINT64_MAX : 0;
    for (const CellFacts& each : *story_->cells) {
        if (Telling(program_, &each, story_).holds(program_.totals_of[index])) {
            const std::uint64_t value = each.values[figure].count();
            total = fewest ? std::min(total, value) : total + value;
        }
    }
    return total;
}

std::string Telling::listing(std::size_t index) const {
    const ParsedListing& listing = program_.listings[index];
    std::vector<std::string> told;
    for (const CellFacts& each : *story_->cells) {
        const Telling of_cell(program_, &each, story_);
        if (of_cell.holds(listing.of)) {
            told.push_back(of_cell.text(listing.text));
        }
    }
    return fmt::format("{}", fmt::join(told, program_.texts.listings[index].between));
}

}  // namespace

std::optional<Reference> Program::Compiled::find(const std::string& name, Stage stage,
                                                 std::size_t phrases_before) const {
    Reference found;
    std::string rest = name;
    if (const auto dot = name.find('.'); dot != std::string::npos) {
        const std::string cell = name.substr(0, dot);
        rest = name.substr(dot + 1);
        const int named = index_of(texts.cells, cell);
        if (stage == Stage::kCure && cell == "cure") {
            found.cell = kCureCell;
        } else if (stage == Stage::kCure && cell == "again") {
            found.cell = kAgainCell;
        } else if (stage >= Stage::kListed && named >= 0) {
            found.cell = kFirstNamedCell + named;
            used.insert(cell);
        } else {
            return std::nullopt;
        }
    }
    const auto is = [&](Kind kind, int index) {
        found.kind = kind;
        found.index = index;
        used.insert(rest);
        return index >= 0;
    };
    if (is(Kind::kFigure, index_of(figures, rest))) {
        return found;
    }
    const int phrase = index_of(texts.phrases, rest);
    const bool about_scenario =
        phrases_before != static_cast<std::size_t>(-1) && stage >= Stage::kScenario;
    if (phrase >= 0 && (about_scenario || static_cast<std::size_t>(phrase) < phrases_before)) {
        is(Kind::kPhrase, phrase);
        return found;
    }
    for (const KnownWord& each : kWords) {
        if (rest == each.name && stage >= each.from) {
            is(Kind::kWord, static_cast<int>(each.word));
            return found;
        }
    }
    if (stage < Stage::kScenario || found.cell != kOwnCell) {
        return std::nullopt;
    }
    if (is(Kind::kTotal, index_of(texts.totals, rest)) ||
        is(Kind::kListing, index_of(texts.listings, rest))) {
        return found;
    }
    const int summary = index_of(texts.summaries, rest);
    if (summary >= 0 && static_cast<std::size_t>(summary) < phrases_before) {
        is(Kind::kSummary, summary);
        return found;
    }
    return std::nullopt;
}

int Program::Compiled::figure(const std::string& name) {
    const int index = index_of(figures, name);
    if (index < 0) {
        problems.push_back(fmt::format("there is no figure '{}'", name));
        return 0;
    }
    used.insert(name);
    return index;
}

Program::Compiled::Compiled(std::vector<FigureText> given, ConclusionTexts conclusions)
    : figures(std::move(given)), texts(std::move(conclusions)) {
    const Scope of_cell(*this, Stage::kCell);
    const Scope concluded(*this, Stage::kConcluded);
    const Scope told(*this, Stage::kTold);
    const Scope listed(*this, Stage::kListed);
    const Scope scenario(*this, Stage::kScenario);
    const Scope with_cure(*this, Stage::kCure);
    const auto condition = [&](const std::string& text, const Scope& scope) {
        return Condition::parse(text, scope, problems);
    };
    const auto sentence = [&](const std::string& text, const Scope& scope) {
        return Sentence::parse(text, scope, problems);
    };
    const auto phrase = [&](const Phrase& each, const Scope& scope) {
        ParsedPhrase parsed;
        for (const Clause& clause : each.clauses) {
            ParsedClause& of = parsed.emplace_back();
            of.when = condition(clause.when, scope);
            of.text = Sentence::parse(clause.text, scope, problems, Sentence::Told::kIfThere);
            if (clause.when.empty()) {
                of.counts = of.text.first_name();
            }
        }
        return parsed;
    };
    for (const FigureText& each : figures) {
        figures_where.push_back(condition(each.where, of_cell));
        for (const std::string* other : {&each.hits, &each.trials, &each.low, &each.high}) {
            if (!other->empty()) {
                figure(*other);
            }
        }
    }
    for (std::size_t i = 0; i < texts.phrases.size(); ++i) {
        phrases.push_back(phrase(texts.phrases[i], Scope(*this, Stage::kCell, i)));
    }
    for (const Toggle& each : texts.toggles) {
        toggles.push_back(sentence(each.text, of_cell));
    }
    for (const Rule& each : texts.rules) {
        rules.push_back({condition(each.when, of_cell), sentence(each.cause, of_cell),
                         sentence(each.text, of_cell)});
    }
    own = condition(texts.own, concluded);
    for (const NamedCell& each : texts.cells) {
        cells_of.push_back(condition(each.of, told));
    }
    for (const Total& each : texts.totals) {
        totals_of.push_back(condition(each.of, told));
        totals_figure.push_back(figure(each.figure));
    }
    for (const Listing& each : texts.listings) {
        listings.push_back({condition(each.of, listed), sentence(each.text, listed)});
    }
    for (std::size_t i = 0; i < texts.summaries.size(); ++i) {
        summaries.push_back(phrase(texts.summaries[i], Scope(*this, Stage::kScenario, i)));
    }
    for (const Finding& each : texts.findings) {
        ParsedFinding& finding = findings.emplace_back();
        finding.of = condition(each.of, concluded);
        finding.headline = sentence(each.headline, scenario);
        finding.why = sentence(each.why, scenario);
        for (const CureText& cure : each.cures) {
            finding.cures.push_back({condition(cure.with, concluded),
                                     condition(cure.again, concluded),
                                     sentence("[is_shown?" + cure.outcome + "|{why}]", with_cure),
                                     sentence(cure.text, with_cure)});
            if (setting::find_cure(cure.cure) == nullptr) {
                problems.push_back(fmt::format("there is no cure '{}'", cure.cure));
            }
        }
    }
    for (const Remark& each : texts.remarks) {
        remarks.push_back({condition(each.about, concluded), sentence(each.text, scenario)});
    }
    for (const Table& each : texts.tables) {
        ParsedTable& table = tables.emplace_back();
        table.of = condition(each.of, concluded);
        for (const Toggle& column : each.columns) {
            table.columns.push_back(sentence(column.text, concluded));
        }
    }
    proof_of = condition(texts.proof.of, concluded);
    proof_title = sentence(texts.proof.title, concluded);
    proof_conclusion = sentence(texts.proof.conclusion, concluded);
    otherwise = sentence(texts.otherwise, scenario);
    if (!texts.chart.title.empty()) {
        bar_of = condition(texts.chart.of, concluded);
        figure(texts.chart.hits);
        figure(texts.chart.trials);
        if (!texts.chart.computed.empty()) {
            figure(texts.chart.computed);
            computed_of = condition(texts.chart.computed_of, concluded);
        }
    }
    check();
}

void Program::Compiled::check() {
    used.insert(texts.unexplained);
    std::set<std::string> seen;
    const auto once = [&](const std::string& name) {
        for (const KnownWord& each : kWords) {
            if (name == each.name) {
                problems.push_back(fmt::format("'{}' is a word of every scenario", name));
            }
        }
        if (!seen.insert(name).second) {
            problems.push_back(fmt::format("'{}' is defined twice", name));
        }
    };
    const auto wanted = [&](const std::string& name) {
        if (!used.contains(name)) {
            problems.push_back(fmt::format("nothing names '{}'", name));
        }
    };
    for (const FigureText& each : figures) {
        once(each.name);
        if (each.label.empty()) {
            wanted(each.name);
        }
    }
    const auto check_names = [&](const auto& all) {
        for (const auto& each : all) {
            once(each.name);
            wanted(each.name);
        }
    };
    check_names(texts.phrases);
    check_names(texts.totals);
    check_names(texts.cells);
    check_names(texts.listings);
    check_names(texts.summaries);
    for (std::size_t i = 0; i < texts.rules.size(); ++i) {
        const Rule& rule = texts.rules[i];
        if (rule.when.empty() && i + 1 != texts.rules.size()) {
            problems.push_back(fmt::format("no rule behind \"{}\" can hold", rule.text));
        }
        if (rule.is != CellVerdict::kPass && rule.text.empty()) {
            problems.push_back(fmt::format("the rule \"{}\" gives no reason", rule.when));
        }
    }
    if (index_of(figures, texts.unexplained) < 0) {
        problems.push_back(fmt::format("there is no figure '{}'", texts.unexplained));
    }
}

Program::Program(std::vector<FigureText> figures, ConclusionTexts texts)
    : compiled_(std::make_unique<Compiled>(std::move(figures), std::move(texts))) {
    if (!compiled_->problems.empty()) {
        fmt::print(stderr, "{}\n", fmt::join(compiled_->problems, "\n"));
        std::abort();
    }
}

Program::~Program() = default;

const std::vector<FigureText>& Program::figures() const {
    return compiled_->figures;
}

std::vector<std::string> Program::problems_of(const std::vector<FigureText>& figures,
                                              const ConclusionTexts& texts) {
    return Compiled(figures, texts).problems;
}

Cell Program::conclude(const CellFacts& facts) const {
    const Compiled& program = *compiled_;
    const Telling telling(program, &facts);
    Cell cell{.id = facts.id, .role = facts.role, .verdict = CellVerdict::kPass};
    for (std::size_t i = 0; i < program.toggles.size(); ++i) {
        cell.toggles.emplace_back(program.texts.toggles[i].name, telling.text(program.toggles[i]));
    }
    const auto value_of = [&](const std::string& name) {
        return facts.values[static_cast<std::size_t>(index_of(program.figures, name))];
    };
    for (std::size_t i = 0; i < program.figures.size(); ++i) {
        const FigureText& figure = program.figures[i];
        if (figure.label.empty() || !telling.holds(program.figures_where[i])) {
            continue;
        }
        if (!figure.hits.empty()) {
            cell.measures.push_back(verdict::share(figure.name, figure.label,
                                                   value_of(figure.hits).count(),
                                                   value_of(figure.trials).count()));
            continue;
        }
        verdict::Measure& measure =
            cell.measures.emplace_back(verdict::Measure{.name = figure.name,
                                                        .label = figure.label,
                                                        .value = facts.values[i],
                                                        .unit = figure.unit});
        if (!figure.low.empty()) {
            measure.interval = {value_of(figure.low).number(), value_of(figure.high).number()};
        }
    }
    if (!facts.lacks.empty() || !facts.objections.empty()) {
        cell.verdict = facts.lacks.empty() ? CellVerdict::kError : CellVerdict::kSkip;
        cell.reason = facts.lacks.empty() ? "no result: " + facts.objections.front() : facts.lacks;
        return cell;
    }
    for (std::size_t i = 0; i < program.rules.size(); ++i) {
        if (telling.holds(program.rules[i].when)) {
            cell.verdict = program.texts.rules[i].is;
            cell.cause = telling.text(program.rules[i].cause);
            cell.reason = telling.text(program.rules[i].text);
            break;
        }
    }
    return cell;
}

namespace {

class Conclusion {
  public:
    Conclusion(const Program::Compiled& program, const Facts& cells)
        : program_(program), cells_(cells) {}

    void conclude(ScenarioResult& result) const;
    void add_charts_and_tables(ScenarioResult& result) const;

  private:
    const CellFacts* first_of(const Condition& of, bool in_matrix) const;
    // The findings that are told, beside their first cells.
    std::vector<std::pair<std::size_t, const CellFacts*>> told() const;
    bool tell_cures(std::size_t finding, Story& story, std::vector<std::string>& lines,
                    ScenarioResult& result) const;
    const CellFacts* take_cure(const CureText& text, const ParsedCure& cure, Story& story) const;

    const Program::Compiled& program_;
    const Facts& cells_;
};

std::string joined(const std::vector<std::string>& parts, const Joined& how) {
    return fmt::format("{}{}", fmt::join(parts, how.between), how.end);
}

const CellFacts* Conclusion::first_of(const Condition& of, bool in_matrix) const {
    for (const CellFacts& each : cells_) {
        if ((!in_matrix || each.role == CellRole::kMatrix) && Telling(program_, &each).holds(of)) {
            return &each;
        }
    }
    return nullptr;
}

std::vector<std::pair<std::size_t, const CellFacts*>> Conclusion::told() const {
    std::vector<std::pair<std::size_t, const CellFacts*>> told;
    for (std::size_t i = 0; i < program_.findings.size(); ++i) {
        const CellFacts* first = first_of(program_.findings[i].of, true);
        if (first != nullptr && (!program_.texts.findings[i].alone || told.empty())) {
            told.emplace_back(i, first);
        }
    }
    return told;
}

// Sets what the story tells of the cure; gives the cell that shows it, or null.
const CellFacts* Conclusion::take_cure(const CureText& text, const ParsedCure& cure,
                                       Story& story) const {
    story.cure = nullptr;
    std::vector<std::string> failed;
    const CellFacts* with = nullptr;
    for (const CellFacts& each : cells_) {
        if (!Telling(program_, &each).holds(cure.with)) {
            continue;
        }
        if (text.shown_by == CureText::ShownBy::kFirst) {
            with = &each;
            break;
        }
        if (each.cell.verdict == CellVerdict::kPass) {
            with = with == nullptr ? &each : with;
        } else if (each.cell.verdict != CellVerdict::kSkip) {
            failed.push_back(each.id + ": " + each.cell.reason);
        }
    }
    story.again = first_of(cure.again, false);
    const bool seen_again = text.again.empty() || story.again != nullptr;
    story.command = setting::cure(text.cure).told();
    story.cure_name = setting::cure(text.cure).in_words;
    story.why = !failed.empty() ? "not shown: " + fmt::format("{}", fmt::join(failed, "; "))
                                : why_not_shown(with == nullptr ? nullptr : &with->cell, seen_again,
                                                text.naming == CureText::Naming::kCellAndReason
                                                    ? NamesCell::kYes
                                                    : NamesCell::kNo);
    story.cure = with;
    return story.why.empty() ? with : nullptr;
}

bool Conclusion::tell_cures(std::size_t number, Story& story, std::vector<std::string>& lines,
                            ScenarioResult& result) const {
    const Finding& finding = program_.texts.findings[number];
    bool any_shown = false;
    bool any_tried = false;
    std::vector<std::string> told;
    for (std::size_t i = 0; i < finding.cures.size(); ++i) {
        const ParsedCure& cure = program_.findings[number].cures[i];
        const CellFacts* shown_by = take_cure(finding.cures[i], cure, story);
        if (story.cure == nullptr && finding.tried_alone) {
            continue;
        }
        any_tried |= story.cure != nullptr;
        const Telling telling(program_, story.first, &story);
        story.outcome = telling.text(cure.outcome);
        told.push_back(telling.text(cure.text));
        if (shown_by != nullptr) {
            any_shown = true;
            pair_cells(story.first->cell, shown_by->cell, result);
        }
    }
    if (!any_tried && finding.tried_alone) {
        told.push_back(setting::cure(finding.cures.front().cure).in_words +
                       " (not tried in this run)");
    }
    if (!told.empty()) {
        lines.push_back(fmt::format("{}", fmt::join(told, "\n")));
    }
    return any_shown || finding.cures.empty();
}

void Conclusion::conclude(ScenarioResult& result) const {
    std::vector<JudgedCell> judged;
    for (const CellFacts& each : cells_) {
        judged.push_back({&each.cell, Telling(program_, &each).holds(program_.own)});
    }
    if (const auto hindered = hindrances(judged); !hindered.empty()) {
        result.headline = fmt::format("Nothing is concluded: {}.", fmt::join(hindered, "; "));
        return;
    }
    Story story{.cells = &cells_};
    const auto findings = told();
    if (findings.empty()) {
        result.verdict = ScenarioVerdict::kNotReproduced;
        result.headline = Telling(program_, nullptr, &story).text(program_.otherwise);
        return;
    }
    std::vector<std::string> headlines;
    std::vector<std::string> whys;
    std::vector<std::string> cures;
    result.cure_shown = true;
    bool any_cure = false;
    for (const auto& [number, first] : findings) {
        story.first = first;
        story.of = &program_.findings[number].of;
        story.leads = number == findings.front().first;
        const Telling telling(program_, first, &story);
        const ParsedFinding& finding = program_.findings[number];
        if (!finding.headline.is_empty()) {
            if (const std::string text = telling.text(finding.headline); !text.empty()) {
                headlines.push_back(text);
            }
        }
        if (const std::string text = telling.text(finding.why); !text.empty()) {
            whys.push_back(text);
        }
        result.cure_shown &= tell_cures(number, story, cures, result);
        any_cure |= !finding.cures.empty();
    }
    result.cure_shown &= any_cure;
    result.verdict = program_.texts.findings[findings.front().first].exposed
                         ? ScenarioVerdict::kExposed
                         : ScenarioVerdict::kReproduced;
    result.headline = joined(headlines, program_.texts.headlines);
    result.cause = joined(whys, program_.texts.whys);
    result.cure = joined(cures, program_.texts.cures);
    for (const auto& remark : program_.remarks) {
        const CellFacts* about = first_of(remark.about, false);
        if (about != nullptr) {
            const std::string text = Telling(program_, about, &story).text(remark.text);
            if (!text.empty()) {
                result.explanation.push_back(text);
            }
        }
    }
}

void Conclusion::add_charts_and_tables(ScenarioResult& result) const {
    const HarmChart& how = program_.texts.chart;
    const auto value = [&](const CellFacts& cell, const std::string& figure) {
        return cell.values[static_cast<std::size_t>(index_of(program_.figures, figure))];
    };
    if (!how.title.empty()) {
        verdict::Chart chart{.title = how.title, .unit = "%", .maximum = how.maximum};
        for (const CellFacts& each : cells_) {
            const Telling telling(program_, &each);
            const std::uint64_t trials = value(each, how.trials).count();
            if (trials == 0 || !telling.holds(program_.bar_of)) {
                continue;
            }
            chart.bars.push_back(harm_bar(each.label, value(each, how.hits).count(), trials));
            if (!how.computed.empty() && telling.holds(program_.computed_of)) {
                chart.bars.push_back({.label = each.label + ", computed",
                                      .value = 100 * value(each, how.computed).number() /
                                               static_cast<double>(trials),
                                      .kind = verdict::Bar::Kind::kNeutral});
            }
        }
        if (!chart.bars.empty()) {
            result.charts.push_back(std::move(chart));
        }
    }
    for (const CellFacts& each : cells_) {
        const Telling telling(program_, &each);
        if (!program_.texts.proof.title.empty() && telling.holds(program_.proof_of)) {
            result.proofs.push_back({.title = telling.text(program_.proof_title),
                                     .columns = program_.texts.proof.columns,
                                     .rows = each.rows,
                                     .conclusion = telling.text(program_.proof_conclusion)});
        }
    }
    for (std::size_t i = 0; i < program_.tables.size(); ++i) {
        const Table& table = program_.texts.tables[i];
        verdict::Proof proof{.title = table.title, .conclusion = table.conclusion};
        for (const Toggle& column : table.columns) {
            proof.columns.push_back(column.name);
        }
        for (const CellFacts& each : cells_) {
            const Telling telling(program_, &each);
            if (telling.holds(program_.tables[i].of)) {
                std::vector<std::string>& row = proof.rows.emplace_back();
                for (const Sentence& column : program_.tables[i].columns) {
                    row.push_back(telling.text(column));
                }
            }
        }
        const bool told =
            table.always ? !proof.rows.empty() : result.verdict == ScenarioVerdict::kReproduced;
        if (told) {
            result.proofs.push_back(std::move(proof));
        }
    }
}

}  // namespace

ScenarioResult Program::conclude(std::vector<CellFacts>& facts) const {
    ScenarioResult result;
    const auto unexplained =
        static_cast<std::size_t>(index_of(compiled_->figures, compiled_->texts.unexplained));
    for (const CellFacts& each : facts) {
        result.unexplained += each.values[unexplained].count();
    }
    Facts run = facts;
    if (compiled_->texts.without_skipped) {
        std::erase_if(
            run, [](const CellFacts& each) { return each.cell.verdict == CellVerdict::kSkip; });
    }
    Conclusion(*compiled_, run).conclude(result);
    Conclusion(*compiled_, facts).add_charts_and_tables(result);
    for (CellFacts& each : facts) {
        each.cell.evidence = std::move(each.evidence);
        (each.role == CellRole::kControl ? result.controls : result.cells)
            .push_back(std::move(each.cell));
    }
    return result;
}

}  // namespace pathproof::scenario::model
