// Runs on their way into a history: each is a file of this machine before it is in the database, so that neither a kill nor a lock,
// a full disk or a server that is away loses it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/history/store.h"

namespace pathproof::history {

// Writes a run into the folder of `target`'s pending ones and has it on the disk. Gives its file.
Result<std::string> keep_pending(const Target& target, const verdict::RunResult& run,
                                 std::optional<int> exit_code);

struct AddedRuns {
    std::size_t added = 0;
    std::vector<std::string> problems;  // a sentence for each file that stays
};
// Adds the pending runs to the history and removes their files; one that is in the history already is removed too.
AddedRuns add_pending(Store& store, const Target& target);

// Adds a run to the history `target`, which is made where there is none. The error says where the run is kept until the next one adds it, or
// that it is not kept.
Status remember(const Target& target, const verdict::RunResult& run, std::optional<int> exit_code,
                std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace pathproof::history
