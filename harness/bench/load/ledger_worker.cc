#include "harness/bench/load/ledger_worker.h"

#include <nlohmann/json.hpp>

#include "dataplane/load/ledger_proof.h"
#include "dataplane/port/eal.h"
#include "harness/process/json_text.h"

namespace pathproof::bench {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMemoryMib = 512;

json kind_json(const LedgerOutcome::Kind& kind) {
    return {{"injected", kind.injected}, {"found", kind.found}};
}

LedgerOutcome::Kind read_kind(const json& value, const char* name) {
    const json kind = value.value(name, json::object());
    return {.injected = kind.value("injected", std::uint64_t{0}),
            .found = kind.value("found", std::uint64_t{0})};
}

LedgerOutcome outcome_of(const load::LedgerProof& proof) {
    const judge::SequenceTotals& found = proof.found.streams.back();
    const load::ImpairmentCounts& injected = proof.injected;
    return {.sent = proof.sent,
            .missing = {injected.lost + injected.corrupted, proof.missing()},
            .duplicates = {injected.duplicates, found.duplicates},
            .reordered = {injected.reordered, found.reordered},
            .furthest = {injected.furthest, found.furthest},
            .corrupted = {injected.corrupted, proof.bad()},
            .seconds = proof.seconds,
            .errors = proof.errors};
}

}  // namespace

Result<LedgerOutcome> run_ledger_job(const LedgerJob& job) {
    const auto eal = TRY(port::Eal::start({.worker_cpus = {job.cpu},
                                           .main_cpus = {job.cpu},
                                           .memory_mib = kMemoryMib,
                                           .vdevs = {},
                                           .pci = {}}));
    const auto path =
        job.path == LedgerJob::Path::kVxlan ? load::ProofPath::kVxlan : load::ProofPath::kPlain;
    const std::atomic<bool> stop = false;
    const auto proof =
        TRY(load::run_ledger_proof(load::ledger_proof_plan(job.frames, job.seed, path), stop));
    return outcome_of(proof);
}

std::string to_text(const LedgerJob& job) {
    return process::to_text(json{{"frames", job.frames},
                                 {"seed", job.seed},
                                 {"cpu", job.cpu},
                                 {"vxlan", job.path == LedgerJob::Path::kVxlan}});
}

Result<LedgerJob> parse_ledger_job(const std::string& text) {
    const json value = process::json_or_null(text);
    if (!value.is_object() || value.value("frames", std::uint64_t{0}) == 0) {
        return fail(ErrorCode::kBadInput, "the job is no JSON object with frames: '{}'",
                    text.substr(0, 100));
    }
    return LedgerJob{
        .frames = value.value("frames", std::uint64_t{0}),
        .seed = value.value("seed", std::uint64_t{1}),
        .cpu = value.value("cpu", 0),
        .path = value.value("vxlan", false) ? LedgerJob::Path::kVxlan : LedgerJob::Path::kPlain};
}

std::string to_text(const LedgerOutcome& outcome) {
    return process::to_text(json{{"sent", outcome.sent},
                                 {"missing", kind_json(outcome.missing)},
                                 {"duplicates", kind_json(outcome.duplicates)},
                                 {"reordered", kind_json(outcome.reordered)},
                                 {"furthest", kind_json(outcome.furthest)},
                                 {"corrupted", kind_json(outcome.corrupted)},
                                 {"seconds", outcome.seconds},
                                 {"errors", outcome.errors}});
}

Result<LedgerOutcome> parse_ledger_outcome(const std::string& text) {
    const json value = process::json_or_null(text);
    if (!value.is_object() || !value.contains("missing")) {
        return fail(ErrorCode::kFailed, "the worker did not say what it found: '{}'",
                    text.substr(0, 200));
    }
    return LedgerOutcome{.sent = value.value("sent", std::uint64_t{0}),
                         .missing = read_kind(value, "missing"),
                         .duplicates = read_kind(value, "duplicates"),
                         .reordered = read_kind(value, "reordered"),
                         .furthest = read_kind(value, "furthest"),
                         .corrupted = read_kind(value, "corrupted"),
                         .seconds = value.value("seconds", 0.0),
                         .errors = value.value("errors", std::vector<std::string>{})};
}

}  // namespace pathproof::bench
