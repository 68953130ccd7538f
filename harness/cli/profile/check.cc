// pathproof profile check
#include <CLI/CLI.hpp>

#include "harness/cli/profile/commands.h"
#include "harness/cli/profile/json.h"
#include "harness/cli/profile/parts.h"
#include "harness/cli/profile/target.h"
#include "harness/process/json_text.h"
#include "harness/profile/lists.h"

namespace pathproof::cli::profiles {
namespace {

using namespace profile;
using nlohmann::ordered_json;

struct CheckOptions {
    TargetOptions target;
    std::string profile;
    bool json = false;
};

// A profile that names drivers is for those alone.
Status fits(const Profile& profile, const DeviceIdentity& identity, const std::string& device) {
    const Match& match = profile.match;
    const bool any = match.kernel_driver.empty() && match.pmd.empty();
    if (any || lists(match.kernel_driver, identity.kernel_driver) ||
        lists(match.pmd, identity.pmd)) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "profile {} is not for {}: its driver is '{}'; without --profile the fitting one "
                "is taken",
                profile.id, device, identity.driver());
}

Result<Profile> chosen_profile(const CheckOptions& options, const LiveDevice& device) {
    if (options.profile.empty()) {
        const auto all = load_all(profile_directory());
        return all ? matching_profile(*all, device.identity) : pass_on(all.error());
    }
    auto profile = TRY(find_profile(profile_directory(), options.profile));
    TRY(fits(profile, device.identity, device.name));
    return profile;
}

std::vector<Finding> findings_of(const Profile& profile, const LiveDevice& device) {
    const bool kernel = !device.identity.kernel_driver.empty();
    std::vector<Finding> findings =
        kernel ? compare(profile, device.features, device.running)
               : compare_dpdk(profile, device.dpdk_tx, device.dpdk_rx, device.running);
    const auto limits =
        compare_limits(kernel ? profile.limits : profile.dpdk_limits, device.limits);
    findings.insert(findings.end(), limits.begin(), limits.end());
    return findings;
}

std::string remark(const Finding& finding) {
    using Kind = Finding::Kind;
    const bool plain = finding.kind == Kind::kAsExpected || finding.kind == Kind::kUnlisted;
    return plain ? "" : joined({finding.when, finding.why, finding.erratum});
}

void print_finding(const Finding& finding, bool json) {
    if (json) {
        fmt::print("{}\n", process::to_text(of_finding(finding)));
        return;
    }
    const std::string more = remark(finding);
    fmt::print("{:<14} {:<32} {:<26} {}{}{}\n", name(finding.kind), finding.feature,
               finding.expected, finding.found, more.empty() ? "" : ": ", more);
}

void print_quirk(const Quirk& quirk, const Running& running, bool json) {
    const char* state = name(state_of(quirk, running));
    if (json) {
        fmt::print("{}\n",
                   process::to_text(ordered_json{
                       {"quirk", quirk.what}, {"state", state}, {"erratum", quirk.erratum}}));
        return;
    }
    fmt::print("{:<14} {}{}{}\n", fmt::format("quirk {}", state), quirk.what,
               quirk.erratum.empty() ? "" : "; ", quirk.erratum);
}

Result<int> check(const CheckOptions& options) {
    const auto device = TRY(read_target(options.target));
    const auto profile = TRY(chosen_profile(options, device));
    if (!options.json) {
        fmt::print("{:<14} {:<32} {:<26} {}\n", "result", "feature", "profile expects",
                   "device has");
    }
    const auto findings = findings_of(profile, device);
    for (const Finding& finding : findings) {
        print_finding(finding, options.json);
    }
    for (const Quirk& quirk : profile.quirks) {
        print_quirk(quirk, device.running, options.json);
    }
    const bool agreed = agrees(findings);
    const std::string version = device.running.dpdk.empty() ? "Linux " + device.running.kernel
                                                            : "DPDK " + device.running.dpdk;
    fmt::print(stderr, "{} {} what profile {} ({}) expects, on {}{}\n", device.name,
               agreed ? "offers" : "does not offer", profile.id, name(profile.maturity), version,
               profile.tunnels.empty() ? "" : "; tunnel ports were not compared");
    return agreed ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& profile, Command& chosen) {
    CLI::App* app = profile.add_subcommand(
        "check",
        "Compare a device with its profile; exit status 1 when something is missing, unexpected or "
        "known to be broken");
    const auto options = options_for<CheckOptions>(*app, chosen, check);
    add_target(*app, options->target);
    app->add_option("--profile", options->profile,
                    "Profile, as 'profile list' names it (default: the one that fits)");
    app->add_flag("--json", options->json, "One JSON object a line");
}

}  // namespace pathproof::cli::profiles
