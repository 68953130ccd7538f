#include "harness/screen/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pathproof::screen {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bool printable(char c) {
    return c >= 0x20 && c < 0x7f;
}

std::string clean(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return !printable(c); }, '?');
    return text;
}

std::string scaled(double value) {
    constexpr struct {
        double factor;
        const char* unit;
    } kUnits[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    for (const auto& [factor, unit] : kUnits) {
        // 999950 would print as 1000.0k.
        if (value >= factor * 0.99995) {
            const int decimals = value / factor < 99.995 ? 2 : 1;
            return fmt::format("{:.{}f}{}", value / factor, decimals, unit);
        }
    }
    return fmt::format("{:.1f}", value);
}

}  // namespace

std::string plain(const Line& line) {
    std::string text;
    for (const Piece& piece : line) {
        text += piece.text;
    }
    return text;
}

std::size_t width(const Line& line) {
    return plain(line).size();
}

Line fitted(const Line& line, std::size_t columns) {
    Line out;
    std::size_t used = 0;
    const bool cut = width(line) > columns;
    for (const Piece& piece : line) {
        if (used == columns) {
            break;
        }
        out.push_back({clean(piece.text.substr(0, columns - used)), piece.style});
        used += out.back().text.size();
    }
    if (cut && !out.empty() && !out.back().text.empty()) {
        out.back().text.back() = '>';
    }
    return out;
}

Line filled(const Line& line, std::size_t columns) {
    Line out = fitted(line, columns);
    const std::size_t missing = columns - width(out);
    if (missing > 0) {
        out.push_back({std::string(missing, ' '), out.empty() ? Style::kPlain : out.back().style});
    }
    return out;
}

Line spread(const Line& left, const Line& right, std::size_t columns) {
    const std::size_t taken = width(right);
    if (taken >= columns) {
        return filled(left, columns);
    }
    Line out = filled(left, columns - taken);
    out.insert(out.end(), right.begin(), right.end());
    return out;
}

std::string left_column(const std::string& text, std::size_t columns) {
    if (text.size() <= columns) {
        return text + std::string(columns - text.size(), ' ');
    }
    return columns == 0 ? "" : text.substr(0, columns - 1) + ">";
}

std::string right_column(const std::string& text, std::size_t columns) {
    if (text.size() <= columns) {
        return std::string(columns - text.size(), ' ') + text;
    }
    return left_column(text, columns);
}

std::string compact(std::uint64_t count) {
    return count < 1'000'000 ? fmt::format("{}", count) : scaled(static_cast<double>(count));
}

std::string compact_rate(double per_second) {
    return scaled(std::max(0.0, per_second));
}

std::string percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

std::string duration_text(std::int64_t nanoseconds) {
    const auto value = static_cast<double>(nanoseconds);
    if (nanoseconds < 1'000'000) {
        return fmt::format("{:.0f} us", value / 1e3);
    }
    return nanoseconds < kSecond ? fmt::format("{:.1f} ms", value / 1e6)
                                 : fmt::format("{:.1f} s", value / 1e9);
}

std::string clock_text(std::int64_t time_ns) {
    const std::int64_t seconds = time_ns / kSecond % 86'400;
    return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string uptime_text(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds);
    const std::string days = whole >= 86'400 ? fmt::format("{}d ", whole / 86'400) : "";
    return days + clock_text(whole % 86'400 * kSecond);
}

std::string bar(double share, std::size_t columns) {
    if (columns < 3) {
        return std::string(columns, ' ');
    }
    const std::size_t inside = columns - 2;
    const double held = std::clamp(share, 0.0, 1.0) * static_cast<double>(inside);
    // Any share above zero fills one place, and only a full table fills the bar.
    std::size_t full = static_cast<std::size_t>(std::floor(held));
    full = share > 0 ? std::max<std::size_t>(full, 1) : 0;
    return "[" + std::string(full, '#') + std::string(inside - full, '.') + "]";
}

}  // namespace pathproof::screen
