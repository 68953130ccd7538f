#include "harness/preflight/look.h"

#include <algorithm>
#include <functional>
#include <random>

#include "dataplane/base/clock.h"
#include "dataplane/base/version.h"
#include "dataplane/port/cpus.h"
#include "dataplane/port/numa.h"
#include "harness/agent/device_info.h"
#include "harness/agent/ethtool.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/program_copy.h"
#include "harness/lab/lcores.h"
#include "harness/process/netns.h"

namespace pathproof::preflight {
namespace {

using lab::Check;
using lab::LabFile;
using lab::TesterPort;
using Outcome = Check::Outcome;
using verdict::Preflight;

constexpr int kProbeFrames = 3;  // of each sender, at each look
constexpr int kLooks = 3;
constexpr std::chrono::milliseconds kProbeTime{200};

bool has(const std::vector<Check>& checks, Outcome outcome) {
    return std::ranges::find(checks, outcome, &Check::outcome) != checks.end();
}

void add(std::vector<Check>& all, std::vector<Check> more) {
    std::ranges::move(more, std::back_inserter(all));
}

std::vector<Check> check_tester_devices(const LabFile& file, const lab::LcoresOf& lcores_of) {
    std::vector<Check> checks;
    for (const TesterPort& port : file.ports) {
        if (const std::string device = port.kernel_device(); !device.empty()) {
            const std::string of = fmt::format("tester port {} ({})", port.name, device);
            if (const auto info = process::in_netns(file.tester_netns,
                                                    [&] { return agent::read_device(device); })) {
                add(checks, lab::check_kernel_device(of, *info));
                checks.push_back(lab::check_numa(of, info->numa_node, lcores_of(port), port.numa));
            } else {
                checks.push_back({Outcome::kBad, of, "device", info.error().message});
            }
        }
    }
    return checks;
}

std::vector<Check> check_dut(const LabFile& file, agent::Client& dut) {
    std::vector<Check> checks{lab::check_agent(dut.hello(), version(), agent::build_id())};
    std::vector<lab::ClockTry> tries;
    for (int i = 0; i < 5; ++i) {
        const std::int64_t sent = realtime_ns();
        if (const auto there = dut.clock()) {
            tries.push_back({sent, *there, realtime_ns()});
        }
    }
    checks.push_back(tries.empty() ? Check{Outcome::kNotLooked, "DUT", "clock", "it told none"}
                                   : lab::check_clock(lab::best_of(tries)));
    for (const lab::DutDevice& device : file.dut.devices) {
        const std::string of = "DUT device " + device.name;
        const auto info = dut.device(device.name);
        if (info) {
            add(checks, lab::check_kernel_device(of, *info));
        } else {
            checks.push_back({Outcome::kBad, of, "device", info.error().message});
        }
    }
    return checks;
}

template <typename Frames, typename Bytes>
void see(const Frames& frames, const Bytes& bytes, const std::string& mark, const std::string& at,
         std::map<std::string, std::set<std::string>>& seen) {
    for (const auto& frame : frames) {
        if (const std::string sender = lab::sender_of(std::invoke(bytes, frame), mark);
            !sender.empty()) {
            seen[sender].insert(at);
        }
    }
}

// One look at all cables, added to what was seen before.
Status look(const LabFile& file, agent::Client& dut, tester::Client& tester,
            const std::string& mark, lab::Sightings& seen) {
    std::map<std::string, std::vector<agent::OffloadFrame>> of_devices;
    for (const lab::DutDevice& device : file.dut.devices) {
        const auto info = TRY(dut.device(device.name));
        if (info.link_up) {
            of_devices[device.name].assign(kProbeFrames,
                                           {lab::probe_frame(info.mac, mark, device.name), {}});
            seen.of_devices[device.name];
        }
    }
    for (std::size_t p = 0; p < file.ports.size(); ++p) {
        TRY(tester.start_recording({.port = p}));
        for (const auto& [device, frames] : of_devices) {
            TRY(dut.send_frames(device, frames));
        }
        const auto recording = TRY(tester.stop_recording({.quiet = kProbeTime}));
        see(recording.frames, std::identity(), mark, file.ports[p].name, seen.of_devices);
    }
    for (const auto& [device, frames] : of_devices) {
        TRY(dut.start_capture({.device = device}));
        for (std::size_t p = 0; p < file.ports.size(); ++p) {
            const auto bytes = lab::probe_frame(tester.ports().at(p).mac, mark, file.ports[p].name);
            traffic::ExchangePlan plan{.from = p, .to = p, .frames = {}, .quiet = kProbeTime / 4};
            plan.frames.assign(kProbeFrames, {.bytes = bytes});
            TRY(tester.exchange(plan));
            seen.of_ports[file.ports[p].name];
        }
        const auto capture = TRY(dut.stop_capture());
        see(capture.frames, &agent::CapturedFrame::bytes, mark, device, seen.of_ports);
    }
    return {};
}

// Looks at all cables, again while one seems wrong.
Result<std::vector<Check>> look_at_cables(const LabFile& file, agent::Client& dut,
                                          tester::Client& tester, lab::Sightings& seen) {
    std::vector<Check> checks;
    for (int i = 0; i < kLooks && (i == 0 || has(checks, Outcome::kBad)); ++i) {
        // Frames of the look before may still be under way.
        const std::string mark = fmt::format("pathproof-probe-{:08x}", std::random_device{}());
        TRY(look(file, dut, tester, mark, seen));
        checks = lab::check_cabling(file, seen);
    }
    return checks;
}

std::vector<Check> check_cables(const LabFile& file, agent::Client* dut,
                                const std::vector<Check>& before, const WithTester& with_tester,
                                lab::Sightings& seen) {
    const auto not_looked = [](const std::string& why) {
        return std::vector{Check{Outcome::kNotLooked, "all cables", "cabling", why}};
    };
    const auto missing = std::ranges::find_if(before, [](const Check& check) {
        return check.what == "binding" &&
               (check.outcome == Outcome::kFixable || check.outcome == Outcome::kBad);
    });
    if (dut == nullptr) {
        return not_looked("the DUT has no agent");
    }
    if (missing != before.end()) {
        return not_looked(missing->of + " is not bound");
    }
    std::vector<Check> checks;
    const Status looked = with_tester([&](tester::Client& tester) -> Status {
        checks = TRY(look_at_cables(file, *dut, tester, seen));
        return {};
    });
    return looked ? checks : not_looked(looked.error().message);
}

std::vector<std::string> texts_of(const std::vector<lab::Prefix>& prefixes) {
    std::vector<std::string> texts;
    std::ranges::transform(prefixes, std::back_inserter(texts),
                           [](const lab::Prefix& prefix) { return to_string(prefix); });
    return texts;
}

void take(const agent::DeviceInfo& info, Preflight::Port& port) {
    port.driver = info.driver;
    port.firmware = info.firmware;
    port.mac = to_string(info.mac);
    port.link_mbps = info.link_up ? info.speed_mbps : -1;
    port.mtu = info.mtu;
    port.numa_node = info.numa_node;
    port.pcie = info.pcie ? "linked at " + to_string(info.pcie->linked) : "";
}

Preflight::Cable cable_of(const lab::DutDevice& device, const lab::Sightings& seen) {
    using Proved = Preflight::Cable::Proof;
    Preflight::Cable cable{.port = device.port, .device = device.name};
    const auto out = seen.of_devices.find(device.name);
    const auto in = seen.of_ports.find(device.port);
    if (out == seen.of_devices.end() || in == seen.of_ports.end()) {
        cable.found = "no probe frames were sent";
        return cable;
    }
    const bool left = out->second.contains(device.port);
    const bool came = in->second.contains(device.name);
    cable.proof = Proved::kNotThere;
    if (left && came) {
        cable.proof = Proved::kBothWays;
    } else if (left || came) {
        cable.proof = Proved::kOneWay;
    }
    cable.found = fmt::format("frames of {} {} {}, frames of {} {} {}", device.name,
                              left ? "came to" : "did not come to", device.port, device.port,
                              came ? "came to" : "did not come to", device.name);
    return cable;
}

}  // namespace

lab::LcoresOf lcores_in(const LabFile& file) {
    return [of_run = lab::lcores_of_run(file, port::usable_cpus())](const TesterPort& port) {
        lab::PlacedCpus placed{.cpus = port.lcores.empty() ? of_run : port.lcores, .nodes = {}};
        for (const port::PlacedCpu& cpu : port::place(placed.cpus)) {
            placed.nodes.insert(cpu.node);
        }
        return placed;
    };
}

std::vector<Check> look_at(const LabFile& file, agent::Client* dut, std::vector<Check> checks,
                           const WithTester& with_tester, lab::Sightings& seen) {
    add(checks, check_tester_devices(file, lcores_in(file)));
    if (dut != nullptr) {
        add(checks, check_dut(file, *dut));
    }
    add(checks, check_cables(file, dut, checks, with_tester, seen));
    return checks;
}

verdict::Preflight describe(const LabFile& file, agent::Client* dut,
                            const std::vector<Check>& checks, const lab::Sightings& seen) {
    Preflight all;
    for (const Check& check : checks) {
        all.checks.push_back({name(check.outcome), check.of, check.what, check.found});
    }
    for (const TesterPort& port : file.ports) {
        Preflight::Port one{.host = "tester",
                            .name = port.name,
                            .device = port.device,
                            .addresses = texts_of(port.addresses)};
        if (const std::string device = port.kernel_device(); !device.empty()) {
            one.device = device;
            if (const auto info = process::in_netns(file.tester_netns,
                                                    [&] { return agent::read_device(device); })) {
                take(*info, one);
            }
        }
        all.ports.push_back(std::move(one));
    }
    for (const lab::DutDevice& device : file.dut.devices) {
        Preflight::Port one{.host = to_string(file.dut),
                            .name = device.name,
                            .device = device.name,
                            .addresses = texts_of(device.addresses)};
        const auto info = dut == nullptr ? Result<agent::DeviceInfo>(fail(ErrorCode::kNotFound, ""))
                                         : dut->device(device.name);
        if (info) {
            take(*info, one);
        }
        all.ports.push_back(std::move(one));
        all.cables.push_back(cable_of(device, seen));
    }
    return all;
}

}  // namespace pathproof::preflight
