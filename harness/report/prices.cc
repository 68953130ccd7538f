#include "harness/report/prices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "dataplane/base/plural.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

constexpr std::size_t kPriceWidth = 100;
constexpr std::size_t kPriceIndent = 4;

std::string key_text(const PriceTable& table) {
    std::vector<std::string> tools;
    for (const auto& [tool, version] : table.key.tools) {
        tools.push_back(version.starts_with(tool) ? version : tool + " " + version);
    }
    return fmt::format("Linux {}, pathproof {}, {}", table.key.kernel, table.key.version,
                       fmt::join(tools, ", "));
}

std::string counts_text(const PriceTable& table) {
    std::vector<std::string> counts;
    for (const Effect effect : {Effect::kCures, Effect::kBreaks, Effect::kDoesNotTouch,
                                Effect::kNotMeasured, Effect::kDoesNotApply}) {
        counts.push_back(fmt::format(
            "{} {}", std::ranges::count(table.cells, effect, &PriceCell::effect), name(effect)));
    }
    return fmt::format("{}, {}: {}", plural(table.cures.size(), "cure"),
                       plural(table.cells.size(), "cell"), fmt::join(counts, ", "));
}

std::string probe_text(const PriceCell& cell) {
    switch (cell.effect) {
        case Effect::kBreaks: return fmt::format("{} ({})", cell.probe, cell.with);
        case Effect::kNotMeasured: return fmt::format("{} ({})", cell.probe, cell.reason);
        case Effect::kCures:
        case Effect::kDoesNotTouch:
        case Effect::kDoesNotApply: break;
    }
    return cell.probe;
}

std::string probes_with(const PriceTable& table, const std::string& cure, Effect effect) {
    std::vector<std::string> probes;
    for (const PriceCell& cell : table.cells) {
        if (cell.cure == cure && cell.effect == effect) {
            probes.push_back(probe_text(cell));
        }
    }
    return fmt::format("{}", fmt::join(probes, ", "));
}

std::string measure_text(const Measure& measure) {
    if (measure.value.is_null()) {
        return "not measured";
    }
    if (!measure.interval) {
        return format_value(measure);
    }
    return fmt::format("{} ({} to {})", format_value(measure), format_number(measure.interval->low),
                       format_number(measure.interval->high));
}

// Tells a cure's costs for one load: first the costs and savings, then what is within noise, then
// what was not measured.
std::string costs_text(const PriceTable& table, const std::string& cure, const std::string& load) {
    std::vector<std::string> told, noise;
    std::map<std::string, std::vector<std::string>> lacking;  // by their reason
    for (const Cost& cost : table.costs) {
        if (cost.cure != cure || cost.load != load) {
            continue;
        }
        const std::string& label = cost.more.label;
        if (cost.verdict == CostVerdict::kNotMeasured) {
            lacking[cost.more.note].push_back(label);
        } else if (cost.verdict == CostVerdict::kWithinNoise) {
            noise.push_back(fmt::format("{} ({})", label, measure_text(cost.more)));
        } else {
            told.push_back(fmt::format("{} {}: {}, without it {}", name(cost.verdict), label,
                                       measure_text(cost.more), measure_text(cost.without)));
        }
    }
    if (!noise.empty()) {
        told.push_back(fmt::format("within noise: {}", fmt::join(noise, ", ")));
    }
    for (const auto& [why, labels] : lacking) {
        told.push_back(fmt::format("not measured: {} ({})", fmt::join(labels, ", "), why));
    }
    return fmt::format("{}", fmt::join(told, "; "));
}

}  // namespace

std::string prices_text(const PriceTable& table) {
    const auto line = [](const std::string& text, std::size_t indent = kPriceIndent) {
        return std::string(indent, ' ') + wrap(text, kPriceWidth, indent + 2) + "\n";
    };
    std::string text =
        "\nprices of cures\n" + line(counts_text(table), 2) + line(key_text(table), 2);
    for (const PriceRow& load : table.loads) {
        text += line(fmt::format("load {}: {}", load.id, load.text), 2);
    }
    for (const PriceRow& cure : table.cures) {
        text += line(cure.id + ": " + cure.text, 2);
        for (const Effect effect :
             {Effect::kCures, Effect::kBreaks, Effect::kDoesNotTouch, Effect::kNotMeasured}) {
            const std::string probes = probes_with(table, cure.id, effect);
            text += probes.empty() ? "" : line(fmt::format("{}: {}", name(effect), probes));
        }
        for (const PriceRow& load : table.loads) {
            const std::string costs = costs_text(table, cure.id, load.id);
            text += costs.empty() ? "" : line(fmt::format("{}: {}", load.id, costs));
        }
    }
    return text;
}

}  // namespace pathproof::report
