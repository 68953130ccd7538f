// Checks before a run on a lab file: one line for each thing, good, doubtful or bad, with its cure.
// Nothing is changed here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/agent/device_info.h"
#include "harness/agent/hello.h"
#include "harness/agent/pcie.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/machine_use.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

struct Check {
    enum class Outcome : std::uint8_t {
        kGood,
        kDoubtful,   // it works, and costs speed or certainty
        kBad,        // a run cannot do without
        kFixable,    // the same, and --fix mends it
        kNotLooked,  // `found` says why
    };
    Outcome outcome = Outcome::kGood;
    std::string of;     // "tester port client0", "DUT device ens1f0"
    std::string what;   // "binding"
    std::string found;  // with what mends it
    bool operator==(const Check&) const = default;
};
const char* name(Check::Outcome outcome);  // "ok", "doubt", "BAD", "fix", "-"

// Hugepages for a run on PCI ports, unless the file gives a number.
inline constexpr std::uint32_t kPciHugepagesMib = 512;
std::uint32_t hugepages_mib_for(const LabFile& lab);  // 0: it takes none

// Checks the tester's machine: hugepages, modules, and each PCI port's IOMMU, binding, link and
// node. `lcores_of`: the CPUs of a port's lcores, with their nodes.
struct PlacedCpus {
    std::vector<int> cpus;
    std::set<int> nodes;
};
using LcoresOf = std::function<PlacedCpus(const TesterPort&)>;
std::vector<Check> check_tester_machine(const LabFile& lab, const LcoresOf& lcores_of,
                                        const KernelFiles& files);

// Checks one network device of the kernel, as its agent describes it.
std::vector<Check> check_kernel_device(const std::string& of, const agent::DeviceInfo& info);
// "linked at 8 GT/s x4, ..."
Check check_pcie(const std::string& of, const agent::PcieLink& link, std::int64_t wire_mbps);
// `node`: of the device, as the kernel says (-1: it does not); `told`: as the file does.
Check check_numa(const std::string& of, int node, const PlacedCpus& lcores,
                 std::optional<int> told = std::nullopt);

// The agent's clock against ours: how far it is ahead, and the round trip of its fastest answer.
struct ClockReading {
    std::int64_t ahead_ns = 0;
    std::int64_t round_trip_ns = 0;
};
// One reading of the agent's clock: times (sent, there, received), CLOCK_REALTIME each.
struct ClockTry {
    std::int64_t sent_ns = 0;
    std::int64_t there_ns = 0;
    std::int64_t received_ns = 0;
};
ClockReading best_of(const std::vector<ClockTry>& tries);
Check check_clock(const ClockReading& reading);

// Compares the tester's program with the agent's.
Check check_agent(const agent::Hello& there, const std::string& version, const std::string& build);

// Probe frames that were seen: at which tester ports those of a DUT device, and at which devices those
// of a port. One that none were sent of is in neither.
struct Sightings {
    std::map<std::string, std::set<std::string>> of_devices;
    std::map<std::string, std::set<std::string>> of_ports;
};
std::vector<Check> check_cabling(const LabFile& lab, const Sightings& seen);

// A frame to everybody of an EtherType that is set apart for such (IEEE Std 802, 9.2.4), which says
// whose it is; and what one says, if it has this mark.
std::vector<std::uint8_t> probe_frame(const frame::MacAddress& source, const std::string& mark,
                                      const std::string& sender);
std::string sender_of(const std::vector<std::uint8_t>& frame, const std::string& mark);

}  // namespace pathproof::lab
