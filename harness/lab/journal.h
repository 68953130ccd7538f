// Everything that a run changes on the machine is first written here; it is undone on exit, on signals, and
// by the next start or `pathproof restore` after a kill -9.
//
// One file a run, /run/pathproof/RUN.journal: JSON lines, each an undo action, appended and synced to the file
// before the change is made. Undoing goes backwards and is idempotent; an action whose object is already gone
// is done. The journal is removed when all of it is undone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::lab {

class Journal {
  public:
    // Takes the machine's lab lock (flock on /run/pathproof/lock, released by the kernel when we die), undoes
    // what earlier runs left behind, and opens a new journal. Errors: another run holds the lock (kUnavailable,
    // names its pid and command); not root (kNotPermitted).
    static Result<std::unique_ptr<Journal>> open(const std::string& command_line);
    ~Journal();  // undoes what is still in it

    const std::string& run_id() const;  // four hex digits, unique among the machine's namespaces
    // What `open` found and undid, one sentence each.
    const std::vector<std::string>& recovered() const;

    // Each notes the undo action, then makes the change.
    Status add_netns(const std::string& name);                                       // undo: delete it
    Status set_sysctl(const std::string& name, const std::string& value);            // undo: the old value
    Status reserve_hugepages(std::uint32_t mib);                                     // undo: the old count
    // Notes that a device's features (as `ethtool -k` names them) must be set back to `value`.
    Status note_feature(const std::string& netns, const std::string& device, const std::string& feature,
                        bool value);
    // Puts one sysctl back now and takes it out of the journal.
    Status restore_sysctl(const std::string& name);

    // Undoes everything, last change first, and says what could not be undone.
    Status undo();

  private:
    Journal();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Undoes the journals of dead runs: what `pathproof restore` does. One sentence for each thing put back.
Result<std::vector<std::string>> restore_all();

}  // namespace pathproof::lab
