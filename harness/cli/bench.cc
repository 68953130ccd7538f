// pathproof bench: measurements beside the usual tools, in namespaces of their own.
#include <sched.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/bench/inspect_bench.h"
#include "harness/bench/worker.h"
#include "harness/cli/commands.h"
#include "harness/lab/privilege.h"
#include "harness/lab/signals.h"
#include "harness/process/child.h"
#include "harness/report/environment.h"

namespace pathproof::cli {
namespace {

using bench::Experiment;
using nlohmann::json;

constexpr unsigned kDumpRounds = 7;
constexpr unsigned kEventRounds = 3;
constexpr unsigned kAttachRounds = 7;

struct InspectOptions {
    std::uint64_t entries = 1'000'000;
    bench::EventLoad load;
    std::uint64_t attach_flows = 200'000;
    std::optional<unsigned> rounds;
    std::vector<std::string> only;
    std::string out_dir;
    bool json = false;
    bench::RoundPlan::Contended contended = bench::RoundPlan::Contended::kReject;
};

std::string repeat_command(const InspectOptions& options) {
    std::string command = fmt::format(
        "pathproof bench inspect --entries {} --flows-per-second {} --seconds {:g} --flows {}",
        options.entries, options.load.flows_per_second, options.load.seconds, options.attach_flows);
    command += options.rounds ? fmt::format(" --rounds {}", *options.rounds) : "";
    for (const std::string& experiment : options.only) {
        command += " --only " + experiment;
    }
    const bool keep = options.contended == bench::RoundPlan::Contended::kUseWhenNothingElse;
    return command + (keep ? " --contended use" : "");
}

std::vector<int> usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return {0};
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

void tell(const std::string& sentence) {
    fmt::print(stderr, "pathproof: {}\n", sentence);
}

bench::RoundPlan plan_for(const InspectOptions& options, const std::string& experiment,
                          unsigned rounds) {
    bench::RoundPlan plan{.rounds = options.rounds.value_or(rounds),
                          .contended = options.contended};
    plan.most_rounds = plan.rounds * 2;
    plan.progress = [experiment](unsigned round, const bench::Lane& lane) {
        tell(round == 0 ? fmt::format("{}: warming up: {}", experiment, lane.title)
                        : fmt::format("{}: round {}: {}", experiment, round, lane.title));
    };
    return plan;
}

struct Step {
    std::string name;
    unsigned rounds;
    std::function<Result<Experiment>(const bench::InspectBench&)> run;
};

std::vector<Step> steps_of(const InspectOptions& options) {
    const std::vector<Step> all{
        {"dump", kDumpRounds,
         [&](const auto& inspect) { return bench::bench_dump(inspect, options.entries); }},
        {"events", kEventRounds,
         [&](const auto& inspect) { return bench::bench_events(inspect, options.load); }},
        {"attach", kAttachRounds,
         [&](const auto& inspect) { return bench::bench_attach(inspect, options.attach_flows); }},
    };
    std::vector<Step> wanted;
    for (const Step& step : all) {
        const bool named =
            std::find(options.only.begin(), options.only.end(), step.name) != options.only.end();
        if (options.only.empty() || named) {
            wanted.push_back(step);
        }
    }
    return wanted;
}

Result<bench::BenchResult> run_all(const InspectOptions& options) {
    auto journal = lab::Journal::open("pathproof bench inspect");
    if (!journal) {
        return pass_on(journal.error());
    }
    const lab::SignalGuard guard(**journal, [](int signal, const Status& undone) {
        tell(fmt::format("stopped by {}; {}", strsignal(signal),
                         undone ? "the machine was put back" : undone.error().message));
    });
    for (const std::string& sentence : (*journal)->recovered()) {
        tell(sentence);
    }
    bench::BenchResult result{
        .command = repeat_command(options),
        .version = PATHPROOF_VERSION,
        .started_at = now_text(),
        .tools = {{"conntrack", bench::conntrack_version()}},
        .environment = report::read_environment({.pathproof_version = PATHPROOF_VERSION}),
        .experiments = {}};
    for (const Step& step : steps_of(options)) {
        const bench::InspectBench inspect{.journal = **journal,
                                          .binary = process::own_binary(),
                                          .conntrack_version = result.tools.front().second,
                                          .cpus = usable_cpus(),
                                          .plan = plan_for(options, step.name, step.rounds)};
        auto experiment = step.run(inspect);
        if (!experiment) {
            return fail(experiment.error(), "{}", step.name);
        }
        result.experiments.push_back(std::move(*experiment));
    }
    if (result.tools.front().second.empty()) {
        result.tools.front().second = "not installed";
    }
    if (const Status undone = (*journal)->undo(); !undone) {
        return pass_on(undone.error());
    }
    return result;
}

Status write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) {
        return fail(ErrorCode::kBadInput, "{} cannot be written; is the folder there and writable?",
                    path.string());
    }
    return {};
}

// Before anything is measured: a result that cannot be written is time lost.
Status prepare(const InspectOptions& options) {
    if (const Status allowed = lab::needs_root("'pathproof bench inspect'"); !allowed) {
        return allowed;
    }
    if (options.out_dir.empty()) {
        return {};
    }
    std::error_code wrong;
    std::filesystem::create_directories(options.out_dir, wrong);
    if (wrong) {
        return fail(ErrorCode::kBadInput, "--out '{}': {}", options.out_dir, wrong.message());
    }
    return write_text(std::filesystem::path(options.out_dir) / "bench.json", "{}\n");
}

int run_inspect(const InspectOptions& options) {
    if (const Status ready = prepare(options); !ready) {
        return complain(ready.error());
    }
    const auto result = run_all(options);
    if (!result) {
        return complain(result.error());
    }
    const std::string machine = json(*result).dump(2) + "\n";
    const std::string table = to_text(*result);
    fmt::print("{}", options.json ? machine : table);
    if (options.out_dir.empty()) {
        return 0;
    }
    const std::filesystem::path folder(options.out_dir);
    for (const auto& [name, text] :
         {std::pair{"bench.json", &machine}, std::pair{"bench.txt", &table}}) {
        if (const Status written = write_text(folder / name, *text); !written) {
            return complain(written.error());
        }
    }
    return 0;
}

void add_inspect_bench(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<InspectOptions>();
    CLI::App* command = app.add_subcommand(
        "inspect", "The netfilter inspector beside conntrack(8): dumps, events, cost of attaching");
    command->add_option("--entries", options->entries, "entries to dump (default 1000000)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}));
    command
        ->add_option("--flows-per-second", options->load.flows_per_second,
                     "new flows per second for the event readers (default 100000)")
        ->check(CLI::Range(1, 10'000'000));
    command
        ->add_option("--seconds", options->load.seconds,
                     "how long each event reader is under load (default 10)")
        ->check(CLI::Range(0.1, 600.0));
    command
        ->add_option("--flows", options->attach_flows,
                     "flows to forward for the cost of attaching (default 200000)")
        ->check(CLI::Range(1, 100'000'000));
    command
        ->add_option("--rounds", options->rounds,
                     "clean rounds for each lane (default 7; events 3); at most twice as many are "
                     "run")
        ->check(CLI::Range(1, 1000));
    command->add_option("--only", options->only, "dump, events, attach (may be repeated)")
        ->check(CLI::IsMember({"dump", "events", "attach"}));
    command
        ->add_option_function<std::string>(
            "--contended",
            [options](const std::string& word) {
                using Contended = bench::RoundPlan::Contended;
                options->contended =
                    word == "use" ? Contended::kUseWhenNothingElse : Contended::kReject;
            },
            "rounds that other processes disturbed: reject (default), or use (when a lane has no "
            "other; they are marked)")
        ->check(CLI::IsMember({"reject", "use"}));
    command->add_option("--out", options->out_dir, "folder for bench.json and bench.txt");
    command->add_flag("--json", options->json, "print the JSON instead of the table");
    command->callback([&chosen, options] { chosen = [options] { return run_inspect(*options); }; });
}

int answer(const Result<bench::Drained>& drained) {
    if (!drained) {
        return complain(drained.error());
    }
    fmt::print("{}\n", json{{"messages", drained->messages}, {"bytes", drained->bytes}}.dump());
    return 0;
}

int answer(const Result<bench::Flooded>& flooded) {
    if (!flooded) {
        return complain(flooded.error());
    }
    fmt::print("{}\n", json{{"sent", flooded->sent}, {"seconds", flooded->seconds}}.dump());
    return 0;
}

// The processes that are measured; started by us.
void add_workers(CLI::App& app, Command& chosen) {
    CLI::App* worker = app.add_subcommand("worker", "Started by pathproof bench");
    worker->group("");
    worker->require_subcommand(1);
    worker->add_subcommand("drain")->callback(
        [&chosen] { chosen = [] { return answer(bench::drain_table()); }; });
    worker->add_subcommand("null")->callback(
        [&chosen] { chosen = [] { return answer(bench::dump_to_nothing()); }; });
    const auto plan = std::make_shared<bench::FloodPlan>();
    CLI::App* flood = worker->add_subcommand("flood");
    flood->add_option("--device", plan->device)->required();
    flood->add_option("--source-mac", plan->source_mac)->required();
    flood->add_option("--destination-mac", plan->destination_mac)->required();
    flood->add_option("--first-source", plan->first_source)->required();
    flood->add_option("--destination", plan->destination)->required();
    flood->add_option("--first-flow", plan->first_flow);
    flood->add_option("--flows", plan->flows)->required();
    flood->add_option("--rate", plan->flows_per_second);
    flood->callback([&chosen, plan] { chosen = [plan] { return answer(bench::flood(*plan)); }; });
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
    CLI::App* command =
        app.add_subcommand("bench", "Measure pathproof beside the usual tools, in this run");
    command->require_subcommand(1);
    add_inspect_bench(*command, chosen);
    add_workers(*command, chosen);
}

}  // namespace pathproof::cli
