// pathproof inspect export: the live figures of one or more namespaces for Prometheus and its kin.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>

#include "dataplane/base/new_file.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/findings.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/inspect/place.h"
#include "harness/cli/seconds.h"
#include "harness/metrics/catalogue.h"
#include "harness/metrics/cni_cache.h"
#include "harness/metrics/http_server.h"
#include "harness/metrics/snapshot_text.h"
#include "harness/monitor/monitor.h"
#include "harness/process/log.h"

namespace pathproof::cli::inspect {
namespace {

using Clock = std::chrono::steady_clock;
using Monitors = std::vector<std::unique_ptr<monitor::Monitor>>;

// A pod that came just now has flows that are not counted.
constexpr auto kReadCacheEvery = std::chrono::seconds(2);
constexpr const char* kDefaultListen = "127.0.0.1:9816";

struct ExportOptions {
    std::vector<std::string> netns;
    std::optional<std::string> listen;  // not given: the default address, unless there is a file
    std::string file;
    std::string format = "prometheus";
    double interval_s = 15;
    std::optional<double> duration_s;
    std::string cni_cache;
    bool no_drops = false;
    double findings_s = 60;
    bool help_metrics = false;
};

std::vector<std::string> places_of(const ExportOptions& options) {
    return options.netns.empty() ? std::vector<std::string>{""} : options.netns;
}

Result<Monitors> start_monitors(const ExportOptions& options) {
    const std::vector<std::string> names = places_of(options);
    Monitors monitors;
    for (const std::string& netns : names) {
        if (std::count(names.begin(), names.end(), netns) > 1) {
            return fail(ErrorCode::kBadInput, "--netns {} was given more than once", netns);
        }
        auto monitor = TRY(monitor::Monitor::start(
            {.netns = netns,
             .drops = options.no_drops ? monitor::Part::kLeave : monitor::Part::kFollow}));
        monitors.push_back(std::move(monitor));
    }
    return monitors;
}

std::string text_of(const Monitors& monitors, const FindingsWatch& findings,
                    metrics::Dialect dialect) {
    std::vector<monitor::Snapshot> snapshots;
    for (const auto& monitor : monitors) {
        snapshots.push_back(monitor->snapshot());
        snapshots.back().findings = findings.of(snapshots.back().netns);
    }
    return metrics::to_text(snapshots, {.dialect = dialect});
}

// Says once of each namespace when a source fails, why drops are missing, and of which flows no
// events come.
class Complaints {
  public:
    void check(const Monitors& monitors) {
        for (const auto& monitor : monitors) {
            const monitor::Snapshot snapshot = monitor->snapshot();
            say(snapshot, snapshot.unheard, unheard_);
            say(snapshot, snapshot.drops_missing, missing_);
            say(snapshot, snapshot.failure, failed_);
        }
    }
    bool any_failure() const { return !failed_.empty(); }

    void say_once(const std::string& sentence) {
        if (!sentence.empty() && others_.insert(sentence).second) {
            process::log(sentence);
        }
    }

  private:
    static void say(const monitor::Snapshot& snapshot, const std::string& sentence,
                    std::map<std::string, std::string>& said) {
        if (!sentence.empty() && said.emplace(snapshot.netns, sentence).second) {
            fmt::print(stderr, "pathproof: {}{}\n",
                       snapshot.netns.empty() ? "" : snapshot.netns + ": ", sentence);
        }
    }

    std::map<std::string, std::string> unheard_;
    std::map<std::string, std::string> missing_;
    std::map<std::string, std::string> failed_;
    std::set<std::string> others_;
};

// A cache that goes away later, or a file in it that is none, is said and does not end the export.
void tell_pods(const Monitors& monitors, const Result<metrics::CniCache>& cache,
               Complaints& complaints) {
    complaints.say_once(cache ? cache->trouble : cache.error().message);
    const monitor::KnownPods known =
        cache ? monitor::KnownPods{.addresses = cache->addresses, .unreadable = cache->unreadable}
              : monitor::KnownPods{.readable = false};
    for (const auto& monitor : monitors) {
        monitor->know_pods(known);
    }
}

Result<std::unique_ptr<metrics::HttpServer>> serve(const Monitors& monitors,
                                                   const FindingsWatch& findings,
                                                   const std::string& listen) {
    const auto address = TRY(doing(frame::parse_endpoint(listen), "--listen '{}'", listen));
    auto server =
        metrics::HttpServer::start(address, [&monitors, &findings](metrics::Dialect dialect) {
            return text_of(monitors, findings, dialect);
        });
    if (server) {
        fmt::print(stderr, "pathproof: metrics at http://{}/metrics{}\n",
                   frame::to_string((*server)->address()),
                   metrics::is_loopback(address.address)
                       ? ""
                       : ", for everybody who can reach this address");
    }
    return server;
}

Result<metrics::Dialect> file_dialect(const std::string& format) {
    if (format == "prometheus") {
        return metrics::Dialect::kPrometheus;
    }
    if (format == "openmetrics") {
        return metrics::Dialect::kOpenMetrics;
    }
    return fail(ErrorCode::kBadInput, "--format '{}': allowed are prometheus, openmetrics", format);
}

// Until interrupted or the duration is over; writes the file, where one is wanted, at the start, at
// each interval and at the end.
Status follow(const Monitors& monitors, const FindingsWatch& findings, const ExportOptions& options,
              metrics::Dialect dialect, Complaints& complaints) {
    const auto deadline = Limits{.duration_s = options.duration_s, .count = {}}.deadline();
    const auto interval = nanoseconds_of(options.interval_s);
    auto next = Clock::now();
    auto next_cache = options.cni_cache.empty() ? Clock::time_point::max() : next;
    for (;;) {
        const auto now = Clock::now();
        const bool over = process::stopping() || now >= deadline;
        complaints.check(monitors);
        if (now >= next_cache) {
            tell_pods(monitors, metrics::read_cni_cache(options.cni_cache), complaints);
            next_cache = now + kReadCacheEvery;
        }
        if (over || now >= next) {
            next += interval;
            // The node exporter runs as a user of its own.
            TRY(doing(options.file.empty()
                          ? Status()
                          : replace_file(options.file, text_of(monitors, findings, dialect),
                                         Readers::kEverybody),
                      "--file"));
        }
        if (over) {
            return {};
        }
        process::sleep_until(std::min({next, next_cache, deadline}));
    }
}

Result<int> run_export(const ExportOptions& options) {
    if (options.help_metrics) {
        Output output;
        output.line() += metrics::describe_catalogue();
        output.flush();
        return kDone;
    }
    const auto dialect = TRY(file_dialect(options.format));
    process::stop_on_signals();
    const auto monitors = TRY(start_monitors(options));
    Complaints complaints;
    if (!options.cni_cache.empty()) {
        // The first time a cache that is not there is a wrong option.
        const auto cache = TRY(doing(metrics::read_cni_cache(options.cni_cache), "--cni-cache"));
        tell_pods(monitors, cache, complaints);
    }
    const FindingsWatch findings({.netns = places_of(options),
                                  .every = nanoseconds_of(options.findings_s),
                                  .drops = !options.no_drops});
    std::unique_ptr<metrics::HttpServer> server;
    if (options.listen || options.file.empty()) {
        server = TRY(serve(monitors, findings, options.listen.value_or(kDefaultListen)));
    }
    TRY(follow(monitors, findings, options, dialect, complaints));
    return complaints.any_failure() ? kIncomplete : kDone;
}

}  // namespace

void add_export(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "export", "Serve the live figures as OpenMetrics, or write them to a file");
    const auto options = options_for<ExportOptions>(*app, chosen, run_export);
    app->add_option("--netns", options->netns,
                    fmt::format("network namespace, may be given several times: {}", kPlaceHelp))
        ->allow_extra_args(false)
        ->transform(named_place());
    app->add_option("--listen", options->listen,
                    fmt::format("address and port to serve http://ADDRESS:PORT/metrics at "
                                "(default: {}, or nowhere with --file)",
                                kDefaultListen));
    CLI::Option* file =
        app->add_option("--file", options->file,
                        "replace this file at each interval, for the node exporter's textfile "
                        "collector (name it *.prom)");
    app->add_option("--interval", options->interval_s, "seconds between two files")
        ->capture_default_str()
        ->check(number_in(kShortestInterval, kLongestInterval))
        ->needs(file);
    app->add_option("--format", options->format,
                    "of the file: prometheus (what the node exporter reads) or openmetrics")
        ->capture_default_str()
        ->needs(file);
    app->add_option("--duration", options->duration_s,
                    "end after so many seconds (default: when interrupted)")
        ->check(number_in(kShortestInterval, kLongestDuration));
    app->add_option("--cni-cache", options->cni_cache,
                    "folder of CNI results, such as /var/lib/cni/results: backends and flows get "
                    "the namespaces and names of this node's pods");
    app->add_flag("--no-drops", options->no_drops,
                  "do not listen to the kernel's drops (skb:kfree_skb)");
    app->add_option("--findings", options->findings_s,
                    "seconds from one look of 'inspect doctor' to the next: its conclusions are "
                    "exported too; 0: none")
        ->capture_default_str()
        ->check(number_in(0, kLongestInterval));
    app->add_flag("--help-metrics", options->help_metrics,
                  "print the name and meaning of each metric, and end");
}

}  // namespace pathproof::cli::inspect
