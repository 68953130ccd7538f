// The processes that pathproof bench measures: started by it, like any other program.
#include "harness/bench/worker.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/bench/load/ledger_worker.h"
#include "harness/bench/load/load_worker.h"
#include "harness/bench/load/ring_answers.h"
#include "harness/bench/load/verify_worker.h"
#include "harness/cli/bench/run.h"
#include "harness/process/json_text.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

std::string to_text(const bench::Drained& drained) {
    return process::to_text(json{{"messages", drained.messages}, {"bytes", drained.bytes}});
}

std::string to_text(const bench::Flooded& flooded) {
    return process::to_text(json{{"sent", flooded.sent}, {"seconds", flooded.seconds}});
}

template <typename Outcome>
Result<int> answer(Result<Outcome> outcome) {
    const auto said = TRY(std::move(outcome));
    fmt::print("{}\n", to_text(said));
    return 0;
}

template <typename Parse, typename Run>
void add_job_worker(CLI::App& worker, Command& chosen, const char* name, Parse parse, Run run) {
    const auto text = std::make_shared<std::string>();
    CLI::App* command = worker.add_subcommand(name);
    command->add_option("job", *text)->required();
    command->callback([&chosen, text, parse, run] {
        chosen = [text, parse, run]() -> Result<int> {
            const auto job = TRY(parse(*text));
            return answer(run(job));
        };
    });
}

void add_flood(CLI::App& worker, Command& chosen) {
    CLI::App* flood = worker.add_subcommand("flood");
    const auto plan = options_for<bench::FloodPlan>(
        *flood, chosen, [](const bench::FloodPlan& typed) { return answer(bench::flood(typed)); });
    flood->add_option("--device", plan->device)->required();
    flood->add_option("--source-mac", plan->source_mac)->required();
    flood->add_option("--destination-mac", plan->destination_mac)->required();
    flood->add_option("--first-source", plan->first_source)->required();
    flood->add_option("--destination", plan->destination)->required();
    flood->add_option("--first-flow", plan->first_flow);
    flood->add_option("--flows", plan->flows)->required();
    flood->add_option("--rate", plan->flows_per_second);
}

}  // namespace

void add_bench_workers(CLI::App& app, Command& chosen) {
    CLI::App* worker = app.add_subcommand("worker", "Started by pathproof bench");
    worker->group("");
    worker->require_subcommand(1);
    worker->add_subcommand("drain")->callback(
        [&chosen] { chosen = [] { return answer(bench::drain_table()); }; });
    worker->add_subcommand("null")->callback(
        [&chosen] { chosen = [] { return answer(bench::dump_to_nothing()); }; });
    add_flood(*worker, chosen);
    add_job_worker(*worker, chosen, "load", bench::parse_load_job, bench::run_load_job);
    add_job_worker(*worker, chosen, "verify", bench::parse_load_job, bench::run_verify_job);
    add_job_worker(*worker, chosen, "ring-answers", bench::parse_load_job, bench::run_ring_answers);
    add_job_worker(*worker, chosen, "ledger", bench::parse_ledger_job, bench::run_ledger_job);
}

}  // namespace pathproof::cli
