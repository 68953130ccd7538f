#include "harness/scenario/model/language.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

namespace pathproof::scenario::model {
namespace {

bool is_name_letter(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.';
}

// Exact for all counts: a long double has 64 bits of mantissa.
long double number_of(const Value& value) {
    if (value.is_boolean()) {
        return value.outcome() ? 1 : 0;
    }
    if (const auto* count = std::get_if<std::uint64_t>(&value.kinds())) {
        return static_cast<long double>(*count);
    }
    return value.number();
}

std::string plain_text(const Value& value, const std::string& format, double divisor) {
    if (const auto* words = std::get_if<std::string>(&value.kinds())) {
        return *words;
    }
    if (!format.empty()) {
        return fmt::format(fmt::runtime("{:" + format + "}"), value.number() / divisor);
    }
    return value.is_null() ? "" : value.text();
}

std::string none_or(const Value& value) {
    return number_of(value) == 0 ? "none" : plain_text(value, "", 1);
}

bool compares(const std::string& op, auto left, auto right) {
    if (op == "==") {
        return left == right;
    }
    if (op == "!=") {
        return left != right;
    }
    if (op == "<") {
        return left < right;
    }
    if (op == "<=") {
        return left <= right;
    }
    return op == ">" ? left > right : left >= right;
}

}  // namespace

bool holds(const Value& value) {
    if (const auto* words = std::get_if<std::string>(&value.kinds())) {
        return !words->empty();
    }
    return number_of(value) != 0;
}

// Recursive descent; each rule gives the number of its node.
class ConditionParser {
  public:
    ConditionParser(const std::string& text, const Names& names, std::vector<std::string>& problems)
        : text_(text), names_(names), problems_(problems) {}

    Condition parse() {
        if (peek().empty()) {
            return {};
        }
        disjunction();
        if (!peek().empty()) {
            complain("'" + peek() + "' is left over");
        }
        return std::move(condition_);
    }

  private:
    using Kind = Condition::Kind;

    void complain(const std::string& what) {
        if (!complained_) {
            problems_.push_back(fmt::format("condition \"{}\": {}", text_, what));
        }
        complained_ = true;
    }

    // The token at `at_`; empty: the end.
    std::string peek() {
        while (at_ < text_.size() && text_[at_] == ' ') {
            ++at_;
        }
        if (at_ == text_.size()) {
            return "";
        }
        std::size_t end = at_;
        if (text_[at_] == '\'') {
            end = text_.find('\'', at_ + 1);
            if (end == std::string::npos) {
                complain("a ' has no end");
                return text_.substr(at_) + "'";
            }
            return text_.substr(at_, end + 1 - at_);
        }
        if (is_name_letter(text_[at_])) {
            while (end < text_.size() && is_name_letter(text_[end])) {
                ++end;
            }
            return text_.substr(at_, end - at_);
        }
        const std::string two = text_.substr(at_, 2);
        return two == "==" || two == "!=" || two == "<=" || two == ">=" ? two
                                                                        : text_.substr(at_, 1);
    }
    void next() { at_ = std::min(text_.size(), at_ + peek().size()); }
    bool take(const char* token) {
        if (peek() != token) {
            return false;
        }
        next();
        return true;
    }

    std::size_t add(Condition::Node node) {
        condition_.nodes_.push_back(std::move(node));
        return condition_.nodes_.size() - 1;
    }
    std::size_t join(Kind kind, const std::string& op, std::size_t left, std::size_t right) {
        return add(
            {.kind = kind, .literal = {}, .name = 0, .op = op, .left = left, .right = right});
    }

    std::size_t disjunction() {
        std::size_t left = conjunction();
        while (take("or")) {
            const std::size_t right = conjunction();
            left = join(Kind::kOr, "", left, right);
        }
        return left;
    }
    std::size_t conjunction() {
        std::size_t left = negation();
        while (take("and")) {
            const std::size_t right = negation();
            left = join(Kind::kAnd, "", left, right);
        }
        return left;
    }
    std::size_t negation() {
        if (take("not")) {
            const std::size_t inner = negation();
            return join(Kind::kNot, "", inner, inner);
        }
        return comparison();
    }
    std::size_t comparison() {
        const std::size_t left = sum();
        for (const char* op : {"==", "!=", "<=", ">=", "<", ">"}) {
            if (take(op)) {
                const std::size_t right = sum();
                return join(Kind::kCompare, op, left, right);
            }
        }
        return left;
    }
    std::size_t sum() {
        std::size_t left = product();
        while (peek() == "+" || peek() == "-") {
            const std::string op = peek();
            next();
            const std::size_t right = product();
            left = join(Kind::kSum, op, left, right);
        }
        return left;
    }
    std::size_t product() {
        std::size_t left = term();
        while (take("*")) {
            const std::size_t right = term();
            left = join(Kind::kSum, "*", left, right);
        }
        return left;
    }
    std::size_t term() {
        const std::string token = peek();
        next();
        if (token == "(") {
            const std::size_t inner = disjunction();
            if (!take(")")) {
                complain("a ( has no )");
            }
            return inner;
        }
        if (token.starts_with('\'')) {
            return add({.kind = Kind::kLiteral, .literal = token.substr(1, token.size() - 2)});
        }
        if (!token.empty() && std::isdigit(static_cast<unsigned char>(token[0])) != 0) {
            return add({.kind = Kind::kLiteral,
                        .literal = std::uint64_t{std::strtoull(token.c_str(), nullptr, 10)}});
        }
        if (token.empty() || !is_name_letter(token[0])) {
            complain("a name is missing");
            return add({});
        }
        const std::optional<int> name = names_.find(token);
        if (!name) {
            complain("there is no '" + token + "'");
        }
        return add({.kind = Kind::kName, .literal = {}, .name = name.value_or(0)});
    }

    const std::string& text_;
    const Names& names_;
    std::vector<std::string>& problems_;
    Condition condition_;
    std::size_t at_ = 0;
    bool complained_ = false;
};

Condition Condition::parse(const std::string& text, const Names& names,
                           std::vector<std::string>& problems) {
    return ConditionParser(text, names, problems).parse();
}

bool Condition::holds(const Values& values) const {
    return nodes_.empty() || model::holds(value_of(nodes_.size() - 1, values));
}

Value Condition::value_of(std::size_t number, const Values& values) const {
    const Node& node = nodes_[number];
    const auto is = [&](std::size_t of) { return model::holds(value_of(of, values)); };
    switch (node.kind) {
        case Kind::kLiteral: return node.literal;
        case Kind::kName: return values.value(node.name);
        case Kind::kNot: return !is(node.left);
        case Kind::kAnd: return is(node.left) && is(node.right);
        case Kind::kOr: return is(node.left) || is(node.right);
        default: break;
    }
    const Value left = value_of(node.left, values);
    const Value right = value_of(node.right, values);
    if (node.kind == Kind::kCompare) {
        return left.is_string() || right.is_string()
                   ? compares(node.op, left.text(), right.text())
                   : compares(node.op, number_of(left), number_of(right));
    }
    const long double a = number_of(left);
    const long double b = number_of(right);
    if (node.op == "*") {
        return static_cast<double>(a * b);
    }
    return static_cast<double>(node.op == "+" ? a + b : a - b);
}

class SentenceParser {
  public:
    SentenceParser(const std::string& text, const Names& names, std::vector<std::string>& problems)
        : text_(text), names_(names), problems_(problems) {}

    Sentence parse(bool optional) {
        Sentence sentence = until("", optional);
        if (at_ < text_.size()) {
            complain(fmt::format("'{}' is left over", text_.substr(at_)));
        }
        return sentence;
    }

  private:
    using Kind = Sentence::Kind;
    using Part = Sentence::Part;

    void complain(const std::string& what) {
        problems_.push_back(fmt::format("sentence \"{}\": {}", text_, what));
    }
    bool ends(char letter, const char* ends_at) const {
        return std::string_view(ends_at).find(letter) != std::string_view::npos;
    }

    // Parses up to one of these letters, and leaves that letter in place.
    Sentence until(const char* ends_at, bool optional) {
        Sentence sentence;
        std::string plain;
        const auto flush = [&] {
            if (!plain.empty()) {
                sentence.parts_.push_back({.kind = Kind::kText, .text = std::move(plain)});
                plain.clear();
            }
        };
        while (at_ < text_.size() && !ends(text_[at_], ends_at)) {
            const char letter = text_[at_];
            if (letter == '\\' && at_ + 1 < text_.size()) {
                plain += text_[at_ + 1];
                at_ += 2;
            } else if (letter == '{') {
                flush();
                sentence.parts_.push_back(hole(optional));
            } else if (letter == '[') {
                flush();
                sentence.parts_.push_back(choice());
            } else if (letter == '}' || letter == ']') {
                complain(fmt::format("a {} closes nothing", letter));
                at_ = text_.size();
            } else {
                plain += letter;
                ++at_;
            }
        }
        flush();
        return sentence;
    }

    int name(const std::string& text, bool optional) {
        const std::optional<int> found = names_.find(text);
        if (!found) {
            complain("there is no '" + text + "'");
        } else if (!optional && names_.may_lack(*found)) {
            complain("'" + text + "' may not be there, and stands in no [optional part]");
        }
        return found.value_or(0);
    }

    Part hole(bool optional) {
        const std::size_t end = text_.find('}', at_);
        if (end == std::string::npos) {
            complain("a { has no }");
            at_ = text_.size();
            return {};
        }
        const std::string inside = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        Part part{.kind = Kind::kValue};
        if (const auto of = inside.find(" of "); of != std::string::npos) {
            part.kind = Kind::kOf;
            part.name = name(inside.substr(0, of), optional);
            part.whole = name(inside.substr(of + 4), optional);
            return part;
        }
        if (inside.ends_with(" or none")) {
            part.kind = Kind::kOrNone;
            part.name = name(inside.substr(0, inside.size() - 8), optional);
            return part;
        }
        const auto colon = inside.find(':');
        part.name = name(inside.substr(0, colon), optional);
        if (colon != std::string::npos) {
            format(inside.substr(colon + 1), part);
        }
        return part;
    }

    // ".1f", or ".2f s" of a figure in ms.
    void format(const std::string& format, Part& part) {
        const auto blank = format.find(' ');
        part.text = format.substr(0, blank);
        if (part.text.size() != 3 || part.text[0] != '.' || part.text[2] != 'f' ||
            std::isdigit(static_cast<unsigned char>(part.text[1])) == 0) {
            complain("'" + part.text + "' is no format like .1f");
            part.text.clear();
        }
        if (blank == std::string::npos) {
            return;
        }
        part.unit = format.substr(blank);
        const std::string own = names_.unit(part.name);
        if (part.unit != " s" || own != "ms") {
            complain(fmt::format("'{}' is not made of '{}'", part.unit, own));
        }
        part.divisor = 1000;
    }

    Part choice() {
        ++at_;
        Part part{.kind = Kind::kOptional};
        const std::size_t text_begins = condition_end();
        if (text_begins != 0) {
            part.condition =
                Condition::parse(text_.substr(at_, text_begins - 1 - at_), names_, problems_);
            at_ = text_begins;
        }
        part.choices.push_back(until("|]", true));
        if (text_begins == 0) {
            const std::optional<int> first = part.choices[0].first_name();
            if (!first) {
                complain("an optional part has neither a condition nor a value");
            }
            part.name = first.value_or(0);
        }
        if (at_ < text_.size() && text_[at_] == '|') {
            ++at_;
            part.choices.push_back(until("]", true));
        }
        if (at_ == text_.size()) {
            complain("a [ has no ]");
        } else {
            ++at_;
        }
        return part;
    }

    // Returns the place after the ? of an optional part with a condition; 0: it has none.
    std::size_t condition_end() const {
        for (std::size_t at = at_; at < text_.size() && !ends(text_[at], "{}[]|\\"); ++at) {
            if (text_[at] == '?') {
                return at + 1;
            }
        }
        return 0;
    }

    const std::string& text_;
    const Names& names_;
    std::vector<std::string>& problems_;
    std::size_t at_ = 0;
};

Sentence Sentence::parse(const std::string& text, const Names& names,
                         std::vector<std::string>& problems, Told told) {
    return SentenceParser(text, names, problems).parse(told == Told::kIfThere);
}

std::optional<int> Sentence::first_name() const {
    for (const Part& part : parts_) {
        if (part.kind != Kind::kText && part.kind != Kind::kOptional) {
            return part.name;
        }
    }
    return std::nullopt;
}

std::string Sentence::text(const Values& values) const {
    std::string text;
    for (const Part& part : parts_) {
        switch (part.kind) {
            case Kind::kText: text += part.text; break;
            case Kind::kValue:
                text += plain_text(values.value(part.name), part.text, part.divisor) + part.unit;
                break;
            case Kind::kOf:
                text += none_or(values.value(part.name)) + " of " +
                        plain_text(values.value(part.whole), "", 1);
                break;
            case Kind::kOrNone: text += none_or(values.value(part.name)); break;
            case Kind::kOptional: {
                const bool told = part.condition.is_empty() ? model::holds(values.value(part.name))
                                                            : part.condition.holds(values);
                const std::size_t choice = told ? 0 : 1;
                if (choice < part.choices.size()) {
                    text += part.choices[choice].text(values);
                }
                break;
            }
        }
    }
    return text;
}

}  // namespace pathproof::scenario::model
