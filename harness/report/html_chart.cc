// Bars as inline SVG. Positions are percentages of the width, so that a chart fits any screen and
// its text keeps its size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/report/html_parts.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

constexpr int kTicks = 4;

// The next number of the form 1, 2, 2.5, 4, 5 or 8 times a power of ten: its quarters are short.
double round_up(double value) {
    if (value <= 0) {
        return 1;
    }
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (double step : {1.0, 2.0, 2.5, 4.0, 5.0, 8.0}) {
        if (value <= step * power) {
            return step * power;
        }
    }
    return 10 * power;
}

double axis_maximum(const Chart& chart) {
    if (chart.maximum > 0) {
        return chart.maximum;
    }
    double largest = 0;
    for (const Bar& bar : chart.bars) {
        largest = std::max(largest, bar.interval ? bar.interval->high : bar.value);
    }
    return round_up(largest);
}

const char* tone_of(Bar::Kind kind) {
    switch (kind) {
        case Bar::Kind::kGood: return "good";
        case Bar::Kind::kBad: return "bad";
        case Bar::Kind::kNeutral: return "mute";
    }
    return "mute";
}

std::string interval_words(const Bar& bar, const std::string& unit) {
    return bar.interval ? format_interval(*bar.interval, bar.value) + unit : std::string();
}

std::string line(const char* kind, double x1, double x2, int y1, int y2) {
    return fmt::format(R"(<line class="{}" x1="{:.3f}%" x2="{:.3f}%" y1="{}" y2="{}"/>)", kind, x1,
                       x2, y1, y2);
}

std::string whiskers(double low, double high) {
    std::string html;
    for (const char* kind : {"halo", "whisker"}) {
        html += line(kind, low, high, 12, 12) + line(kind, low, low, 7, 17) +
                line(kind, high, high, 7, 17);
    }
    return html;
}

std::string bar_html(const Bar& bar, double maximum, const std::string& unit) {
    const auto share = [&](double value) { return std::clamp(100 * value / maximum, 0.0, 100.0); };
    const std::string interval = interval_words(bar, unit);
    std::string html = fmt::format(
        R"(<div class="bar"><div class="name">{}</div>)"
        R"(<svg role="img" aria-label="{}: {}{}{}{}" width="100%" height="24">)"
        R"(<rect class="track" x="0" y="4" width="100%" height="16" rx="2"/>)",
        escape_markup(bar.label), escape_markup(bar.label), format_number(bar.value),
        escape_markup(unit), interval.empty() ? "" : "; 95 % interval: ", escape_markup(interval));
    for (int tick = 1; tick < kTicks; ++tick) {
        html += line("tick", 100.0 * tick / kTicks, 100.0 * tick / kTicks, 4, 20);
    }
    html += fmt::format(R"(<rect class="fill {}" x="0" y="4" width="{:.3f}%" height="16" rx="2"/>)",
                        tone_of(bar.kind), share(bar.value));
    if (bar.interval) {
        html += whiskers(share(bar.interval->low), share(bar.interval->high));
    }
    return html + fmt::format(R"(</svg><div class="number">{}{} <small>{}</small></div></div>)",
                              format_number(bar.value), escape_markup(unit),
                              escape_markup(interval));
}

const char* anchor_of(int tick) {
    return tick == 0 ? "start" : tick == kTicks ? "end" : "middle";
}

std::string axis_html(double maximum, const std::string& unit) {
    std::string html = R"(<div class="bar" aria-hidden="true"><div></div>)"
                       R"(<svg class="axis" width="100%" height="18">)";
    for (int tick = 0; tick <= kTicks; ++tick) {
        html +=
            fmt::format(R"(<text x="{}%" y="13" text-anchor="{}">{}{}</text>)", 100 * tick / kTicks,
                        anchor_of(tick), format_number(maximum * tick / kTicks),
                        tick == kTicks ? escape_markup(unit) : "");
    }
    return html + "</svg><div></div></div>";
}

}  // namespace

std::string chart_html(const Chart& chart) {
    const double maximum = axis_maximum(chart);
    const std::string unit = chart.unit.empty() ? "" : "\u00A0" + chart.unit;
    std::string html = fmt::format(R"(<figure class="chart"><figcaption>{}</figcaption>)",
                                   markup_with_code(chart.title));
    const bool has_whiskers = std::any_of(chart.bars.begin(), chart.bars.end(),
                                          [](const Bar& bar) { return bar.interval.has_value(); });
    for (const Bar& bar : chart.bars) {
        html += bar_html(bar, maximum, unit);
    }
    html += axis_html(maximum, unit);
    if (has_whiskers) {
        html += R"(<p class="legend">Whiskers and small figures: the 95 % interval.</p>)";
    }
    return html + "</figure>";
}

}  // namespace pathproof::report
