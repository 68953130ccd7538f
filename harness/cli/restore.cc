#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/lab/journal.h"
#include "harness/process/json_text.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

enum class Form { kShort, kVerbose, kJson };

void print_line(const json& line) {
    fmt::print("{}\n", process::to_text(line));
}

json to_json(const lab::RestoredRun& run, const lab::PutBack& thing) {
    json line{{"what", thing.what}};
    for (const auto& [key, value] :
         {std::pair{"run", &run.run_id}, std::pair{"command", &run.command},
          std::pair{"device", &thing.device}, std::pair{"netns", &thing.netns}}) {
        if (!value->empty()) {
            line[key] = *value;
        }
    }
    return line;
}

void print_things(const std::vector<lab::RestoredRun>& runs, Form form) {
    for (const lab::RestoredRun& run : runs) {
        for (const lab::PutBack& thing : run.things) {
            if (form == Form::kJson) {
                print_line(to_json(run, thing));
            } else {
                fmt::print("{}{}\n", in_full(thing), left_by(run));
            }
        }
        for (const std::string& sentence : run.left_alone) {
            if (form == Form::kJson) {
                print_line({{"left", sentence}, {"run", run.run_id}, {"command", run.command}});
            } else {
                fmt::print("{}\n", sentence);
            }
        }
    }
}

void print(const std::vector<lab::RestoredRun>& runs, Form form) {
    if (form != Form::kShort) {
        print_things(runs, form);
    } else {
        for (const std::string& line : in_short(runs)) {
            fmt::print("{}\n", line);
        }
    }
    if (runs.empty() && form != Form::kJson) {
        fmt::print("nothing had to be put back\n");
    }
}

// A lab that is kept up and a run that goes on are no leftovers; but who asks for the machine to be
// put back should know of them.
void name_what_stays() {
    const auto runs = lab::list_runs();
    if (!runs) {
        return;
    }
    for (const lab::RunInfo& run : *runs) {
        if (run.state == lab::RunInfo::State::kKept) {
            fmt::print("lab {} ({}) is kept up; 'pathproof lab down {}' takes it down\n",
                       run.run_id, run.what, run.run_id);
        } else if (run.state == lab::RunInfo::State::kLive) {
            fmt::print("run {} (pid {}, '{}') goes on: it puts back itself what it changed\n",
                       run.run_id, run.pid, run.command);
        }
    }
}

Result<int> restore(Form form) {
    const auto restored = TRY(lab::restore_all());
    print(restored, form);
    if (form != Form::kJson) {
        name_what_stays();
    }
    return 0;
}

Result<int> forget(const std::string& run_id) {
    if (run_id.empty()) {
        return fail(ErrorCode::kBadInput, "--forget '' names no run; without a name: all");
    }
    const auto said = TRY(lab::forget(run_id == "all" ? "" : run_id));
    for (const std::string& sentence : said) {
        fmt::print("{}\n", sentence);
    }
    if (said.empty()) {
        fmt::print("nothing had to be forgotten\n");
    }
    return 0;
}

}  // namespace

void add_restore(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "restore",
        "Put back what killed runs left changed on this machine (namespaces, sysctls, "
        "hugepages, offload features, addresses, XDP programs of ports)");
    auto form = std::make_shared<Form>(Form::kShort);
    CLI::Option* verbose = command->add_flag_callback(
        "--verbose", [form] { *form = Form::kVerbose; }, "a line for each thing put back");
    CLI::Option* as_json = command->add_flag_callback(
        "--json", [form] { *form = Form::kJson; },
        "the same as JSON, an object each ('lab list --json' tells what goes on)");
    as_json->excludes(verbose);
    auto forgotten = std::make_shared<std::string>();
    const CLI::Option* forgets =
        command
            ->add_option("--forget", *forgotten,
                         "Put back what can be of this killed run (of all), and forget the rest")
            ->expected(0, 1)
            ->default_str("all")
            ->type_name("RUN")
            ->excludes(verbose)
            ->excludes(as_json);
    command->callback([&chosen, form, forgotten, forgets] {
        const bool forget_it = forgets->count() > 0;
        chosen = [form, forgotten, forget_it] {
            return forget_it ? forget(*forgotten) : restore(*form);
        };
    });
}

}  // namespace pathproof::cli
