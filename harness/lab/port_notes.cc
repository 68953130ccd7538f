#include "harness/lab/port_notes.h"

#include <linux/if_link.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <functional>

#include "harness/lab/netns_identity.h"
#include "harness/lab/port_interface.h"
#include "harness/process/netns.h"

namespace pathproof::lab {
namespace {

using Kind = UndoAction::Kind;
using Undone = Result<std::optional<PutBack>>;

// What libxdp calls the program that it loads for AF_XDP sockets without one of the user's.
constexpr const char* kSocketProgram = "xsk_def_prog";
// An EAL with many ports is up long before that.
constexpr std::uint64_t kLongestStart = 60'000'000'000;

// An interface as an entry names it: "INODE:COOKIE:INDEX".
struct Place {
    NetnsIdentity netns;
    unsigned index = 0;
};

std::string to_text(const Place& place) {
    return fmt::format("{}:{}:{}", place.netns.inode, place.netns.cookie, place.index);
}

template <typename Number>
bool take_number(const char*& at, const char* end, Number& number) {
    const auto [stop, wrong] = std::from_chars(at, end, number);
    at = stop != end ? stop + 1 : stop;
    return wrong == std::errc() && (stop == end || *stop == ':');
}

std::optional<Place> parse_place(const std::string& text) {
    Place place;
    const char* at = text.data();
    const char* end = at + text.size();
    const bool read = take_number(at, end, place.netns.inode) &&
                      take_number(at, end, place.netns.cookie) &&
                      take_number(at, end, place.index) && at == end;
    return read ? std::optional(place) : std::nullopt;
}

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
    if (!value.starts_with(word)) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, wrong] = std::from_chars(value.data() + word.size(), end, number);
    return wrong == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// Whether the program is the one that the noted port attached. A port killed before its program's
// id was noted is known by what libxdp loads, and by the time.
bool is_of_port(const XdpProgram& program, const std::string& value) {
    if (const auto id = number_behind(kProgram, value)) {
        return program.id == *id;
    }
    const auto after = number_behind(kAfter, value);
    return after && program.name == kSocketProgram && program.loaded_ns > *after &&
           program.loaded_ns < *after + kLongestStart;
}

// The interface inside its namespace, if both are still there.
Status with_interface(const UndoAction& action,
                      const std::function<Status(const PortInterface&)>& work) {
    const auto place = parse_place(action.name);
    if (!place) {
        return fail(ErrorCode::kBadInput, "'{}' names no interface", action.name);
    }
    const auto ran = run_in(place->netns, [&]() -> Status {
        const auto interface = read_port_interface(place->index);
        if (!interface) {
            return interface.error().code == ErrorCode::kNotFound
                       ? Status()
                       : Status(pass_on(interface.error()));
        }
        return work(*interface);
    });
    return ran ? Status() : Status(pass_on(ran.error()));
}

// The interface may have another name by now.
PutBack tell(const PortInterface& interface, const UndoAction& action, std::string what) {
    return {.kind = action.kind,
            .netns = action.netns,
            .device = interface.name,
            .what = std::move(what)};
}

// Undoes by `work`, which gives what it did, and nothing when there was nothing to do.
Undone undo_on_interface(const UndoAction& action,
                         const std::function<Result<std::string>(const PortInterface&)>& work) {
    std::optional<PutBack> done;
    const Status undone = with_interface(action, [&](const PortInterface& interface) -> Status {
        auto what = work(interface);
        if (!what) {
            return pass_on(what.error());
        }
        if (!what->empty()) {
            done = tell(interface, action, std::move(*what));
        }
        return {};
    });
    if (!undone) {
        return pass_on(undone.error());
    }
    return done;
}

Failure has_program(const std::string& interface, const XdpProgram& program) {
    return fail(ErrorCode::kBadInput,
                "interface {0} has the XDP program '{1}' (id {2}), which is not ours: an AF_XDP "
                "port would take it off. Take another interface; or, if nobody needs the program, "
                "'ip link set dev {0} {3} off'",
                interface, program.name, program.id,
                program.mode == XDP_FLAGS_DRV_MODE   ? "xdpdrv"
                : program.mode == XDP_FLAGS_SKB_MODE ? "xdpgeneric"
                                                     : "xdpoffload");
}

}  // namespace

Result<std::vector<UndoAction>> notes_before_port(const std::string& netns,
                                                  const std::string& interface, PortKind kind,
                                                  const std::vector<UndoAction>& earlier) {
    std::vector<UndoAction> notes;
    const Status read = process::in_netns(netns, [&]() -> Status {
        const auto identity = current_netns();
        const auto state = read_port_interface(interface);
        if (!identity || !state) {
            return pass_on(identity ? state.error() : identity.error());
        }
        if (kind == PortKind::kXdpSocket && !state->programs.empty()) {
            return has_program(interface, state->programs.front());
        }
        const std::string place = to_text({*identity, state->index});
        notes.push_back({.kind = Kind::kPromiscuity,
                         .name = place,
                         .value = state->promiscuity == Promiscuity::kOn ? "on" : "off",
                         .netns = netns,
                         .device = interface});
        if (kind == PortKind::kXdpSocket) {
            notes.push_back({.kind = Kind::kXdp,
                             .name = place,
                             .value = fmt::format("{}{}", kAfter, boot_time_ns()),
                             .netns = netns,
                             .device = interface});
        }
        return {};
    });
    if (!read) {
        return pass_on(read.error());
    }
    const auto first = std::ranges::find_if(earlier, [&](const UndoAction& note) {
        return note.kind == Kind::kPromiscuity && note.name == notes.front().name;
    });
    if (first != earlier.end()) {
        notes.front().value = first->value;
    }
    return notes;
}

Result<std::optional<UndoAction>> note_of_program(const UndoAction& before) {
    std::optional<UndoAction> note;
    const Status looked = with_interface(before, [&](const PortInterface& interface) {
        if (!interface.programs.empty()) {
            note = before;
            note->value = fmt::format("{}{}", kProgram, interface.programs.front().id);
        }
        return Status();
    });
    if (!looked) {
        return pass_on(looked.error());
    }
    return note;
}

Undone undo_promiscuity(const UndoAction& action) {
    const auto wanted = action.value == "on" ? Promiscuity::kOn : Promiscuity::kOff;
    return undo_on_interface(action, [&](const PortInterface& interface) -> Result<std::string> {
        if (interface.promiscuity == wanted) {
            return std::string();
        }
        if (const Status set = set_promiscuity(interface, wanted); !set) {
            return pass_on(set.error());
        }
        return "promiscuous mode " + action.value;
    });
}

Undone undo_xdp(const UndoAction& action) {
    return undo_on_interface(action, [&](const PortInterface& interface) -> Result<std::string> {
        std::string what;
        for (const XdpProgram& program : interface.programs) {
            if (!is_of_port(program, action.value)) {
                continue;
            }
            if (const Status off = take_off(interface, program); !off) {
                return pass_on(off.error());
            }
            what = fmt::format("XDP program {} ({}) taken off", program.id, program.name);
        }
        return what;
    });
}

}  // namespace pathproof::lab
