// Reading and undoing journals that lie in the folder: those of dead runs, and those of labs that
// are kept up.
#pragma once

#include <string>
#include <vector>

#include "harness/lab/journal.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

std::string journal_directory(const JournalOptions& options);
std::string journal_path(const std::string& directory, const std::string& run_id);
std::string current_boot_id(const KernelFiles& files);

struct UndoReport {
    std::vector<PutBack> done;          // what was really put back
    std::vector<std::string> problems;  // one sentence for each thing that could not be
    std::vector<UndoAction> left;       // the actions of `problems`, oldest first
};

// Undoes the actions of a journal, last one first. After a reboot only names of namespaces can be
// left: the values of the kernel before it are nobody's business any more.
UndoReport undo_content(const JournalContent& content, const KernelFiles& files);

// After undoing: removes the journal file, or leaves in it what is left to undo.
Status finish_journal(const std::string& path, const JournalContent& content,
                      const UndoReport& report);

// What stands in all journals of the folder, not undone yet.
std::vector<UndoAction> actions_in(const std::string& directory);

struct Recovery {
    std::vector<RestoredRun> runs;      // those of which something was put back
    std::vector<std::string> problems;  // one sentence for each thing that could not be
};

// Undoes the journals of dead runs; live and kept ones are not touched.
Recovery recover_journals(const std::string& directory, const KernelFiles& files);
// The same and, for the holder of the run lock, what belongs to no single run.
Recovery recover(const std::string& directory, const KernelFiles& files);

}  // namespace pathproof::lab
