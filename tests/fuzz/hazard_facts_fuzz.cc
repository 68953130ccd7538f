// Any bytes as what iptables-save, nft, ip and bridge print, each after a line "---": what can be read
// gives rules of chains that are there, and hazards with their evidence.
#include <algorithm>
#include <string_view>
#include <vector>

#include "harness/hazards/hazards.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::hazards;
namespace fuzz = pathproof::fuzz;

namespace {

constexpr std::string_view kBetween = "---\n";

std::vector<std::string_view> parts_of(std::string_view text, std::size_t least) {
    std::vector<std::string_view> parts;
    for (std::size_t at; (at = text.find(kBetween)) != std::string_view::npos;) {
        parts.push_back(text.substr(0, at));
        text.remove_prefix(at + kBetween.size());
    }
    parts.push_back(text);
    parts.resize(std::max(parts.size(), least));
    return parts;
}

void check(const Ruleset& rules) {
    for (const Chain& chain : rules.chains) {
        for (const Rule& rule : chain.rules) {
            fuzz::require(rule.chain == chain.name && rule.table == chain.table,
                          "a rule of another chain");
            fuzz::require(rule.number != 0, "a rule without a number");
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parts = parts_of({reinterpret_cast<const char*>(data), size}, 6);
    Facts facts;
    facts.sysctls = {{"net.ipv4.tcp_timestamps", "1"}, {"net.ipv4.conf.u0.rp_filter", "1"}};
    if (auto saved = parse_iptables_save(parts[0], Origin::kIptablesNft, "ip"); saved) {
        check(*saved);
        facts.rules = std::move(*saved);
    } else {
        fuzz::require(saved.error().message.find(", line ") != std::string::npos,
                      "an error without its line");
    }
    if (auto native = parse_nft(parts[1], parts[1]); native) {
        check(*native);
        std::ranges::move(native->chains, std::back_inserter(facts.rules.chains));
    }
    if (auto devices = parse_devices(parts[2], parts[3], parts[4]); devices) {
        facts.devices = std::move(*devices);
        for (Device& device : facts.devices) {
            device.tx_checksum = true;
        }
    }
    if (auto routes = parse_routes(parts[5]); routes) {
        facts.routes = std::move(*routes);
    }
    for (const Hazard& hazard : find_hazards(facts).hazards) {
        fuzz::require(!hazard.evidence.empty() && !hazard.side_effect.empty(),
                      "a hazard without evidence, or a remedy without its side effect");
    }
    return 0;
}
