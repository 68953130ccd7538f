// pathproof profile show
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "harness/cli/profile/commands.h"
#include "harness/cli/profile/json.h"
#include "harness/cli/profile/parts.h"
#include "harness/process/json_text.h"

namespace pathproof::cli::profiles {
namespace {

using namespace profile;

struct ShowOptions {
    std::string name;
    bool json = false;
};

void print_words(const char* label, const std::vector<std::string>& words) {
    if (!words.empty()) {
        fmt::print("{:<14} {}\n", label, fmt::join(words, " "));
    }
}

// "(82576 and later; before 24.07; because; E34-...)", or nothing.
std::string remarks(const OffloadExpectation& claim) {
    const bool broken = claim.expect == Expectation::kBroken;
    return joined({claim.when, claim.why, claim.erratum,
                   broken ? span_of("Linux", claim.kernel) : "",
                   broken ? span_of("DPDK", claim.dpdk) : ""});
}

void print_claims(const char* title, const std::vector<OffloadExpectation>& claims) {
    if (claims.empty()) {
        return;
    }
    fmt::print("\n{}\n", title);
    for (const OffloadExpectation& claim : claims) {
        const char* usual = "";
        if (claim.on_by_default) {
            usual = *claim.on_by_default ? "on" : "off";
        }
        fmt::print("  {:<30} {:<9} {:<4}{:<8} {}\n", claim.name, name(claim.expect), usual,
                   claim.source, remarks(claim));
    }
}

void print_limits(const char* title, const std::vector<Limit>& limits) {
    if (limits.empty()) {
        return;
    }
    fmt::print("\n{}\n", title);
    for (const Limit& limit : limits) {
        fmt::print("  {:<30} {:<14}{:<8} {}\n", name(limit.kind), limit.value, limit.source,
                   joined({limit.when, limit.why}));
    }
}

void print_tunnels(const Profile& profile) {
    if (profile.tunnels.empty()) {
        return;
    }
    fmt::print("\ntunnel ports\n");
    for (const TunnelPorts& ports : profile.tunnels) {
        fmt::print("  {:<30} {:<14}{:<8}\n", ports.protocol, "", ports.source);
        fmt::print(
            "  {:<30} {}\n", "",
            joined(
                {ports.count ? fmt::format("{} at a time", *ports.count) : "",
                 ports.fixed.empty() ? "" : fmt::format("fixed {}", fmt::join(ports.fixed, ", ")),
                 ports.outer.empty() ? "" : ports.outer + " outside", ports.when, ports.why}));
    }
}

void print_quirks(const Profile& profile) {
    if (profile.quirks.empty()) {
        return;
    }
    fmt::print("\nquirks\n");
    for (const Quirk& quirk : profile.quirks) {
        const std::string span = quirk.kernel.everything() ? span_of("DPDK", quirk.dpdk)
                                                           : span_of("Linux", quirk.kernel);
        fmt::print("  {}\n    {}  {}  {}\n", quirk.what, span.empty() ? "all versions" : span,
                   quirk.erratum, quirk.source);
    }
}

void print_profile(const Profile& profile) {
    fmt::print("{}: {}\n", profile.id, profile.title);
    fmt::print("{:<14} {}\n", "status", name(profile.maturity));
    fmt::print("{:<14} {}\n", "evidence", profile.evidence_class);
    print_words("kernel driver", profile.match.kernel_driver);
    print_words("DPDK driver", profile.match.pmd);
    print_words("PCI id", profile.match.pci);
    if (profile.link) {
        fmt::print("{:<14} {} Mbit/s\n", "link", fmt::join(profile.link->mbps, ", "));
    }
    fmt::print("{:<14} {}, {}\n", "provenance", profile.provenance.source, profile.provenance.date);
    print_words("report", profile.provenance.reports);
    print_words("errata", profile.errata);
    fmt::print("{:<14} {}\n", "file", profile.file);
    print_limits("limits of the kernel's device", profile.limits);
    print_limits("limits of the DPDK port", profile.dpdk_limits);
    print_tunnels(profile);
    print_quirks(profile);
    print_claims("offloads of the kernel's device", profile.offloads);
    print_claims("offloads of the DPDK port, transmit", profile.dpdk_tx);
    print_claims("offloads of the DPDK port, receive", profile.dpdk_rx);
    fmt::print("\nsources\n");
    for (const auto& [key, text] : profile.sources) {
        fmt::print("  {:<12} {}\n", key, text);
    }
}

Result<int> show(const ShowOptions& options) {
    const auto profile = TRY(find_profile(profile_directory(), options.name));
    if (options.json) {
        fmt::print("{}\n", process::to_text(in_full(profile)));
    } else {
        print_profile(profile);
    }
    return 0;
}

}  // namespace

void add_show(CLI::App& profile, Command& chosen) {
    CLI::App* app = profile.add_subcommand("show", "Print one profile");
    const auto options = options_for<ShowOptions>(*app, chosen, show);
    app->add_option("NAME", options->name, "Profile, as 'profile list' names it")->required();
    app->add_flag("--json", options->json, "One JSON object");
}

}  // namespace pathproof::cli::profiles
