#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/generate/remedies.h"
#include "harness/cli/search/kinds.h"
#include "harness/cli/search/record.h"
#include "harness/process/stop.h"
#include "harness/process/typed_command.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

class SearchCommand {
  public:
    SearchCommand(const SearchKind& kind, const SearchOptions& options)
        : kind_(kind), options_(options), stop_(process::stop_on_signals()) {}

    Result<int> run();

  private:
    Status run_size(SearchSetup& setup, SearchRecord& record, std::uint16_t size);
    void leave_out(std::uint16_t size, const search::Trials* probe);
    void add(const SizeSearch& search, const SizeOutcome& outcome, const search::Trials& trials,
             const load::OwnBias& bias);
    Status finish(const SearchSetup& setup, SearchRecord& record);

    const SearchKind& kind_;
    const SearchOptions& options_;
    const std::atomic<bool>& stop_;
    json sizes_ = json::array();
    std::string table_;
    TesterTrouble trouble_;
    bool found_ = true;
    bool partial_ = false;
    bool cut_short_ = false;  // by a port: there is no use in other sizes
};

Status SearchCommand::run_size(SearchSetup& setup, SearchRecord& record, std::uint16_t size) {
    auto measurer = TRY(setup.measurer(size));
    search::Trials probe(*measurer, {.repeats = 0, .stop = &stop_});
    const auto max_load = TRY(setup.max_load(size, probe));
    if (!max_load) {
        leave_out(size, &probe);
        return {};
    }
    const SizeSearch search{.options = options_,
                            .size = size,
                            .max_load = *max_load,
                            .medium_is_real = setup.evidence() == port::Evidence::kPhysical};
    if (search.min_load() >= search.max_load.pps) {
        return fail(
            ErrorCode::kBadInput,
            "--min-load {:.15g} is not below the greatest load, {:.0f} frames per second ({})",
            options_.min_load, search.max_load.pps, name(search.max_load.source));
    }
    const auto time = TRY(kind_.time(search));
    const search::Budget limits{
        .time = options_.max_time_s > 0 ? nanoseconds_of(options_.max_time_s) : time.most,
        .repeats = options_.retries,
        .stop = &stop_};
    record.say(fmt::format(
        "{} with frames of {} bytes up to {:.0f}/s ({}): usually {:.0f} s, at "
        "most {:.0f} s (--max-time)",
        kind_.name, size, search.max_load.pps, name(search.max_load.source),
        search::seconds(std::min(time.usual, limits.time)), search::seconds(limits.time)));
    search::Trials trials(*measurer, limits,
                          [&](const search::TrialOutput& output) { record.trial(size, output); });
    const auto outcome = TRY(kind_.run(search, trials));
    add(search, outcome, trials, measurer->own_bias());
    return {};
}

void SearchCommand::add(const SizeSearch& search, const SizeOutcome& outcome,
                        const search::Trials& trials, const load::OwnBias& bias) {
    const search::Overhead overhead = trials.overhead();
    const double spent = search::seconds(trials.spent());
    json one = outcome.json;
    one["frame_bytes"] = search.size;
    one["min_load_pps"] = search.min_load();
    one["max_load_pps"] = search.max_load.pps;
    one["max_load_from"] = name(search.max_load.source);
    one["trials"] = trials.log().size();
    one["seconds"] = spent;
    one["overhead_ms"] = {{"min", overhead.min_seconds * 1e3},
                          {"median", overhead.median_seconds * 1e3},
                          {"max", overhead.max_seconds * 1e3}};
    one["own_latency_us"] = {{"floor", static_cast<double>(bias.floor_ns) / 1e3},
                             {"single", static_cast<double>(bias.single_ns) / 1e3},
                             {"burst", static_cast<double>(bias.burst_ns) / 1e3}};
    one["ending"] = search::name(trials.ending());
    one["verdict"] = outcome.reasons.sentences.empty() ? "FOUND" : "INCONCLUSIVE";
    one["reasons"] = outcome.reasons.sentences;
    sizes_.push_back(std::move(one));
    table_ += outcome.table;
    table_ += fmt::format(
        "        {} trials in {:.1f} s; overhead of a trial {:.1f} / {:.1f} / {:.1f} ms (least, "
        "median, greatest)\n",
        trials.log().size(), spent, overhead.min_seconds * 1e3, overhead.median_seconds * 1e3,
        overhead.max_seconds * 1e3);
    for (const std::string& reason : outcome.reasons.sentences) {
        table_ += "        INCONCLUSIVE: " + reason + "\n";
    }
    trouble_.disturbed |= outcome.reasons.trouble.disturbed;
    trouble_.limited |= outcome.reasons.trouble.limited;
    found_ = found_ && outcome.reasons.sentences.empty();
    partial_ = partial_ || trials.ending() != search::Ending::kNone;
    cut_short_ = cut_short_ || trials.ending() == search::Ending::kCutShort;
}

void SearchCommand::leave_out(std::uint16_t size, const search::Trials* probe) {
    Reasons reasons;
    if (probe != nullptr) {
        add_ending(reasons, *probe);
        cut_short_ = cut_short_ || probe->ending() == search::Ending::kCutShort;
    }
    sizes_.push_back(
        {{"frame_bytes", size}, {"verdict", "NOT MEASURED"}, {"reasons", reasons.sentences}});
    table_ += fmt::format("{:>6}  not measured\n", size);
    for (const std::string& reason : reasons.sentences) {
        table_ += "        INCONCLUSIVE: " + reason + "\n";
    }
    partial_ = true;
    found_ = false;
}

Status SearchCommand::finish(const SearchSetup& setup, SearchRecord& record) {
    const char* const unfound = partial_ ? "PARTIAL" : "INCONCLUSIVE";
    const char* const verdict = found_ ? "FOUND" : unfound;
    const std::vector<std::string> advice = remedies(trouble_, setup.sender(), setup.receiver());
    const std::string command = process::typed_command();
    const json result = {{"type", "result"},
                         {"search", kind_.name},
                         {"sender", setup.sender().name},
                         {"sender_driver", setup.sender().driver},
                         {"receiver", setup.receiver().name},
                         {"receiver_driver", setup.receiver().driver},
                         {"evidence", port::evidence_name(setup.evidence())},
                         {"drain_s", options_.drain_s},
                         {"offered_tolerance", offered_tolerance(options_)},
                         {"seed", options_.traffic.seed},
                         {"sizes", sizes_},
                         {"verdict", verdict},
                         {"remedies", advice},
                         {"command", command}};
    const std::string text = fmt::format(
        "search {} from {} ({}) to {} ({}), evidence: {}\noffered load: at most {:.3g} % below the "
        "intended (--offered-tolerance)\n{}{}{}\nagain: {}\n",
        kind_.name, setup.sender().name, setup.sender().driver, setup.receiver().name,
        setup.receiver().driver, port::evidence_name(setup.evidence()),
        100 * offered_tolerance(options_), table_, remedy_rows(advice), verdict, command);
    return record.result(result, text);
}

Result<int> SearchCommand::run() {
    // All checks that need no port come before one is opened.
    const auto sizes = TRY(frame_sizes(options_));
    TRY(search_goals(options_));
    TRY(check_loads(options_));
    auto setup = TRY(SearchSetup::open(options_, stop_));
    auto record = TRY(SearchRecord::open(options_));
    for (const std::uint16_t size : sizes) {
        if (cut_short_ || stop_.load(std::memory_order_relaxed)) {
            leave_out(size, nullptr);
            continue;
        }
        TRY(run_size(setup, record, size));
    }
    TRY(finish(setup, record));
    return found_ ? 0 : 3;
}

void add_kind(CLI::App& search, const SearchKind& kind, Command& chosen) {
    auto options = std::make_shared<SearchOptions>();
    CLI::App* command = search.add_subcommand(kind.name, kind.help);
    add_common_options(*command, *options);
    kind.add_options(*command, *options);
    command->callback([&chosen, &kind, options] {
        chosen = [&kind, options] { return SearchCommand(kind, *options).run(); };
    });
}

}  // namespace

void add_search(CLI::App& app, Command& chosen) {
    CLI::App* search = app.add_subcommand(
        "search", "Find a device's throughput, loss, bursts, latency and recovery by trials");
    search->require_subcommand(1);
    for (const SearchKind* kind :
         {&kMlrKind, &kThroughputKind, &kLatencyKind, &kLossKind, &kBurstKind, &kRecoveryKind}) {
        add_kind(*search, *kind, chosen);
    }
}

}  // namespace pathproof::cli
