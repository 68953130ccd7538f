// A scenario's conclusions as data: figures, rules that make a cell's verdict of them, findings
// that make the scenario's verdict, and cures. Sentences can name figures only (language.h). A text
// that names something else, or a part of the data that nothing uses, is found when the program
// starts, and by a test of all scenarios. README.md explains how to add a failure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/scenario/model/language.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario::model {

using verdict::CellVerdict;

// A named value of a cell. Beside the scenario's own every text may name `id`, `label`, `again`,
// `is_matrix`, `is_control`, `is_cure` and `is_demonstration` of the cell.
struct FigureText {
    std::string name;
    std::string unit;
    std::string label;  // in the report; empty: conditions and sentences alone use it
    // Other figures: the value is their share in percent, or has this interval.
    std::string hits = {}, trials = {};
    std::string low = {}, high = {};
    std::string where = {};  // condition; elsewhere it is not in the report
};

// A point of an axis, "conn_reuse_mode" -> "{mode}".
struct Toggle {
    std::string name;
    std::string text;
};

// A clause is told if its condition holds; without a condition, if the first value that it names is
// not zero.
struct Clause {
    std::string text;
    std::string when = {};
};

// A named text that sentences share: those of its clauses that are told.
struct Phrase {
    std::string name;
    std::vector<Clause> clauses;
    enum class Told { kEach, kFirst } told = Told::kEach;
    std::string between = ", ";
};

// The first whose condition holds gives the verdict of a cell; a cell of which none holds passes.
struct Rule {
    std::string when;
    CellVerdict is = CellVerdict::kInconclusive;
    std::string cause = {};  // may name words: "search-path+{other}"
    std::string text = {};
};

// The texts below are about the whole scenario. They may also name a cell's `cause`, `reason`,
// `passed`, `fails`, `skipped` and `measured` (it is no ERROR), whether it fails only by what the
// scenario looks for (`own`), and whether it does so in the matrix (`harmed`).

// A figure of all cells that are meant.
struct Total {
    std::string name;
    std::string figure;
    std::string of = "is_matrix";
    enum class How { kSum, kFewest } how = How::kSum;
};

// A sentence for each cell that is told. Of the finding that is being told `meant` are the cells that
// it is about, `first` the first of them in the matrix.
struct Listing {
    std::string name;
    std::string text;
    std::string of = "meant and (not again or first)";
    std::string between = "; ";
};

// The first cell that is meant: "kept" lets sentences name {kept.entries}, in optional parts.
struct NamedCell {
    std::string name;
    std::string of;
};

// A cure in the words of a finding. Its sentence may name `command` and `cure_name` (of the registry,
// setting/cures.h), whether it is shown (`is_shown`) and if not `why`; where it is shown, figures of a cell with it (`cure.`), and
// of one without it in which the failure was seen once more (`again.`).
struct CureText {
    std::string cure;                        // its id
    std::string with = "is_cure";            // cells that have it: the first of them shows it
    std::string again = "again and harmed";  // empty: the finding's own cell is enough
    // Any: it is shown by all cells with it together, if one of them passes and none fails.
    enum class ShownBy { kFirst, kAll } shown_by = ShownBy::kFirst;
    enum class Naming { kReason, kCellAndReason } naming = Naming::kReason;
    std::string outcome = {};  // where it is shown: `outcome` is this, or why not
    std::string text = "{command} ({outcome})";
};

// A finding is told if a cell of the matrix matches it; its sentences are about the first such
// cell. It is cured if one of its cures is shown.
struct Finding {
    std::string of = "harmed";
    std::string headline = {};
    std::string why = {};
    std::vector<CureText> cures = {};
    // Tells the cures of which a cell was run, and where there is none the name of the first.
    bool tried_alone = false;
    bool alone = false;    // told only where no finding before it is
    bool exposed = false;  // seen, and it harmed nobody
};

// Joins a scenario's findings.
struct Joined {
    std::string between;
    std::string end = {};
};

// A paragraph of the explanation, about the first cell that is meant.
struct Remark {
    std::string text;
    std::string about = {};
};

// A bar for each cell that is meant, in percent.
struct HarmChart {
    std::string title;  // empty: there is none
    std::string hits, trials;
    std::string of = "not again";
    double maximum = 100;
    // Computed values, shown beside the bars.
    std::string computed = {}, computed_of = {};
};

// A row for each cell that is meant.
struct Table {
    std::string title;
    std::vector<Toggle> columns;
    std::string of;
    std::string conclusion = {};
    bool always = true;  // or where the failure is reproduced
};

// A proof of a cell that is meant, whose rows the scenario reads itself (figure.h).
struct CellProof {
    std::string title;  // empty: there is none
    std::vector<std::string> columns;
    std::string of;
    std::string conclusion;
};

struct ConclusionTexts {
    std::vector<Toggle> toggles;
    std::vector<Phrase> phrases = {};
    std::vector<Rule> rules;
    std::string own;                                  // of a cell
    std::string unexplained = verdict::kUnexplained;  // the figure that counts for the scenario
    bool without_skipped = false;  // cells that were skipped are as if they had not been asked for
    HarmChart chart = {};
    std::vector<Table> tables = {};
    CellProof proof = {};
    std::vector<Total> totals = {};
    std::vector<NamedCell> cells = {};
    std::vector<Listing> listings = {};
    std::vector<Phrase> summaries = {};  // phrases about the whole scenario
    std::vector<Finding> findings;
    Joined headlines = {.between = "; ", .end = "."};
    Joined whys = {.between = " "};
    Joined cures = {.between = "\n"};
    std::vector<Remark> remarks = {};
    std::string otherwise;
};

using Rows = std::vector<std::vector<std::string>>;

// A measured cell.
struct CellFacts {
    std::string id;
    std::string label;
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    bool again = false;
    std::string lacks;  // what this machine has not, and the cell takes
    std::vector<std::string> objections;
    std::vector<Value> values;  // of the figures, in their order
    Rows rows;                  // of its proof
    std::vector<verdict::EvidenceFile> evidence;
    verdict::Cell cell;  // concluded
};

class Program {
  public:
    // Lists the errors in a scenario's data; empty: none.
    static std::vector<std::string> problems_of(const std::vector<FigureText>& figures,
                                                const ConclusionTexts& texts);

    // Ends the program where problems_of() finds any.
    Program(std::vector<FigureText> figures, ConclusionTexts texts);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    const std::vector<FigureText>& figures() const;
    verdict::Cell conclude(const CellFacts& facts) const;
    // The whole scenario but for its id, title and duration. `facts` are concluded.
    verdict::ScenarioResult conclude(std::vector<CellFacts>& facts) const;

    struct Compiled;

  private:
    std::unique_ptr<const Compiled> compiled_;
};

}  // namespace pathproof::scenario::model
