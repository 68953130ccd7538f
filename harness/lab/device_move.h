// A network device that goes into a namespace of the run, and comes back as it was: the run's addresses, rules and
// sysctls are then none of the host's own.
//
// What a device loses on the way (__dev_change_net_namespace()) is noted before it goes: addresses, permanent
// neighbours, routes, MTU, flags, and the sysctls that stand below its name. Features and receive packet steering
// stay with the device, and are noted because the run changes them.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

// Checks that a device of the calling thread's namespace may be moved. kBadInput: there is no such device; it stays in
// its namespace (netns-local), is a port of a bridge or bond, or has what would be lost and cannot be put back: a
// queueing discipline, filters, an XDP program. The sentence names it.
Status check_movable(const std::string& device);

// Notes a device of the calling thread's namespace, before it is moved into the named one.
Result<UndoAction> note_before_move(const std::string& device, const std::string& netns);

// Moves it there and brings it up.
Status move_device(const std::string& device, const std::string& netns);

// Undoes a note of kMove, in the namespace that the device came from.
Status undo_move(const Note& note, UndoReport& report);

}  // namespace pathproof::lab
