#include "harness/prices/run.h"

#include <fmt/ranges.h>
#include <fnmatch.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>

#include "harness/prices/loads.h"
#include "harness/prices/probes.h"
#include "harness/process/program.h"

namespace pathproof::prices {
namespace {

// A probe is one step of the table, whatever its scenario counts.
class NoProgress : public scenario::Progress {
  public:
    void begin(const std::string& /*scenario*/, std::size_t /*steps*/) override {}
    void step(const std::string& /*what*/) override {}
    void leave_out(std::size_t /*steps*/) override {}
};

bool asked_for(const std::vector<std::string>& patterns, const std::string& cure,
               const std::string& row) {
    const std::string cell = cure + "/" + row;
    return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
               return fnmatch(pattern.c_str(), cell.c_str(), 0) == 0;
           });
}

template <typename Row>
Cures cures_of(const std::vector<std::string>& patterns, const Row& row) {
    Cures cures;
    for (const Cure& cure : all_cures()) {
        if (asked_for(patterns, cure.id, row.id)) {
            cures.push_back(&cure);
        }
    }
    return cures;
}

std::string version_of(const std::vector<std::string>& command) {
    // After a signal, too: the report of an interrupted run tells of kept prices.
    const auto said = process::run_program(command, {.starts = process::Starts::kWhileStopping});
    return !said || said->exit_status != 0
               ? "not there"
               : said->out.substr(0, std::min(said->out.find('\n'), said->out.find("  ")));
}

void add_cells(const Probe& probe, const Cures& cures, const Result<Tried>& tried,
               verdict::PriceTable& table) {
    for (const Cure* cure : cures) {
        verdict::PriceCell cell{.cure = cure->id, .probe = probe.id};
        cell.reason = probe.leaves_out(*cure);
        if (!cell.reason.empty()) {
            cell.effect = probe.does_not_apply(*cure) ? verdict::Effect::kDoesNotApply
                                                      : verdict::Effect::kNotMeasured;
        } else if (!tried) {
            cell.reason = tried.error().message;
        } else {
            const auto with = tried->with.find(cure->id);
            cell = verdict::conclude_effect(cure->id, probe.id, tried->without,
                                            with == tried->with.end()
                                                ? verdict::ProbeOutcome{.reason = "it was not run"}
                                                : with->second);
        }
        table.cells.push_back(std::move(cell));
    }
}

}  // namespace

verdict::PriceKey key_here(const std::string& version) {
    utsname system{};
    uname(&system);
    return {.kernel = system.release,
            .version = version,
            .tools = {{"iptables", version_of({"iptables", "--version"})},
                      {"nft", version_of({"nft", "--version"})},
                      {"dnsmasq", version_of({"dnsmasq", "--version"})},
                      {"glibc", gnu_get_libc_version()}}};
}

std::vector<std::string> price_patterns(const std::vector<std::string>& cells) {
    const std::string own = std::string(kPrices) + "/";
    std::vector<std::string> patterns;
    for (const std::string& cell : cells) {
        if (cell.starts_with(own)) {
            patterns.push_back(cell.substr(own.size()));
        }
    }
    return patterns;
}

Status check_price_patterns(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
        const bool known = std::ranges::any_of(all_cures(), [&](const Cure& cure) {
            const auto named = [&](const auto& row) {
                return asked_for({pattern}, cure.id, row.id);
            };
            return std::ranges::any_of(all_probes(), named) ||
                   std::ranges::any_of(all_loads(), named);
        });
        if (!known) {
            std::vector<std::string> cures;
            std::ranges::transform(all_cures(), std::back_inserter(cures), &Cure::id);
            return fail(ErrorCode::kBadInput,
                        "no cell prices/CURE/PROBE matches 'prices/{}'; there are the cures {}",
                        pattern, fmt::join(cures, ", "));
        }
    }
    return {};
}

verdict::PriceTable measure_prices(scenario::Context& context, const verdict::PriceKey& key,
                                   const std::string& now,
                                   const std::vector<std::string>& patterns) {
    const auto began = std::chrono::steady_clock::now();
    verdict::PriceTable table{.key = key, .measured_at = now};
    const auto runs = [&](const Probe& probe) {
        return std::ranges::any_of(cures_of(patterns, probe), [&](const Cure* cure) {
            return probe.leaves_out(*cure).empty();
        });
    };
    const auto takes = [&](const Load& load) {
        Cures cures = cures_of(patterns, load);
        std::erase_if(cures, [&](const Cure* cure) { return !load.takes(*cure); });
        return cures;
    };
    std::size_t steps = 0;
    for (const Probe& probe : all_probes()) {
        steps += runs(probe) ? 1 : 0;
    }
    for (const Load& load : all_loads()) {
        steps += takes(load).empty() ? 0 : load.rounds;
    }
    context.progress.begin(kPrices, steps);
    NoProgress silent;
    scenario::Context inner{context.lab,     context.journal, silent,
                            context.options, context.profile, context.measured};
    for (const Cure& cure : all_cures()) {
        table.cures.push_back({cure.id, cure.text()});
    }
    for (const Probe& probe : all_probes()) {
        const Cures cures = cures_of(patterns, probe);
        if (cures.empty() || !context.journal.is_open()) {
            continue;
        }
        table.probes.push_back({probe.id, probe.text});
        Result<Tried> tried = Tried{};
        if (runs(probe)) {
            context.progress.step(probe.id);
            tried = run_probe(inner, probe, cures);
        }
        add_cells(probe, cures, tried, table);
    }
    for (const Load& load : all_loads()) {
        const Cures cures = takes(load);
        if (cures.empty() || !context.journal.is_open()) {
            continue;
        }
        table.loads.push_back({load.id, load.text});
        const auto run = load.run(context, load, cures);
        std::ranges::move(
            costs_of(load, cures, run.value_or(LoadRun{}), run ? "" : run.error().message),
            std::back_inserter(table.costs));
    }
    std::erase_if(table.cures, [&](const verdict::PriceRow& row) {
        return std::ranges::count(table.cells, row.id, &verdict::PriceCell::cure) == 0 &&
               std::ranges::count(table.costs, row.id, &verdict::Cost::cure) == 0;
    });
    table.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return table;
}

void tell_prices(std::vector<verdict::ScenarioResult>& scenarios, const verdict::PriceTable* table,
                 Source source) {
    for (verdict::ScenarioResult& scenario : scenarios) {
        bool untold = false;
        if (scenario.cure.empty()) {
            continue;
        }
        for (const std::string& id : cures_shown_by(scenario.id)) {
            const verdict::PriceCount count =
                table == nullptr ? verdict::PriceCount() : verdict::count_measured(*table, id);
            if (count.probes + count.figures == 0) {
                untold = true;
                continue;
            }
            const std::vector<std::string> effects = verdict::side_effects(*table, id);
            scenario.cure += fmt::format(
                "\nSide effects of {}, measured {}: {}{}.", find_cure(id)->text(),
                source == Source::kThisRun
                    ? "in this run"
                    : fmt::format("by `qualify --prices` on this kernel on {}",
                                  table->measured_at.substr(0, 10)),
                effects.empty()
                    ? fmt::format("none was seen in {} of its {} probes; "
                                  "figures of cost: {}",
                                  count.probes, count.probes + count.without_result, count.figures)
                    : fmt::format("{}", fmt::join(effects, "; ")),
                effects.empty() || count.without_result == 0
                    ? ""
                    : fmt::format(" ({} of its probes came to no result)", count.without_result));
        }
        scenario.cure += untold ? "\nSide effects not measured on this kernel: `pathproof qualify "
                                  "--prices` measures them."
                                : "";
    }
}

}  // namespace pathproof::prices
