// The small language of conclusions: conditions over named values, and sentences that can name these
// values only.
//
// A condition: names, whole numbers and 'words' with + - *, == != < <= > >=, and, or, not, brackets. A
// name by itself holds where its value is true, not zero or not empty. A value that is not there is
// zero.
//
// A sentence is text with
//   {a}           the value: a count, words, or a number as {a:.1f}; {a:.2f s} makes seconds of a
//                 figure in ms
//   {a of b}      "7 of 15", "none of 15"
//   {a or none}   "7", "none"
//   [text]        left out where the first value named in it is zero or empty
//   [c?text|else] one or the other (`|else` may be missing), by the condition c
// A \ before {, }, [, ], | or ? takes it as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/verdict/value.h"

namespace pathproof::scenario::model {

using verdict::Value;

// The names that a text may use. A text is parsed once, and keeps the numbers of its names.
class Names {
  public:
    virtual ~Names() = default;
    // Returns nothing for an unknown name.
    virtual std::optional<int> find(const std::string& name) const = 0;
    virtual std::string unit(int number) const = 0;
    // Returns whether the value may be missing; it is then told in an optional part alone.
    virtual bool may_lack(int number) const = 0;
};

class Values {
  public:
    virtual ~Values() = default;
    virtual Value value(int number) const = 0;
};

// True, not zero, not empty.
bool holds(const Value& value);

class Condition {
  public:
    // Adds what is wrong with the text to `problems`. An empty text always holds.
    static Condition parse(const std::string& text, const Names& names,
                           std::vector<std::string>& problems);
    bool holds(const Values& values) const;
    bool is_empty() const { return nodes_.empty(); }

  private:
    friend class ConditionParser;
    enum class Kind { kLiteral, kName, kNot, kAnd, kOr, kCompare, kSum };
    struct Node {
        Kind kind = Kind::kLiteral;
        Value literal;
        int name = 0;
        std::string op;
        std::size_t left = 0, right = 0;  // in nodes_
    };
    Value value_of(std::size_t node, const Values& values) const;

    std::vector<Node> nodes_;  // the last one is the whole
};

class Sentence {
  public:
    // Tells all of the sentence, or tells it only if the values that it names are there.
    enum class Told { kAlways, kIfThere };
    static Sentence parse(const std::string& text, const Names& names,
                          std::vector<std::string>& problems, Told told = Told::kAlways);
    std::string text(const Values& values) const;
    // The first value named in it that is always told; nothing where there is none.
    std::optional<int> first_name() const;
    bool is_empty() const { return parts_.empty(); }

  private:
    friend class SentenceParser;
    enum class Kind { kText, kValue, kOf, kOrNone, kOptional };
    struct Part {
        Kind kind = Kind::kText;
        std::string text;    // or the format of a value
        std::string unit;    // behind the value
        double divisor = 1;  // into this unit
        int name = 0, whole = 0;
        Condition condition;            // kOptional
        std::vector<Sentence> choices;  // then, else
    };

    std::vector<Part> parts_;
};

}  // namespace pathproof::scenario::model
