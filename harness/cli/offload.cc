#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "harness/agent/ethtool.h"
#include "harness/cli/commands.h"
#include "harness/cli/offload_check.h"
#include "harness/cli/offload_ports.h"
#include "harness/cli/run_options.h"
#include "harness/lab/machine_use.h"
#include "harness/message/archive.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"

namespace pathproof::cli {
namespace {

struct OffloadOptions {
    std::string device;
    std::string netns;
    std::vector<std::string> settings;  // FEATURE=on|off, or FEATURE and on|off
    bool json = false;
};

Result<int> show(const OffloadOptions& options) {
    const std::vector<agent::Feature> features =
        TRY(process::in_netns(options.netns, [&] { return agent::read_features(options.device); }));
    for (const agent::Feature& feature : features) {
        if (options.json) {
            fmt::print("{}\n", process::to_text(message::encode(feature)));
            continue;
        }
        fmt::print("{}: {}\n", feature.name, state_of(feature));
    }
    return 0;
}

Result<std::vector<std::pair<std::string, bool>>> parse_settings(
    const std::vector<std::string>& words) {
    std::vector<std::pair<std::string, bool>> wanted;
    const auto is_state = [](const std::string& text) { return text == "on" || text == "off"; };
    for (std::size_t n = 0; n < words.size(); ++n) {
        const std::string& word = words[n];
        const std::size_t equals = word.find('=');
        const bool has_equals = equals != std::string::npos;
        // ethtool -K writes "tso off".
        const bool is_pair =
            !has_equals && !is_state(word) && n + 1 < words.size() && is_state(words[n + 1]);
        const std::string value = has_equals ? word.substr(equals + 1) : is_pair ? words[++n] : "";
        if (equals == 0 || !is_state(value)) {
            return fail(ErrorCode::kBadInput,
                        "'{}' is no setting; write FEATURE=on or FEATURE=off, as tx=off, or as "
                        "ethtool takes it: tx off",
                        word);
        }
        wanted.emplace_back(word.substr(0, equals), value == "on");
    }
    return wanted;
}

void print_changes(const std::string& device, const std::vector<agent::FeatureChange>& changes) {
    if (changes.empty()) {
        fmt::print("{}: nothing to change\n", device);
        return;
    }
    for (const agent::FeatureChange& change : changes) {
        fmt::print("{}: {} -> {}{}\n", change.name, agent::on_or_off(change.before),
                   agent::on_or_off(change.after), change.asked ? "" : " (changed along)");
    }
}

Result<int> set(const OffloadOptions& options) {
    const auto wanted = TRY(parse_settings(options.settings));
    if (const Status spare = lab::check_touchable(options.device, options.netns); !spare) {
        return pass_on({spare.error().code,
                        spare.error().message + " ('ethtool -K' changes it all the same)"});
    }
    const std::vector<agent::FeatureChange> changes = TRY(process::in_netns(
        options.netns, [&] { return agent::change_features(options.device, wanted); }));
    print_changes(options.device, changes);
    return 0;
}

void add_show(CLI::App& app, Command& chosen) {
    CLI::App* command =
        app.add_subcommand("show", "Print the features of a device, as ethtool -k names them");
    const auto options = options_for<OffloadOptions>(*command, chosen, show);
    command->add_option("DEV", options->device, "Network device")->required();
    command->add_option("--netns", options->netns, "Network namespace (see 'ip netns')");
    command->add_flag("--json", options->json, "One JSON object a line");
}

void add_set(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("set",
                                           "Turn features on and off, all or none, and print what "
                                           "changed (single names, or ethtool -K's words)");
    const auto options = options_for<OffloadOptions>(*command, chosen, set);
    command->add_option("DEV", options->device, "Network device")->required();
    command
        ->add_option("SETTING", options->settings,
                     "FEATURE=on or FEATURE=off, or FEATURE on, FEATURE off")
        ->required()
        ->expected(1, -1);
    command->add_option("--netns", options->netns, "Network namespace (see 'ip netns')");
}

Result<int> check(const OffloadCheckOptions& options) {
    if (options.device.empty()) {
        return options.repeat == 1 ? run_port_check(options)
                                   : fail(ErrorCode::kBadInput,
                                          "--repeat goes with a network device of the kernel only");
    }
    if (is_port_check(options)) {
        return fail(ErrorCode::kBadInput,
                    "name either a network device of the kernel ({}) or a DPDK port (--dpdk, "
                    "--software-nic), not both",
                    options.device);
    }
    return run_device_check(options);
}

void add_check(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "check",
        "Judge every checksum and segment of a device on the wire: the offload truth table");
    const auto options = options_for<OffloadCheckOptions>(*command, chosen, check);
    declare_device_check(*command, *options);
    declare_port_check(*command, *options);
    command->add_option("--netns", options->netns, "Network namespace (see 'ip netns')");
    command->add_option("--profile", options->profile, "What is expected (default: what fits)");
    command->add_option("--out", options->out, "Folder for a report and its evidence");
    add_history_options(*command, options->history);
    add_baseline_option(*command, options->baseline);
    command->add_option("--seed", options->seed, "Repeats a run's frames")->capture_default_str();
    command->add_option("--frames", options->frames, "Of each row of the matrix (DPDK ports)")
        ->check(CLI::Range(3, 1000))
        ->capture_default_str()
        ->excludes(command->get_option("DEV"));
    command->add_flag("--quick", options->quick, "All pairs of the matrix in place of all triples");
    command->add_flag("--json", options->views.json, "Print the whole result as one JSON document");
    add_view_options(*command, options->views);
}

}  // namespace

void add_offload(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("offload", "Show, set and check a device's offloads");
    command->require_subcommand(1);
    add_show(*command, chosen);
    add_set(*command, chosen);
    add_check(*command, chosen);
    add_calibrate(*command, chosen);
}

}  // namespace pathproof::cli
