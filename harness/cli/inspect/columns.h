// The columns that -o asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/netfilter/text.h"

namespace CLI {
class App;
}

namespace pathproof::cli::inspect {

// -o, --output.
void add_columns(CLI::App& app, std::vector<std::string>& names);

// What the names ask of the text, and the label names that one of them needs.
struct Columns {
    netfilter::TextOptions text{.nat_clash = netfilter::TextOptions::Column::kShow};
    std::unique_ptr<netfilter::LabelNames> labels;
};
Result<Columns> parse_columns(const std::vector<std::string>& names);

}  // namespace pathproof::cli::inspect
