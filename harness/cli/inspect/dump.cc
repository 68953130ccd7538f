// pathproof inspect dump: every entry of the table.
#include "harness/netfilter/dump.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/inspect/printer.h"
#include "harness/netfilter/kernel_probe.h"
#include "harness/netfilter/stats.h"

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;

struct DumpCommand {
    CommonOptions common;
    std::vector<std::string> words;
    PrintOptions print;
    bool count = false;
    bool explain_filter = false;
};

void say_unless_empty(const char* who, const std::vector<std::string>& words) {
    if (!words.empty()) {
        fmt::print(stderr, "pathproof: {}: {}\n", who, fmt::join(words, " "));
    }
}

// Reports what the kernel selects by and what this program, and how the kernel behaved with each
// kind of word.
void explain(const Filter& filter) {
    const KernelFilterSupport support = kernel_filter_support(filter);
    const Clauses clauses = clauses_of(filter);
    const FilterShares shares = filter_shares(filter, support);
    say_unless_empty("selected by the kernel", shares.kernel);
    say_unless_empty("selected here", shares.here);
    for (std::size_t i = 0; i < kClauses; ++i) {
        const auto clause = static_cast<Clause>(i);
        if (clauses.test(i) && support.of(clause) != Behaviour::kSelects) {
            fmt::print(stderr, "pathproof: asked to select by {}, this kernel {}\n", name(clause),
                       name(support.of(clause)));
        }
    }
}

// A list that was read while the table emptied or filled is no picture of one moment.
void say_changes(const DumpSummary& summary, const TableSize& before, const TableSize& after) {
    if (summary.interrupted) {
        fmt::print(stderr,
                   "pathproof: the table changed its size while it was read: entries may be "
                   "missing or there twice; run this again\n");
    }
    const std::uint64_t more = std::max(before.entries, after.entries);
    const std::uint64_t less = std::min(before.entries, after.entries);
    if (more - less > more / 10) {
        fmt::print(stderr,
                   "pathproof: the table went from {} to {} entries while it was read: the list is "
                   "of no one moment\n",
                   before.entries, after.entries);
    }
    if (summary.repeated > 0) {
        fmt::print(stderr, "pathproof: the kernel sent {} entries twice; each is shown once\n",
                   summary.repeated);
    }
    if (summary.unreadable > 0) {
        fmt::print(stderr, "pathproof: {} messages of the kernel could not be read as entries\n",
                   summary.unreadable);
    }
}

Result<DumpSummary> put_entries(const DumpCommand& command, const Filter& filter,
                                const Printer& printer, Output& output) {
    printer.put_header(output);
    return dump(command.common.netns, filter, [&](const Entry& entry) {
        printer.put(output, entry);
        return output.open() && !process::stopping() ? Next::kContinue : Next::kStop;
    });
}

Result<DumpSummary> put_count(const DumpCommand& command, const Filter& filter, Output& output) {
    const auto summary = count_entries(command.common.netns, filter);
    if (summary) {
        output.put_line(fmt::format(fmt::runtime(command.common.json ? "{{\"entries\":{}}}" : "{}"),
                                    summary->entries));
    }
    return summary;
}

Result<int> run(const DumpCommand& command, const Filter& filter, const Printer& printer) {
    const auto before = TRY(table_size(command.common.netns));
    process::stop_on_signals();
    Output output;
    auto read = command.count ? put_count(command, filter, output)
                              : put_entries(command, filter, printer, output);
    output.flush();
    const auto summary = TRY(std::move(read));
    if (!command.count) {
        fmt::print(
            stderr, "pathproof: {} entries shown{}\n", summary.entries,
            process::stopping() ? ", then interrupted: the table was not read to its end" : "");
    }
    const auto after = table_size(command.common.netns);
    say_changes(summary, before, after.value_or(before));
    const bool incomplete = summary.unreadable > 0 || summary.interrupted || process::stopping();
    return incomplete ? kIncomplete : kDone;
}

Result<int> run_dump(const DumpCommand& command) {
    const auto filter = TRY(parse_filter(command.words));
    const auto printer =
        TRY(Printer::make(CsvFormat::Rows::kEntries, command.common, command.print));
    if (command.explain_filter) {
        explain(filter);
    }
    return run(command, filter, printer);
}

}  // namespace

void add_dump(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand("dump", "Every entry of the table, as 'conntrack -L'");
    const auto command = options_for<DumpCommand>(*app, chosen, run_dump);
    add_common(*app, command->common);
    add_filter_words(*app, command->words);
    add_print_options(*app, command->print);
    app->add_flag("--count", command->count, "print only how many entries match")
        ->excludes("--csv")
        ->excludes("--output");
    app->add_flag("--explain-filter", command->explain_filter,
                  "say which part of the filter this kernel does, and which is done here");
}

}  // namespace pathproof::cli::inspect
