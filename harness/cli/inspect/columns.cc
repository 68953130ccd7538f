#include "harness/cli/inspect/columns.h"

#include <CLI/CLI.hpp>

namespace pathproof::cli::inspect {
namespace {

using netfilter::LabelNames;
using Column = netfilter::TextOptions::Column;

Status add_column(const std::string& name, Columns& columns) {
    if (name == "id") {
        columns.text.id = Column::kShow;
    } else if (name == "extended") {
        columns.text.layer3 = Column::kShow;
    } else if (name == "ktimestamp") {
        columns.text.kernel_times = Column::kShow;
    } else if (name == "timestamp") {
        columns.text.event_time = Column::kShow;
    } else if (name == "labels") {
        auto labels = LabelNames::load();
        if (!labels) {
            return pass_on(labels.error());
        }
        columns.labels = std::make_unique<LabelNames>(std::move(*labels));
        columns.text.labels = columns.labels.get();
    } else {
        return fail(ErrorCode::kBadInput,
                    "-o '{}': allowed are id, extended, ktimestamp, timestamp, labels", name);
    }
    return {};
}

}  // namespace

void add_columns(CLI::App& app, std::vector<std::string>& names) {
    app.add_option("-o,--output", names,
                   "more columns: id, extended, ktimestamp, timestamp, labels")
        ->delimiter(',')
        ->allow_extra_args(false);
}

Result<Columns> parse_columns(const std::vector<std::string>& names) {
    Columns columns;
    for (const std::string& name : names) {
        if (auto added = add_column(name, columns); !added) {
            return pass_on(added.error());
        }
    }
    return columns;
}

}  // namespace pathproof::cli::inspect
