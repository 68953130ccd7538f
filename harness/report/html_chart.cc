// Bars and curves as inline SVG. Positions are percentages of the width, so that a chart fits any screen and
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
    for (const Curve& curve : chart.curves) {
        for (const Curve::Point& point : curve.points) {
            largest = std::max(largest, point.interval ? point.interval->high : point.y);
        }
    }
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

constexpr int kPlotTop = 10;
constexpr int kPlotHeight = 200;
constexpr int kMarkHeight = 20;
constexpr int kLooks = 5;  // of curves, in page.css

// Positions on a chart of curves: percent to the right, pixels down.
struct Plot {
    double x_maximum = 1;
    double y_maximum = 1;
    double right(double x) const {
        return 100 * std::log1p(std::clamp(x, 0.0, x_maximum)) / std::log1p(x_maximum);
    }
    double down(double y) const {
        return kPlotTop + kPlotHeight * (1 - std::clamp(y / y_maximum, 0.0, 1.0));
    }
};

std::string plot_line(const std::string& kind, double x1, double x2, double y1, double y2) {
    return fmt::format(R"(<line class="{}" x1="{:.3f}%" x2="{:.3f}%" y1="{:.1f}" y2="{:.1f}"/>)",
                       kind, x1, x2, y1, y2);
}

std::string plot_text(double right, double down, const char* anchor, const std::string& text) {
    return fmt::format(R"(<text x="{:.3f}%" y="{:.1f}" text-anchor="{}">{}</text>)", right, down,
                       anchor, text);
}

std::string grid_html(const Plot& plot, const std::string& unit) {
    std::string html;
    for (int tick = 0; tick <= kTicks; ++tick) {
        const double y = plot.y_maximum * tick / kTicks;
        html += plot_line("tick", 0, 100, plot.down(y), plot.down(y)) +
                plot_text(0, plot.down(y) - 2, "start", format_number(y) + escape_markup(unit));
    }
    for (double decade = 1; decade <= plot.x_maximum; decade *= 10) {
        for (const double step : {1.0, 2.0, 5.0}) {
            const double x = step * decade;
            if (x <= plot.x_maximum) {
                html += plot_line("tick", plot.right(x), plot.right(x), kPlotTop,
                                  kPlotTop + kPlotHeight) +
                        plot_text(plot.right(x), kPlotTop + kPlotHeight + 14,
                                  x == plot.x_maximum ? "end" : "middle", format_number(x));
            }
        }
    }
    return html;
}

std::string curve_html(const Curve& curve, const std::string& look, const Plot& plot) {
    std::string html;
    const Curve::Point* before = nullptr;
    for (const Curve::Point& point : curve.points) {
        const double right = plot.right(point.x);
        if (before != nullptr) {
            html += plot_line("curve " + look, plot.right(before->x), right, plot.down(before->y),
                              plot.down(point.y));
        }
        if (point.interval) {
            html += plot_line("curve thin " + look, right, right, plot.down(point.interval->low),
                              plot.down(point.interval->high));
        }
        html += fmt::format(
            R"(<circle class="{}" cx="{:.3f}%" cy="{:.1f}" r="3"><title>{}: {} at {}</title></circle>)",
            look, right, plot.down(point.y), escape_markup(curve.label), format_number(point.y),
            format_number(point.x));
        before = &point;
    }
    return html;
}

// Below the axis, each on a line of its own.
std::string marks_html(const Chart& chart, const Plot& plot) {
    std::string html;
    double down = kPlotTop + kPlotHeight + 34;
    for (const AxisMark& mark : chart.marks) {
        const bool left = plot.right(mark.middle) > 60;
        html +=
            plot_line("mark", plot.right(mark.middle), plot.right(mark.middle), kPlotTop, down) +
            plot_line("range", plot.right(mark.low), plot.right(mark.high), down, down) +
            plot_text(left ? plot.right(mark.low) : plot.right(mark.high), down + 4,
                      left ? "end" : "start",
                      fmt::format("{}{}{}", left ? "" : "\u00A0", escape_markup(mark.label),
                                  left ? "\u00A0" : ""));
        down += kMarkHeight;
    }
    return html;
}

std::string curves_html(const Chart& chart, const std::string& unit) {
    Plot plot{.y_maximum = axis_maximum(chart)};
    std::string legend;
    std::string lines;
    for (const Curve& curve : chart.curves) {
        for (const Curve::Point& point : curve.points) {
            plot.x_maximum = std::max(plot.x_maximum, point.x);
        }
    }
    for (const AxisMark& mark : chart.marks) {
        plot.x_maximum = std::max(plot.x_maximum, mark.middle);
    }
    plot.x_maximum = round_up(plot.x_maximum);
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        const std::string look = fmt::format("look{}", i % kLooks);
        lines += curve_html(chart.curves[i], look, plot);
        legend += fmt::format(
            R"(<li><svg width="28" height="10" aria-hidden="true">{}</svg> {}</li>)",
            plot_line("curve " + look, 0, 100, 5, 5), escape_markup(chart.curves[i].label));
    }
    const int height =
        kPlotTop + kPlotHeight + 40 + kMarkHeight * static_cast<int>(chart.marks.size());
    return fmt::format(
        R"(<div class="curves"><svg role="img" aria-label="{}" width="100%" height="{}">{}</svg>)"
        R"(<ul>{}</ul><p class="legend">Across: {}, growing as log(1 + x). Thin lines: the 95 % )"
        R"(interval.{}</p></div>)",
        escape_markup(chart.title), height, grid_html(plot, unit) + marks_html(chart, plot) + lines,
        legend, escape_markup(chart.x_label),
        chart.marks.empty() ? "" : " Below the axis: the middle, and where four in five lie.");
}

}  // namespace

std::string chart_html(const Chart& chart) {
    const double maximum = axis_maximum(chart);
    const std::string unit = chart.unit.empty() ? "" : "\u00A0" + chart.unit;
    std::string html = fmt::format(R"(<figure class="chart"><figcaption>{}</figcaption>)",
                                   markup_with_code(chart.title));
    if (!chart.curves.empty()) {
        return html + curves_html(chart, unit) + "</figure>";
    }
    const bool has_whiskers =
        std::ranges::any_of(chart.bars, [](const Bar& bar) { return bar.interval.has_value(); });
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
