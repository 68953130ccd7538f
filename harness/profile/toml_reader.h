// Reading a TOML table with errors that name file, line and column and say what is allowed. Only
// the files that read profiles and errata include this.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/profile/acceptance.h"
#include "harness/profile/version_range.h"

namespace pathproof::profile {

// Reads values and remembers the first thing that is wrong; what is read after that has no meaning.
class TomlReader {
  public:
    explicit TomlReader(const std::string& file) : file_(file) {}

    const Status& status() const { return status_; }

    template <typename... Args>
    void complain(const toml::source_region& where, fmt::format_string<Args...> text,
                  Args&&... args) {
        if (status_) {
            status_ = fail(ErrorCode::kBadInput, "{}:{}:{}: {}", file_, where.begin.line,
                           where.begin.column, fmt::format(text, std::forward<Args>(args)...));
        }
    }

    void allow_only(const toml::table& table, std::initializer_list<std::string_view> allowed);

    // The value, or a complaint and null.
    const toml::node* require(const toml::table& table, std::string_view key);
    // A table that must be there; an empty one after a complaint.
    const toml::table& section(const toml::table& table, std::string_view key);
    // A table that may be missing; an empty one if it is, or after a complaint.
    const toml::table& optional_section(const toml::table& table, std::string_view key);
    const toml::table* as_table(const toml::node& node, std::string_view key);
    // Calls `read` for each table of a list [[key]], which may be missing.
    void each_table(const toml::table& table, std::string_view key,
                    const std::function<void(const toml::table&)>& read);

    // Reads a text that is not empty; "" after a complaint or if `node` is null.
    std::string text(const toml::node* node, std::string_view key);
    std::string required_text(const toml::table& table, std::string_view key);
    std::string optional_text(const toml::table& table, std::string_view key);
    // Reads one of the given words; returns its position among them.
    std::size_t word(const toml::table& table, std::string_view key,
                     const std::vector<std::string_view>& words);
    // Reads one of the given values, by its name().
    template <typename Enum>
    Enum one_of(const toml::table& table, std::string_view key, std::initializer_list<Enum> all) {
        std::vector<std::string_view> names;
        for (const Enum one : all) {
            names.emplace_back(name(one));
        }
        return all.begin()[word(table, key, names)];
    }
    // A list of texts, each given to `check` with its place; a missing list is empty.
    using CheckText = std::function<void(const toml::node& node, const std::string& text)>;
    std::vector<std::string> texts(const toml::table& table, std::string_view key,
                                   const CheckText& check = {});
    // A whole number from 1 to `most`.
    std::optional<std::uint64_t> number(const toml::table& table, std::string_view key,
                                        std::uint64_t most);
    std::vector<std::uint64_t> numbers(const toml::table& table, std::string_view key,
                                       std::uint64_t most);
    std::vector<std::uint16_t> ports(const toml::table& table, std::string_view key);
    // { from = "5.1", fixed_in = "5.7", backports = ["5.4.41"] }; missing: all versions.
    VersionRange versions(const toml::table& table, std::string_view key);
    std::string date(const toml::table& table, std::string_view key);
    // A finite number, with or without a fraction.
    std::optional<double> real(const toml::table& table, std::string_view key);
    // The tables [[key]]: see acceptance.h.
    std::vector<AcceptanceLimit> acceptance(const toml::table& table, std::string_view key);
    // "5.7"; nothing where the key is missing.
    std::optional<Version> version(const toml::table& table, std::string_view key);

  private:
    // A list, which may be missing; an empty one after a complaint.
    const toml::array& list(const toml::table& table, std::string_view key, std::string_view of);
    std::optional<Version> version_of(const toml::node& node, std::string_view key);
    std::uint64_t checked_number(const toml::node& node, std::string_view key, std::uint64_t most);

    const std::string& file_;
    Status status_;
};

// Parses the text and gives its root table to `read`; a syntax error is told as TomlReader does.
template <typename T>
Result<T> parse_toml(const std::string& text, const std::string& file,
                     const std::function<T(TomlReader&, const toml::table&)>& read) {
    try {
        const toml::table root = toml::parse(text);
        TomlReader reader(file);
        T value = read(reader, root);
        if (!reader.status()) {
            return pass_on(reader.status().error());
        }
        return value;
    } catch (const toml::parse_error& wrong) {
        return fail(ErrorCode::kBadInput, "{}:{}:{}: {}", file, wrong.source().begin.line,
                    wrong.source().begin.column, wrong.description());
    }
}

// The whole text of a file; kNotFound calls it `what`.
Result<std::string> read_text(const std::string& path, std::string_view what);
// The .toml files of a folder, sorted; kNotFound when it cannot be listed.
Result<std::vector<std::string>> toml_files(const std::string& directory, std::string_view what);

}  // namespace pathproof::profile
