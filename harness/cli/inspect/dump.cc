// pathproof inspect dump: every entry of the table.
#include "harness/netfilter/dump.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/inspect/printer.h"

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;

struct DumpOptions {
    CommonOptions common;
    std::vector<std::string> words;
    PrintOptions print;
};

int run_dump(const DumpOptions& options) {
    const auto filter = parse_filter(options.words);
    if (!filter) {
        return complain(filter.error());
    }
    const auto printer = Printer::make(CsvFormat::Rows::kEntries, options.common, options.print);
    if (!printer) {
        return complain(printer.error());
    }
    catch_signals();
    Output output;
    printer->put_header(output);
    const auto summary = dump(options.common.netns, *filter, [&](const Entry& entry) {
        printer->put(output, entry);
        return output.open() && !interrupted() ? Next::kContinue : Next::kStop;
    });
    output.flush();
    if (!summary) {
        return complain(summary.error());
    }
    fmt::print(stderr, "pathproof: {} entries shown{}\n", summary->entries,
               interrupted() ? ", then interrupted: the table was not read to its end" : "");
    if (summary->unreadable > 0) {
        fmt::print(stderr, "pathproof: {} messages of the kernel could not be read as entries\n",
                   summary->unreadable);
    }
    return output.exit_code(summary->unreadable > 0 || interrupted() ? kIncomplete : kDone);
}

}  // namespace

void add_dump(CLI::App& inspect, Command& chosen) {
    const auto options = std::make_shared<DumpOptions>();
    CLI::App* app = inspect.add_subcommand("dump", "every entry of the table, as 'conntrack -L'");
    add_common(*app, options->common);
    add_filter_words(*app, options->words);
    add_print_options(*app, options->print);
    app->callback([&chosen, options] { chosen = [options] { return run_dump(*options); }; });
}

}  // namespace pathproof::cli::inspect
