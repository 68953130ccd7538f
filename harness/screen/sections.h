// The parts of the screen: a head of fixed height, and lists that take what room there is.
#pragma once

#include <string>

#include "harness/monitor/snapshot.h"
#include "harness/screen/lines.h"
#include "harness/screen/state.h"

namespace pathproof::screen {

// The table's use, rates, totals, and whether anything was lost.
Lines head(const monitor::Snapshot& snapshot, std::size_t columns);

// A list with its heading; `rows` are all it has.
struct Section {
    Line heading;
    Lines rows;
    std::string nothing;  // shown in place of rows when there are none
};

Section service_section(const monitor::Snapshot& snapshot, const ViewState& state,
                        std::size_t columns);
Section clash_section(const monitor::Snapshot& snapshot, const ViewState& state,
                      std::size_t columns);
// Makes the section of findings; without findings it has no rows.
Section finding_section(const monitor::Snapshot& snapshot, const ViewState& state);
Section drop_section(const monitor::Snapshot& snapshot, const ViewState& state);

Lines help();

// A number or state of conntrack that deserves a colour: the share of the table in use, ...
Style style_of_use(double share);
Style style_of(monitor::BackendVerdict verdict);

}  // namespace pathproof::screen
