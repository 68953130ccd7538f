// The first process of a guest that runs one command of pathproof (program.h).
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::guest {

inline constexpr const char* kProgramFile = "/program";  // in the initramfs: JSON
inline constexpr const char* kProgramPort = "org.pathproof.program";
inline constexpr const char* kRootTag = "root";  // of virtio-9p
inline constexpr const char* kModulesTag = "modules";
inline constexpr const char* kGuestVariable = "PATHPROOF_GUEST";

// The program to run, and its place.
struct Program {
    std::string path;
    std::vector<std::string> words;  // argv, its own name first
    std::string folder;
    std::vector<std::string> environment;  // "PATH=..."
    std::vector<std::string> writable;     // the tags are w0, w1, ...
};

std::string to_json(const Program& program);
Result<Program> program_of(const std::string& json);

// Returns whether the initramfs is of such a guest. Modules are loaded by now.
bool has_program();
[[noreturn]] void run_program_of_guest();

}  // namespace pathproof::guest
