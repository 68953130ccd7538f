#include "harness/cli/arguments.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>
#include <vector>

#include "dataplane/base/exit_code.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/process/log.h"

namespace pathproof::cli {
namespace {

constexpr std::size_t kLongestArgument = 4096;  // PATH_MAX

bool is_control(char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
}

const CLI::Validator kWholeNumber = whole(0, UINT64_MAX, "a whole number", "");

const CLI::Validator kFinite = check_of("a number", "", [](const std::string& text) {
    double value = 0;
    return CLI::detail::lexical_cast(text, value) && std::isfinite(value);
});

// Empty arguments, control characters and texts that nobody types.
Status check_arguments(int argc, const char* const* argv) {
    for (int n = 1; n < argc; ++n) {
        const std::string_view argument(argv[n]);
        const bool assigns_nothing =
            argument.starts_with("--") && argument.find('=') == argument.size() - 1;
        const char* const wrong = argument.empty() || assigns_nothing  ? "is empty"
                                  : argument.size() > kLongestArgument ? "is longer than 4096 bytes"
                                  : std::ranges::any_of(argument, is_control)
                                      ? "has a control character in it"
                                      : nullptr;
        if (wrong != nullptr) {
            const std::string before = assigns_nothing ? fmt::format(" ('{:.60}')", argument)
                                       : n > 1 ? fmt::format(" (behind '{:.60}')", argv[n - 1])
                                               : "";
            return fail(ErrorCode::kBadInput, "argument {}{} {}{}", n, before, wrong,
                        argument.empty() || assigns_nothing
                            ? ": give it a value, or leave the option out"
                            : "");
        }
    }
    return {};
}

// Adds to each option of `app` and of the commands below it that it is such a number.
void check_numbers(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        const std::string type = option->get_type_name();
        if (type.starts_with("UINT") || type.starts_with("INT")) {
            option->check(kWholeNumber);
        } else if (type.starts_with("FLOAT")) {
            option->check(kFinite);
        }
    }
    for (CLI::App* command : app.get_subcommands(nullptr)) {
        check_numbers(*command);
    }
}

// Of the words that should be commands, the first that is none, with those there are: "unknown
// command 'inspect foo'; there are: dump, watch"; empty if each is one.
std::string unknown_command(const CLI::App& app, int argc, const char* const* argv) {
    const CLI::App* at = &app;
    std::string typed;
    for (int n = 1; n < argc && argv[n][0] != '-'; ++n) {
        std::vector<std::string> names;
        const CLI::App* next = nullptr;
        for (const CLI::App* command : at->get_subcommands(nullptr)) {
            next = command->check_name(argv[n]) ? command : next;
            if (!command->get_group().empty()) {
                names.push_back(command->get_name());
            }
        }
        typed += fmt::format("{}{:.60}", typed.empty() ? "" : " ", argv[n]);
        if (next == nullptr) {
            return names.empty() ? ""
                                 : fmt::format("unknown command '{}'; there are: {}", typed,
                                               fmt::join(names, ", "));
        }
        at = next;
    }
    return "";
}

}  // namespace

int complain(const Error& error) {
    process::log(error.message);
    return exit_code(error.code);
}

std::optional<int> read_arguments(CLI::App& app, int argc, const char* const* argv) {
    check_numbers(app);
    if (const Status sound = check_arguments(argc, argv); !sound) {
        return complain(sound.error());
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // for help, for the version
        std::ostringstream text;
        const int code = app.exit(asked, text, text);
        fmt::print("{}", text.str());
        return code;
    } catch (const CLI::ParseError& wrong) {
        if (const std::string unknown = unknown_command(app, argc, argv); !unknown.empty()) {
            fmt::print(stderr, "pathproof: {}\nTry 'pathproof --help'.\n", unknown);
            return 2;
        }
        fmt::print(stderr,
                   "pathproof: {:.500}\nTry 'pathproof --help' or 'pathproof COMMAND --help'.\n",
                   wrong.what());
        return 2;
    }
    return {};
}

int run_chosen(CLI::App& app, Command& chosen, int argc, char** argv) {
    if (const auto ended = read_arguments(app, argc, argv)) {
        return *ended;
    }
    if (!chosen) {
        return 2;
    }
    const Result<int> code = chosen();
    return code ? *code : complain(code.error());
}

}  // namespace pathproof::cli
