// CPU time, cycles and interrupts of an agent's host, as sums since its start: read before and after a
// load, they tell what the load cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/message/fields.h"

namespace pathproof::agent {

struct CpuUse {
    unsigned cpus = 0;
    double busy_seconds = 0;     // of all CPUs: neither idle nor waiting for a disk (/proc/stat)
    double softirq_seconds = 0;  // of these, in software interrupts: receiving and forwarding
    std::optional<double> cycles =
        std::nullopt;                    // of all CPUs that were not idle, since the first reading
    std::string no_cycles;               // why there are none
    std::uint64_t receive_softirqs = 0;  // NET_RX of all CPUs (/proc/softirqs)
    // Interrupts of the device's own lines (/proc/interrupts, /sys/class/net/DEVICE/device/msi_irqs); nothing: it has
    // no interrupt, as virtual devices.
    std::optional<std::uint64_t> interrupts = std::nullopt;
    std::int64_t memory_available_kib = 0;  // /proc/meminfo
    std::int64_t slab_kib = 0;
};
FIELDS(CpuUse, cpus, busy_seconds, softirq_seconds, cycles, no_cycles, receive_softirqs, interrupts,
       memory_available_kib, slab_kib)

// From the texts of /proc/stat (with `ticks` a second), /proc/softirqs and /proc/interrupts.
double parse_busy_seconds(std::string_view stat, double ticks);
double parse_softirq_seconds(std::string_view stat, double ticks);
std::uint64_t parse_softirqs(std::string_view softirqs, std::string_view name);
// Sums the lines that have one of these numbers, or the device's name as a word ("eth0-TxRx-0").
std::optional<std::uint64_t> parse_interrupts(std::string_view interrupts,
                                              const std::vector<std::string>& numbers,
                                              std::string_view device);
// A value of /proc/meminfo in KiB; 0: it is not there.
std::int64_t parse_memory(std::string_view meminfo, std::string_view name);

// Reads the use of this machine, with the interrupts of this device.
CpuUse read_cpu_use(const std::string& device);

}  // namespace pathproof::agent
