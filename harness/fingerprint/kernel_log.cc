#include "harness/fingerprint/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "dataplane/base/file.h"
#include "dataplane/base/number.h"
#include "dataplane/base/pattern.h"
#include "harness/fingerprint/item.h"
#include "harness/process/foreign.h"

namespace pathproof::fingerprint {
namespace {

using verdict::HostWatch;
using verdict::KernelMessage;
using Kind = KernelMessage::Kind;

constexpr std::size_t kLongestTrace = 60;  // lines that are kept
constexpr const char* kTaint = "/proc/sys/kernel/tainted";

struct Sign {
    std::string_view words;
    Kind kind;
};

// In this order: what comes first names it. Words of the kernel's own sources: kernel/panic.c, lib/bug.c,
// arch/x86/kernel/dumpstack.c, net/sched/sch_generic.c, drivers/pci/pcie/aer.c, mm/oom_kill.c,
// kernel/watchdog.c, kernel/rcu/tree_stall.h, kernel/hung_task.c.
constexpr std::array kSigns{
    Sign{"NETDEV WATCHDOG: ", Kind::kTxTimeout},
    Sign{"Tx Unit Hang", Kind::kTxTimeout},
    Sign{"soft lockup", Kind::kLockup},
    Sign{"hard LOCKUP", Kind::kLockup},
    Sign{"detected stalls", Kind::kLockup},
    Sign{"self-detected stall", Kind::kLockup},
    Sign{" blocked for more than ", Kind::kLockup},
    Sign{"WARNING: ", Kind::kWarning},
    Sign{"UBSAN: ", Kind::kWarning},
    Sign{"kernel BUG at ", Kind::kOops},
    Sign{"BUG: ", Kind::kOops},
    Sign{"Oops: ", Kind::kOops},
    Sign{"general protection fault", Kind::kOops},
    Sign{"Unable to handle kernel", Kind::kOops},
    Sign{"Kernel panic", Kind::kOops},
    Sign{"AER: ", Kind::kPcieError},
    Sign{"PCIe Bus Error: ", Kind::kPcieError},
    Sign{"page allocation failure", Kind::kMemory},
    Sign{"Out of memory: ", Kind::kMemory},
    Sign{"Link is Down", Kind::kLinkDown},
    Sign{"link is down", Kind::kLinkDown},
    Sign{"Link Down", Kind::kLinkDown},
    Sign{"Link is Up", Kind::kLinkUp},
    Sign{"link is up", Kind::kLinkUp},
    Sign{"Link up", Kind::kLinkUp},
};

std::optional<Kind> kind_of(std::string_view text) {
    const auto found = std::ranges::find_if(
        kSigns, [&](const Sign& sign) { return text.find(sign.words) != std::string_view::npos; });
    return found == kSigns.end() ? std::nullopt : std::optional(found->kind);
}

bool has_trace(Kind kind) {
    return kind == Kind::kWarning || kind == Kind::kOops || kind == Kind::kLockup;
}

// Another trace begins there; an oops goes on with "Oops: " itself.
bool begins_another(const std::string& line, Kind kind) {
    const auto next = kind_of(line);
    return line.find("[ cut here ]") != std::string::npos ||
           (next && has_trace(*next) && !(kind == Kind::kOops && next == Kind::kOops));
}

// Lines up to the end of the trace; none where it has no end, or none is near.
std::vector<std::string> trace_behind(const std::vector<LogRecord>& records, std::size_t first,
                                      Kind kind) {
    constexpr std::size_t kFarthest = 200;
    std::vector<std::string> lines;
    for (std::size_t at = first; at < records.size() && at - first < kFarthest; ++at) {
        if (begins_another(records[at].text, kind)) {
            return {};
        }
        lines.push_back(records[at].text);
        if (records[at].text.find("---[ end trace") != std::string::npos) {
            return lines;
        }
    }
    return {};
}

// "[ice]" behind a function and its offset: the module that it is of.
std::string module_in(const std::string& line) {
    static const Pattern kModule("\\+0x[0-9a-f]+/0x[0-9a-f]+ \\[([A-Za-z0-9_]+)");
    const auto found = kModule.search(line);
    return found ? (*found)[1] : "";
}

// "drivers/net/veth.c" of "at drivers/net/veth.c:316 veth_xmit".
std::string source_in(const std::string& line) {
    static const Pattern kSource("([a-z_0-9-]+/[A-Za-z0-9_./-]+\\.[chS]):[0-9]+");
    const auto found = kSource.search(line);
    return found ? (*found)[1] : "";
}

std::string subject_of(Kind kind, const std::string& text, const std::vector<std::string>& trace) {
    switch (kind) {
        case Kind::kTxTimeout: {
            // "NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0"; since 6.5 the driver's prefix is before it.
            static const Pattern kDriver("NETDEV WATCHDOG: [^ ]+ \\(([^)]+)\\)");
            const auto found = kDriver.search(text);
            return found ? (*found)[1] : text.substr(0, text.find(": "));
        }
        case Kind::kPcieError:
        case Kind::kLinkDown:
        case Kind::kLinkUp: {
            // "ice 0000:3b:00.0 eth0: NIC Link is Down": the driver's own prefix.
            const std::string prefix = text.substr(0, text.find(": "));
            return prefix.size() < text.size() ? prefix : "";
        }
        case Kind::kWarning:
        case Kind::kOops:
        case Kind::kLockup:
        case Kind::kMemory: break;
    }
    if (const std::string module = module_in(text); !module.empty()) {
        return module;
    }
    if (const std::string source = source_in(text); !source.empty()) {
        return source;
    }
    for (const std::string& line : trace) {
        if (line.find("RIP: ") != std::string::npos) {
            return module_in(line);
        }
    }
    return "";
}

struct ReadLog {
    int error = 0;
    std::vector<LogRecord> records;
};

// A file of the same form is read too, in one piece.
ReadLog read_log(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file) {
        return {errno, {}};
    }
    std::string text;
    std::array<char, 65536> chunk;
    for (;;) {
        const ssize_t got = read(file.get(), chunk.data(), chunk.size());
        if (got > 0) {
            text.append(chunk.data(), static_cast<std::size_t>(got));
        } else if (got < 0 && errno == EPIPE) {
            continue;  // what was next is overwritten: the numbers tell
        } else if (got == 0 || errno == EAGAIN) {
            return {0, parse_kmsg(text)};
        } else {
            return {errno, {}};
        }
    }
}

double clock_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::optional<std::uint64_t> read_taint() {
    return whole_number<std::uint64_t>(first_word(kTaint));
}

std::string plain(std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
}

std::string driver_of(const verdict::Item& item) {
    const auto name = std::ranges::find(item.driver, "name", &verdict::Fact::name);
    return name == item.driver.end() ? "" : name->value;
}

std::string bus_of(const verdict::Item& item) {
    const auto bus = std::ranges::find(item.identity, "bus", &verdict::Fact::name);
    return bus == item.identity.end() ? "" : bus->value;
}

bool names_driver(const KernelMessage& message, const std::string& driver) {
    if (driver.empty()) {
        return false;
    }
    const std::string& subject = message.subject;  // "ice", or "ice 0000:3b:00.0 eth0"
    return plain(subject.substr(0, subject.find(' '))) == plain(driver) ||
           subject.find("/" + driver + "/") != std::string::npos ||
           subject.ends_with("/" + driver + ".c") ||
           std::ranges::any_of(message.trace, [&](const std::string& line) {
               return plain(module_in(line)) == plain(driver);
           });
}

bool is_of_network(const KernelMessage& message) {
    return message.subject.starts_with("net/") || message.subject.starts_with("drivers/net/");
}

bool is_against(const KernelMessage& message, const std::vector<verdict::Item>& items,
                bool kernel_is_tested) {
    const bool of_driver = std::ranges::any_of(
        items, [&](const verdict::Item& item) { return names_driver(message, driver_of(item)); });
    switch (message.kind) {
        case Kind::kOops: return kernel_is_tested || of_driver;
        case Kind::kWarning:
        case Kind::kLockup: return of_driver || (kernel_is_tested && is_of_network(message));
        case Kind::kTxTimeout:
            return of_driver || std::ranges::any_of(items, [&](const verdict::Item& item) {
                       return message.text.find(" " + item.device + " ") != std::string::npos ||
                              message.text.find(" " + item.device + ":") != std::string::npos;
                   });
        case Kind::kPcieError:
            return message.text.find("Uncorrect") != std::string::npos &&
                   std::ranges::any_of(items, [&](const verdict::Item& item) {
                       const std::string bus = bus_of(item);
                       return !bus.empty() && message.text.find(bus) != std::string::npos;
                   });
        case Kind::kLinkDown:
        case Kind::kLinkUp:
        case Kind::kMemory: return false;
    }
    return false;
}

}  // namespace

std::vector<LogRecord> parse_kmsg(std::string_view text) {
    std::vector<LogRecord> records;
    for (const std::string& line : process::lines_of(text)) {
        // "6,339,5140900,-;NET: Registered": priority, sequence, microseconds; " KEY=value" belongs to it.
        const std::size_t semicolon = line.find(';');
        std::string_view head = std::string_view(line).substr(0, semicolon);
        const auto priority = take_number<unsigned>(head);
        if (semicolon == std::string::npos || !priority || !head.starts_with(',')) {
            continue;
        }
        head.remove_prefix(1);
        const auto sequence = take_number<std::uint64_t>(head);
        if (!sequence || !head.starts_with(',')) {
            continue;
        }
        head.remove_prefix(1);
        const auto microseconds = take_number<std::uint64_t>(head);
        constexpr unsigned kLevels = 8;  // below the facility, which is 0 for the kernel alone
        if (microseconds) {
            records.push_back({*sequence, static_cast<double>(*microseconds) / 1e6,
                               *priority < kLevels,
                               process::without_controls(line.substr(semicolon + 1))});
        }
    }
    return records;
}

std::vector<KernelMessage> find_messages(const std::vector<LogRecord>& records, double began_s) {
    std::vector<KernelMessage> all;
    for (std::size_t at = 0; at < records.size(); ++at) {
        const LogRecord& record = records[at];
        const auto kind = kind_of(record.text);
        if (!kind) {
            continue;
        }
        KernelMessage message{
            .seconds = std::max(0.0, record.seconds - began_s), .kind = *kind, .text = record.text};
        if (has_trace(*kind)) {
            message.trace = trace_behind(records, at + 1, *kind);
            at += message.trace.size();  // "Oops: " in it is no second message
        }
        message.subject = subject_of(*kind, message.text, message.trace);
        message.trace.resize(std::min(message.trace.size(), kLongestTrace));
        all.push_back(std::move(message));
    }
    return all;
}

HostMoment read_moment(const std::string& log) {
    const ReadLog read = read_log(log);
    HostMoment moment{.log_error = read.error, .seconds = clock_now(), .taint = read_taint()};
    if (!read.records.empty()) {
        moment.newest = read.records.back().sequence;
        moment.has_records = true;
    }
    return moment;
}

HostWatch watch_since(const HostMoment& moment, const std::string& log) {
    HostWatch watch{.host = "", .taint_before = moment.taint, .taint_after = read_taint()};
    watch.temperatures = read_temperatures("/sys/class/hwmon");
    ReadLog read = read_log(log);
    const int error = moment.log_error != 0 ? moment.log_error : read.error;
    if (error != 0) {
        watch.log = error == EPERM || error == EACCES ? verdict::Fact::Status::kDenied
                                                      : verdict::Fact::Status::kAbsent;
        return watch;
    }
    watch.log = verdict::Fact::Status::kRead;
    std::erase_if(read.records, [&](const LogRecord& record) {
        return moment.has_records && record.sequence <= moment.newest;
    });
    if (moment.has_records && !read.records.empty()) {
        watch.lost = read.records.front().sequence - moment.newest - 1;
    }
    std::erase_if(read.records, [](const LogRecord& record) { return !record.of_kernel; });
    watch.lines = read.records.size();
    watch.messages = find_messages(read.records, moment.seconds);
    return watch;
}

void mark_against(HostWatch& watch, const std::vector<verdict::Item>& items,
                  bool kernel_is_tested) {
    for (KernelMessage& message : watch.messages) {
        message.against = is_against(message, items, kernel_is_tested);
    }
}

}  // namespace pathproof::fingerprint
