// pathproof profile list
#include <CLI/CLI.hpp>

#include "harness/cli/profile/commands.h"
#include "harness/cli/profile/json.h"
#include "harness/process/json_text.h"

namespace pathproof::cli::profiles {
namespace {

Result<int> list(const bool& json) {
    std::vector<Error> damaged;
    const auto all = TRY(profile::load_each(profile::profile_directory(), damaged));
    for (const profile::Profile& profile : all) {
        if (json) {
            fmt::print("{}\n", process::to_text(brief(profile)));
        } else {
            fmt::print("{:<16} {:<9} {:<10} {}\n", profile.id, name(profile.maturity),
                       profile.evidence_class, profile.title);
        }
    }
    int exit_code = 0;
    for (const Error& error : damaged) {
        exit_code = complain(error);
    }
    return exit_code;
}

}  // namespace

void add_list(CLI::App& profile, Command& chosen) {
    CLI::App* app = profile.add_subcommand("list", "Print the profiles there are");
    const auto json = options_for<bool>(*app, chosen, list);
    app->add_flag("--json", *json, "One JSON object a line");
}

}  // namespace pathproof::cli::profiles
