// The typed front of a scenario's conclusions: how its figures are read from what a cell sets and what
// was seen in it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/scenario/model/conclusions.h"

namespace pathproof::scenario::model {

// Reads one value: &Seen::member, &Seen::function, the same of What, or a function of both.
template <typename What, typename Seen>
class Read {
  public:
    Read() = default;
    template <typename Owner, typename Member>
    requires(std::is_same_v<Owner, What> || std::is_same_v<Owner, Seen>) Read(Member Owner::*member)
        : read_([member](const What& what, const Seen& seen) {
              if constexpr (std::is_same_v<Owner, What>) {
                  return to_value(std::invoke(member, what));
              } else {
                  return to_value(std::invoke(member, seen));
              }
          }) {}
    template <typename Function>
    requires std::is_invocable_v<Function, const What&, const Seen&> Read(Function function)
        : read_([function](const What& what, const Seen& seen) {
              return to_value(function(what, seen));
          }) {}
    template <typename Function>
    requires std::is_invocable_v<Function, const Seen&> Read(Function function)
        : read_([function](const What&, const Seen& seen) { return to_value(function(seen)); }) {}

    Value operator()(const What& what, const Seen& seen) const {
        return read_ ? read_(what, seen) : Value();
    }

  private:
    template <typename Raw>
    static Value to_value(const Raw& raw) {
        return Value(raw);
    }
    template <typename Raw>
    static Value to_value(const std::optional<Raw>& raw) {
        return raw ? Value(*raw) : Value();
    }

    std::function<Value(const What&, const Seen&)> read_;
};

// {"slow", "connects", "took 1 s or more", &ReuseValues::slow}
template <typename What, typename Seen>
struct Figure : FigureText {
    Figure(std::string name_, std::string unit_, std::string label_, Read<What, Seen> read_,
           FigureText more = {})
        : FigureText(std::move(more)), read(std::move(read_)) {
        name = std::move(name_);
        unit = std::move(unit_);
        label = std::move(label_);
    }
    // A figure for sentences and conditions alone: it has no unit and no label.
    Figure(std::string name_, Read<What, Seen> read_)
        : Figure(std::move(name_), "", "", std::move(read_)) {}

    Read<What, Seen> read;
};

// The conclusions of a scenario whose cells set What and see Seen (with `objections`).
template <typename What, typename Seen>
class Conclusions {
  public:
    using Figures = std::vector<Figure<What, Seen>>;

    // Values that a scenario may read beside its figures.
    struct Reads {
        Read<What, Seen> lacks = {};  // what this machine has not, and the cell takes
        std::function<Rows(const What&, const Seen&)> rows = {};  // of the cell's proof
        // Makes one proof of all cells together; a proof without rows is left out.
        std::function<verdict::Proof(const std::vector<std::pair<const What*, const Seen*>>&)>
            proof = {};
    };

    Conclusions(const Figures& figures, ConclusionTexts texts, Reads reads = {})
        : program_(texts_of(figures), std::move(texts)),
          lacks_(std::move(reads.lacks)),
          rows_(std::move(reads.rows)),
          proof_(std::move(reads.proof)) {
        for (const auto& each : figures) {
            reads_.push_back(each.read);
        }
    }

    verdict::Cell conclude(const What& what, const Seen& seen) const {
        return program_.conclude(facts_of(what, seen));
    }
    // The whole scenario but for its id, title and duration. Cells that were not run are missing.
    template <typename Measured>
    verdict::ScenarioResult conclude(const std::vector<Measured>& measured) const {
        std::vector<CellFacts> facts;
        for (const Measured& each : measured) {
            facts.push_back(facts_of(each.what, each.seen));
            facts.back().evidence = each.evidence;
            if (rows_) {
                facts.back().rows = rows_(each.what, each.seen);
            }
            facts.back().cell = program_.conclude(facts.back());
        }
        verdict::ScenarioResult result = program_.conclude(facts);
        if (proof_) {
            std::vector<std::pair<const What*, const Seen*>> cells;
            for (const Measured& each : measured) {
                cells.emplace_back(&each.what, &each.seen);
            }
            if (verdict::Proof proof = proof_(cells); !proof.rows.empty()) {
                result.proofs.push_back(std::move(proof));
            }
        }
        return result;
    }

    const Program& program() const { return program_; }

  private:
    static std::vector<FigureText> texts_of(const Figures& figures) {
        return std::vector<FigureText>(figures.begin(), figures.end());
    }
    CellFacts facts_of(const What& what, const Seen& seen) const {
        CellFacts facts{.id = what.id,
                        .label = what.label,
                        .role = what.role,
                        .again = what.again,
                        .objections = seen.objections};
        if (const Value lacks = lacks_(what, seen); lacks.is_string()) {
            facts.lacks = lacks.text();
        }
        for (const auto& read : reads_) {
            facts.values.push_back(read(what, seen));
        }
        return facts;
    }

    Program program_;
    std::vector<Read<What, Seen>> reads_;
    Read<What, Seen> lacks_;
    std::function<Rows(const What&, const Seen&)> rows_;
    std::function<verdict::Proof(const std::vector<std::pair<const What*, const Seen*>>&)> proof_;
};

}  // namespace pathproof::scenario::model
