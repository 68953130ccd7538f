#include "harness/lab/preflight.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "harness/lab/kernel_module.h"
#include "harness/lab/pci_binding.h"

namespace pathproof::lab {
namespace {

using Outcome = Check::Outcome;

constexpr std::uint32_t kMibOfAPage = 2;
constexpr std::size_t kLeastFrame = 60;
constexpr std::size_t kEthernetHeader = 14;

std::string port_words(const TesterPort& port) {
    return fmt::format("tester port {} ({})", port.name, port.device);
}

Check hugepage_check(const LabFile& lab, const KernelFiles& files) {
    Check check{.of = "tester", .what = "hugepages", .found = ""};
    const std::uint32_t wanted = hugepages_mib_for(lab);
    const std::uint64_t free = meminfo(files, "HugePages_Free") * kMibOfAPage;
    check.found = fmt::format("{} MiB free, {} wanted", free, wanted);
    if (wanted == 0) {
        check.found = "none are needed: no port is a PCI device";
    } else if (meminfo(files, "Hugepagesize") != kMibOfAPage * 1024) {
        check.outcome = Outcome::kNotLooked;
        check.found = "the kernel's default hugepage is not 2 MiB";
    } else if (free < wanted) {
        check.outcome = Outcome::kFixable;
        check.found += fmt::format("; 'sysctl vm.nr_hugepages={}' reserves them",
                                   (wanted + kMibOfAPage - 1) / kMibOfAPage);
    }
    return check;
}

Check module_check(const std::string& module, const KernelFiles& files) {
    const bool loaded = module_state(module, files) == ModuleState::kLoaded;
    return {.outcome = loaded ? Outcome::kGood : Outcome::kFixable,
            .of = "tester",
            .what = "module " + module,
            .found = loaded ? "loaded" : fmt::format("not loaded; 'modprobe {}' does so", module)};
}

Check iommu_check(const TesterPort& port, const std::string& folder) {
    std::error_code none;
    const std::string group =
        std::filesystem::read_symlink(folder + "/iommu_group", none).filename().string();
    Check check{.of = port_words(port), .what = "IOMMU", .found = "group " + group};
    if (group.empty()) {
        const bool needed = port.driver == UserDriver::kVfio;
        check.outcome = needed ? Outcome::kBad : Outcome::kDoubtful;
        check.found = needed ? "none: boot with intel_iommu=on or amd_iommu=on"
                             : fmt::format(
                                   "none, and {} does without: the port can write to all "
                                   "of the machine's memory",
                                   user_driver_name(port.driver));
    }
    return check;
}

Check binding_check(const LabFile& lab, const TesterPort& port, const PciBinding& binding,
                    const KernelFiles& files) {
    const std::string wanted = kernel_name(port.driver);
    Check check{.of = port_words(port), .what = "binding", .found = "bound to " + binding.driver};
    if (binding.driver == wanted) {
        return check;
    }
    if (is_shared_driver(binding.driver)) {
        check.found += ", beside which its DPDK driver works";
        return check;
    }
    check.found = fmt::format("bound to {}", binding.driver.empty() ? "no driver" : binding.driver);
    const Status bindable = check_bindable(port.device, port.driver, files);
    const bool will_be_loaded = module_state(wanted, files) == ModuleState::kMissing &&
                                std::ranges::any_of(lab.modules, [&](const std::string& module) {
                                    return modules_to_load("insmod " + module + ".ko", files) ==
                                           modules_to_load("insmod " + wanted + ".ko", files);
                                });
    if (bindable || will_be_loaded) {
        check.outcome = Outcome::kFixable;
        check.found += fmt::format("; a run binds it to {}, and gives it back", wanted);
    } else {
        check.outcome = Outcome::kBad;
        check.found += "; " + bindable.error().message;
    }
    return check;
}

// "16 GT/s x8", of two the lesser in each.
agent::PcieSpeed lesser(const agent::PcieSpeed& one, const agent::PcieSpeed& other) {
    return other.lanes == 0
               ? one
               : agent::PcieSpeed{std::min(one.gt_s, other.gt_s), std::min(one.lanes, other.lanes)};
}

std::string list_of(const std::set<std::string>& names) {
    return names.empty() ? "nowhere" : fmt::format("at {}", fmt::join(names, ", "));
}

}  // namespace

const char* name(Check::Outcome outcome) {
    switch (outcome) {
        case Outcome::kGood: return "ok";
        case Outcome::kDoubtful: return "doubt";
        case Outcome::kBad: return "BAD";
        case Outcome::kFixable: return "fix";
        case Outcome::kNotLooked: return "-";
    }
    return "";
}

std::uint32_t hugepages_mib_for(const LabFile& lab) {
    const bool any_pci =
        std::ranges::find(lab.ports, TesterPort::Kind::kPci, &TesterPort::kind) != lab.ports.end();
    return lab.hugepages_mib == 0 && any_pci ? kPciHugepagesMib : lab.hugepages_mib;
}

std::vector<Check> check_tester_machine(const LabFile& lab, const LcoresOf& lcores_of,
                                        const KernelFiles& files) {
    std::vector<Check> checks{hugepage_check(lab, files)};
    for (const std::string& module : lab.modules) {
        checks.push_back(module_check(module, files));
    }
    for (const TesterPort& port : lab.ports) {
        if (port.kind != TesterPort::Kind::kPci) {
            continue;
        }
        const std::string folder = files.sys + "/bus/pci/devices/" + port.device;
        const auto binding = read_binding(port.device, files);
        if (!binding) {
            checks.push_back({Outcome::kBad, port_words(port), "device", binding.error().message});
            continue;
        }
        if (!is_shared_driver(binding->driver)) {
            checks.push_back(iommu_check(port, folder));
        }
        checks.push_back(binding_check(lab, port, *binding, files));
        if (const auto link = agent::read_pcie_link(folder)) {
            checks.push_back(check_pcie(port_words(port), *link, -1));
        } else {
            checks.push_back({Outcome::kNotLooked, port_words(port), "PCIe",
                              "the device tells of no PCI Express link"});
        }
        checks.push_back(check_numa(port_words(port), agent::read_numa_node(folder),
                                    lcores_of(port), port.numa));
    }
    return checks;
}

std::vector<Check> check_kernel_device(const std::string& of, const agent::DeviceInfo& info) {
    std::vector<Check> checks;
    checks.push_back({Outcome::kGood, of, "driver",
                      fmt::format("{}{}{}{}", info.driver.empty() ? "none told" : info.driver,
                                  info.driver_version.empty() ? "" : " " + info.driver_version,
                                  info.firmware.empty() ? "" : ", firmware " + info.firmware,
                                  info.bus.empty() ? "" : ", at " + info.bus)});
    Check link{.of = of, .what = "link", .found = "up"};
    if (!info.link_up) {
        link.outcome = Outcome::kBad;
        link.found = fmt::format(
            "none: 'ip link set {} up' at both ends of the cable, or the cable", info.name);
    } else if (info.speed_mbps > 0) {
        link.found += fmt::format(" at {} Mbit/s", info.speed_mbps);
    }
    checks.push_back(std::move(link));
    if (info.pcie) {
        checks.push_back(check_pcie(of, *info.pcie, info.speed_mbps));
    }
    return checks;
}

Check check_pcie(const std::string& of, const agent::PcieLink& link, std::int64_t wire_mbps) {
    const agent::PcieSpeed best = lesser(link.device, link.slot);
    Check check{.of = of, .what = "PCIe", .found = "linked at " + to_string(link.linked)};
    if (link.linked.gt_s < best.gt_s || link.linked.lanes < best.lanes) {
        check.outcome = Outcome::kDoubtful;
        check.found += fmt::format(
            ", and the device can {} and its slot {}: seat it again, or look at the BIOS for what "
            "limits the slot; a link that is idle may be slower to save power",
            to_string(link.device), to_string(link.slot));
    } else if (best != link.device) {
        check.outcome = Outcome::kDoubtful;
        check.found += fmt::format(", all that its slot can; the device can {}: another slot may",
                                   to_string(link.device));
    } else {
        check.found += ", all that the device can";
    }
    const double wire_gbit_s = static_cast<double>(wire_mbps) / 1000;
    if (wire_mbps > 0 && link.linked.gbit_s() < wire_gbit_s) {
        check.outcome = Outcome::kDoubtful;
        check.found += fmt::format("; {:.0f} Gbit/s, less than the cable's {:.0f}",
                                   link.linked.gbit_s(), wire_gbit_s);
    }
    return check;
}

Check check_numa(const std::string& of, int node, const PlacedCpus& lcores,
                 std::optional<int> told) {
    Check check{.of = of, .what = "NUMA", .found = fmt::format("on node {}", node)};
    if (told && node >= 0 && *told != node) {
        check.outcome = Outcome::kBad;
        check.found += fmt::format(", and 'numa' of the file says {}: correct it", *told);
        return check;
    }
    if (told && node < 0) {
        node = *told;
        check.found = fmt::format("on node {} by the file's 'numa' (the kernel tells none)", node);
    }
    if (node < 0 || lcores.nodes.contains(-1) || lcores.nodes.empty()) {
        check.outcome = node < 0 ? Outcome::kGood : Outcome::kNotLooked;
        check.found = node < 0 ? "on no node" : "the nodes of the CPUs are not told";
        return check;
    }
    check.found += fmt::format(", lcores on CPUs {} of node {}", fmt::join(lcores.cpus, ", "),
                               fmt::join(lcores.nodes, ", "));
    if (lcores.nodes != std::set{node}) {
        check.outcome = Outcome::kDoubtful;
        check.found += fmt::format(
            ": each frame crosses between the nodes; take 'lcores' of node {}, or say 'numa = {}' "
            "in "
            "the file",
            node, node);
    }
    return check;
}

ClockReading best_of(const std::vector<ClockTry>& tries) {
    ClockReading best{.ahead_ns = 0, .round_trip_ns = INT64_MAX};
    for (const ClockTry& each : tries) {
        const std::int64_t round_trip = each.received_ns - each.sent_ns;
        if (round_trip >= 0 && round_trip < best.round_trip_ns) {
            best = {each.there_ns - each.sent_ns - round_trip / 2, round_trip};
        }
    }
    return best;
}

Check check_clock(const ClockReading& reading) {
    constexpr double kMostMs = 100;
    const double ahead_ms = static_cast<double>(reading.ahead_ns) / 1e6;
    const double unsure_ms = static_cast<double>(reading.round_trip_ns) / 2e6;
    Check check{.of = "DUT", .what = "clock", .found = ""};
    check.found = fmt::format("{:.1f} ms {} ours, known to {:.1f} ms", std::abs(ahead_ms),
                              ahead_ms < 0 ? "behind" : "ahead of", unsure_ms);
    if (std::abs(ahead_ms) - unsure_ms > kMostMs) {
        check.outcome = Outcome::kDoubtful;
        check.found += ": times of events there and here do not compare; NTP or PTP mends it";
    }
    return check;
}

Check check_agent(const agent::Hello& there, const std::string& version, const std::string& build) {
    Check check{.of = "DUT", .what = "agent", .found = ""};
    check.found =
        fmt::format("pathproof {} on {}, {} CPUs", there.version, there.kernel, there.cpus);
    if (!there.copied.empty()) {
        check.found += fmt::format(" (copied there: {})", there.copied);
    } else if (there.version != version || there.build != build) {
        check.outcome = Outcome::kBad;
        check.found += fmt::format("; this is {}, of another build", version);
    }
    return check;
}

std::vector<Check> check_cabling(const LabFile& lab, const Sightings& seen) {
    std::vector<Check> checks;
    for (const DutDevice& device : lab.dut.devices) {
        Check check{.of = fmt::format("cable of {} and {}", device.port, device.name),
                    .what = "cabling",
                    .found = ""};
        std::vector<std::string> sentences;
        bool right = true;
        for (const auto& [all, from, to, of] :
             {std::tuple{&seen.of_devices, device.name, device.port, "tester ports"},
              std::tuple{&seen.of_ports, device.port, device.name, "devices of the DUT"}}) {
            const auto sighting = all->find(from);
            if (sighting == all->end()) {
                sentences.push_back(fmt::format("nothing was sent from {}", from));
                right = false;
            } else if (sighting->second != std::set{to}) {
                sentences.push_back(
                    fmt::format("probe frames of {} were seen {} of the {}, not at {}", from,
                                list_of(sighting->second), of, to));
                right &= sighting->second.contains(to);
                if (sighting->second.contains(to)) {
                    sentences.back() = fmt::format(
                        "probe frames of {} were seen {}: a switch or "
                        "bridge between?",
                        from, list_of(sighting->second));
                    check.outcome = Outcome::kDoubtful;
                }
            }
        }
        check.outcome = right ? check.outcome : Outcome::kBad;
        check.found = sentences.empty() ? "probe frames came through both ways"
                                        : fmt::format("{}", fmt::join(sentences, "; "));
        checks.push_back(std::move(check));
    }
    return checks;
}

std::vector<std::uint8_t> probe_frame(const frame::MacAddress& source, const std::string& mark,
                                      const std::string& sender) {
    std::vector<std::uint8_t> bytes(6, 0xff);
    bytes.insert(bytes.end(), source.bytes.begin(), source.bytes.end());
    bytes.insert(bytes.end(), {0x88, 0xb5});
    for (const char letter : mark + ":" + sender) {
        bytes.push_back(static_cast<std::uint8_t>(letter));
    }
    bytes.resize(std::max(bytes.size() + 1, kLeastFrame));
    return bytes;
}

std::string sender_of(const std::vector<std::uint8_t>& frame, const std::string& mark) {
    if (frame.size() <= kEthernetHeader || frame[12] != 0x88 || frame[13] != 0xb5) {
        return "";
    }
    const std::string text(frame.begin() + kEthernetHeader,
                           std::find(frame.begin() + kEthernetHeader, frame.end(), 0));
    return text.starts_with(mark + ":") ? text.substr(mark.size() + 1) : "";
}

}  // namespace pathproof::lab
