// Prints entries and events: text with the columns that -o asks for, JSON lines, or CSV.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/cli/inspect/output.h"
#include "harness/netfilter/csv.h"
#include "harness/netfilter/text.h"
#include "harness/netfilter/watcher.h"

namespace CLI {
class App;
}

namespace pathproof::cli::inspect {

struct PrintOptions {
    std::vector<std::string> columns;
    bool csv = false;
};
// -o, --output and --csv.
void add_print_options(CLI::App& app, PrintOptions& options);

// Puts entries or events in the form that was asked for.
class Printer {
  public:
    // An error says which columns there are.
    static Result<Printer> make(netfilter::CsvFormat::Rows rows, const CommonOptions& common,
                                const PrintOptions& options);

    void put_header(Output& output) const;
    // An entry or an event.
    template <typename Value>
    void put(Output& output, const Value& value) const;
    void put(Output& output, const netfilter::Gap& gap) const;
    // Puts the totals of what came, at the end; as text on stderr only.
    void put_summary(Output& output, const netfilter::WatchTotals& totals) const;

  private:
    enum class Form { kText, kJson, kCsv };

    Form form_ = Form::kText;
    netfilter::TextOptions text_{.nat_clash = netfilter::TextOptions::Column::kShow};
    netfilter::CsvFormat csv_;
};

}  // namespace pathproof::cli::inspect
