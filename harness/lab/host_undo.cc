#include "harness/lab/host_undo.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "harness/lab/device_place.h"
#include "harness/lab/netns_identity.h"
#include "harness/process/foreign.h"
#include "harness/process/program.h"
#include "harness/setting/setting.h"

namespace pathproof::lab {
namespace {

using setting::bare_table;
using setting::family_of;

constexpr auto kAlways = process::Starts::kWhileStopping;

// "-A INPUT -j DROP" of "[3:180] -A INPUT -j DROP"; a chain's counters are put to 0.
std::string without_counters(std::string line) {
    if (line.starts_with(':')) {
        const std::size_t at = line.find(" [");
        return at == std::string::npos ? line : line.substr(0, at) + " [0:0]";
    }
    return line;
}

const char* program_of(const std::string& table, bool save) {
    if (family_of(table) == frame::Family::kIpv4) {
        return save ? "iptables-save" : "iptables-restore";
    }
    return save ? "ip6tables-save" : "ip6tables-restore";
}

// A table that nobody has put anything in.
std::string empty_table(const std::string& table) {
    return setting::whole_table(bare_table(table), "");
}

// Lines of ipvsadm --save.
std::set<std::string> ipvs_lines(const std::string& text) {
    std::set<std::string> lines;
    for (std::string line : process::lines_of(text)) {
        line.erase(line.find_last_not_of(" \t\r") + 1);
        if (!line.empty()) {
            lines.insert(line);
        }
    }
    return lines;
}

Status run_ipvsadm(const std::string& words) {
    std::vector<std::string> argv{"ipvsadm"};
    std::istringstream in(words);
    argv.insert(argv.end(), std::istream_iterator<std::string>(in), {});
    TRY(process::run_checked(argv, {.starts = kAlways}));
    return {};
}

// "-d -t 198.51.100.10:80 -r 203.0.113.2:8080" for "-a -t 198.51.100.10:80 -r 203.0.113.2:8080 -m -w 1",
// "-D -t 198.51.100.10:80" for "-A -t 198.51.100.10:80 -s rr".
std::string ipvs_deletion(const std::string& line) {
    std::istringstream in(line);
    std::string what, protocol, service, option, endpoint;
    in >> what >> protocol >> service >> option >> endpoint;
    return what == "-A" ? fmt::format("-D {} {}", protocol, service)
                        : fmt::format("-d {} {} -r {}", protocol, service, endpoint);
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
    const char* const program = program_of(table, true);
    const auto ran =
        TRY(process::run_program({program, "-t", bare_table(table)}, {.starts = kAlways}));
    if (ran.exit_status != 0) {
        return fail(ErrorCode::kKernelLacks, "{} -t {}: {}", program, bare_table(table), ran.err);
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
    const char* const program = program_of(note.name, false);
    const auto ran = TRY(process::run_program(
        {program, "-T", bare_table(note.name)},
        {.input = note.value.empty() ? empty_table(note.name) : note.value, .starts = kAlways}));
    if (ran.exit_status != 0) {
        return fail(ErrorCode::kFailed, "{} -T {}: {}", program, bare_table(note.name), ran.err);
    }
    return report.did(note, "loaded the former iptables table " + note.name);
}

bool has_nft_table(const std::string& table) {
    std::vector<std::string> argv{"nft", "list", "table"};
    std::istringstream in(table);
    argv.insert(argv.end(), std::istream_iterator<std::string>(in), {});
    const auto ran = process::run_program(argv, {.starts = kAlways});
    return ran && ran->exit_status == 0;
}

Status undo_nft(const Note& note, UndoReport& report) {
    if (!has_nft_table(note.name)) {
        return {};
    }
    TRY(process::run_checked({"nft", "-f", "-"},
                             {.input = "delete table " + note.name + "\n", .starts = kAlways}));
    return report.did(note, "deleted the nftables table " + note.name);
}

Result<std::string> read_ipvs() {
    const auto ran = process::run_program({"ipvsadm", "--save", "-n"}, {.starts = kAlways});
    if (!ran) {
        return fail(ErrorCode::kKernelLacks, "ipvsadm is missing: install the package ipvsadm");
    }
    if (ran->exit_status != 0) {
        return fail(ErrorCode::kKernelLacks, "ipvsadm --save -n: {}", ran->err);
    }
    return ran->out;
}

bool same_ipvs(const std::string& one, const std::string& other) {
    return ipvs_lines(one) == ipvs_lines(other);
}

Status change_ipvs(const std::string& from, const std::string& to) {
    const std::set<std::string> before = ipvs_lines(from);
    const std::set<std::string> after = ipvs_lines(to);
    // Services begin with "-A" and endpoints with "-a": in this order services come before theirs,
    // and go after them.
    for (const std::string& line : after) {
        TRY(before.contains(line) ? Status() : run_ipvsadm(line));
    }
    for (auto line = before.rbegin(); line != before.rend(); ++line) {
        TRY(after.contains(*line) ? Status() : run_ipvsadm(ipvs_deletion(*line)));
    }
    return {};
}

Status undo_ipvs(const Note& note, UndoReport& report) {
    const auto now = TRY(read_ipvs());
    if (same_ipvs(now, note.value)) {
        return {};
    }
    TRY(change_ipvs(now, note.value));
    return report.did(note, "IPVS has the services that it had");
}

Result<std::string> steering(const std::string& device, const std::string& mask) {
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

Status undo_steering(const Note& note, const KernelFiles& /*files*/, UndoReport& report) {
    TRY(at_device(note.place, [&](const std::string& device) -> Status {
        const std::string now = TRY(steering(device));
        if (is_same_mask(now, note.value)) {
            return {};
        }
        if (std::ranges::none_of(note.sets,
                                 [&](const auto& set) { return is_same_mask(set, now); })) {
            return report.leave("rps_cpus of " + device, now);
        }
        const std::string back = TRY(steering(device, note.value));
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
