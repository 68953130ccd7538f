#include "harness/lab/front_rules.h"

#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "harness/process/foreign.h"

namespace pathproof::lab {
namespace {

constexpr const char* kOwnPrefix = "PATHPROOF-";

// One table of a text.
struct Table {
    std::set<std::string> chains;
    std::vector<std::string> jumps, rules, policies;
};

std::string text_of(const std::string& name, const Table& table, std::set<std::string>& known) {
    std::string text = "*" + name + "\n";
    std::string gone;
    std::set<std::string> all = table.chains;
    all.insert(known.begin(), known.end());
    for (const std::string& chain : all) {
        text += fmt::format(":{} - [0:0]\n", chain);  // made, or emptied
        // The kernel's own jump to these, now and later.
        if (!table.chains.contains(chain) && !chain.starts_with(kOwnPrefix)) {
            gone += fmt::format("-X {}\n", chain);
        }
    }
    std::erase_if(known, [](const std::string& chain) { return !chain.starts_with(kOwnPrefix); });
    for (const auto* lines : {&table.jumps, &table.rules, &table.policies}) {
        for (const std::string& line : *lines) {
            text += line + "\n";
        }
    }
    known.insert(table.chains.begin(), table.chains.end());
    return text + gone + "COMMIT\n";
}

}  // namespace

std::string in_front(const std::string& rules, FrontChains& known) {
    std::string text, name;
    Table table;
    std::set<std::string> kernels;
    for (const std::string& line : process::lines_of(rules)) {
        std::istringstream words(line.substr(std::min<std::size_t>(line.size(), 1)));
        std::string chain, policy;
        words >> chain >> policy;
        if (line.starts_with("*")) {
            name = chain;
            table = {};
            kernels.clear();
        } else if (line.starts_with(":") && policy == "-") {
            table.chains.insert(chain);
        } else if (line.starts_with(":")) {
            const std::string own = kOwnPrefix + chain;
            kernels.insert(chain);
            table.chains.insert(own);
            if (!known[name].contains(own)) {
                table.jumps.push_back(fmt::format("-I {} 1 -j {}", chain, own));
            }
            if (policy == "DROP") {
                table.policies.push_back(fmt::format("-A {} -j DROP", own));
            }
        } else if (line.starts_with("-A ")) {
            const std::string of = policy;  // "-A CHAIN ..."
            table.rules.push_back(
                kernels.contains(of) ? fmt::format("-A {}{}", kOwnPrefix, line.substr(3)) : line);
        } else if (line == "COMMIT") {
            text += text_of(name, table, known[name]);
        }
    }
    return text;
}

std::string without_front(const std::string& saved) {
    std::string text;
    for (std::string line : process::lines_of(saved)) {
        const std::string own = std::string(" -A ") + kOwnPrefix;
        if (const std::size_t at = line.find(own); at != line.npos) {
            std::string rule = line.substr(at + own.size());
            const std::size_t space = rule.find(' ');
            line = rule.substr(space) == " -j DROP"
                       ? fmt::format(":{} DROP {}", rule.substr(0, space), line.substr(0, at))
                       : fmt::format("{} -A {}", line.substr(0, at), rule);
        }
        text += line + "\n";
    }
    return text;
}

}  // namespace pathproof::lab
