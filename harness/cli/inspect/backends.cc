// pathproof inspect backends: which backend of which service answers, and which does not.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "dataplane/base/plural.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/seconds.h"
#include "harness/monitor/backend_table.h"
#include "harness/monitor/monitor.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/filter.h"
#include "harness/netfilter/names.h"
#include "harness/process/log.h"

namespace pathproof::cli::inspect {
namespace {

using namespace monitor;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct BackendOptions {
    CommonOptions common;
    std::vector<std::string> words;
    std::optional<double> watch_s;
    std::optional<std::uint64_t> count;
    std::uint64_t enough = BackendRules().enough;
    double slow_s = 1;
    bool all = false;

    BackendRules rules() const {
        BackendRules rules;
        rules.enough = enough;
        rules.slow_after_ns = nanoseconds_of(slow_s).count();
        return rules;
    }
};

std::string time_text(std::optional<std::int64_t> nanoseconds) {
    if (!nanoseconds) {
        return "-";
    }
    const double milliseconds = static_cast<double>(*nanoseconds) / 1e6;
    return milliseconds < 10 ? fmt::format("{:.1f} ms", milliseconds)
                             : fmt::format("{:.0f} ms", milliseconds);
}

std::string share_text(const BackendHealth& backend) {
    if (backend.judged == 0) {
        return "-";
    }
    return fmt::format("{:.1f} % ({:.1f}-{:.1f})", 100 * backend.unanswered_fraction(),
                       100 * backend.unanswered_share.low, 100 * backend.unanswered_share.high);
}

// Returns the word for the verdict. If refusals were not watched, silence has two possible reasons.
std::string verdict_word(const BackendHealth& backend, const BackendReport& report) {
    const bool either = backend.verdict == BackendVerdict::kDead && !report.refusals_watched;
    return either ? "dead or refusing" : name(backend.verdict);
}

std::string verdict_text(const BackendHealth& backend, const BackendReport& report) {
    const std::string verdict = backend.verdict == BackendVerdict::kTooFew
                                    ? "too few flows to tell"
                                    : verdict_word(backend, report);
    const bool told = backend.verdict == BackendVerdict::kSilent ||
                      backend.verdict == BackendVerdict::kOneWay || backend.last_refusal.empty();
    const std::string& why = told ? backend.note : backend.last_refusal;
    return why.empty() ? verdict : verdict + ": " + why;
}

std::string service_text(const ServiceHealth& service) {
    return fmt::format("{} {}: {}, {} in the table, {} of {} judged were unanswered\n",
                       netfilter::protocol_name(service.protocol),
                       frame::to_string(service.address), plural(service.flows, "flow"),
                       service.in_table, service.unanswered, service.judged);
}

std::string table_text(const BackendReport& report) {
    std::size_t width = 7;
    for (const ServiceHealth& service : report.services) {
        for (const BackendHealth& backend : service.backends) {
            width = std::max(width, frame::to_string(backend.address).size());
        }
    }
    std::string text;
    for (const ServiceHealth& service : report.services) {
        text += service_text(service);
        text += fmt::format("  {:<{}} {:>8} {:>8} {:>7} {:<20} {:>7} {:>8} {:>8}  {}\n", "backend",
                            width, "flows", "in table", "judged", "unanswered (95 %)", "refused",
                            "median", "90 %", "verdict");
        for (const BackendHealth& backend : service.backends) {
            text += fmt::format("  {:<{}} {:>8} {:>8} {:>7} {:<20} {:>7} {:>8} {:>8}  {}\n",
                                frame::to_string(backend.address), width, backend.flows,
                                backend.in_table, backend.judged, share_text(backend),
                                backend.refused, time_text(backend.median_answer_ns),
                                time_text(backend.slowest_tenth_ns), verdict_text(backend, report));
        }
    }
    return text;
}

// Returns further remarks on the report, a line each.
std::string remarks(const BackendReport& report) {
    std::string text = report.services.empty()
                           ? "no translated flows (--all shows those without translation too)\n"
                           : "";
    for (const StrayRefusal& stray : report.stray_refusals) {
        text += fmt::format("{} {}: {} refused here before they became flows: {}\n",
                            netfilter::protocol_name(stray.protocol),
                            frame::to_string(stray.destination), stray.packets, stray.refusal);
    }
    text += "refusals: " + report.refusals_source + "\n";
    if (!report.traffic_source.empty()) {
        text += "packets: " + report.traffic_source + "\n";
    }
    if (report.traffic_lost > 0) {
        text += fmt::format(
            "{} packets found the counting socket full: who has fallen silent is not told\n",
            report.traffic_lost);
    }
    if (report.refusals_lost > 0) {
        text += fmt::format("{} refusals found the packet socket full\n", report.refusals_lost);
    }
    if (report.flows_left_out > 0) {
        text += fmt::format("{} flows of further backends are left out\n", report.flows_left_out);
    }
    if (report.flows_forgotten > 0) {
        text += fmt::format("{} flows were deleted or crowded out before they could be judged\n",
                            report.flows_forgotten);
    }
    return text;
}

json to_json(const BackendHealth& backend, const BackendReport& report) {
    const auto or_null = [](const auto& value) { return value ? json(*value) : json(); };
    return {
        {"backend", frame::to_string(backend.address)},
        {"flows", backend.flows},
        {"in_table", backend.in_table},
        {"judged", backend.judged},
        {"replied", backend.judged - backend.unanswered},
        {"unanswered", backend.unanswered},
        {"refused", backend.refused},
        {"unanswered_share", backend.judged == 0 ? json() : json(backend.unanswered_fraction())},
        {"unanswered_low", backend.unanswered_share.low},
        {"unanswered_high", backend.unanswered_share.high},
        {"median_answer_ns", or_null(backend.median_answer_ns)},
        {"slowest_tenth_ns", or_null(backend.slowest_tenth_ns)},
        {"last_refusal", backend.last_refusal},
        {"asked_packets", backend.traffic ? json(backend.traffic->asked) : json()},
        {"answer_packets", backend.traffic ? json(backend.traffic->answered) : json()},
        {"unanswered_packets", backend.traffic ? json(backend.traffic->unanswered) : json()},
        {"silent_ns", backend.traffic ? json(backend.traffic->silent_ns) : json()},
        {"answers_astray", backend.astray},
        {"note", backend.note},
        {"verdict", verdict_word(backend, report)}};
}

// One line a backend, and one for the rest.
void put_json(Output& output, const BackendReport& report, std::int64_t time_ns) {
    const auto put_line = [&](json line) {
        line["time_ns"] = time_ns;
        inspect::put_json(output, line);
    };
    for (const ServiceHealth& service : report.services) {
        for (const BackendHealth& backend : service.backends) {
            json line = to_json(backend, report);
            line["service"] = frame::to_string(service.address);
            line["protocol"] = netfilter::protocol_name(service.protocol);
            put_line(std::move(line));
        }
    }
    json strays = json::array();
    for (const StrayRefusal& stray : report.stray_refusals) {
        strays.push_back({{"destination", frame::to_string(stray.destination)},
                          {"protocol", netfilter::protocol_name(stray.protocol)},
                          {"refusal", stray.refusal},
                          {"packets", stray.packets}});
    }
    put_line({{"summary",
               {{"services", report.services.size()},
                {"stray_refusals", strays},
                {"refusals_watched", report.refusals_watched},
                {"refusals_source", report.refusals_source},
                {"refusals_lost", report.refusals_lost},
                {"traffic_source", report.traffic_source},
                {"traffic_lost", report.traffic_lost},
                {"flows_left_out", report.flows_left_out},
                {"flows_forgotten", report.flows_forgotten}}}});
}

void put(Output& output, const BackendReport& report, std::int64_t time_ns,
         const CommonOptions& options) {
    if (options.json) {
        put_json(output, report, time_ns);
    } else {
        output.line() += table_text(report) + remarks(report);
    }
    output.flush();
}

Result<int> run_once(const BackendOptions& options, const netfilter::Filter& filter) {
    // A flow that a dump shows as unanswered counts as such: the dump does not tell how long it has
    // waited.
    BackendTableOptions table_options{.rules = options.rules()};
    table_options.rules.patience_ns = 0;
    if (options.all) {
        table_options.scope = BackendTableOptions::Scope::kAll;
    }
    table_options.waiting = std::size_t{1} << 21;
    BackendTable table(table_options);
    const std::int64_t now_ns = realtime_ns();
    const auto read =
        TRY(netfilter::dump(options.common.netns, filter, [&](const netfilter::Entry& entry) {
            table.seed(entry, now_ns);
            return process::stopping() ? netfilter::Next::kStop : netfilter::Next::kContinue;
        }));
    BackendReport report = table.report(now_ns);
    report.refusals_source =
        "one dump tells neither refusals from silence nor flows that have just begun from "
        "unanswered ones, does not show flows that a reset ended, and calls a backend healthy that "
        "has answered once and is silent now: see --watch";
    Output output;
    put(output, report, now_ns, options.common);
    return process::stopping() || read.interrupted ? kIncomplete : kDone;
}

Result<int> run_watching(const BackendOptions& options, const netfilter::Filter& filter) {
    const auto monitor =
        TRY(Monitor::start({.netns = options.common.netns,
                            .filter = filter,
                            .untranslated = options.all ? Part::kFollow : Part::kLeave,
                            .packets = Packets::kDevices,
                            .rules = options.rules()}));
    Output output;
    const auto start = Clock::now();
    std::uint64_t overruns = 0;
    std::string failure;
    for (std::uint64_t round = 1; !options.count || round <= *options.count; ++round) {
        process::sleep_until(start + nanoseconds_of(*options.watch_s * static_cast<double>(round)));
        const Snapshot snapshot = monitor->snapshot();
        put(output, snapshot.backends, snapshot.time_ns, options.common);
        overruns = snapshot.events.overruns;
        failure = snapshot.failure;
        if (process::stopping() || !output.open() || !failure.empty()) {
            break;
        }
    }
    if (overruns > 0) {
        fmt::print(stderr, "pathproof: events were lost {} times and read again from the table\n",
                   overruns);
    }
    if (!failure.empty()) {
        process::log(failure);
    }
    return failure.empty() ? kDone : kIncomplete;
}

Result<int> run_backends(const BackendOptions& options) {
    const auto filter = TRY(netfilter::parse_filter(options.words));
    process::stop_on_signals();
    return options.watch_s ? run_watching(options, filter) : run_once(options, filter);
}

}  // namespace

void add_backends(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "backends", "Flows by service and backend, and which backends answer");
    const auto options = options_for<BackendOptions>(*app, chosen, run_backends);
    add_common(*app, options->common);
    add_filter_words(*app, options->words);
    CLI::Option* watch =
        app->add_option(
               "--watch", options->watch_s,
               "follow live flows, ICMP errors and resets, and print every so many seconds")
            ->check(kAboveZero);
    app->add_option("--count", options->count, "end after so many prints")
        ->check(kPositive)
        ->needs(watch);
    app->add_option("--enough", options->enough, "flows that a verdict needs")
        ->check(kPositive)
        ->capture_default_str();
    app->add_option("--slow", options->slow_s, "seconds beyond which a median answer is slow")
        ->check(kAboveZero)
        ->capture_default_str();
    app->add_flag("--all", options->all, "also destinations that nothing translates");
}

}  // namespace pathproof::cli::inspect
