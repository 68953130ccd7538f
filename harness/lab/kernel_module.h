// Kernel modules that a run loads, and takes out again.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

enum class ModuleState : std::uint8_t { kLoaded, kMissing };
// kLoaded: it is there, as a module or as a part of the kernel that shows itself in sysfs.
// '-' and '_' are one.
ModuleState module_state(const std::string& name, const KernelFiles& files);

// Returns the modules that loading it takes, from the output of `modprobe --show-depends`: names in
// their order, without those that are loaded.
std::vector<std::string> modules_to_load(const std::string& shown, const KernelFiles& files);

// Undoes a note of kModule: the module was not there.
Status undo_module(const Note& note, const KernelFiles& files, UndoReport& report);

// Undoes a note of kParameter: a module's parameter, a file below /sys/module, was `value`.
Status undo_parameter(const Note& note, const KernelFiles& files, UndoReport& report);

}  // namespace pathproof::lab
