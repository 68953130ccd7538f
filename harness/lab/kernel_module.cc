#include "harness/lab/kernel_module.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "harness/guest/modules.h"
#include "harness/process/foreign.h"

namespace pathproof::lab {

ModuleState module_state(const std::string& name, const KernelFiles& files) {
    std::error_code none;
    // A driver that is a part of the kernel may have no folder of a module.
    return std::filesystem::exists(files.sys + "/module/" + guest::module_name(name), none) ||
                   std::filesystem::exists(files.sys + "/bus/pci/drivers/" + name, none)
               ? ModuleState::kLoaded
               : ModuleState::kMissing;
}

std::vector<std::string> modules_to_load(const std::string& shown, const KernelFiles& files) {
    std::vector<std::string> names;
    for (const std::string& line : process::lines_of(shown)) {
        std::istringstream words(line);
        std::string verb, path;
        if (!(words >> verb >> path) || verb != "insmod") {
            continue;
        }
        std::string name = guest::module_name(path);
        if (module_state(name, files) == ModuleState::kMissing) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

Status undo_module(const Note& note, const KernelFiles& files, UndoReport& report) {
    if (module_state(note.name, files) == ModuleState::kMissing) {
        return {};
    }
    if (syscall(SYS_delete_module, note.name.c_str(), O_NONBLOCK) != 0 && errno != ENOENT) {
        const bool in_use = errno == EWOULDBLOCK || errno == EBUSY;
        if (!in_use) {
            return fail(ErrorCode::kFailed, "unload the module {}: {}", note.name,
                        std::strerror(errno));
        }
        report.left_alone.push_back("the module " + note.name +
                                    " was loaded by this run and is in use by now: left");
        return {};
    }
    return report.did(note, "unloaded the module " + note.name);
}

Status undo_parameter(const Note& note, const KernelFiles& files, UndoReport& report) {
    const std::string path = files.sys + "/module/" + note.name;
    const auto text = read_file(path);
    const std::string now = text.value_or("").substr(0, text.value_or("").find('\n'));
    if (!text || now == note.value) {
        return {};  // its module may be gone
    }
    if (!note.is_ours(now)) {
        return report.leave("/sys/module/" + note.name, now);
    }
    TRY(write_file(path, note.value + "\n", 0));
    return report.did(note, fmt::format("set /sys/module/{} back to {}", note.name, note.value));
}

}  // namespace pathproof::lab
