#include "harness/compare/requalify.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "dataplane/base/plural.h"
#include "harness/report/text.h"

namespace pathproof::compare {
namespace {

constexpr auto kVoids = Consequence::kVoid;
constexpr auto kVoidsFigures = Consequence::kFigures;
constexpr auto kChangesNothing = Consequence::kHolds;

// README.md explains them; a test holds its table against this one.
constexpr RequalifyRule kRules[] = {
    {"Run", "seed", kChangesNothing, "another draw of the same test"},
    {"Run", "command", kChangesNothing, "what was run is compared cell by cell"},
    {"Run", "cells asked for*", kChangesNothing, "what was run is compared cell by cell"},
    {"Run", "lab", kVoids, "another topology"},
    {"Run", "profile", kVoids, "held against other expectations"},
    {"Run", "pathproof", kChangesNothing,
     "another release of the tester; its judge is calibrated in each run"},
    {"Serial numbers*", "*", kVoids, "another specimen"},
    {"Software", "pathproof", kChangesNothing,
     "another release of the tester; its judge is calibrated in each run"},
    {"Software", "DPDK", kVoidsFigures, "another tester: rates and latencies are its own, too"},
    {"Software", "*", kVoids, "another program of the path under test"},
    {"*Kernel configuration*", "CONFIG_HZ*", kVoidsFigures, "timers tick at another rate"},
    {"*Kernel configuration*", "*", kVoids, "another kernel"},
    {"*Kernel", "release", kVoids, "another kernel"},
    {"*Kernel", "version", kVoids, "another build of the kernel"},
    {"*Kernel", "command line*", kVoidsFigures, "IOMMU, mitigations or isolated CPUs may differ"},
    {"*Kernel", "clock source", kVoidsFigures, "times are read from another clock"},
    {"*Kernel", "taint*", kVoids,
     "modules from outside of the kernel, or a kernel that has warned"},
    {"DUT: another machine*", "kernel", kVoids, "another kernel"},
    {"DUT: another machine*", "CPUs", kVoidsFigures, "another number of CPUs"},
    {"*device*", "driver*", kVoids, "another driver"},
    {"*device*", "srcversion", kVoids, "another build of the driver"},
    {"*device*", "module*", kVoids, "another build of the driver"},
    {"*device*", "firmware*", kVoids, "other firmware"},
    {"*device*", "PCI id*", kVoids, "another model"},
    {"*device*", "part*", kVoids, "another model"},
    {"*device*", "bus*", kChangesNothing,
     "the same model in another slot: its PCIe link is held apart"},
    {"*device*", "PCIe link*", kVoidsFigures, "another width or speed of the slot"},
    {"*device*", "NUMA*", kVoidsFigures, "another distance to memory"},
    {"*device*", "interrupt*", kVoidsFigures, "other CPUs take its interrupts"},
    {"*device*", "ring*", kVoidsFigures, "rings of another size"},
    {"*device*", "coalesc*", kVoidsFigures, "interrupts are held back otherwise"},
    {"*device*", "speed*", kVoidsFigures, "another line rate"},
    {"*device*", "facts recorded", kVoids, "a device that only one of them has"},
    {"*device*", "*", kVoids, "an offload, a feature or a setting of the device under test"},
    {"Profile*", "*", kVoids, "held against other expectations"},
    {"*sysctls*", "*udp_timeout*", kVoids, "entries live for another time"},
    {"*sysctls*", "*", kVoids, "a setting of the path under test"},
    {"*Board*", "BIOS*", kVoidsFigures, "another BIOS: power states and PCIe settings"},
    {"*Board*", "*", kVoidsFigures, "another machine"},
    {"*CPU*", "mitigation*", kVoidsFigures, "system calls and interrupts cost another time"},
    {"*CPU*", "*", kVoidsFigures, "another CPU, microcode or frequency governor"},
    {"*Memory*", "*", kVoidsFigures, "other memory"},
    {"*", "facts recorded", kVoidsFigures, "recorded in one of them only"},
    {"*", "*", kVoids, "not known to be harmless"},
};

bool fits_rule(const char* pattern, const std::string& text) {
    return fnmatch(pattern, text.c_str(), FNM_CASEFOLD) == 0;
}

const RequalifyRule& rule_for(const Difference& difference) {
    return *std::find_if(std::begin(kRules), std::end(kRules) - 1, [&](const RequalifyRule& rule) {
        return fits_rule(rule.where, difference.where) && fits_rule(rule.what, difference.what);
    });
}

std::string headline_of(const Requalification& requalification) {
    const auto count = static_cast<std::size_t>(std::count_if(
        requalification.items.begin(), requalification.items.end(),
        [&](const auto& item) { return item.rule->consequence == requalification.consequence; }));
    switch (requalification.consequence) {
        case Consequence::kVoid:
            return fmt::format("VOID: {} the system; qualify it again",
                               count == 1 ? "1 difference makes another of"
                                          : fmt::format("{} differences make another of", count));
        case Consequence::kFigures:
            return fmt::format(
                "FIGURES VOID: verdicts hold; rates, latencies and prices have to be "
                "measured again ({})",
                plural(count, "difference"));
        case Consequence::kHolds: break;
    }
    return "HOLDS: nothing that matters is not the same";
}

}  // namespace

const char* name(Consequence consequence) {
    switch (consequence) {
        case Consequence::kVoid: return "void";
        case Consequence::kFigures: return "figures void";
        case Consequence::kHolds: break;
    }
    return "holds";
}

std::span<const RequalifyRule> requalify_rules() {
    return kRules;
}

Requalification requalify(const std::vector<Difference>& differences) {
    Requalification result;
    for (const Difference& difference : differences) {
        const RequalifyRule& rule = rule_for(difference);
        result.items.push_back({difference, &rule});
        result.consequence = std::min(result.consequence, rule.consequence);
    }
    std::stable_sort(result.items.begin(), result.items.end(),
                     [](const auto& one, const auto& other) {
                         return one.rule->consequence < other.rule->consequence;
                     });
    return result;
}

std::string text(const Requalification& requalification) {
    std::string text = "Certificate: " + headline_of(requalification) + "\n";
    for (const auto& [difference, rule] : requalification.items) {
        text += "  " +
                report::wrap(fmt::format("{}: {}: {}: {} -> {} ({})", name(rule->consequence),
                                         difference.where, difference.what, difference.before,
                                         difference.now, rule->why),
                             100, 6) +
                "\n";
    }
    return text;
}

}  // namespace pathproof::compare
