// Counting frames by the columns of columns_by_shape(), and what a column's count comes to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dataplane/base/counts.h"
#include "harness/truth/condition.h"
#include "harness/truth/rows.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

struct Tally {
    std::uint64_t frames = 0;
    std::uint64_t wrong = 0;
    std::uint64_t refused = 0;
    std::uint64_t lacking = 0;  // rows that need an offload that is not there
    std::uint64_t claimed = 0;  // of received checksums: called good or bad
    std::map<std::string, std::uint64_t> names;

    void add(const std::string& name, std::uint64_t count) {
        wrong += count;
        names[name] += count;
    }
};
using Tallies = std::vector<Tally>;  // by column

template <typename Rows, typename Add>
Tallies by_column(const Rows& rows, const Add& add) {
    const Columns& columns = columns_by_shape();
    Tallies tallies(columns.size());
    for (const auto& row : rows) {
        add(row, tallies[columns.index_of(row.row)]);
    }
    return tallies;
}

// `cell`, `wrong_cell`: ids of the cells with the details of what is right, and of what is not.
verdict::Observation observation_of(const Tally& tally, const std::string& cell,
                                    const std::string& wrong_cell);

// Checksums of a row's frames that can be judged, of the layers and protocols that are wanted.
template <typename Wanted>
ClaimCount claims_of(const RxRow& row, const Wanted& wanted) {
    ClaimCount all;
    for (std::size_t layer = 0; layer < judge::kRxLayers; ++layer) {
        for (std::size_t protocol = 0; protocol < judge::kProtocolCount; ++protocol) {
            if (wanted(static_cast<judge::RxLayer>(layer),
                       static_cast<judge::Protocol>(protocol))) {
                add_counts(all, row.claims[layer][protocol]);
            }
        }
    }
    return all;
}

// Returns whether a finding is about a frame's delivery, not about a claim.
bool is_of_delivery(const matrix::RxFinding& finding);
// Tallies whether each received frame, good or bad, came with the bytes that were sent.
void tally_delivery(const RxRow& row, Tally& tally);

}  // namespace pathproof::truth
