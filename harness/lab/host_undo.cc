#include "harness/lab/host_undo.h"

#include <algorithm>

#include "harness/lab/device_place.h"
#include "harness/lab/netns_identity.h"
#include "harness/lab/plan.h"
#include "harness/process/foreign.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

constexpr auto kAlways = process::Starts::kWhileStopping;

// "-A INPUT -j DROP" of "[3:180] -A INPUT -j DROP"; a chain's counters are put to 0.
std::string without_counters(std::string line) {
    if (line.starts_with(':')) {
        const std::size_t at = line.find(" [");
        return at == std::string::npos ? line : line.substr(0, at) + " [0:0]";
    }
    return line;
}

// A table that nobody has put anything in.
std::string empty_table(const std::string& table) {
    return table_head(table) + "COMMIT\n";
}

// Writes or reads a file below /sys/class/net as the device's namespace sees it, whichever the
// caller's /sys shows; `device` is in the calling thread's namespace.
Result<std::string> in_sysfs(const std::string& device, const std::string& mask) {
    const std::string script =
        "umount -l /sys; mount -t sysfs sysfs /sys && cd \"/sys/class/net/$0/queues/rx-0\" && "
        "if [ -n \"$1\" ]; then printf %s \"$1\" > rps_cpus; fi && cat rps_cpus";
    auto ran = TRY(process::run_program({"unshare", "--mount", "sh", "-c", script, device, mask},
                                        {.starts = kAlways}));
    if (ran.exit_status != 0) {
        return fail(ErrorCode::kFailed, "rps_cpus of {}: {}", device, ran.err);
    }
    ran.out.erase(ran.out.find_last_not_of('\n') + 1);
    return ran.out;
}

bool is_same_mask(const std::string& one, const std::string& other) {
    const auto digits = [](std::string mask) {
        std::erase(mask, ',');
        mask.erase(0, std::min(mask.find_first_not_of('0'), mask.size()));
        return mask;
    };
    return digits(one) == digits(other);
}

}  // namespace

Result<std::string> read_rules(const std::string& table) {
    const auto ran = TRY(process::run_program({"iptables-save", "-t", table}, {.starts = kAlways}));
    if (ran.exit_status != 0) {
        return fail(ErrorCode::kKernelLacks, "iptables-save -t {}: {}", table, ran.err);
    }
    std::string text;
    for (const std::string& line : process::lines_of(ran.out)) {
        if (!line.empty() && line.front() != '#') {
            text += without_counters(line) + "\n";
        }
    }
    return text == empty_table(table) ? "" : text;
}

Status undo_rules(const Note& note, UndoReport& report) {
    const auto now = TRY(read_rules(note.name));
    if (now == note.value) {
        return {};
    }
    const bool being_loaded = !note.sets.empty() && note.sets.back() == kRulesBeingLoaded;
    if (!being_loaded && std::ranges::find(note.sets, now) == note.sets.end()) {
        report.left_alone.push_back(
            fmt::format("iptables table {} was changed by somebody else since: left", note.name));
        return {};
    }
    const auto ran = TRY(process::run_program(
        {"iptables-restore", "-T", note.name},
        {.input = note.value.empty() ? empty_table(note.name) : note.value, .starts = kAlways}));
    if (ran.exit_status != 0) {
        return fail(ErrorCode::kFailed, "iptables-restore -T {}: {}", note.name, ran.err);
    }
    return report.did(note, "loaded the former iptables table " + note.name);
}

Status undo_steering(const Note& note, const KernelFiles& /*files*/, UndoReport& report) {
    TRY(at_device(note.place, [&](const std::string& device) -> Status {
        const std::string now = TRY(in_sysfs(device, ""));
        if (is_same_mask(now, note.value)) {
            return {};
        }
        if (std::ranges::none_of(note.sets,
                                 [&](const auto& set) { return is_same_mask(set, now); })) {
            return report.leave("rps_cpus of " + device, now);
        }
        const std::string back = TRY(in_sysfs(device, note.value));
        if (!is_same_mask(back, note.value)) {
            return fail(ErrorCode::kFailed, "rps_cpus of {} is {}, and was {}", device, back,
                        note.value);
        }
        return report.did(note, "rps_cpus " + note.value, device);
    }));
    return {};
}

Status at_netns(const std::string& place, const std::function<Status()>& work) {
    const NetnsIdentity netns = TRY(parse_netns(place));
    TRY(run_in(netns, work));
    return {};
}

}  // namespace pathproof::lab
