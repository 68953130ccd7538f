// Reading and undoing journals that lie in the folder: those of dead runs, and those of labs that
// are kept up.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/lab/journal.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

std::string journal_directory(const JournalOptions& options);
std::string journal_path(const std::string& directory, const std::string& run_id);
std::string current_boot_id(const KernelFiles& files);

// Undoes all of a journal, last thing first, and reads it back. After a reboot only names of
// namespaces can be left: the values of the kernel before it are nobody's business any more.
UndoReport undo_content(const JournalContent& content, const KernelFiles& files);

// After undoing: removes the journal file, or leaves in it what is left to undo.
Status finish_journal(const std::string& path, const JournalContent& content,
                      const UndoReport& report);

// "'pathproof restore' tries again, 'pathproof restore --forget 1a2b' forgets it"
std::string how_to_forget(const std::string& run_id);

// Returns the actions in the journals of running runs that are not undone yet.
std::vector<std::pair<JournalHeader, UndoAction>> live_actions(const std::string& directory);

// Times that the user is told of what could not be put back: once, or at each recovery.
enum class Tell { kOnce, kAlways };

struct Recovery {
    std::vector<RestoredRun> runs;      // of which something was put back, or left to others
    std::vector<std::string> problems;  // one sentence for each thing that could not be
};

// Undoes the journals of dead runs, or (not empty) of the one; live and kept ones are not touched.
Recovery recover_journals(const std::string& directory, const KernelFiles& files, Tell tell,
                          const std::string& run_id = {});
// Recovers the journals and, for the holder of the run lock, what belongs to no single run.
Recovery recover(const std::string& directory, const KernelFiles& files, Tell tell);

}  // namespace pathproof::lab
