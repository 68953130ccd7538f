// The programs of other packages that pathproof starts: the one list of them. The binary starts no other
// program by its name, so that scripts/packages and debian/control cannot fall behind the code: tests/packages
// holds this list against both.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::process {

// The set of packages in which a program's package must be.
enum class NeededBy : std::uint8_t {
    kLabs,     // lab_packages of scripts/packages
    kQemuLab,  // qemu_packages
    kDebian,   // Debian's required packages: on each machine
    kWhoAsks,  // none: used where it is there, and its absence is reported (ssh, zstd, systemd-resolved)
};

struct KnownProgram {
    std::string_view name;
    std::string_view package;  // Debian's
    NeededBy needed_by;
};

// Sorted by name.
std::span<const KnownProgram> known_programs();

// " (Debian's iproute2)", or nothing for a program that is not in the list.
std::string package_hint(std::string_view program);

// From here on run_program() and Child::start() refuse a name that is not in the list. A path, as of a CNI
// plug-in or our own binary, is not looked up. For main(): tests start whatever they need.
void start_known_programs_only();

// kFailed where the program must not be started.
Status check_known(std::string_view program);

}  // namespace pathproof::process
