// The journal's entries for AF_XDP ports on kernel interfaces, and how they are undone. What else a
// DPDK port asks of an interface, promiscuous mode, the kernel counts and takes back itself
// (dataplane/port/kernel_interface.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

// Makes the note to write before an AF_XDP port is opened on the interface. `live`: the notes of
// runs that go on. Errors: no such interface or namespace; an interface that has an XDP program
// (kBadInput; the sentence says whose), for net_af_xdp's eth_dev_close() takes off whatever program
// it finds.
Result<UndoAction> note_before_port(const std::string& netns, const std::string& interface,
                                    const std::vector<std::pair<JournalHeader, UndoAction>>& live);

// Makes the note that replaces the first one once the port is open: the program by its id. Nothing:
// the interface has none.
Result<std::optional<UndoAction>> note_of_program(const UndoAction& before);

Status undo_xdp(const Note& note, const KernelFiles& files, UndoReport& report);

}  // namespace pathproof::lab
