// Entries of the catalogue from TOML.
#include "dataplane/softnic/faults.h"
#include "harness/profile/errata.h"
#include "harness/profile/toml_reader.h"

namespace pathproof::profile {
namespace {

constexpr const char* kErratumSchema = "erratum/1";

Affected read_affected(TomlReader& reader, const toml::table& table) {
    reader.allow_only(table, {"kernel_driver", "pmd", "hardware", "software", "firmware", "kernel",
                              "dpdk", "only_ports", "except_ports"});
    Affected affected{.kernel_driver = reader.texts(table, "kernel_driver"),
                      .pmd = reader.texts(table, "pmd"),
                      .hardware = reader.optional_text(table, "hardware"),
                      .software = reader.optional_text(table, "software"),
                      .firmware = reader.optional_text(table, "firmware"),
                      .kernel = reader.versions(table, "kernel"),
                      .dpdk = reader.versions(table, "dpdk"),
                      .only_ports = reader.ports(table, "only_ports"),
                      .except_ports = reader.ports(table, "except_ports")};
    if (affected.kernel_driver.empty() && affected.pmd.empty() && affected.software.empty()) {
        reader.complain(table.source(),
                        "[[affected]] names nobody: give kernel_driver, pmd or software");
    }
    return affected;
}

Source read_source(TomlReader& reader, const toml::table& table) {
    reader.allow_only(table, {"reference", "url", "says", "evidence"});
    Source source{.reference = reader.required_text(table, "reference"),
                  .url = reader.optional_text(table, "url"),
                  .says = reader.required_text(table, "says")};
    source.evidence = reader.one_of(table, "evidence",
                                    {Evidence::kSource, Evidence::kThread, Evidence::kChangelog});
    if (!source.url.empty() && !source.url.starts_with("https://")) {
        reader.complain(table.get("url")->source(),
                        "'url' wants an address that begins with https://");
    }
    return source;
}

std::vector<Signature> read_signatures(TomlReader& reader, const toml::table& root) {
    std::vector<Signature> all;
    reader.texts(root, "signatures", [&](const toml::node& node, const std::string& text) {
        const auto signature = parse_signature(text);
        if (!signature) {
            reader.complain(node.source(), "{}", signature.error().message);
            return;
        }
        all.push_back(*signature);
    });
    if (all.empty()) {
        reader.complain(root.source(), "'signatures' is missing: what does it look like?");
    }
    return all;
}

// Texts that `read` finds nothing wrong with.
template <typename Read>
std::vector<std::string> sound_texts(TomlReader& reader, const toml::table& root, const char* key,
                                     Read read) {
    return reader.texts(root, key, [&](const toml::node& node, const std::string& text) {
        if (const auto sound = read(text); !sound) {
            reader.complain(node.source(), "{}", sound.error().message);
        }
    });
}

Erratum read_erratum(TomlReader& reader, const toml::table& root, const std::string& file) {
    reader.allow_only(root, {"schema", "id", "title", "signatures", "conditions", "seen",
                             "counters", "workaround", "advice", "faults", "affected", "source"});
    reader.word(root, "schema", {kErratumSchema});
    Erratum erratum{.id = reader.required_text(root, "id"),
                    .title = reader.required_text(root, "title"),
                    .file = file,
                    .signatures = read_signatures(reader, root),
                    .conditions = sound_texts(reader, root, "conditions", check_condition),
                    .seen = reader.required_text(root, "seen"),
                    .counters = reader.texts(root, "counters"),
                    .workaround = reader.texts(root, "workaround"),
                    .advice = reader.optional_text(root, "advice"),
                    .faults = sound_texts(reader, root, "faults", softnic::parse_fault)};
    reader.each_table(root, "affected", [&](const toml::table& table) {
        erratum.affected.push_back(read_affected(reader, table));
    });
    reader.each_table(root, "source", [&](const toml::table& table) {
        erratum.sources.push_back(read_source(reader, table));
    });
    if (erratum.affected.empty()) {
        reader.complain(root.source(), "[[affected]] is missing: who has it?");
    }
    if (erratum.sources.empty()) {
        reader.complain(root.source(),
                        "[[source]] is missing: an entry without evidence is left out");
    }
    return erratum;
}

}  // namespace

Result<Erratum> parse_erratum(const std::string& text, const std::string& file) {
    return parse_toml<Erratum>(text, file, [&](TomlReader& reader, const toml::table& root) {
        return read_erratum(reader, root, file);
    });
}

}  // namespace pathproof::profile
