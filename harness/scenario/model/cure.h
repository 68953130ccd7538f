// The cures that scenarios show, each defined once: scenarios, prices and hazards name them by id.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pathproof::scenario {

struct Cure {
    std::string id;          // "be-liberal"
    std::string command;     // that a person types; empty: it is none that can be typed
    std::string where = {};  // "on the DUT"
    std::string name = {};   // in words; empty: its command

    // "`sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=1`", or its name.
    std::string quoted() const { return command.empty() ? name : "`" + command + "`"; }
    // With its place behind it.
    std::string text() const;
};

const std::vector<Cure>& cures();
// Null for an unknown id.
const Cure* find_cure(std::string_view id);

}  // namespace pathproof::scenario
