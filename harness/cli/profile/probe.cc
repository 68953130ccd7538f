// pathproof profile probe
#include <CLI/CLI.hpp>
#include <filesystem>

#include "dataplane/base/clock.h"
#include "dataplane/base/new_file.h"
#include "harness/cli/profile/commands.h"
#include "harness/cli/profile/json.h"
#include "harness/cli/profile/target.h"
#include "harness/process/json_text.h"

namespace pathproof::cli::profiles {
namespace {

struct ProbeOptions {
    TargetOptions target;
    std::string out;
    bool json = false;
};

// A file that is there may hold somebody's reviewed profile: it is not overwritten.
Status write(const std::string& path, const std::string& text) {
    if (std::filesystem::exists(std::filesystem::symlink_status(path))) {
        return fail(ErrorCode::kBadInput, "{} exists: give --out another name", path);
    }
    return replace_file(path, text);
}

Result<int> probe(const ProbeOptions& options) {
    const auto device = TRY(read_target(options.target));
    if (options.json) {
        fmt::print("{}\n", process::to_text(of_device(device)));
        return 0;
    }
    const std::string draft = profile::draft(device, today_utc());
    if (options.out.empty()) {
        fmt::print("{}", draft);
        return 0;
    }
    TRY(write(options.out, draft));
    fmt::print(stderr, "{}: a draft; review it, then name it after its id\n", options.out);
    return 0;
}

}  // namespace

void add_probe(CLI::App& profile, Command& chosen) {
    CLI::App* app =
        profile.add_subcommand("probe", "Write a draft profile from what a device offers");
    const auto options = options_for<ProbeOptions>(*app, chosen, probe);
    add_target(*app, options->target);
    CLI::Option* out = app->add_option("--out", options->out, "File for the draft");
    app->add_flag("--json", options->json, "What the device says, as one JSON object")
        ->excludes(out);
}

}  // namespace pathproof::cli::profiles
