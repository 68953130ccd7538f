// The only file that knows the TOML library, and the only place where its exceptions are caught.
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "harness/profile/profile.h"

namespace pathproof::profile {
namespace {

constexpr const char* kSchema = "nicprofile/1";

// Reads values and remembers the first thing that is wrong; what is read after that has no meaning.
class Reader {
  public:
    explicit Reader(const std::string& file) : file_(file) {}

    const Status& status() const { return status_; }

    template <typename... Args>
    void complain(const toml::source_region& where, fmt::format_string<Args...> text,
                  Args&&... args) {
        if (status_) {
            status_ = fail(ErrorCode::kBadInput, "{}:{}:{}: {}", file_, where.begin.line,
                           where.begin.column, fmt::format(text, std::forward<Args>(args)...));
        }
    }

    void allow_only(const toml::table& table, std::initializer_list<std::string_view> allowed) {
        for (const auto& [key, node] : table) {
            if (std::find(allowed.begin(), allowed.end(), key.str()) == allowed.end()) {
                complain(key.source(), "unknown key '{}'; allowed here: {}", key.str(),
                         fmt::join(allowed, ", "));
            }
        }
    }

    const toml::node* require(const toml::table& table, std::string_view key) {
        const toml::node* node = table.get(key);
        if (node == nullptr) {
            complain(table.source(), "'{}' is missing", key);
        }
        return node;
    }

    std::string text(const toml::node* node, std::string_view key) {
        if (node == nullptr) {
            return "";
        }
        if (!node->is_string() || node->as_string()->get().empty()) {
            complain(node->source(), "'{}' wants a text that is not empty", key);
            return "";
        }
        return node->as_string()->get();
    }

    std::string required_text(const toml::table& table, std::string_view key) {
        return text(require(table, key), key);
    }

    // One of a few words; its position among them.
    std::size_t word(const toml::table& table, std::string_view key,
                     std::initializer_list<std::string_view> words) {
        const toml::node* node = require(table, key);
        const std::string found = text(node, key);
        const auto* position = std::find(words.begin(), words.end(), found);
        if (position != words.end()) {
            return static_cast<std::size_t>(position - words.begin());
        }
        if (node != nullptr) {
            complain(node->source(), "'{}' is '{}'; it may be: {}", key, found,
                     fmt::join(words, ", "));
        }
        return 0;
    }

    std::vector<std::string> texts(const toml::table& table, std::string_view key) {
        const toml::node* node = table.get(key);
        if (node == nullptr) {
            return {};
        }
        if (!node->is_array()) {
            complain(node->source(), "'{}' wants a list of texts", key);
            return {};
        }
        std::vector<std::string> all;
        for (const toml::node& item : *node->as_array()) {
            all.push_back(text(&item, key));
        }
        return all;
    }

    const toml::table& section(const toml::table& table, std::string_view key) {
        static const toml::table kNone;
        const toml::node* node = require(table, key);
        if (node != nullptr && !node->is_table()) {
            complain(node->source(), "'{}' wants a table", key);
            return kNone;
        }
        return node == nullptr ? kNone : *node->as_table();
    }

  private:
    const std::string& file_;
    Status status_;
};

bool is_pci_id(const std::string& text) {
    const auto hexadecimal = [&](std::size_t from) {
        return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from),
                           text.begin() + static_cast<std::ptrdiff_t>(from) + 4, [](char digit) {
                               return (digit >= '0' && digit <= '9') ||
                                      (digit >= 'a' && digit <= 'f');
                           });
    };
    return text.size() == 9 && text[4] == ':' && hexadecimal(0) && hexadecimal(5);
}

Match read_match(Reader& reader, const toml::table& table) {
    reader.allow_only(table, {"kernel_driver", "pmd", "pci"});
    Match match{reader.texts(table, "kernel_driver"), reader.texts(table, "pmd"),
                reader.texts(table, "pci")};
    if (match.kernel_driver.empty() && match.pmd.empty() && match.pci.empty()) {
        reader.complain(table.source(), "[match] names no device: give kernel_driver, pmd or pci");
    }
    for (const std::string& id : match.pci) {
        if (!is_pci_id(id)) {
            reader.complain(
                table.get("pci")->source(),
                "'{}' is no PCI id; write vendor:device in small hexadecimal digits, as "
                "8086:1592",
                id);
        }
    }
    return match;
}

std::optional<bool> read_default(Reader& reader, const toml::table& table) {
    if (!table.contains("default")) {
        return std::nullopt;
    }
    return reader.word(table, "default", {"off", "on"}) == 1;
}

OffloadExpectation read_offload(Reader& reader, const toml::key& key, const toml::node& node) {
    OffloadExpectation expectation{.name = std::string(key.str())};
    if (!is_feature_name(expectation.name)) {
        reader.complain(key.source(),
                        "'{}' is no feature that Linux has; write single names as 'ethtool -k' and "
                        "'pathproof offload show' print them",
                        key.str());
        return expectation;
    }
    if (!node.is_table()) {
        reader.complain(node.source(), "'{}' wants a table: {{ expect = \"required\" }}",
                        key.str());
        return expectation;
    }
    const toml::table& table = *node.as_table();
    reader.allow_only(table, {"expect", "default", "why"});
    constexpr Expectation kWords[] = {Expectation::kRequired, Expectation::kOptional,
                                      Expectation::kAbsent};
    expectation.expect = kWords[reader.word(table, "expect", {"required", "optional", "absent"})];
    expectation.on_by_default = read_default(reader, table);
    expectation.why = reader.text(table.get("why"), "why");
    if (expectation.expect == Expectation::kAbsent && expectation.on_by_default) {
        reader.complain(table.get("default")->source(), "a feature that is absent has no default");
    }
    return expectation;
}

std::vector<OffloadExpectation> read_offloads(Reader& reader, const toml::table& offload) {
    reader.allow_only(offload, {"ethtool"});
    std::vector<OffloadExpectation> all;
    for (const auto& [key, node] : reader.section(offload, "ethtool")) {
        all.push_back(read_offload(reader, key, node));
    }
    return all;
}

std::string read_date(Reader& reader, const toml::table& table) {
    const toml::node* node = reader.require(table, "date");
    if (node == nullptr) {
        return "";
    }
    if (!node->is_date()) {
        reader.complain(node->source(), "'date' wants a date without quotes, as 2026-11-21");
        return "";
    }
    std::ostringstream text;
    text << node->as_date()->get();
    return text.str();
}

Provenance read_provenance(Reader& reader, const toml::table& table) {
    reader.allow_only(table, {"source", "date", "reports"});
    return {reader.required_text(table, "source"), read_date(reader, table),
            reader.texts(table, "reports")};
}

Result<Profile> read_profile(const toml::table& root, const std::string& file) {
    Reader reader(file);
    reader.allow_only(root, {"schema", "id", "title", "status", "evidence_class", "match",
                             "offload", "provenance"});
    reader.word(root, "schema", {kSchema});
    Profile profile;
    profile.file = file;
    profile.id = reader.required_text(root, "id");
    profile.title = reader.required_text(root, "title");
    profile.maturity = reader.word(root, "status", {"draft", "verified"}) == 1 ? Maturity::kVerified
                                                                               : Maturity::kDraft;
    constexpr const char* kClasses[] = {"physical", "virtual", "simulated"};
    profile.evidence_class =
        kClasses[reader.word(root, "evidence_class", {"physical", "virtual", "simulated"})];
    profile.match = read_match(reader, reader.section(root, "match"));
    profile.offloads = read_offloads(reader, reader.section(root, "offload"));
    profile.provenance = read_provenance(reader, reader.section(root, "provenance"));
    if (!reader.status()) {
        return pass_on(reader.status().error());
    }
    return profile;
}

}  // namespace

const char* name(Maturity maturity) {
    switch (maturity) {
        case Maturity::kDraft:
            return "draft";
        case Maturity::kVerified:
            return "verified";
    }
    return "draft";
}

const char* name(Expectation expectation) {
    switch (expectation) {
        case Expectation::kRequired:
            return "required";
        case Expectation::kOptional:
            return "optional";
        case Expectation::kAbsent:
            return "absent";
    }
    return "optional";
}

Result<Profile> parse_profile(const std::string& text, const std::string& file) {
    try {
        return read_profile(toml::parse(text), file);
    } catch (const toml::parse_error& wrong) {
        return fail(ErrorCode::kBadInput, "{}:{}:{}: {}", file, wrong.source().begin.line,
                    wrong.source().begin.column, wrong.description());
    }
}

Result<Profile> load_profile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) {
        return fail(ErrorCode::kNotFound, "cannot read the profile {}", path);
    }
    return parse_profile(text.str(), path);
}

}  // namespace pathproof::profile
