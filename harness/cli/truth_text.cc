#include "harness/cli/truth_text.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace pathproof::cli {
namespace {

const char* mark(const verdict::Observation& seen) {
    switch (seen.observed) {
        case verdict::Observed::kRight:
            return "right";
        case verdict::Observed::kWrong:
            return "WRONG";
        case verdict::Observed::kByDesign:
            return "(1)";
        case verdict::Observed::kRefused:
            return "ref.";
        case verdict::Observed::kNoClaim:
            return "none";
        case verdict::Observed::kNotTested:
            break;
    }
    return "-";
}

std::size_t widest_offload(const verdict::TruthTable& table) {
    std::size_t width = 7;
    for (const verdict::TruthRow& row : table.rows) {
        width = std::max(width, row.offload.size());
    }
    return width;
}

bool any_by_design(const verdict::TruthTable& table) {
    return std::ranges::any_of(table.rows, [](const verdict::TruthRow& row) {
        return std::ranges::any_of(row.observed, [](const verdict::Observation& seen) {
            return seen.observed == verdict::Observed::kByDesign;
        });
    });
}

}  // namespace

std::string truth_text(const verdict::TruthTable& table) {
    const std::size_t width = widest_offload(table);
    std::string text = fmt::format("{}: {}\n     {:<{}} {:<10} {:<9}", table.title, table.device,
                                   "offload", width, "expected", "offered");
    for (std::size_t i = 0; i < table.conditions.size(); ++i) {
        text += fmt::format(" {:^5}", static_cast<char>('a' + i));
    }
    for (const verdict::TruthRow& row : table.rows) {
        text += fmt::format("\n  {} {:<{}} {:<10} {:<9}", row.direction, row.offload, width,
                            row.expected.empty() ? "-" : row.expected, row.advertised);
        for (const verdict::Observation& seen : row.observed) {
            text += fmt::format(" {:^5}", mark(seen));
        }
    }
    text += "\n ";
    for (std::size_t i = 0; i < table.conditions.size(); ++i) {
        text += fmt::format(" {} {}{}", static_cast<char>('a' + i), table.conditions[i],
                            i + 1 < table.conditions.size() ? "," : "");
    }
    text += any_by_design(table) ? "\n  (1) left unfinished, as the profile says" : "";
    return text + "\n  " + table.excluded + "\n";
}

std::string proof_text(const verdict::Proof& proof) {
    std::string text = proof.title + "\n";
    for (const auto& row : proof.rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (!row[i].empty()) {
                line +=
                    fmt::format("{}{}: {}", line.empty() ? "  " : "; ", proof.columns[i], row[i]);
            }
        }
        text += line + "\n";
    }
    return text + (proof.conclusion.empty() ? "" : "  " + proof.conclusion + "\n");
}

}  // namespace pathproof::cli
