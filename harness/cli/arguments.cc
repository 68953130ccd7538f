#include "harness/cli/arguments.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>
#include <vector>

#include "dataplane/base/exit_code.h"
#include "dataplane/base/suggestion.h"
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

// "--option=".
bool assigns_nothing(std::string_view argument) {
    return argument.starts_with("--") && argument.find('=') == argument.size() - 1;
}

// Reason why the argument is refused; nullptr: it is not.
const char* wrong_with(std::string_view argument) {
    if (argument.empty() || assigns_nothing(argument)) {
        return "is empty";
    }
    if (argument.size() > kLongestArgument) {
        return "is longer than 4096 bytes";
    }
    return std::ranges::any_of(argument, is_control) ? "has a control character in it" : nullptr;
}

// Empty arguments, control characters and texts that nobody types.
Status check_arguments(int argc, const char* const* argv) {
    for (int n = 1; n < argc; ++n) {
        const std::string_view argument(argv[n]);
        const char* const wrong = wrong_with(argument);
        if (wrong != nullptr) {
            std::string place;
            if (assigns_nothing(argument)) {
                place = fmt::format(" ('{:.60}')", argument);
            } else if (n > 1) {
                place = fmt::format(" (behind '{:.60}')", argv[n - 1]);
            }
            return fail(ErrorCode::kBadInput, "argument {}{} {}{}", n, place, wrong,
                        argument.empty() || assigns_nothing(argument)
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

// The words of a command line that name the command, and the command: "inspect watch".
struct Typed {
    const CLI::App* command;
    std::string words;
    std::string unknown = {};  // the next word, where the command has others below it and not this
};

std::vector<std::string> commands_below(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
        if (!command->get_group().empty()) {
            names.push_back(command->get_name());
        }
    }
    return names;
}

Typed typed_command(const CLI::App& app, int argc, const char* const* argv) {
    Typed typed{.command = &app, .words = ""};
    for (int n = 1; n < argc && argv[n][0] != '-'; ++n) {
        const CLI::App* next = nullptr;
        for (const CLI::App* command : typed.command->get_subcommands(nullptr)) {
            next = command->check_name(argv[n]) ? command : next;
        }
        if (next == nullptr) {
            typed.unknown = commands_below(*typed.command).empty() ? "" : argv[n];
            break;
        }
        typed.command = next;
        typed.words += (typed.words.empty() ? "" : " ") + next->get_name();
    }
    return typed;
}

// "unknown command 'inspect wacth'; did you mean watch? There are: dump, watch"
std::string unknown_command(const Typed& typed) {
    return fmt::format("unknown command '{}{}{:.60}'{}", typed.words,
                       typed.words.empty() ? "" : " ", typed.unknown,
                       choices(typed.unknown, commands_below(*typed.command)));
}

// The first word that the command does not take: an option before any other.
std::string unexpected_word(const CLI::App& app, const Typed& typed) {
    const std::vector<std::string> words = app.remaining(true);
    const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
    const auto option = std::ranges::find_if(words, is_option);
    const std::string command = typed.words.empty() ? "pathproof" : "'" + typed.words + "'";
    if (option == words.end()) {
        return words.empty()
                   ? ""
                   : fmt::format("{} takes no further argument: '{:.60}'", command, words.front());
    }
    std::vector<std::string> known;
    for (const CLI::Option* each : typed.command->get_options()) {
        for (const std::string& name : each->get_lnames()) {
            known.push_back("--" + name);
        }
    }
    const std::string name = option->substr(0, option->find('='));
    return fmt::format("{} has no option '{:.60}'{}", command, name, did_you_mean(name, known));
}

// "help qualify" is "qualify --help", and "help" alone "--help".
std::vector<const char*> with_help_as_option(int argc, const char* const* argv) {
    std::vector<const char*> words(argv, argv + argc);
    if (argc > 1 && std::string_view(argv[1]) == "help") {
        words.erase(words.begin() + 1);
        words.push_back("--help");
    }
    return words;
}

}  // namespace

int complain(const Error& error) {
    process::log(error.message);
    return exit_code(error.code);
}

std::optional<int> read_arguments(CLI::App& app, int count, const char* const* typed_words) {
    check_numbers(app);
    const std::vector<const char*> words = with_help_as_option(count, typed_words);
    const auto argc = static_cast<int>(words.size());
    const char* const* argv = words.data();
    if (const Status sound = check_arguments(argc, argv); !sound) {
        return complain(sound.error());
    }
    const Typed typed = typed_command(app, argc, argv);
    const auto refuse = [&](const std::string& sentence) {
        const bool at_top = typed.words.empty() || !typed.unknown.empty();
        fmt::print(stderr, "pathproof: {}\nTry 'pathproof {}--help'.\n", sentence,
                   at_top ? "" : typed.words + " ");
        return 2;
    };
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // for help, for the version
        if (!typed.unknown.empty()) {
            return refuse(unknown_command(typed));
        }
        std::ostringstream text;
        const int code = app.exit(asked, text, text);
        fmt::print("{}", text.str());
        return code;
    } catch (const CLI::ParseError& wrong) {
        // A word that is required is missing behind one that does not exist.
        const bool may_be_extra = dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr ||
                                  dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr;
        if (!typed.unknown.empty()) {
            return refuse(unknown_command(typed));
        }
        const std::string extra = may_be_extra ? unexpected_word(app, typed) : "";
        return refuse(extra.empty() ? fmt::format("{:.500}", wrong.what()) : extra);
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
