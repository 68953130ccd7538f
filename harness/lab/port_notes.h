// The journal's entries for DPDK ports on kernel interfaces, and how they are undone. What is noted
// goes by the interface's index and its network namespace's identity: another interface that got
// its name is not touched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/put_back.h"

namespace pathproof::lab {

// What to note before a port is opened on the interface. `earlier`: the notes of other runs that
// still go on; an interface that one of them made promiscuous was not so before.
// Errors: no such interface or namespace; with AF_XDP an interface that has an XDP program
// (kBadInput): net_af_xdp's eth_dev_close() takes off whatever program it finds.
Result<std::vector<UndoAction>> notes_before_port(const std::string& netns,
                                                  const std::string& interface, PortKind kind,
                                                  const std::vector<UndoAction>& earlier);

// What takes the place of a note of kind kXdp once the port is open: the program by its id.
// Nothing: the interface has none.
Result<std::optional<UndoAction>> note_of_program(const UndoAction& before);

// As undo_action(), of the kinds kPromiscuity and kXdp.
Result<std::optional<PutBack>> undo_promiscuity(const UndoAction& action);
Result<std::optional<PutBack>> undo_xdp(const UndoAction& action);

}  // namespace pathproof::lab
