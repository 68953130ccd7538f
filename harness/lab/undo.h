// Putting single things back. Each function is idempotent: what is already gone or as it was is
// done, and is not spoken of; so a second pass that finds nothing to do is the read-back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/put_back.h"

namespace pathproof::lab {

// Locations of the kernel's files; tests put others in their place.
struct KernelFiles {
    std::string proc = "/proc";
    std::string sys = "/sys";
};

// All that a journal says of one thing: how it was found, and what it was set to, oldest first.
struct Note : UndoAction {
    std::vector<std::string> sets;
    // Returns whether we set this value.
    bool is_ours(const std::string& now) const;
};
// In the order of their oldest lines.
std::vector<Note> notes_of(const std::vector<UndoAction>& actions);

struct UndoReport {
    std::vector<PutBack> done;            // what was really put back
    std::vector<std::string> left_alone;  // what others changed since, a sentence each
    std::vector<std::string> problems;    // a sentence for each thing that could not be put back
    std::vector<UndoAction> left;         // the things of `problems`, oldest first

    // Notes what was done of a thing, of this device by its present name; or that its value was left:
    // "vm.nr_hugepages is 300, set by somebody else since: left".
    Status did(const Note& note, std::string what, const std::string& device = "");
    Status leave(const std::string& what, const std::string& value);
};

// One kind of thing that is put back. A new kind is a member of UndoAction::Kind and a row in undo.cc.
struct UndoKind {
    UndoAction::Kind kind;
    const char* name;  // in a journal's lines: journals of other versions are read by it
    // Names the thing for the user: "network namespace pp-1a2b-dut",
    // "sysctl net.ipv4.ip_forward = 0".
    std::string (*describe)(const UndoAction& action);
    // An error: it could not be put back. nullptr: only together with others of its device
    // (feature_undo.h).
    Status (*undo)(const Note& note, const KernelFiles& files, UndoReport& report);
};
std::span<const UndoKind> undo_kinds();
const UndoKind& undo_kind(UndoAction::Kind kind);

// The pages of the default size, and those above vm.nr_hugepages. Errors: no such file.
struct Hugepages {
    std::uint64_t pages = 0;
    std::uint64_t surplus = 0;
};
Result<Hugepages> read_hugepages(const KernelFiles& files);
std::string to_string(const Hugepages& pages);  // "10 pages, 0 surplus"
// Value in a note of kHugepages until the kernel has taken the count: the most that it can be.
std::string at_most(std::uint64_t pages);
// A number of /proc/meminfo, or 0.
std::uint64_t meminfo(const KernelFiles& files, const std::string& key);

// A sysctl by its name with dots, as sysctl(8) takes it; white space at the end is cut off.
Result<std::string> read_sysctl(const std::string& name, const KernelFiles& files);
// Writes and reads back; an error says what the kernel made of it.
Status write_sysctl(const std::string& name, const std::string& value, const KernelFiles& files);

// A command of ip(8) in the calling thread's namespace, whatever happens to the run.
Status run_ip_here(const std::string& command);

// Writes and syncs a file.
Status write_file(const std::string& path, const std::string& text, int open_flags);

}  // namespace pathproof::lab
