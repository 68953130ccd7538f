#include "dataplane/load/allowance.h"

#include <bit>
#include <sstream>

#include "dataplane/base/number.h"

namespace pathproof::load {
namespace {

struct Word {
    const char* name;
    unsigned fields;
};
constexpr unsigned kRouter = Allowance::kMac | Allowance::kTtl;
// Presets, which stand for no field or for several, and the fields themselves.
constexpr Word kWords[] = {{"wire", 0},
                           {"router", kRouter},
                           {"nat", kRouter | Allowance::kSource | Allowance::kDestination |
                                       Allowance::kSourcePort | Allowance::kDestinationPort},
                           {"mac", Allowance::kMac},
                           {"vlan", Allowance::kVlan},
                           {"ttl", Allowance::kTtl},
                           {"dscp", Allowance::kDscp},
                           {"ecn", Allowance::kEcn},
                           {"flow-label", Allowance::kFlowLabel},
                           {"id", Allowance::kId},
                           {"df", Allowance::kDf},
                           {"source", Allowance::kSource},
                           {"destination", Allowance::kDestination},
                           {"source-port", Allowance::kSourcePort},
                           {"destination-port", Allowance::kDestinationPort}};

// Reads the number of hops in "ttl=3".
bool read_hops(const std::string& word, std::uint8_t& hops) {
    hops = whole_number<std::uint8_t>(word.substr(4)).value_or(0);
    return hops > 0;
}

}  // namespace

Result<Allowance> parse_allowance(const std::string& text) {
    Allowance allowance;
    std::istringstream words(text + ",");
    for (std::string word; std::getline(words, word, ',');) {
        const bool hops = word.starts_with("ttl=") && read_hops(word, allowance.hops);
        bool known = hops;
        allowance.fields |= hops ? Allowance::kTtl : 0;
        for (const Word& one : kWords) {
            known = known || word == one.name;
            allowance.fields |= static_cast<std::uint16_t>(word == one.name ? one.fields : 0);
        }
        if (!known) {
            return fail(ErrorCode::kBadInput,
                        "'{}' is none of wire, router, nat, mac, vlan, ttl, ttl=HOPS, dscp, ecn, "
                        "flow-label, id, df, source, destination, source-port, destination-port",
                        word);
        }
    }
    return allowance;
}

std::string text(const Allowance& allowance) {
    std::string words;
    for (const Word& one : kWords) {
        if (std::has_single_bit(one.fields) && allowance.has(one.fields)) {
            words += (words.empty() ? "" : ",") + std::string(one.name);
        }
    }
    return words.empty() ? "nothing" : words;
}

}  // namespace pathproof::load
