#include "harness/profile/toml_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "dataplane/base/contains.h"
#include "dataplane/base/file.h"

namespace pathproof::profile {

void TomlReader::allow_only(const toml::table& table,
                            std::initializer_list<std::string_view> allowed) {
    for (const auto& [key, node] : table) {
        if (!contains(allowed, key.str())) {
            complain(key.source(), "unknown key '{}'; allowed here: {}", key.str(),
                     fmt::join(allowed.begin(), allowed.end(), ", "));
        }
    }
}

const toml::node* TomlReader::require(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
        complain(table.source(), "'{}' is missing", key);
    }
    return node;
}

const toml::table* TomlReader::as_table(const toml::node& node, std::string_view key) {
    if (!node.is_table()) {
        complain(node.source(), "'{}' wants a table", key);
        return nullptr;
    }
    return node.as_table();
}

const toml::table& TomlReader::section(const toml::table& table, std::string_view key) {
    require(table, key);
    return optional_section(table, key);
}

const toml::table& TomlReader::optional_section(const toml::table& table, std::string_view key) {
    static const toml::table kNone;
    const toml::node* node = table.get(key);
    const toml::table* found = node == nullptr ? nullptr : as_table(*node, key);
    return found == nullptr ? kNone : *found;
}

const toml::array& TomlReader::list(const toml::table& table, std::string_view key,
                                    std::string_view of) {
    static const toml::array kNone;
    const toml::node* node = table.get(key);
    if (node != nullptr && !node->is_array()) {
        complain(node->source(), "'{}' wants a list of {}", key, of);
    }
    return node == nullptr || !node->is_array() ? kNone : *node->as_array();
}

void TomlReader::each_table(const toml::table& table, std::string_view key,
                            const std::function<void(const toml::table&)>& read) {
    for (const toml::node& item : list(table, key, fmt::format("tables: [[{}]]", key))) {
        if (const toml::table* entry = as_table(item, key); entry != nullptr) {
            read(*entry);
        }
    }
}

std::string TomlReader::text(const toml::node* node, std::string_view key) {
    if (node == nullptr) {
        return "";
    }
    if (!node->is_string() || node->as_string()->get().empty()) {
        complain(node->source(), "'{}' wants a text that is not empty", key);
        return "";
    }
    return node->as_string()->get();
}

std::string TomlReader::required_text(const toml::table& table, std::string_view key) {
    return text(require(table, key), key);
}

std::string TomlReader::optional_text(const toml::table& table, std::string_view key) {
    return text(table.get(key), key);
}

std::size_t TomlReader::word(const toml::table& table, std::string_view key,
                             const std::vector<std::string_view>& words) {
    const toml::node* node = require(table, key);
    const std::string found = text(node, key);
    const auto position = std::ranges::find(words, found);
    if (position != words.end()) {
        return static_cast<std::size_t>(position - words.begin());
    }
    if (node != nullptr) {
        complain(node->source(), "'{}' is '{}'; it may be: {}", key, found, fmt::join(words, ", "));
    }
    return 0;
}

std::vector<std::string> TomlReader::texts(const toml::table& table, std::string_view key,
                                           const CheckText& check) {
    std::vector<std::string> all;
    for (const toml::node& item : list(table, key, "texts")) {
        all.push_back(text(&item, key));
        if (check) {
            check(item, all.back());
        }
    }
    return all;
}

std::uint64_t TomlReader::checked_number(const toml::node& node, std::string_view key,
                                         std::uint64_t most) {
    const std::int64_t value = node.is_integer() ? node.as_integer()->get() : 0;
    if (value < 1 || static_cast<std::uint64_t>(value) > most) {
        complain(node.source(), "'{}' wants a whole number from 1 to {}", key, most);
        return 0;
    }
    return static_cast<std::uint64_t>(value);
}

std::optional<std::uint64_t> TomlReader::number(const toml::table& table, std::string_view key,
                                                std::uint64_t most) {
    const toml::node* node = table.get(key);
    return node == nullptr ? std::nullopt : std::optional(checked_number(*node, key, most));
}

std::vector<std::uint64_t> TomlReader::numbers(const toml::table& table, std::string_view key,
                                               std::uint64_t most) {
    std::vector<std::uint64_t> all;
    for (const toml::node& item : list(table, key, "numbers")) {
        all.push_back(checked_number(item, key, most));
    }
    return all;
}

std::vector<std::uint16_t> TomlReader::ports(const toml::table& table, std::string_view key) {
    std::vector<std::uint16_t> all;
    for (const std::uint64_t port : numbers(table, key, 65535)) {
        all.push_back(static_cast<std::uint16_t>(port));
    }
    return all;
}

std::optional<Version> TomlReader::version_of(const toml::node& node, std::string_view key) {
    const std::string found = text(&node, key);
    const auto version = parse_version(found);
    if (!version || to_text(*version) != found) {
        complain(node.source(), "'{}' is '{}', which is no version; write it as 5.7 or 5.4.41", key,
                 found);
    }
    return version;
}

std::optional<Version> TomlReader::version(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    return node == nullptr ? std::nullopt : version_of(*node, key);
}

VersionRange TomlReader::versions(const toml::table& table, std::string_view key) {
    VersionRange range;
    const toml::table& span = optional_section(table, key);
    allow_only(span, {"from", "fixed_in", "backports"});
    range.from = version(span, "from");
    range.fixed_in = version(span, "fixed_in");
    texts(span, "backports", [&](const toml::node& node, const std::string&) {
        range.backports.push_back(version_of(node, "backports").value_or(Version{}));
    });
    if (range.from && range.fixed_in && *range.from >= *range.fixed_in) {
        complain(span.source(), "'{}' ends before it begins", key);
    }
    if (!range.backports.empty() && !range.fixed_in) {
        complain(span.source(), "'{}' has backports of a fix, but no 'fixed_in'", key);
    }
    return range;
}

std::string TomlReader::date(const toml::table& table, std::string_view key) {
    const toml::node* node = require(table, key);
    if (node == nullptr) {
        return "";
    }
    if (!node->is_date()) {
        complain(node->source(), "'{}' wants a date without quotes, as 2026-11-21", key);
        return "";
    }
    std::ostringstream text;
    text << node->as_date()->get();
    return text.str();
}

Result<std::string> read_text(const std::string& path, std::string_view what) {
    auto text = read_file(path);
    if (!text) {
        return fail(ErrorCode::kNotFound, "cannot read the {} {}", what, path);
    }
    return text;
}

Result<std::vector<std::string>> toml_files(const std::string& directory, std::string_view what) {
    std::error_code wrong;
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory, wrong)) {
        if (entry.path().extension() == ".toml") {
            paths.push_back(entry.path());
        }
    }
    if (wrong) {
        return fail(ErrorCode::kNotFound,
                    "cannot list the {} in {}: {}; PATHPROOF_PROFILES names another folder", what,
                    directory, wrong.message());
    }
    std::ranges::sort(paths);
    return paths;
}

}  // namespace pathproof::profile
