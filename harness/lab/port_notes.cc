#include "harness/lab/port_notes.h"

#include <linux/if_link.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string_view>

#include "dataplane/base/number.h"
#include "harness/lab/device_place.h"
#include "harness/lab/port_interface.h"
#include "harness/process/netns.h"

namespace pathproof::lab {
namespace {

using Kind = UndoAction::Kind;

// Name that libxdp gives the program that it loads for AF_XDP sockets without one of the user's.
constexpr const char* kSocketProgram = "xsk_def_prog";
// An EAL with many ports is up long before that.
constexpr std::uint64_t kLongestStart = 60'000'000'000;

std::uint64_t boot_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// A note's value: "loaded after NANOSECONDS" before the port is open, "program ID" from then on.
constexpr std::string_view kAfter = "loaded after ";
constexpr std::string_view kProgram = "program ";

std::optional<std::uint64_t> number_behind(std::string_view word, const std::string& value) {
    return value.starts_with(word) ? whole_number<std::uint64_t>(value.substr(word.size()))
                                   : std::nullopt;
}

// Returns whether the noted port attached the program. A port that was killed before its program's
// id was noted is recognised by the name that libxdp gives, and by the time.
bool is_of_port(const XdpProgram& program, const std::string& value) {
    if (const auto id = number_behind(kProgram, value)) {
        return program.id == *id;
    }
    const auto after = number_behind(kAfter, value);
    return after && program.name == kSocketProgram && program.loaded_ns > *after &&
           program.loaded_ns < *after + kLongestStart;
}

// Runs `work` with the interface in its namespace, if both are still there.
Status with_interface(const UndoAction& action,
                      const std::function<Status(const PortInterface&)>& work) {
    TRY(at_device(action.place, [&](const std::string& name) -> Status {
        const PortInterface interface = TRY(read_port_interface(name));
        return work(interface);
    }));
    return {};
}

// The name of a program's mode in ip-link(8).
const char* mode_word(const XdpProgram& program) {
    switch (program.mode) {
        case XDP_FLAGS_DRV_MODE: return "xdpdrv";
        case XDP_FLAGS_SKB_MODE: return "xdpgeneric";
        default: return "xdpoffload";
    }
}

Failure has_program(const std::string& netns, const std::string& interface,
                    const XdpProgram& program) {
    return fail(ErrorCode::kBadInput,
                "interface {0} has the XDP program '{1}' (id {2}), which is not ours: an AF_XDP "
                "port would take it off. Take another interface; or, if nobody needs the program, "
                "'ip {4}link set dev {0} {3} off'",
                interface, program.name, program.id, mode_word(program),
                netns.empty() ? "" : fmt::format("-n {} ", netns));
}

Failure is_in_use(const std::string& interface, const JournalHeader& run) {
    return fail(ErrorCode::kBadInput,
                "interface {} has the AF_XDP port of another run of pathproof, pid {} ('{}'): an "
                "interface takes one. Take another interface, or wait until that run ends",
                interface, run.pid, run.command);
}

}  // namespace

Result<UndoAction> note_before_port(const std::string& netns, const std::string& interface,
                                    const std::vector<std::pair<JournalHeader, UndoAction>>& live) {
    UndoAction note{.kind = Kind::kXdp,
                    .value = fmt::format("{}{}", kAfter, boot_time_ns()),
                    .netns = netns,
                    .device = interface};
    TRY(process::in_netns(netns, [&]() -> Status {
        note.place = TRY(place_of(interface));
        const PortInterface state = TRY(read_port_interface(interface));
        if (state.programs.empty()) {
            return {};
        }
        const auto theirs = std::ranges::find_if(
            live, [&](const auto& known) { return known.second.same_thing(note); });
        return theirs != live.end() ? is_in_use(interface, theirs->first)
                                    : has_program(netns, interface, state.programs.front());
    }));
    return note;
}

Result<std::optional<UndoAction>> note_of_program(const UndoAction& before) {
    std::optional<UndoAction> note;
    TRY(with_interface(before, [&](const PortInterface& interface) {
        if (!interface.programs.empty()) {
            note = before;
            note->value = fmt::format("{}{}", kProgram, interface.programs.front().id);
        }
        return Status();
    }));
    return note;
}

Status undo_xdp(const Note& note, const KernelFiles& /*files*/, UndoReport& report) {
    return with_interface(note, [&](const PortInterface& interface) -> Status {
        for (const XdpProgram& program : interface.programs) {
            if (!is_of_port(program, note.value)) {
                continue;
            }
            TRY(take_off(interface, program));
            TRY(report.did(note,
                           fmt::format("XDP program {} ({}) taken off", program.id, program.name),
                           interface.name));
        }
        return {};
    });
}

}  // namespace pathproof::lab
