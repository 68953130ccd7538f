#include "harness/profile/profile.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/agent/ethtool.h"
#include "harness/cli/commands.h"
#include "harness/process/netns.h"
#include "harness/profile/compare.h"

namespace pathproof::cli {
namespace {

using nlohmann::ordered_json;
using profile::Finding;
using profile::Profile;

struct ProfileOptions {
    std::string name;
    std::string device;
    std::string netns;
    bool json = false;
};

ordered_json brief(const Profile& profile) {
    return {{"id", profile.id},
            {"title", profile.title},
            {"status", name(profile.maturity)},
            {"evidence_class", profile.evidence_class},
            {"file", profile.file}};
}

ordered_json of_offload(const profile::OffloadExpectation& offload) {
    ordered_json json{{"expect", name(offload.expect)}, {"default", nullptr}, {"why", offload.why}};
    if (offload.on_by_default) {
        json["default"] = *offload.on_by_default ? "on" : "off";
    }
    return json;
}

ordered_json in_full(const Profile& profile) {
    ordered_json json = brief(profile);
    json["match"] = {{"kernel_driver", profile.match.kernel_driver},
                     {"pmd", profile.match.pmd},
                     {"pci", profile.match.pci}};
    json["offload"]["ethtool"] = ordered_json::object();
    for (const auto& offload : profile.offloads) {
        json["offload"]["ethtool"][offload.name] = of_offload(offload);
    }
    json["provenance"] = {{"source", profile.provenance.source},
                          {"date", profile.provenance.date},
                          {"reports", profile.provenance.reports}};
    return json;
}

int list(const ProfileOptions& options) {
    const auto profiles = profile::load_all(profile::profile_directory());
    if (!profiles) {
        return complain(profiles.error());
    }
    for (const Profile& profile : *profiles) {
        if (options.json) {
            fmt::print("{}\n", brief(profile).dump());
        } else {
            fmt::print("{:<16} {:<9} {:<10} {}\n", profile.id, name(profile.maturity),
                       profile.evidence_class, profile.title);
        }
    }
    return 0;
}

void print_words(const char* label, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        fmt::print("{:<14} {}\n", label, word);
    }
}

void print_profile(const Profile& profile) {
    fmt::print("{}: {}\n", profile.id, profile.title);
    fmt::print("{:<14} {}\n", "status", name(profile.maturity));
    fmt::print("{:<14} {}\n", "evidence", profile.evidence_class);
    print_words("kernel driver", profile.match.kernel_driver);
    print_words("DPDK driver", profile.match.pmd);
    print_words("PCI id", profile.match.pci);
    fmt::print("{:<14} {}, {}\n", "source", profile.provenance.source, profile.provenance.date);
    print_words("report", profile.provenance.reports);
    fmt::print("{:<14} {}\n\n", "file", profile.file);
    for (const auto& offload : profile.offloads) {
        const char* usual = !offload.on_by_default ? "" : *offload.on_by_default ? "on" : "off";
        fmt::print("{:<32} {:<9} {:<4}{}\n", offload.name, name(offload.expect), usual,
                   offload.why);
    }
}

int show(const ProfileOptions& options) {
    const auto profile = profile::find_profile(profile::profile_directory(), options.name);
    if (!profile) {
        return complain(profile.error());
    }
    if (options.json) {
        fmt::print("{}\n", in_full(*profile).dump());
    } else {
        print_profile(*profile);
    }
    return 0;
}

// What the device says about itself, read inside its namespace.
struct Observed {
    std::string driver;
    std::vector<agent::Feature> features;
};

Result<Observed> observe(const ProfileOptions& options) {
    Observed observed;
    const Status done = process::in_netns(options.netns, [&]() -> Status {
        const auto device = agent::read_device(options.device);
        if (!device) {
            return pass_on(device.error());
        }
        auto features = agent::read_features(options.device);
        if (!features) {
            return pass_on(features.error());
        }
        observed = {device->driver, std::move(*features)};
        return {};
    });
    if (!done) {
        return pass_on(done.error());
    }
    return observed;
}

void print_finding(const Finding& finding, const ProfileOptions& options) {
    if (options.json) {
        const ordered_json json{{"feature", finding.feature},
                                {"result", name(finding.kind)},
                                {"expected", finding.expected},
                                {"found", finding.found},
                                {"why", finding.why}};
        fmt::print("{}\n", json.dump());
        return;
    }
    fmt::print("{:<14} {:<32} {:<26} {}\n", name(finding.kind), finding.feature, finding.expected,
               finding.found);
}

bool matches_driver(const Profile& profile, const std::string& driver) {
    const auto& drivers = profile.match.kernel_driver;
    return drivers.empty() || std::find(drivers.begin(), drivers.end(), driver) != drivers.end();
}

int check(const ProfileOptions& options) {
    const auto profile = profile::find_profile(profile::profile_directory(), options.name);
    if (!profile) {
        return complain(profile.error());
    }
    const auto observed = observe(options);
    if (!observed) {
        return complain(observed.error());
    }
    if (!matches_driver(*profile, observed->driver)) {
        return complain(
            {ErrorCode::kBadInput, fmt::format("profile {} is not for {}: its driver is '{}'",
                                               profile->id, options.device, observed->driver)});
    }
    if (!options.json) {
        fmt::print("{:<14} {:<32} {:<26} {}\n", "result", "feature", "profile expects",
                   "device has");
    }
    const auto findings = profile::compare(*profile, observed->features);
    for (const Finding& finding : findings) {
        print_finding(finding, options);
    }
    const bool agreed = agrees(findings);
    fmt::print(stderr, "{} {} what profile {} ({}) expects\n", options.device,
               agreed ? "offers" : "does not offer", profile->id, name(profile->maturity));
    return agreed ? 0 : 1;
}

void add_json(CLI::App& command, ProfileOptions& options) {
    command.add_flag("--json", options.json, "One JSON object a line");
}

}  // namespace

void add_profile(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("profile", "What a kind of NIC is expected to offer");
    command->require_subcommand(1);
    command->footer("Profiles are read from $PATHPROOF_PROFILES, if set.");
    const auto options = std::make_shared<ProfileOptions>();

    CLI::App* list_app = command->add_subcommand("list", "Print the profiles there are");
    add_json(*list_app, *options);
    list_app->callback([&chosen, options] { chosen = [options] { return list(*options); }; });

    CLI::App* show_app = command->add_subcommand("show", "Print one profile");
    show_app->add_option("NAME", options->name, "Profile, as 'profile list' names it")->required();
    add_json(*show_app, *options);
    show_app->callback([&chosen, options] { chosen = [options] { return show(*options); }; });

    CLI::App* check_app = command->add_subcommand(
        "check", "Compare a device with a profile; exit status 1 when it does not agree");
    check_app->add_option("NAME", options->name, "Profile, as 'profile list' names it")->required();
    check_app->add_option("DEV", options->device, "Network device")->required();
    check_app->add_option("--netns", options->netns, "Network namespace (see 'ip netns')");
    add_json(*check_app, *options);
    check_app->callback([&chosen, options] { chosen = [options] { return check(*options); }; });
}

}  // namespace pathproof::cli
