#include "harness/drops/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "dataplane/base/number.h"

namespace pathproof::drops {
namespace {

struct Symbol {
    std::uint64_t address = 0;  // 0: none found
    std::string name;
};

struct Line {
    std::uint64_t address = 0;
    std::string_view name;
};

// "ffffffff81a2b3c0 T nf_hook_slow" or "ffffffffc0a01000 t f	[module]"; nothing for data and for
// addresses that are shown as zero.
bool parse_line(std::string_view text, Line& line) {
    line.address = take_number<std::uint64_t>(text, 16).value_or(0);
    if (line.address == 0 || text.size() < 4 ||
        std::string_view("tTwW").find(text[1]) == std::string_view::npos) {
        return false;
    }
    text.remove_prefix(3);
    line.name = text.substr(0, text.find_first_of("\t \n"));
    return true;
}

// For each of the sorted addresses the closest symbol that is not above it.
std::vector<Symbol> closest(const std::string& path, const std::vector<std::uint64_t>& addresses) {
    std::vector<Symbol> found(addresses.size());
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                               &std::fclose);
    char text[1024];
    Line line;
    while (file && std::fgets(text, sizeof text, file.get()) != nullptr) {
        if (!parse_line(text, line)) {
            continue;
        }
        // The lowest address that the symbol can hold; those above it are seen to below.
        const auto at = std::lower_bound(addresses.begin(), addresses.end(), line.address);
        if (at == addresses.end()) {
            continue;
        }
        Symbol& symbol = found[static_cast<std::size_t>(at - addresses.begin())];
        if (line.address > symbol.address) {
            symbol = {.address = line.address, .name = std::string(line.name)};
        }
    }
    for (std::size_t i = 1; i < found.size(); ++i) {
        if (found[i].address < found[i - 1].address) {
            found[i] = found[i - 1];
        }
    }
    return found;
}

}  // namespace

void KernelSymbols::learn(const std::vector<std::uint64_t>& addresses) {
    std::vector<std::uint64_t> unknown;
    std::ranges::copy_if(addresses, std::back_inserter(unknown),
                         [this](std::uint64_t address) { return !known_.contains(address); });
    std::ranges::sort(unknown);
    unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
    if (unknown.empty()) {
        return;
    }
    const std::vector<Symbol> symbols = closest(path_, unknown);
    for (std::size_t i = 0; i < unknown.size(); ++i) {
        known_[unknown[i]] = symbols[i].address == 0 ? fmt::format("{:#x}", unknown[i])
                                                     : fmt::format("{}+{:#x}", symbols[i].name,
                                                                   unknown[i] - symbols[i].address);
    }
}

std::string KernelSymbols::name(std::uint64_t address) const {
    const auto found = known_.find(address);
    return found != known_.end() ? found->second : fmt::format("{:#x}", address);
}

}  // namespace pathproof::drops
