#include "harness/run/history.h"

#include "harness/history/pending.h"
#include "harness/process/log.h"

namespace pathproof::run {
namespace {

template <typename Keep>
void with_history(const HistoryChoice& choice, const Keep& keep) {
    if (choice.is_off) {
        return;
    }
    const auto target = history::parse_target(choice.target);
    const Status kept = target ? keep(*target) : Status(pass_on(target.error()));
    if (!kept) {
        process::log("this run is not in the history: " + kept.error().message);
    }
}

}  // namespace

Status HistoryChoice::check() const {
    if (!is_off) {
        TRY(history::parse_target(target));
    }
    return {};
}

void remember_run(const verdict::RunResult& run, int exit_code, const HistoryChoice& choice) {
    with_history(choice, [&](const history::Target& target) {
        return history::remember(target, run, exit_code);
    });
}

void keep_for_history(const verdict::RunResult& run, int exit_code, const HistoryChoice& choice) {
    with_history(choice, [&](const history::Target& target) -> Status {
        TRY(history::keep_pending(target, run, exit_code));
        return {};
    });
}

}  // namespace pathproof::run
