// pathproof inspect stale: entries that the rules of now would make otherwise.
#include "harness/predict/stale.h"

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "dataplane/base/clock.h"
#include "dataplane/base/plural.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/text.h"
#include "harness/process/foreign.h"

namespace pathproof::cli::inspect {
namespace {

using nlohmann::json;
using predict::StaleVerdict;

constexpr int kStaleFound = 1;

struct StaleOptions {
    CommonOptions common;
    std::vector<std::string> words;
    std::optional<double> watch_s;
    Limits limits;
};

struct Round {
    std::uint64_t entries = 0, stale = 0, undecided = 0;
    std::map<std::string, std::uint64_t> doubts;  // why not decided
    std::vector<hazards::Unread> unread;
    bool whole = true;  // the table was read from its beginning to its end
};

json json_of(const netfilter::Entry& entry, const StaleVerdict& verdict, std::int64_t now_ns) {
    json line{{"entry", entry},
              {"staleness", predict::name(verdict.staleness)},
              {"goes", verdict.goes},
              {"would_go", verdict.would_go},
              {"text", predict::sentence_of(entry, verdict, now_ns)},
              {"cure", predict::delete_command(entry)}};
    line["rule"] = verdict.rule == nullptr ? json()
                                           : json{{"where", predict::place_of(*verdict.rule)},
                                                  {"text", verdict.rule->text}};
    const auto age = predict::age_s(entry, now_ns);
    line["age_s"] = age ? json(*age) : json();
    return line;
}

void put_text(Output& output, const netfilter::Entry& entry, const StaleVerdict& verdict,
              std::int64_t now_ns) {
    append_text(output.line(), entry);
    output.line() +=
        fmt::format("\n  {}\n  cure  {}",
                    process::without_controls(predict::sentence_of(entry, verdict, now_ns)),
                    predict::delete_command(entry));
    output.end_line();
}

class Stale {
  public:
    Stale(const StaleOptions& options, netfilter::Filter filter)
        : options_(options), filter_(std::move(filter)) {}

    Result<int> run() {
        const auto deadline = options_.limits.deadline();
        std::uint64_t rounds = 0;
        Round last;
        for (;;) {
            last = TRY(look());
            put_summary(last);
            output_.flush();
            ++rounds;
            found_ |= last.stale != 0;
            const bool over = !options_.watch_s || process::stopping() || !output_.open() ||
                              (options_.limits.count && rounds >= *options_.limits.count);
            if (over || !wait(deadline)) {
                break;
            }
        }
        const bool incomplete = last.undecided != 0 || !last.unread.empty() || !last.whole;
        if (found_) {
            return kStaleFound;
        }
        return incomplete ? kIncomplete : kDone;
    }

  private:
    // Until the next round; false: there is none.
    bool wait(std::chrono::steady_clock::time_point deadline) const {
        const auto next = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(*options_.watch_s));
        while (std::chrono::steady_clock::now() < next &&
               std::chrono::steady_clock::now() < deadline && !process::stopping()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return std::chrono::steady_clock::now() < deadline && !process::stopping();
    }

    Result<Round> look() {
        const std::string& netns = options_.common.netns;
        const auto facts = TRY(hazards::read_facts(netns, hazards::ConntrackTable::kNotRead,
                                                   hazards::Handles::kLater));
        const auto router = TRY(predict::kernel_router(netns));
        const predict::Simulator simulator(facts, *router);
        predict::StaleFinder finder(simulator, *router);
        Round round;
        round.unread = facts.unread;
        std::set<std::uint32_t> still;
        std::map<const hazards::Rule*, hazards::Rule> named;  // with their handles
        const auto summary =
            TRY(netfilter::dump(netns, filter_, [&](const netfilter::Entry& entry) {
                StaleVerdict verdict = finder.check(entry);
                if (verdict.staleness == predict::Staleness::kNotDecided) {
                    ++round.undecided;
                    ++round.doubts[verdict.why];
                } else if (verdict.stale()) {
                    ++round.stale;
                    still.insert(entry.id);
                    // Under --watch each once.
                    if (!shown_.contains(entry.id)) {
                        if (verdict.rule != nullptr && !named.contains(verdict.rule)) {
                            named.emplace(verdict.rule,
                                          hazards::with_handle(netns, facts, *verdict.rule));
                        }
                        verdict.rule = verdict.rule == nullptr ? nullptr : &named.at(verdict.rule);
                        put(entry, verdict);
                    }
                }
                return output_.open() && !process::stopping() ? netfilter::Next::kContinue
                                                              : netfilter::Next::kStop;
            }));
        shown_ = std::move(still);
        round.entries = summary.entries;
        round.whole = !summary.interrupted && summary.unreadable == 0 && !process::stopping();
        return round;
    }

    void put(const netfilter::Entry& entry, const StaleVerdict& verdict) {
        const std::int64_t now_ns = realtime_ns();
        if (options_.common.json) {
            put_json(output_, json_of(entry, verdict, now_ns));
        } else {
            put_text(output_, entry, verdict, now_ns);
        }
    }

    void put_summary(const Round& round) {
        if (options_.common.json) {
            json unread = json::array();
            for (const auto& [what, why] : round.unread) {
                unread.push_back({{"unread", what}, {"why", why}});
            }
            put_json(output_, {{"entries", round.entries},
                               {"stale", round.stale},
                               {"not_decided", round.undecided},
                               {"doubts", round.doubts},
                               {"unread", unread},
                               {"whole", round.whole}});
            return;
        }
        for (const auto& [what, why] : round.unread) {
            output_.put_line(fmt::format("not read: {}: {}", what, process::without_controls(why)));
        }
        for (const auto& [why, count] : round.doubts) {
            output_.put_line(fmt::format("not decided: {}: {}",
                                         count == 1 ? "1 entry" : fmt::format("{} entries", count),
                                         why));
        }
        output_.put_line(fmt::format(
            "{} of {} entries are older than the rules{}{}", round.stale, round.entries,
            round.undecided == 0 ? "" : fmt::format(", {} not decided", round.undecided),
            round.whole ? "" : "; the table changed while it was read"));
    }

    const StaleOptions& options_;
    const netfilter::Filter filter_;
    Output output_;
    std::set<std::uint32_t> shown_;
    bool found_ = false;
};

Result<int> run_stale(const StaleOptions& options) {
    auto filter = TRY(netfilter::parse_filter(options.words));
    process::stop_on_signals();
    return Stale(options, std::move(filter)).run();
}

}  // namespace

void add_stale(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "stale", "Entries that the rules of now would make otherwise, and what removes each");
    const auto options = options_for<StaleOptions>(*app, chosen, run_stale);
    add_common(*app, options->common);
    add_filter_words(*app, options->words);
    app->add_option("--watch", options->watch_s, "look again every so many seconds")
        ->check(kAboveZero);
    add_limits(*app, options->limits, "looks");
    app->footer(
        app->get_footer() +
        "\nReads the rules as 'inspect hazards' does, asks the kernel for routes, and reads "
        "the table. Nothing is changed.\n"
        "Exit status: 0 none found, 1 found, 2 wrong usage, 3 none found but some entries "
        "could not be decided or something could not be read.");
}

}  // namespace pathproof::cli::inspect
