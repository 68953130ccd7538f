#include "harness/cli/truth_text.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "harness/report/text.h"

namespace pathproof::cli {
namespace {

constexpr std::size_t kWidth = 100;

const char* mark(const verdict::Observation& seen) {
    switch (seen.observed) {
        case verdict::Observed::kRight: return seen.names.empty() ? "right" : "valid";
        case verdict::Observed::kWrong: return "WRONG";
        case verdict::Observed::kByDesign: return "(1)";
        case verdict::Observed::kRefused: return "ref.";
        case verdict::Observed::kNoClaim: return "none";
        case verdict::Observed::kNotTested: break;
    }
    return "-";
}

std::size_t widest(const verdict::TruthTable& table, std::string verdict::TruthRow::*column,
                   std::size_t least) {
    for (const verdict::TruthRow& row : table.rows) {
        least = std::max(least, (row.*column).size());
    }
    return least;
}

bool any(const verdict::TruthTable& table, std::string_view marked) {
    return std::ranges::any_of(table.rows, [&](const verdict::TruthRow& row) {
        return std::ranges::find(row.observed, marked, mark) != row.observed.end();
    });
}

}  // namespace

std::string truth_text(const verdict::TruthTable& table) {
    const std::size_t width = widest(table, &verdict::TruthRow::offload, 7);
    const std::size_t offered = widest(table, &verdict::TruthRow::advertised, 7);
    std::string text = fmt::format("{}\n     {:<{}} {:<10} {:<{}}",
                                   report::wrap(table.title + ": " + table.device, kWidth, 0),
                                   "offload", width, "expected", "offered", offered);
    for (std::size_t i = 0; i < table.conditions.size(); ++i) {
        text += fmt::format(" {:^5}", static_cast<char>('a' + i));
    }
    for (const verdict::TruthRow& row : table.rows) {
        text += fmt::format("\n  {} {:<{}} {:<10} {:<{}}", row.direction, row.offload, width,
                            row.expected.empty() ? "-" : row.expected, row.advertised, offered);
        for (const verdict::Observation& seen : row.observed) {
            text += fmt::format(" {:^5}", mark(seen));
        }
    }
    std::string letters;
    for (std::size_t i = 0; i < table.conditions.size(); ++i) {
        letters += fmt::format("{}{} {}", i == 0 ? "" : ", ", static_cast<char>('a' + i),
                               table.conditions[i]);
    }
    text += "\n  " + report::wrap(letters, kWidth, 2);
    text += any(table, "(1)")
                ? "\n  (1) left unfinished by design of such a device; right behind a healthy NIC"
                : "";
    text += any(table, "valid")
                ? "\n  valid: the driver calls such frames good, and all that it does are"
                : "";
    text += any(table, "none") ? "\n  none: nothing is said of such frames" : "";
    return text + "\n  " + report::wrap(table.excluded, kWidth, 2) + "\n";
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
