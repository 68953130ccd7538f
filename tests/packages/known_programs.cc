// Prints the list of programs that pathproof starts: name, package, and the packages that must have it, or "-".
#include <cstdio>

#include "harness/process/programs.h"

namespace {

using pathproof::process::NeededBy;

const char* packages_of(NeededBy needed_by) {
    switch (needed_by) {
        case NeededBy::kLabs: return "lab_packages";
        case NeededBy::kQemuLab: return "qemu_packages";
        case NeededBy::kDebian: return "Debian's required packages";
        case NeededBy::kWhoAsks: return "-";
    }
    return "";
}

}  // namespace

int main() {
    for (const auto& program : pathproof::process::known_programs()) {
        std::printf("%s %s %s\n", program.name.data(), program.package.data(),
                    packages_of(program.needed_by));
    }
}
