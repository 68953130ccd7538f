// Strings for people: safe in markup, wrapped for a terminal, numbers short enough to read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::report {

// Text as HTML and XML 1.0 hold it: the five special characters as entities, and U+FFFD for what
// neither allows (control characters but tab and line ends, U+FFFE, U+FFFF, each byte that belongs to
// no well-formed sequence of RFC 3629).
std::string escape_markup(std::string_view text);

// JSON as it may stand in a script element: no character that could end the element or that XML
// forbids or treats specially; a JSON parser reads the same values from it.
std::string json_in_markup(std::string_view json);

// Escapes like escape_markup(), with `words between backticks` as code elements.
std::string markup_with_code(std::string_view text);

// "99.95", "42,634", "0.0150": four significant digits for fractions, all digits for whole numbers.
std::string format_number(double value);

// "99.95 %", "yes", "no", "not measured".
std::string format_value(const verdict::Measure& measure);

// "99.93–99.97"; at a zero count "at most 0.015". In the unit of the value.
std::string format_interval(const verdict::Interval& interval, double value);

// "outer SNAT: none · underlay tx: off"; the id of a cell that has no toggles.
std::string toggles_text(const verdict::Cell& cell);

// "48 of 48" with this score; those that it does not apply to are left out.
std::string score_text(const std::vector<verdict::CalibrationRow>& rows,
                       verdict::CalibrationRow::Score verdict::CalibrationRow::*score);

// Breaks at blanks so that no line is longer than `width` characters unless one word is; every line
// but the first starts with `indent` blanks, and the first is taken to start at column `indent`.
// What escape_markup() does not allow (a terminal would obey control characters) becomes U+FFFD.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

// The lines of a text, without their line ends; a text without any is one line.
std::vector<std::string> lines_of(const std::string& text);

// Returns the value of a fact in the first group of the environment whose title begins so; empty: it was
// not read.
std::string fact_of(const verdict::RunResult& run, std::string_view group, std::string_view fact);

}  // namespace pathproof::report
