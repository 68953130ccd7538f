// Rulesets of the form in which projects write theirs: chains, marks and order of rules, with the addresses of
// the lab (clients in 10.1.0.0/24, backends in 10.2.0.0/24 and 10.3.0.0/24, services in 10.96.0.0/16).
#pragma once

#include <string>
#include <vector>

namespace pathproof::predict::fixture {

struct ProjectRules {
    const char* name;
    bool is_nft = false;
    std::string text;  // for nft -f, or iptables-restore
};
std::vector<ProjectRules> project_rules();

}  // namespace pathproof::predict::fixture
