// Taking single changes back. Each function is idempotent: what is already gone or already has its
// old value is done, and is not spoken of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/put_back.h"

namespace pathproof::lab {

// Where the kernel's files are; tests put others in their place.
struct KernelFiles {
    std::string proc = "/proc";
};

// Undoes one action, of any kind but kFeature (feature_undo.h); gives nothing when there was
// nothing to do.
Result<std::optional<PutBack>> undo_action(const UndoAction& action, const KernelFiles& files);

// A sysctl by its name with dots, as sysctl(8) takes it; white space at the end is cut off.
Result<std::string> read_sysctl(const std::string& name, const KernelFiles& files);
// Writes and reads back; an error says what the kernel made of it.
Status write_sysctl(const std::string& name, const std::string& value, const KernelFiles& files);

// Reads a whole file (of any kind: /proc files have no size).
Result<std::string> read_file(const std::string& path);
// Writes and syncs a file.
Status write_file(const std::string& path, const std::string& text, int open_flags);

}  // namespace pathproof::lab
