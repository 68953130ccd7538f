// Everything that a run changes on the machine is first written here; it is undone on exit, on
// signals, and by the next start or `pathproof restore` after a kill -9.
//
// A journal is open, then sealed, then undone. While it is open, each change is one call, which
// notes and makes it under one lock. It is sealed by a signal (signals.h), by undo() or keep():
// from then on nothing is changed by anybody, and whoever tries is told so (kUnavailable).
// Undone means read back, and found as it was noted.
//
// One file a run, /run/pathproof/RUN.journal: JSON lines, each how one thing was and what it is set
// to, appended and synced to the file before the change is made. Undoing goes backwards and is
// idempotent; what has neither the old value nor ours was set by somebody else, and is left and
// said. The journal is removed when all of it is undone, and /run/pathproof with the last of them.
//
// The environment variable PATHPROOF_RUN_DIR names another folder than /run/pathproof: for tests
// that must not wait for, or be mixed up with, a run of the same machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/pci_binding.h"
#include "harness/lab/put_back.h"
#include "harness/lab/run_lock.h"

namespace pathproof::lab {

struct JournalOptions {
    std::string directory;       // empty: $PATHPROOF_RUN_DIR, or /run/pathproof
    std::string proc = "/proc";  // where sysctls and hugepages are read and written
};

class Journal {
  public:
    // Takes the machine's lab lock (flock on /run/pathproof/lock, released by the kernel when we
    // die), undoes what earlier runs left behind, and opens a new journal. Errors: another run
    // holds the lock (kBusy, names its pid and command); not root (kNotPermitted).
    static Result<std::unique_ptr<Journal>> open(const std::string& command_line,
                                                 const JournalOptions& options = {});
    // Opens a journal without the run lock, for runs that change only interfaces which others leave
    // alone (open_ports): several of them may go on at the same time.
    static Result<std::unique_ptr<Journal>> open_unlocked(const std::string& command_line,
                                                          const JournalOptions& options = {});
    ~Journal();  // undoes what is still in it

    const std::string& run_id() const;  // four hex digits, unique among the machine's namespaces
    // Lists what `open` found and undid, a line a device. A line about what could not be undone
    // begins with "could not", and appears once.
    const std::vector<std::string>& recovered() const;

    // Notes the things of `notes`, then has `make` change them, all under one lock. An error of
    // `make` is given back; the notes stay.
    Status change(const std::vector<UndoAction>& notes, const std::function<Status()>& make);

    // The functions below note their changes likewise; "Undo" is how each change is undone.
    Status add_netns(const std::vector<std::string>& names);  // undo: delete them
    // Moves a device of the calling thread's namespace into a named one, and brings it up there. Undo: it is back with
    // what it had. Errors: those of check_movable().
    Status move_device(const std::string& device, const std::string& netns);
    // Undo: the old value, in the network namespace `place` (netns_identity.h); empty: in ours.
    Status set_sysctl(const std::string& name, const std::string& value,
                      const std::string& place = "");
    // Sets a sysctl of the calling thread's network namespace. The next two work in that namespace
    // too.
    Status set_net_sysctl(const std::string& name, const std::string& value);
    // Loads `rules` with iptables-restore. They have the whole table, or with kFront leave alone what
    // they do not name. Undo: the table as it was. "ip6 nat": of ip6tables.
    enum class Rules { kWhole, kFront };
    Status load_rules(const std::string& table, const std::string& rules,
                      Rules how = Rules::kWhole);
    // Replaces the table "ip kube-proxy", the only one that the text has, with `nft -f -`. Undo: it is
    // deleted. kBadInput: there is such a table that is not ours.
    Status load_nft(const std::string& table, const std::string& text);
    // IPVS has these services and endpoints, as `ipvsadm --save -n` prints them, and no others. Undo:
    // those that it had.
    Status set_ipvs(const std::string& services);
    // Receive packet steering of the device's first receive queue, where /sys shows the namespace.
    Status steer(const std::string& device, const std::string& cpu_mask);
    // Loads a kernel module with what it needs. Undo: those that were not there are taken out. Errors:
    // this kernel has none; no modprobe(8).
    Status load_module(const std::string& name);
    // Gives a PCI device to user space. Undo: its former driver, its interface with name, flags,
    // addresses and routes. Errors: those of check_bindable(); it is as it was then.
    Status bind_pci(const std::string& address, UserDriver driver);
    // Makes a folder beside the journal and gives its path; one of before by that name is it. Undo:
    // it is deleted with all that is in it.
    Result<std::string> make_folder(const std::string& name);
    // Has `mib` of 2 MiB hugepages free if the memory allows it (at most half of what is
    // available), and says how many MiB of free hugepages there really are now: that may be less,
    // or more. Undo: the old count, once nobody of ours uses them.
    Result<std::uint32_t> reserve_hugepages(std::uint32_t mib);
    // Features of a device, on or off, by their single names or by ethtool's words for groups, set by `make` (an agent,
    // say).
    // Undo: everything that was requested of the device is requested again.
    // Errors: no such device or feature, and those of `make`.
    Status change_features(const std::string& netns, const std::string& device,
                           const std::vector<std::pair<std::string, bool>>& wanted,
                           const std::function<Status()>& make);
    // Sets features in this process; a feature that cannot be set is an error. Undo: as above.
    Status set_features(const std::string& netns, const std::string& device,
                        const std::vector<std::pair<std::string, bool>>& wanted);
    // Opens by `open` AF_XDP ports on these interfaces. Undo: no XDP program of ours; the ports
    // must be closed before that. Errors: no such interface, one that has an XDP program
    // (kBadInput), and those of `open`.
    Status open_ports(const std::string& netns, const std::vector<std::string>& interfaces,
                      const std::function<Status()>& open);
    // Changes a device with a command of ip(8), and back with another, which names it by "dev":
    // "address add 198.18.0.1/30 dev e0", "address delete 198.18.0.1/30 dev e0". A command that
    // fails has changed nothing, and nothing of it is undone.
    Status change_ip(const std::string& netns, const std::string& device, const std::string& change,
                     const std::string& undo);
    // Runs the undo command of one change now and takes it out of the journal.
    Status undo_ip(const std::string& undo);
    // Puts one sysctl back now and takes it out of the journal; and the same of what the calls above set.
    Status restore_sysctl(const std::string& name);
    Status restore_rules(const std::string& table);
    Status restore_nft(const std::string& table);
    Status restore_ipvs();
    Status restore_device(const std::string& moved);
    Status restore_steering(const std::string& device);
    Status restore_feature(const std::string& device, const std::string& feature);
    // Ends what runs in these namespaces and deletes them now. A kept journal keeps them.
    Status remove_netns(const std::vector<std::string>& names);

    // Leaves everything as it is when we end, until `take_down`. `what` names it for `lab list`.
    Status keep(const std::string& what);

    // Ends it and undoes nothing: what was changed goes with the namespace that it is in, which stands in the journal of
    // whoever made it.
    Status abandon();

    // Returns whether the journal still makes changes.
    bool is_open() const;
    // Ends that at once, from any thread, and for good: a change that is being made goes on to its
    // end, no other is made, and the process ends by the hand of the calling thread: undo() never
    // returns to any other.
    void seal();
    // Seals, undoes everything, last change first, reads it back, and says what is not as it was
    // found. May be called from any thread; a kept lab is taken down once the journal was sealed.
    Status undo();
    // After undo(): what was left, for others changed it since; a sentence each.
    const std::vector<std::string>& left_alone() const;
    // "the machine is as it was found", or what is not so.
    std::string machine() const;

  private:
    Journal();
    static Result<std::unique_ptr<Journal>> start(std::optional<RunLock> lock,
                                                  const std::string& command_line,
                                                  const JournalOptions& options);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Undoes the journals of dead runs: what `pathproof restore` does. Gives the runs of which
// something was put back or left to others. Labs that are kept up stay. Errors: a run is alive
// (kUnavailable, named); something could not be put back (kFailed, with all sentences).
Result<std::vector<RestoredRun>> restore_all(const JournalOptions& options = {});
// Restores one dead run or (empty) all, then forgets what could not be put back and returns its
// sentences. kNotFound: there is no such dead run.
Result<std::vector<std::string>> forget(const std::string& run_id,
                                        const JournalOptions& options = {});

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
