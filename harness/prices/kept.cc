#include "harness/prices/kept.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "harness/process/json_text.h"
#include "harness/process/state_folder.h"
#include "harness/report/json.h"

namespace pathproof::prices {
namespace {

constexpr const char* kSchema = "pathproof-prices/1";
constexpr std::size_t kMostTables = 16;  // the newest

}  // namespace

std::string kept_file() {
    return process::state_folder() + "/prices.json";
}

Result<std::vector<verdict::PriceTable>> read_kept(const std::string& text) {
    const auto read = process::ordered_json_or_null(text);
    if (!read.is_object() || read.value("schema", nlohmann::ordered_json()) != kSchema ||
        !read.contains("tables") || !read["tables"].is_array()) {
        return fail(ErrorCode::kBadInput, "it holds no tables of prices ({})", kSchema);
    }
    std::vector<verdict::PriceTable> tables;
    for (const auto& table : read["tables"]) {
        tables.push_back(TRY(report::price_table(table)));
    }
    return tables;
}

std::string kept_text(const std::vector<verdict::PriceTable>& tables) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const verdict::PriceTable& table : tables) {
        all.push_back(report::to_json(table));
    }
    const nlohmann::ordered_json document = {{"schema", kSchema}, {"tables", std::move(all)}};
    return process::to_text(document, 1) + "\n";
}

namespace {

// Reads the tables in a file; a file that is not there has none.
Result<std::vector<verdict::PriceTable>> read_file_of(const std::string& file) {
    const auto text = read_file(file);
    if (!text) {
        return text.error().code == ErrorCode::kNotFound
                   ? Result<std::vector<verdict::PriceTable>>(std::vector<verdict::PriceTable>{})
                   : pass_on(text.error());
    }
    auto tables = read_kept(*text);
    return tables ? std::move(tables)
                  : fail(ErrorCode::kBadInput,
                         "{} cannot be used: {}; remove it, and 'pathproof qualify --prices' makes "
                         "it anew",
                         file, tables.error().message);
}

}  // namespace

Result<std::optional<verdict::PriceTable>> find_kept(const std::string& file,
                                                     const verdict::PriceKey& key) {
    auto tables = TRY(read_file_of(file));
    const auto found = std::ranges::find(tables, key, &verdict::PriceTable::key);
    return found == tables.end() ? std::optional<verdict::PriceTable>()
                                 : std::optional<verdict::PriceTable>(std::move(*found));
}

Status keep(const std::string& file, const verdict::PriceTable& table) {
    auto tables = TRY(read_file_of(file));
    std::erase_if(tables, [&](const auto& each) { return each.key == table.key; });
    tables.insert(tables.begin(), table);
    tables.resize(std::min(tables.size(), kMostTables));
    const std::string folder = std::filesystem::path(file).parent_path();
    TRY(doing(make_folders(folder, ErrorCode::kFailed), "make the folder {}", folder));
    return replace_file(file, kept_text(tables));
}

}  // namespace pathproof::prices
