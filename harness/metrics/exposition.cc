#include "harness/metrics/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/process/json_text.h"

namespace pathproof::metrics {
namespace {

// Backslashes, ends of lines and quotation marks, as both dialects write them in label values.
std::string escaped(const std::string& text) {
    std::string result;
    // Text of other programs (a namespace's name) is not held to be UTF-8, and both dialects are.
    for (const char letter : process::valid_utf8(text)) {
        switch (letter) {
            case '\\': result += "\\\\"; break;
            case '\n': result += "\\n"; break;
            case '"': result += "\\\""; break;
            default: result += letter;
        }
    }
    return result;
}

}  // namespace

const char* content_type(Dialect dialect) {
    switch (dialect) {
        case Dialect::kOpenMetrics:
            return "application/openmetrics-text; version=1.0.0; charset=utf-8";
        case Dialect::kPrometheus: return "text/plain; version=0.0.4; charset=utf-8";
    }
    return "";
}

const char* name(Type type) {
    switch (type) {
        case Type::kCounter: return "counter";
        case Type::kGauge: return "gauge";
        case Type::kInfo: return "info";
        case Type::kStateSet: return "stateset";
    }
    return "";
}

std::string sample_name(const Family& family) {
    switch (family.type) {
        case Type::kCounter: return family.name + "_total";
        case Type::kInfo: return family.name + "_info";
        case Type::kGauge:
        case Type::kStateSet: break;
    }
    return family.name;
}

void Exposition::begin(Family family) {
    family_ = std::move(family);
    head_due_ = true;
}

void Exposition::head() {
    // The older format names what its samples are called and knows two of the types.
    const bool older = dialect_ == Dialect::kPrometheus;
    const std::string named = older ? sample_name(family_) : family_.name;
    const char* type = older && family_.type != Type::kCounter ? "gauge" : name(family_.type);
    text_ += fmt::format("# TYPE {} {}\n", named, type);
    if (!older && !family_.unit.empty()) {
        text_ += fmt::format("# UNIT {} {}\n", named, family_.unit);
    }
    // The older format has no escape for quotation marks here, so that none is used in either.
    std::string help = family_.help;
    std::ranges::replace(help, '"', '\'');
    text_ += fmt::format("# HELP {} {}\n", named, escaped(help));
}

void Exposition::write(const Labels& labels, std::string_view value) {
    if (std::exchange(head_due_, false)) {
        head();
    }
    text_ += sample_name(family_);
    char before = '{';
    for (const Label& label : labels) {
        text_ += fmt::format("{}{}=\"{}\"", before, label.name, escaped(label.value));
        before = ',';
    }
    text_ += fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
}

void Exposition::sample(const Labels& labels, std::uint64_t value) {
    write(labels, fmt::format("{}", value));
}

void Exposition::sample(const Labels& labels, double value) {
    if (std::isnan(value)) {
        return write(labels, "NaN");
    }
    if (std::isinf(value)) {
        return write(labels, value > 0 ? "+Inf" : "-Inf");
    }
    write(labels, fmt::format("{}", value));
}

void Exposition::states(const Labels& labels, const std::vector<std::string_view>& all,
                        std::string_view holds) {
    for (const std::string_view state : all) {
        Labels with_state = labels;
        with_state.push_back({.name = family_.name, .value = std::string(state)});
        sample(with_state, std::uint64_t{state == holds});
    }
}

std::string Exposition::finish() {
    if (dialect_ == Dialect::kOpenMetrics) {
        text_ += "# EOF\n";
    }
    return std::move(text_);
}

}  // namespace pathproof::metrics
