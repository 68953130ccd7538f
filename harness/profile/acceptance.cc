#include "harness/profile/acceptance.h"

#include <algorithm>
#include <cmath>

#include "harness/profile/toml_reader.h"

namespace pathproof::profile {
namespace {

AcceptanceLimit read_limit(TomlReader& reader, const toml::table& table, const std::string& file) {
    reader.allow_only(
        table, {"clause", "text", "figure", "at_least", "at_most", "exactly", "unit", "decision"});
    AcceptanceLimit limit{.clause = reader.required_text(table, "clause"),
                          .text = reader.optional_text(table, "text"),
                          .at_least = reader.real(table, "at_least"),
                          .at_most = reader.real(table, "at_most"),
                          .exactly = reader.real(table, "exactly"),
                          .unit = reader.optional_text(table, "unit"),
                          .where = fmt::format("{}:{}", file, table.source().begin.line)};
    const std::string figure = reader.required_text(table, "figure");
    const std::size_t first = figure.find('/');
    const std::size_t last = figure.rfind('/');
    if (figure.empty()) {
        return limit;
    }
    if (first == std::string::npos || first == last || first == 0 || last + 1 == figure.size()) {
        reader.complain(table.get("figure")->source(),
                        "figure '{}' is not SCENARIO/CELL/FIGURE, as "
                        "performance/throughput.1518/ndr_line_share",
                        figure);
        return limit;
    }
    limit.scenario = figure.substr(0, first);
    limit.cells = figure.substr(first + 1, last - first - 1);
    limit.figure = figure.substr(last + 1);
    const int ends = (limit.at_least ? 1 : 0) + (limit.at_most ? 1 : 0) + (limit.exactly ? 1 : 0);
    const bool is_range = limit.at_least && limit.at_most && !limit.exactly;
    if (ends == 0 || (ends > 1 && !is_range)) {
        reader.complain(table.source(),
                        "clause {}: a limit has at_least, at_most, both of them, or exactly",
                        limit.clause);
    } else if (is_range && *limit.at_least > *limit.at_most) {
        reader.complain(table.source(), "clause {}: nothing is at least {} and at most {}",
                        limit.clause, *limit.at_least, *limit.at_most);
    }
    if (table.contains("decision")) {
        limit.decision = reader.one_of(table, "decision", {Decision::kValue, Decision::kInterval});
    }
    return limit;
}

}  // namespace

const char* name(Decision decision) {
    switch (decision) {
        case Decision::kValue: return "value";
        case Decision::kInterval: return "interval";
    }
    return "interval";
}

std::string condition_text(const AcceptanceLimit& limit) {
    const std::string unit = limit.unit.empty() ? "" : " " + limit.unit;
    if (limit.exactly) {
        return fmt::format("= {:g}{}", *limit.exactly, unit);
    }
    if (limit.at_least && limit.at_most) {
        return fmt::format("{:g} to {:g}{}", *limit.at_least, *limit.at_most, unit);
    }
    return limit.at_least ? fmt::format(">= {:g}{}", *limit.at_least, unit)
                          : fmt::format("<= {:g}{}", limit.at_most.value_or(0), unit);
}

std::optional<double> TomlReader::real(const toml::table& table, std::string_view key) {
    const toml::node* const node = table.get(key);
    if (node == nullptr) {
        return std::nullopt;
    }
    const auto value = node->value<double>();
    if (!node->is_number() || !value || !std::isfinite(*value)) {
        complain(node->source(), "'{}' wants a number", key);
        return std::nullopt;
    }
    return value;
}

std::vector<AcceptanceLimit> TomlReader::acceptance(const toml::table& table,
                                                    std::string_view key) {
    std::vector<AcceptanceLimit> limits;
    each_table(table, key, [&](const toml::table& one) {
        limits.push_back(read_limit(*this, one, file_));
        const auto twice = [&](const AcceptanceLimit& other) {
            return &other != &limits.back() && other.clause == limits.back().clause &&
                   other.scenario == limits.back().scenario && other.cells == limits.back().cells &&
                   other.figure == limits.back().figure;
        };
        if (std::any_of(limits.begin(), limits.end(), twice)) {
            complain(one.source(), "clause {} has a limit of this figure already",
                     limits.back().clause);
        }
    });
    return limits;
}

}  // namespace pathproof::profile
