// A host's kernel during a run: its log between two moments, read from /dev/kmsg, its taint and
// the host's temperatures (Documentation/ABI/testing/dev-kmsg of the kernel).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/message/fields.h"
#include "harness/verdict/certificate.h"

namespace pathproof::fingerprint {

// A record of the log. Programs write to it too, which the kernel marks: their word says nothing of it.
struct LogRecord {
    std::uint64_t sequence = 0;
    double seconds = 0;  // of the clock that log and HostMoment share
    bool of_kernel = true;
    std::string text;
};

// Records as /dev/kmsg hands them out, one behind the other; lines that are none are passed over.
std::vector<LogRecord> parse_kmsg(std::string_view text);

// Returns the messages that bear on a network or on the kernel's health, in the order of the log: each
// with the lines of its trace and with what it names. `began_s`: their seconds count from there.
std::vector<verdict::KernelMessage> find_messages(const std::vector<LogRecord>& records,
                                                  double began_s);

// A host before a run.
struct HostMoment {
    int log_error = 0;         // errno: why the log cannot be read
    std::uint64_t newest = 0;  // sequence number of the log's newest record
    bool has_records = false;  // else `newest` says nothing
    double seconds = 0;
    std::optional<std::uint64_t> taint = std::nullopt;
};
FIELDS(HostMoment, log_error, newest, has_records, seconds, taint)

HostMoment read_moment(const std::string& log = "/dev/kmsg");
// All between that moment and now. `host` and what speaks against what is tested are left to the caller;
// temperatures are those of now, as their begin.
verdict::HostWatch watch_since(const HostMoment& moment, const std::string& log = "/dev/kmsg");

// Marks the messages that speak against these items and, where the host's kernel is tested, against its
// network: an oops of that kernel; a warning or a lockup whose place, or trace, is in a driver of the items
// or below net/ and drivers/net/; a transmit timeout of an item; an uncorrected PCIe error of one.
void mark_against(verdict::HostWatch& watch, const std::vector<verdict::Item>& items,
                  bool kernel_is_tested);

}  // namespace pathproof::fingerprint
