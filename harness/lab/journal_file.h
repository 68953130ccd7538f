// The text of a journal: JSON lines. The first names the run; each further one is an undo action,
// or says that one is done, or that the run's lab is to be kept.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::lab {

// State of one thing before it was changed, and what it was set to.
struct UndoAction {
    enum class Kind {
        kNetns,      // the network namespace `name` was not there
        kSysctl,     // the sysctl `name` was `value`; `place`: of that namespace (netns_identity.h)
        kHugepages,  // vm.nr_hugepages and its surplus were `value`: "10 pages, 0 surplus"
        kFeature,    // the feature `name` of a device was `value`, as `ethtool -k` writes it:
                     // "on", "off [requested on]"; only what was requested can be set back
        kIp,         // "address delete 198.18.0.1/30 dev e0" undoes it
        kXdp,        // a device had no XDP program; `value` tells of ours (port_notes.h)
        kRules,      // the iptables table `name` of the namespace `place` was `value` (host_undo.h)
        kSteering,   // rps_cpus of a device's first receive queue was `value`
        kBinding,    // the PCI device `name` was bound as `value` says (pci_binding.h)
        kModule,     // the kernel module `name` was not loaded
        kParameter,  // the parameter `name` of a module ("vfio/parameters/x") was `value`
        kFolder,     // the folder `name` was not there
        kNft,        // the nftables table `name` of the namespace `place` was not there
        kIpvs,       // IPVS's services of the namespace `place` were `value` (host_undo.h)
        kMove,  // the device `name` was in the namespace `place`, as `value` says (device_move.h)
    };
    Kind kind = Kind::kNetns;
    std::string name;
    std::string value;
    // Value that we set. If the thing has another one by now, somebody else set it, and it is left.
    // Empty: it was not set by us, but may change along with something else.
    std::string set;
    std::string place;  // of a device: which one (device_place.h); of a namespace: its identity
    // Names of the device and of its namespace when the note was made.
    std::string netns;
    std::string device;
    bool operator==(const UndoAction&) const = default;

    // Returns whether both notes are of one thing; the oldest note of a thing says how it was
    // found.
    bool same_thing(const UndoAction& other) const {
        return kind == other.kind && name == other.name && place == other.place;
    }
};

// The journals of other formats are not undone.
inline constexpr int kJournalFormat = 2;

struct JournalHeader {
    std::string run_id;
    int format = kJournalFormat;
    pid_t pid = 0;
    // Boot that the journal was begun in, from /proc/sys/kernel/random/boot_id: only files survive
    // a reboot.
    std::string boot_id;
    std::string command;
    bool operator==(const JournalHeader&) const = default;
};

// Contents of a journal that was read.
struct JournalContent {
    JournalHeader header;
    std::vector<UndoAction> actions;      // not done yet, oldest first
    std::optional<std::string> kept;      // why it is kept: "overlay"
    std::vector<std::string> unreadable;  // whole lines that are none of ours
    bool told = false;                    // the user knows what of it cannot be put back
};

std::string header_line(const JournalHeader& header);
std::string action_line(const UndoAction& action);
// All earlier actions of this thing are done.
std::string done_line(const UndoAction& action);
std::string kept_line(const std::string& what);
std::string told_line();

// Reads a journal. A last line without its line end was cut short by a crash: the change it
// announces was never made (a change follows the synced line), so it is left out. Other lines that
// cannot be read are kept aside for the user to see.
JournalContent parse_journal(std::string_view text);
// Adds further lines to what was read.
void read_lines(std::string_view text, JournalContent& content);

}  // namespace pathproof::lab
