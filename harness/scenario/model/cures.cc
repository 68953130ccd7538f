#include <algorithm>

#include "harness/scenario/model/cure.h"

namespace pathproof::scenario {

std::string Cure::text() const {
    return quoted() + (where.empty() ? "" : " " + where);
}

const std::vector<Cure>& cures() {
    static const std::vector<Cure> all = {
        {.id = "reuse-mode-0",
         .command = "sysctl -w net.ipv4.vs.conn_reuse_mode=0",
         .where = "on the DUT"},
        {.id = "delete-unused-entries",
         .command = "conntrack -D",
         .where = "of entries that nobody uses",
         .name = "delete entries that nobody uses"},
    };
    return all;
}

const Cure* find_cure(std::string_view id) {
    const auto found = std::ranges::find(cures(), id, &Cure::id);
    return found == cures().end() ? nullptr : &*found;
}

}  // namespace pathproof::scenario
