// Everything that a run changes on the machine is first written here; it is undone on exit, on
// signals, and by the next start or `pathproof restore` after a kill -9.
//
// One file a run, /run/pathproof/RUN.journal: JSON lines, each an undo action, appended and synced
// to the file before the change is made. Undoing goes backwards and is idempotent; an action whose
// object is already gone is done. The journal is removed when all of it is undone, and
// /run/pathproof with the last of them.
//
// The environment variable PATHPROOF_RUN_DIR names another folder than /run/pathproof: for tests
// that must not wait for, or be mixed up with, a run of the same machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/put_back.h"

namespace pathproof::lab {

struct JournalOptions {
    std::string directory;       // empty: $PATHPROOF_RUN_DIR, or /run/pathproof
    std::string proc = "/proc";  // where sysctls and hugepages are read and written
};

// What a DPDK port on a kernel interface is made of.
enum class PortKind {
    kPacketSocket,  // net_af_packet
    kXdpSocket,     // net_af_xdp
};

class Journal {
  public:
    // Takes the machine's lab lock (flock on /run/pathproof/lock, released by the kernel when we
    // die), undoes what earlier runs left behind, and opens a new journal. Errors: another run
    // holds the lock (kUnavailable, names its pid and command); not root (kNotPermitted).
    static Result<std::unique_ptr<Journal>> open(const std::string& command_line,
                                                 const JournalOptions& options = {});
    // The same without the lock: for runs that change nothing but interfaces which others leave
    // alone (note_port), and of which several may go on at the same time.
    static Result<std::unique_ptr<Journal>> open_unlocked(const std::string& command_line,
                                                          const JournalOptions& options = {});
    ~Journal();  // undoes what is still in it

    const std::string& run_id() const;  // four hex digits, unique among the machine's namespaces
    // What `open` found and undid, a line a device; what could not be undone begins with "could
    // not".
    const std::vector<std::string>& recovered() const;

    // Each notes the undo action, then makes the change. After `undo` or `keep` they are refused
    // (kUnavailable).
    Status add_netns(const std::string& name);                             // undo: delete it
    Status add_netns(const std::vector<std::string>& names);               // all at once: faster
    Status set_sysctl(const std::string& name, const std::string& value);  // undo: the old value
    // Has `mib` of 2 MiB hugepages free if the memory allows it (at most half of what is
    // available), and says how many MiB of free hugepages there really are now: that may be less,
    // or more. Undo: the old count.
    Result<std::uint32_t> reserve_hugepages(std::uint32_t mib);
    // Notes that a device's features (as `ethtool -k` names them) must be set back to `value`.
    Status note_feature(const std::string& netns, const std::string& device,
                        const std::string& feature, bool value);
    // Notes how a kernel interface is, before a DPDK port is opened on it: undo: its promiscuous
    // mode as it was, and no XDP program of ours. The port must be closed before that. Errors: no
    // such interface; an AF_XDP port on an interface that has an XDP program (kBadInput).
    Status note_port(const std::string& netns, const std::string& interface, PortKind kind);
    // Once the ports are open: notes which XDP programs they loaded, so that no other is taken for
    // ours.
    Status note_loaded_programs();
    // Changes a namespace (empty: ours) with a command of ip(8), and back with another:
    // "address add 198.18.0.1/30 dev e0", "address delete 198.18.0.1/30 dev e0". A command that
    // fails has changed nothing, and nothing of it is undone.
    Status change_ip(const std::string& netns, const std::string& change, const std::string& undo);
    // Runs the undo command of one change now and takes it out of the journal.
    Status undo_ip(const std::string& netns, const std::string& undo);
    // Puts one sysctl back now and takes it out of the journal.
    Status restore_sysctl(const std::string& name);
    // Ends what runs in these namespaces and deletes them now. A kept journal keeps them.
    Status remove_netns(const std::vector<std::string>& names);

    // Leaves everything as it is when we end, until `take_down`. `what` names it for `lab list`.
    Status keep(const std::string& what);

    // Undoes everything, last change first, and says what could not be undone. May be called from
    // any thread.
    Status undo();

  private:
    Journal();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Undoes the journals of dead runs: what `pathproof restore` does. Gives the runs of which
// something was put back. Labs that are kept up stay. Errors: a run is alive (kUnavailable, named);
// something could not be put back (kFailed, with all sentences).
Result<std::vector<RestoredRun>> restore_all(const JournalOptions& options = {});

// The journals of this machine; readable without root.
struct RunInfo {
    enum class State {
        kLive,  // its process runs
        kKept,  // left up by `lab up`
        kDead,  // killed: `pathproof restore` undoes it
    };
    std::string run_id;
    State state = State::kDead;
    pid_t pid = 0;
    std::string command;
    std::string what;                     // of `keep`
    std::vector<std::string> namespaces;  // it made
};
const char* run_state_name(RunInfo::State state);
Result<std::vector<RunInfo>> list_runs(const JournalOptions& options = {});

// Undoes the journal of a kept lab: what `pathproof lab down` does; in short. kNotFound: no lab of
// that name is kept up.
Result<std::vector<std::string>> take_down(const std::string& run_id,
                                           const JournalOptions& options = {});

}  // namespace pathproof::lab
