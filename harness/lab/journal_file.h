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

// How to take one change back.
struct UndoAction {
    enum class Kind {
        kNetns,      // delete the network namespace `name`
        kSysctl,     // write `value` to the sysctl `name`
        kHugepages,  // write `value` to vm.nr_hugepages
        kFeature,    // set feature `name` of `device` in `netns` to `value` ("on" or "off")
        kIp,         // run `ip NAME` in `netns`: "address delete 198.18.0.1/30 dev e0"
        // Of the interface `name` (port_notes.cc), called `device` when it was noted:
        kPromiscuity,  // set its promiscuous mode to `value` ("on" or "off")
        kXdp,          // take off it the XDP program that `value` tells of
    };
    Kind kind = Kind::kNetns;
    std::string name;
    std::string value;
    std::string netns;
    std::string device;
    bool operator==(const UndoAction&) const = default;
};

struct JournalHeader {
    std::string run_id;
    pid_t pid = 0;
    std::string
        boot_id;  // of /proc/sys/kernel/random/boot_id: what survives a reboot is only files
    std::string command;
    bool operator==(const JournalHeader&) const = default;
};

// What a journal holds once it was read.
struct JournalContent {
    JournalHeader header;
    std::vector<UndoAction> actions;      // not done yet, oldest first
    std::optional<std::string> kept;      // why it is kept: "overlay"
    std::vector<std::string> unreadable;  // whole lines that are none of ours
};

std::string header_line(const JournalHeader& header);
std::string action_line(const UndoAction& action);
// All earlier actions of this kind and name are done.
std::string done_line(UndoAction::Kind kind, const std::string& name);
std::string kept_line(const std::string& what);

// Reads a journal. A last line without its line end was cut short by a crash: the change it
// announces was never made (a change follows the synced line), so it is left out. Other lines that
// cannot be read are kept aside for the user to see.
JournalContent parse_journal(std::string_view text);

// What the user is told about an action: "network namespace pp-1a2b-dut", "sysctl
// net.ipv4.ip_forward = 0".
std::string describe(const UndoAction& action);

}  // namespace pathproof::lab
