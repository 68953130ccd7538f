#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>

#include "harness/cli/arguments.h"
#include "harness/cli/commands.h"
#include "harness/process/streams.h"

namespace pathproof::cli {

int complain(const Error& error) {
    fmt::print(stderr, "pathproof: {}\n", error.message);
    switch (error.code) {
        case ErrorCode::kBadInput:
        case ErrorCode::kNotPermitted:
        case ErrorCode::kNotSupported:
        case ErrorCode::kNotFound: return 2;
        case ErrorCode::kUnavailable:
        case ErrorCode::kFailed: return 3;
    }
    return 3;
}

}  // namespace pathproof::cli

namespace {

int run_command_line(int argc, char** argv) {
    using namespace pathproof::cli;
    CLI::App app{
        "pathproof: proves whether a NIC, driver, kernel and CNI carry every packet right"};
    app.set_version_flag("--version", "pathproof " PATHPROOF_VERSION);
    app.require_subcommand(1);
    Command chosen;
    add_qualify(app, chosen);
    add_repro(app, chosen);
    add_inspect(app, chosen);
    add_offload(app, chosen);
    add_generate(app, chosen);
    add_respond(app, chosen);
    add_wire(app, chosen);
    add_search(app, chosen);
    add_lab(app, chosen);
    add_profile(app, chosen);
    add_bench(app, chosen);
    add_restore(app, chosen);
    add_agent(app, chosen);
    add_tester(app, chosen);
    check_numbers(app);
    if (const pathproof::Status sound = check_arguments(argc, argv); !sound) {
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
    return chosen ? chosen() : 2;
}

}  // namespace

int main(int argc, char** argv) {
    pathproof::process::hold_standard_streams();
    return pathproof::process::exit_code_of(run_command_line(argc, argv));
}
