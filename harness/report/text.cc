#include "harness/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cmath>

namespace pathproof::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Character {
    char32_t code = 0xFFFD;
    std::size_t bytes = 1;
    bool valid = false;
};

// The smallest code point of each length in bytes, below which a form is overlong.
constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};

// Returns the bytes of a character of several by the first; 0: no character begins with it.
std::size_t length_of(unsigned char lead) {
    if (lead >= 0xF0) {
        return 4;
    }
    if (lead >= 0xE0) {
        return 3;
    }
    return lead >= 0xC2 ? 2 : 0;
}

// RFC 3629 section 4: no overlong forms, no surrogates, nothing above U+10FFFF.
Character decode(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        return {lead, 1, true};
    }
    const std::size_t length = length_of(lead);
    if (length == 0 || lead > 0xF4 || text.size() < length) {
        return {};
    }
    char32_t code = lead & (0xFF >> (length + 1));
    for (std::size_t at = 1; at < length; ++at) {
        if ((byte(at) & 0xC0) != 0x80) {
            return {};
        }
        code = code << 6 | (byte(at) & 0x3Fu);
    }
    if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
        return {};
    }
    return {code, length, true};
}

// Calls take(character, its bytes) for each character of the text.
template <typename Take>
void each_character(std::string_view text, Take take) {
    while (!text.empty()) {
        const Character character = decode(text);
        take(character, text.substr(0, character.bytes));
        text.remove_prefix(character.bytes);
    }
}

// XML 1.0 section 2.2, and the C1 controls, which HTML does not allow.
bool allowed_in_markup(const Character& character) {
    const char32_t code = character.code;
    if (!character.valid || code == 0xFFFE || code == 0xFFFF) {
        return false;
    }
    if (code == '\t' || code == '\n' || code == '\r') {
        return true;
    }
    return code >= 0x20 && (code < 0x7F || code > 0x9F);
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string with_thousands(long long value) {
    std::string digits = std::to_string(value);
    const std::size_t first = digits[0] == '-' ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

}  // namespace

std::string escape_markup(std::string_view text) {
    std::string escaped;
    each_character(text, [&](const Character& character, std::string_view bytes) {
        if (!allowed_in_markup(character)) {
            escaped += kReplacement;
            return;
        }
        switch (character.code) {
            case '&': escaped += "&amp;"; return;
            case '<': escaped += "&lt;"; return;
            case '>': escaped += "&gt;"; return;
            case '"': escaped += "&quot;"; return;
            case '\'': escaped += "&#39;"; return;
            default: escaped += bytes;
        }
    });
    return escaped;
}

std::string json_in_markup(std::string_view json) {
    std::string safe;
    each_character(json, [&](const Character& character, std::string_view bytes) {
        const char32_t code = character.code;
        const bool plain =
            allowed_in_markup(character) && code != '<' && code != '>' && code != '&';
        safe += plain ? std::string(bytes) : fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    });
    return safe;
}

std::string markup_with_code(std::string_view text) {
    std::string marked;
    while (true) {
        const std::size_t open = text.find('`');
        const std::size_t close = open == std::string_view::npos ? open : text.find('`', open + 1);
        if (close == std::string_view::npos) {
            return marked + escape_markup(text);
        }
        marked += escape_markup(text.substr(0, open));
        marked +=
            fmt::format("<code>{}</code>", escape_markup(text.substr(open + 1, close - open - 1)));
        text.remove_prefix(close + 1);
    }
}

std::string format_number(double value) {
    if (value == std::round(value) && std::abs(value) < 1e15) {
        return with_thousands(static_cast<long long>(value));
    }
    if (std::abs(value) >= 1e4 && std::abs(value) < 1e15) {
        return with_thousands(std::llround(value));
    }
    return fmt::format("{:.4g}", value);
}

std::string format_value(const verdict::Measure& measure) {
    const verdict::Value& value = measure.value;
    if (value.is_null()) {
        return "not measured";
    }
    if (value.is_boolean()) {
        return value.outcome() ? "yes" : "no";
    }
    const std::string unit = measure.unit.empty() ? "" : fmt::format("\u00A0{}", measure.unit);
    if (const auto* whole = std::get_if<std::int64_t>(&value.kinds())) {
        return with_thousands(*whole) + unit;
    }
    if (const auto* count = std::get_if<std::uint64_t>(&value.kinds())) {
        return (*count > INT64_MAX ? std::to_string(*count)
                                   : with_thousands(static_cast<long long>(*count))) +
               unit;
    }
    return (value.is_number() ? format_number(value.number()) : value.text()) + unit;
}

std::string format_interval(const verdict::Interval& interval, double value) {
    if (value == 0 && interval.low == 0) {
        return fmt::format("at most {}", format_number(interval.high));
    }
    return fmt::format("{}\u2013{}", format_number(interval.low), format_number(interval.high));
}

std::string toggles_text(const verdict::Cell& cell) {
    std::string text;
    for (const auto& [axis, value] : cell.toggles) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : " \u00B7 ", axis, value);
    }
    return text.empty() ? cell.id : text;
}

std::string score_text(const std::vector<verdict::CalibrationRow>& rows,
                       verdict::CalibrationRow::Score verdict::CalibrationRow::*score) {
    using Score = verdict::CalibrationRow::Score;
    const auto asked = rows.size() - static_cast<std::size_t>(
                                         std::ranges::count(rows, Score::kNotApplicable, score));
    return fmt::format("{} of {}", std::ranges::count(rows, Score::kYes, score), asked);
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
    std::string lines;
    std::size_t column = indent;
    std::string word;
    const auto put_word = [&] {
        if (word.empty()) {
            return;
        }
        const std::size_t length = characters(word);
        if (column > indent && column + 1 + length > width) {
            lines += '\n';
            lines.append(indent, ' ');
            column = indent;
        }
        if (column > indent) {
            lines += ' ';
            ++column;
        }
        lines += word;
        column += length;
        word.clear();
    };
    each_character(text, [&](const Character& character, std::string_view bytes) {
        if (character.code == ' ' || character.code == '\n' || character.code == '\t') {
            put_word();
            return;
        }
        word += allowed_in_markup(character) ? bytes : kReplacement;
    });
    put_word();
    return lines;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    boost::split(lines, text, boost::is_any_of("\n"));
    return lines;
}

std::string fact_of(const verdict::RunResult& run, std::string_view group, std::string_view fact) {
    for (const verdict::FactGroup& each : run.environment) {
        if (!each.title.starts_with(group)) {
            continue;
        }
        for (const verdict::Fact& one : each.facts) {
            if (one.name == fact && one.status == verdict::Fact::Status::kRead) {
                return one.value;
            }
        }
    }
    return "";
}

}  // namespace pathproof::report
