#include "harness/lab/undo.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/trim.hpp>
#include <boost/algorithm/string/trim_all.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "harness/lab/device_move.h"
#include "harness/lab/device_place.h"
#include "harness/lab/host_undo.h"
#include "harness/lab/kernel_module.h"
#include "harness/lab/netns_identity.h"
#include "harness/lab/netns_names.h"
#include "harness/lab/pci_binding.h"
#include "harness/lab/port_notes.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using Kind = UndoAction::Kind;

constexpr std::string_view kAtMost = "at most ";

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
            if (letter == '.') {
                letter = '/';
            } else if (letter == '/') {
                letter = '.';
            }
        }
    }
    return files.proc + "/sys/" + path;
}

// The kernel prints lists with tabs and takes them with blanks.
bool is_same_value(const std::string& one, const std::string& other) {
    return boost::trim_fill_copy(one, " ") == boost::trim_fill_copy(other, " ");
}

Status undo_netns(const Note& note, const KernelFiles& /*files*/, UndoReport& report) {
    auto deleted = TRY(delete_netns(note.name));
    return deleted ? report.did(note, std::move(*deleted)) : Status();
}

// With all that is in it. Only one whose name a run makes up: make_folder().
Status undo_folder(const Note& note, const KernelFiles& /*files*/, UndoReport& report) {
    const std::filesystem::path path(note.name);
    const std::string name = path.filename().string();
    if (!path.is_absolute() || path != path.lexically_normal() || name.find('-') != 4) {
        return fail(ErrorCode::kBadInput, "'{}' is no folder of a run", note.name);
    }
    std::error_code wrong;
    const auto gone = std::filesystem::remove_all(path, wrong);
    if (wrong) {
        return fail(ErrorCode::kFailed, "delete {}: {}", note.name, wrong.message());
    }
    return gone > 0 ? report.did(note, "deleted folder " + note.name) : Status();
}

Status undo_sysctl(const Note& note, const KernelFiles& files, UndoReport& report) {
    const auto now = read_sysctl(note.name, files);
    if (!now) {
        // Its device or module may be gone, and its value with it.
        return now.error().code == ErrorCode::kNotFound ? Status() : Status(pass_on(now.error()));
    }
    if (is_same_value(*now, note.value)) {
        return {};
    }
    if (!note.is_ours(*now)) {
        return report.leave("sysctl " + note.name, *now);
    }
    TRY(write_sysctl(note.name, note.value, files));
    return report.did(note,
                      fmt::format("set sysctl {} back from {} to {}", note.name, *now, note.value));
}

// A count that we set, or one on the way to it if we were killed before we knew it.
bool is_our_count(const Note& note, std::uint64_t before, std::uint64_t now) {
    if (note.is_ours(std::to_string(now))) {
        return true;
    }
    if (note.sets.empty() || !note.sets.back().starts_with(kAtMost)) {
        return false;
    }
    const std::uint64_t most =
        std::strtoull(note.sets.back().c_str() + kAtMost.size(), nullptr, 10);
    return now > before && now <= most;
}

Status write_hugepages(std::uint64_t pages, const KernelFiles& files) {
    return write_sysctl("vm.nr_hugepages", std::to_string(pages), files);
}

Status undo_hugepages(const Note& note, const KernelFiles& files, UndoReport& report) {
    const Hugepages now = TRY(read_hugepages(files));
    Hugepages before;
    if (std::sscanf(note.value.c_str(), "%lu pages, %lu surplus", &before.pages, &before.surplus) !=
        2) {
        return fail(ErrorCode::kBadInput, "'{}' is no count of pages", note.value);
    }
    if (now.pages != before.pages && !is_our_count(note, before.pages, now.pages)) {
        return report.leave("vm.nr_hugepages", std::to_string(now.pages));
    }
    const std::uint64_t free_pages = meminfo(files, "HugePages_Free");
    const std::uint64_t more =
        now.surplus > before.surplus ? std::min(now.surplus - before.surplus, free_pages) : 0;
    // Surplus pages that are free go only once they are no surplus any more.
    TRY(more > 0 ? write_hugepages(now.pages + more, files) : Status());
    if (more == 0 && now.pages == before.pages) {
        if (now.surplus > before.surplus) {
            report.left_alone.push_back(
                fmt::format("{} hugepages more than before are in use by another program, and go "
                            "with its end",
                            now.surplus - before.surplus));
        }
        return {};
    }
    TRY(write_hugepages(before.pages, files));
    return report.did(note, more > 0
                                ? fmt::format("gave back {} surplus hugepages; their number is {}",
                                              more, before.pages)
                                : fmt::format("set the number of hugepages back from {} to {}",
                                              now.pages, before.pages));
}

// Returns whether the text is what ip(8) prints about an address, neighbour or device that is gone
// already.
bool says_gone(const std::string& text) {
    constexpr std::array<const char*, 7> kGone = {
        "Cannot find device", "does not exist",  "Cannot assign requested address",
        "No such device",     "No such process", "No such file or directory",
        "not found"};
    return std::any_of(kGone.begin(), kGone.end(),
                       [&](const char* words) { return text.find(words) != std::string::npos; });
}

// The command with the name that the device has now.
std::string renamed(const std::string& command, const std::string& before, const std::string& now) {
    std::string out = command;
    const std::size_t at = (command + " ").find(" dev " + before + " ");
    return at == std::string::npos ? out : out.replace(at, before.size() + 5, " dev " + now);
}

Status undo_ip(const Note& note, const KernelFiles& /*files*/, UndoReport& report) {
    TRY(at_device(note.place, [&](const std::string& device) -> Status {
        const std::string command = renamed(note.name, note.device, device);
        const Status undone = run_ip_here(command);
        if (undone) {
            return report.did(
                note, fmt::format("ran ip {}{}", note.netns.empty() ? "" : "-n " + note.netns + " ",
                                  command));
        }
        return says_gone(undone.error().message) ? Status() : undone;
    }));
    return {};
}

std::string of_device(const UndoAction& action, const std::string& what) {
    return fmt::format("{}{}{}: {}", action.netns, action.netns.empty() ? "" : " ", action.device,
                       what);
}

constexpr UndoKind kUndoKinds[] = {
    {Kind::kNetns, "netns",
     [](const UndoAction& action) { return "network namespace " + action.name; }, undo_netns},
    {Kind::kSysctl, "sysctl",
     [](const UndoAction& action) { return "sysctl " + action.name + " = " + action.value; },
     [](const Note& note, const KernelFiles& files, UndoReport& report) {
         return note.place.empty()
                    ? undo_sysctl(note, files, report)
                    : at_netns(note.place, [&] { return undo_sysctl(note, files, report); });
     }},
    {Kind::kHugepages, "hugepages",
     [](const UndoAction& action) { return "hugepages: " + action.value; }, undo_hugepages},
    {Kind::kFeature, "feature",
     [](const UndoAction& action) { return of_device(action, action.name + " " + action.value); },
     nullptr},
    {Kind::kIp, "ip",
     [](const UndoAction& action) {
         return action.netns + (action.netns.empty() ? "ip " : " ip ") + action.name;
     },
     undo_ip},
    {Kind::kXdp, "xdp",
     [](const UndoAction& action) { return of_device(action, "no XDP program"); }, undo_xdp},
    {Kind::kRules, "rules",
     [](const UndoAction& action) { return "iptables table " + action.name; },
     [](const Note& note, const KernelFiles&, UndoReport& report) {
         return at_netns(note.place, [&] { return undo_rules(note, report); });
     }},
    {Kind::kSteering, "steering",
     [](const UndoAction& action) { return of_device(action, "rps_cpus " + action.value); },
     undo_steering},
    {Kind::kBinding, "binding",
     [](const UndoAction& action) { return "the driver of PCI device " + action.name; },
     [](const Note& note, const KernelFiles& files, UndoReport& report) {
         return at_netns(note.place, [&] { return undo_binding(note, files, report); });
     }},
    {Kind::kModule, "module",
     [](const UndoAction& action) { return "module " + action.name + " not loaded"; }, undo_module},
    {Kind::kParameter, "parameter",
     [](const UndoAction& action) { return "/sys/module/" + action.name + " = " + action.value; },
     undo_parameter},
    {Kind::kNft, "nft", [](const UndoAction& action) { return "no nftables table " + action.name; },
     [](const Note& note, const KernelFiles&, UndoReport& report) {
         return at_netns(note.place, [&] { return undo_nft(note, report); });
     }},
    {Kind::kIpvs, "ipvs", [](const UndoAction&) { return std::string("the services of IPVS"); },
     [](const Note& note, const KernelFiles&, UndoReport& report) {
         return at_netns(note.place, [&] { return undo_ipvs(note, report); });
     }},
    {Kind::kMove, "move",
     [](const UndoAction& action) {
         return fmt::format("{} out of network namespace {}", action.name, action.set);
     },
     [](const Note& note, const KernelFiles&, UndoReport& report) {
         return at_netns(note.place, [&] { return undo_move(note, report); });
     }},
    {Kind::kFolder, "folder", [](const UndoAction& action) { return "folder " + action.name; },
     undo_folder},
};

}  // namespace

bool Note::is_ours(const std::string& now) const {
    return std::ranges::any_of(sets,
                               [&](const std::string& one) { return is_same_value(one, now); });
}

std::vector<Note> notes_of(const std::vector<UndoAction>& actions) {
    std::vector<Note> notes;
    for (const UndoAction& action : actions) {
        auto note = std::ranges::find_if(
            notes, [&](const Note& known) { return known.same_thing(action); });
        if (note == notes.end()) {
            note = notes.insert(note, Note{action, {}});
        }
        if (!action.set.empty()) {
            note->sets.push_back(action.set);
        }
    }
    return notes;
}

Status UndoReport::did(const Note& note, std::string what, const std::string& device) {
    done.push_back({.kind = note.kind,
                    .netns = device.empty() ? "" : note.netns,
                    .device = device,
                    .what = std::move(what)});
    return {};
}

Status UndoReport::leave(const std::string& what, const std::string& value) {
    left_alone.push_back(fmt::format("{} is {}, set by somebody else since: left", what, value));
    return {};
}

std::uint64_t meminfo(const KernelFiles& files, const std::string& key) {
    const std::string text = "\n" + read_file(files.proc + "/meminfo").value_or("");
    const std::size_t found = text.find("\n" + key + ":");
    return found == std::string::npos
               ? 0
               : std::strtoull(text.c_str() + found + key.size() + 2, nullptr, 10);
}

Result<Hugepages> read_hugepages(const KernelFiles& files) {
    const auto pages = TRY(read_sysctl("vm.nr_hugepages", files));
    return Hugepages{std::strtoull(pages.c_str(), nullptr, 10), meminfo(files, "HugePages_Surp")};
}

std::string to_string(const Hugepages& pages) {
    return fmt::format("{} pages, {} surplus", pages.pages, pages.surplus);
}

std::string at_most(std::uint64_t pages) {
    return fmt::format("{}{}", kAtMost, pages);
}

Status write_file(const std::string& path, const std::string& text, int open_flags) {
    const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC | open_flags, 0644));
    if (!file) {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFailed, "write {}: {}",
                    path, std::strerror(errno));
    }
    const ssize_t put = write(file.get(), text.data(), text.size());
    const int reason = errno;
    fsync(file.get());
    if (put != static_cast<ssize_t>(text.size())) {
        return fail(ErrorCode::kFailed, "write {}: {}", path,
                    put < 0 ? std::strerror(reason) : "only a part of it was taken");
    }
    return {};
}

Status run_ip_here(const std::string& command) {
    const auto ran = TRY(
        process::run_program({"ip", "-batch", "-"},
                             {.input = command + "\n", .starts = process::Starts::kWhileStopping}));
    return ran.exit_status == 0 ? Status()
                                : fail(ErrorCode::kFailed, "ip {}: {}", command, ran.err);
}

Result<std::string> read_sysctl(const std::string& name, const KernelFiles& files) {
    const auto path = TRY(sysctl_path(name, files));
    const auto text = TRY(doing(read_file(path), "sysctl {}", name));
    return boost::trim_right_copy(text);
}

Status write_sysctl(const std::string& name, const std::string& value, const KernelFiles& files) {
    const auto path = TRY(sysctl_path(name, files));
    TRY(doing(write_file(path, value + "\n", O_TRUNC), "set sysctl {} to {}", name, value));
    const auto now = TRY(read_sysctl(name, files));
    if (!is_same_value(now, value)) {
        return fail(ErrorCode::kFailed, "set sysctl {} to {}: the kernel made it {}", name, value,
                    now);
    }
    return {};
}

std::span<const UndoKind> undo_kinds() {
    return kUndoKinds;
}

const UndoKind& undo_kind(Kind kind) {
    return *std::ranges::find(kUndoKinds, kind, &UndoKind::kind);
}

}  // namespace pathproof::lab
