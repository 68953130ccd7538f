#include "harness/lab/undo.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "harness/lab/netns_names.h"
#include "harness/lab/port_notes.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using Kind = UndoAction::Kind;
using Undone = Result<std::optional<PutBack>>;

Result<std::string> sysctl_path(const std::string& name, const KernelFiles& files) {
    if (name.empty() || name.front() == '.' || name.front() == '/' ||
        name.find("..") != std::string::npos) {
        return fail(ErrorCode::kBadInput,
                    "'{}' is no sysctl name; write it with dots, as 'net.ipv4.ip_forward'", name);
    }
    // sysctl(8): with '/' as separator a dot belongs to a name (a VLAN device), with '.' a slash
    // does.
    std::string path = name;
    if (name.find_first_of("./") == name.find('.')) {
        for (char& letter : path) {
            letter = letter == '.' ? '/' : letter == '/' ? '.' : letter;
        }
    }
    return files.proc + "/sys/" + path;
}

// The kernel prints lists with tabs and takes them with blanks.
std::string one_blank_between(const std::string& text) {
    std::string out;
    for (char letter : text) {
        const bool blank = std::isspace(static_cast<unsigned char>(letter)) != 0;
        if (!blank) {
            out += letter;
        } else if (!out.empty() && out.back() != ' ') {
            out += ' ';
        }
    }
    while (!out.empty() && out.back() == ' ') {
        out.pop_back();
    }
    return out;
}

// Of no device.
PutBack done(const UndoAction& action, std::string what) {
    return {.kind = action.kind, .netns = "", .device = "", .what = std::move(what)};
}

Undone undo_netns(const UndoAction& action) {
    auto deleted = delete_netns(action.name);
    if (!deleted) {
        return pass_on(deleted.error());
    }
    return *deleted ? std::optional(done(action, std::move(**deleted))) : std::nullopt;
}

Undone undo_sysctl(const UndoAction& action, const KernelFiles& files) {
    const auto now = read_sysctl(action.name, files);
    if (!now) {
        if (now.error().code == ErrorCode::kNotFound) {
            return std::nullopt;  // its device or module is gone, and its value with it
        }
        return pass_on(now.error());
    }
    if (one_blank_between(*now) == one_blank_between(action.value)) {
        return std::nullopt;
    }
    if (const Status written = write_sysctl(action.name, action.value, files); !written) {
        return pass_on(written.error());
    }
    return done(action,
                fmt::format("set sysctl {} back from {} to {}", action.name, *now, action.value));
}

Undone undo_hugepages(const UndoAction& action, const KernelFiles& files) {
    const auto now = read_sysctl("vm.nr_hugepages", files);
    if (!now) {
        return pass_on(now.error());
    }
    // We only ever raise the number: if it is lower by now, somebody else wanted that.
    if (std::strtoul(now->c_str(), nullptr, 10) <=
        std::strtoul(action.value.c_str(), nullptr, 10)) {
        return std::nullopt;
    }
    if (const Status written = write_sysctl("vm.nr_hugepages", action.value, files); !written) {
        return pass_on(written.error());
    }
    return done(action,
                fmt::format("set the number of hugepages back from {} to {}", *now, action.value));
}

// What ip(8) says of an address, neighbour or device that is gone already.
bool says_gone(const std::string& text) {
    constexpr std::array<const char*, 7> kGone = {
        "Cannot find device", "does not exist",  "Cannot assign requested address",
        "No such device",     "No such process", "No such file or directory",
        "not found"};
    return std::any_of(kGone.begin(), kGone.end(),
                       [&](const char* words) { return text.find(words) != std::string::npos; });
}

Undone undo_ip(const UndoAction& action) {
    if (!action.netns.empty() && !process::netns_exists(action.netns)) {
        return std::nullopt;
    }
    std::vector<std::string> argv{"ip", "-batch", "-"};
    if (!action.netns.empty()) {
        argv.insert(argv.begin() + 1, {"-n", action.netns});
    }
    const auto ran = process::run_program(argv, {.input = action.name + "\n"});
    if (!ran) {
        return pass_on(ran.error());
    }
    if (ran->exit_status == 0) {
        return done(action, fmt::format("ran ip {}{}",
                                        action.netns.empty() ? "" : "-n " + action.netns + " ",
                                        action.name));
    }
    if (says_gone(ran->err)) {
        return std::nullopt;
    }
    return fail(ErrorCode::kFailed, "ip {}: {}", action.name, ran->err);
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFailed, "read {}: {}",
                    path, std::strerror(errno));
    }
    std::string text;
    std::array<char, 4096> chunk;
    ssize_t got = 0;
    while ((got = read(file, chunk.data(), chunk.size())) > 0) {
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    const int reason = errno;
    close(file);
    if (got < 0) {
        return fail(ErrorCode::kFailed, "read {}: {}", path, std::strerror(reason));
    }
    return text;
}

Status write_file(const std::string& path, const std::string& text, int open_flags) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | open_flags, 0644);
    if (file < 0) {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFailed, "write {}: {}",
                    path, std::strerror(errno));
    }
    const ssize_t put = write(file, text.data(), text.size());
    const int reason = errno;
    fsync(file);
    close(file);
    if (put != static_cast<ssize_t>(text.size())) {
        return fail(ErrorCode::kFailed, "write {}: {}", path,
                    put < 0 ? std::strerror(reason) : "only a part of it was taken");
    }
    return {};
}

Result<std::string> read_sysctl(const std::string& name, const KernelFiles& files) {
    const auto path = sysctl_path(name, files);
    if (!path) {
        return pass_on(path.error());
    }
    auto text = read_file(*path);
    if (!text) {
        return fail(text.error(), "sysctl {}", name);
    }
    while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back())) != 0) {
        text->pop_back();
    }
    return text;
}

Status write_sysctl(const std::string& name, const std::string& value, const KernelFiles& files) {
    const auto path = sysctl_path(name, files);
    if (!path) {
        return pass_on(path.error());
    }
    if (const Status written = write_file(*path, value + "\n", O_TRUNC); !written) {
        return fail(written.error(), "set sysctl {} to {}", name, value);
    }
    const auto now = read_sysctl(name, files);
    if (!now) {
        return pass_on(now.error());
    }
    if (one_blank_between(*now) != one_blank_between(value)) {
        return fail(ErrorCode::kFailed, "set sysctl {} to {}: the kernel made it {}", name, value,
                    *now);
    }
    return {};
}

Undone undo_action(const UndoAction& action, const KernelFiles& files) {
    switch (action.kind) {
        case Kind::kNetns:
            return undo_netns(action);
        case Kind::kSysctl:
            return undo_sysctl(action, files);
        case Kind::kHugepages:
            return undo_hugepages(action, files);
        case Kind::kFeature:
            break;
        case Kind::kIp:
            return undo_ip(action);
        case Kind::kPromiscuity:
            return undo_promiscuity(action);
        case Kind::kXdp:
            return undo_xdp(action);
    }
    return std::nullopt;
}

}  // namespace pathproof::lab
