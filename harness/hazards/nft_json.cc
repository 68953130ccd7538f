// Rules and tables, read from what nft prints.
#include <map>

#include "dataplane/base/number.h"
#include "harness/hazards/nft_reader.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::hazards {
namespace {

using nft::json;
using process::part;
using process::text_of;

Result<json> objects_of(std::string_view text, const char* command) {
    const json whole =
        process::parse_foreign(process::valid_utf8(std::string(text)));  // comments need not be
    if (!part(whole, "nftables").is_array()) {
        return fail(ErrorCode::kBadInput, "`nft -j {}` printed no JSON of nftables", command);
    }
    return part(whole, "nftables");
}

}  // namespace

void take_handles(std::string_view texts, const std::string& family, const std::string& table,
                  Ruleset& rules) {
    std::map<std::string, std::vector<std::uint64_t>> handles;
    std::string chain;
    for (std::string& line : process::lines_of(texts)) {
        line.erase(0, line.find_first_not_of(" \t"));
        const std::size_t mark = line.rfind(" # handle ");
        if (line.starts_with("chain ") && line.find(" {") != std::string::npos) {
            chain = line.substr(6, line.find(" {") - 6);
        } else if (mark != std::string::npos && !line.starts_with("table ")) {
            const auto handle = whole_number<std::uint64_t>(line.substr(mark + 10));
            handles[chain].push_back(handle.value_or(0));
        }
    }
    for (Chain& each : rules.chains) {
        const auto found = handles.find(each.name);
        if (each.origin != Origin::kIptablesNft || each.family != family || each.table != table ||
            found == handles.end() || found->second.size() != each.rules.size()) {
            continue;
        }
        for (std::size_t i = 0; i < each.rules.size(); ++i) {
            each.rules[i].handle = found->second[i];
        }
    }
}

Result<std::string> table_of_ruleset(std::string_view text, const Table& table) {
    const json objects = TRY(objects_of(text, "list ruleset"));
    json kept = json::array();
    for (const json& object : objects) {
        for (const auto& [kind, content] : object.items()) {
            const char* const key = kind == "table" ? "name" : "table";
            if (text_of(part(content, "family")) == table.family &&
                text_of(part(content, key)) == table.name) {
                kept.push_back(object);
            }
        }
    }
    return process::to_text(json{{"nftables", std::move(kept)}});
}

Result<Ruleset> parse_nft(std::string_view text, std::string_view texts) {
    const json objects = TRY(objects_of(text, "list table"));
    nft::NftReader reader(texts);
    for (const json& object : objects) {
        reader.take(object);
    }
    return reader.finish();
}

}  // namespace pathproof::hazards
