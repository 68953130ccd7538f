// Profiles from TOML.
#include <algorithm>

#include "dataplane/base/join_each.h"
#include "harness/profile/profile.h"
#include "harness/profile/toml_reader.h"

namespace pathproof::profile {
namespace {

constexpr const char* kProfileSchema = "nicprofile/1";
constexpr std::uint64_t kMaxSpeedMbps = 10'000'000;
constexpr std::uint64_t kMaxLimit = 1ULL << 32;

bool is_pci_id(const std::string& text) {
    constexpr const char* kDigits = "0123456789abcdef";
    return text.size() == 9 && text[4] == ':' && text.find_first_not_of(kDigits) == 4 &&
           text.find_first_not_of(kDigits, 5) == std::string::npos;
}

// Reads a profile's tables; knows the sources that claims may name.
class ProfileReader {
  public:
    ProfileReader(TomlReader& reader, const toml::table& root) : reader_(reader), root_(root) {}

    Profile read(const std::string& file);

  private:
    using IsName = bool (*)(const std::string&);

    void read_sources();
    std::string source(const toml::table& claim);
    Match read_match(const toml::table& table);
    OffloadExpectation read_offload(const toml::key& key, const toml::node& node, IsName is_name);
    std::vector<OffloadExpectation> read_offloads(const toml::table& table, IsName is_name);
    void read_all_offloads();
    void read_link();
    std::vector<Limit> read_limits(const toml::table& table);
    void read_tunnels();
    void read_quirks();
    void read_provenance();

    TomlReader& reader_;
    const toml::table& root_;
    Profile profile_;
};

void ProfileReader::read_sources() {
    const toml::table& table = reader_.section(root_, "sources");
    for (const auto& [key, node] : table) {
        profile_.sources.emplace(key.str(), reader_.text(&node, key.str()));
    }
}

std::string ProfileReader::source(const toml::table& claim) {
    const std::string key = reader_.required_text(claim, "source");
    if (!key.empty() && !profile_.sources.contains(key)) {
        reader_.complain(
            claim.get("source")->source(), "source '{}' is not in [sources]; there are: {}", key,
            join_each(profile_.sources, &std::map<std::string, std::string>::value_type::first));
    }
    return key;
}

Match ProfileReader::read_match(const toml::table& table) {
    reader_.allow_only(table, {"kernel_driver", "pmd", "pci", "source"});
    Match match{reader_.texts(table, "kernel_driver"), reader_.texts(table, "pmd"), {}, {}};
    match.pci = reader_.texts(table, "pci", [&](const toml::node& node, const std::string& id) {
        if (!is_pci_id(id)) {
            reader_.complain(node.source(),
                             "'{}' is no PCI id; write vendor:device in small hexadecimal digits, "
                             "as 8086:1592",
                             id);
        }
    });
    if (match.kernel_driver.empty() && match.pmd.empty() && match.pci.empty()) {
        reader_.complain(table.source(), "[match] names no device: give kernel_driver, pmd or pci");
    }
    if (!match.pci.empty()) {
        match.source = source(table);
    }
    return match;
}

OffloadExpectation ProfileReader::read_offload(const toml::key& key, const toml::node& node,
                                               IsName is_name) {
    OffloadExpectation claim{.name = std::string(key.str())};
    if (!is_name(claim.name)) {
        reader_.complain(key.source(), "'{}' is {}", key.str(),
                         is_name == is_feature_name
                             ? "no feature that Linux has; write single names as 'ethtool -k' and "
                               "'pathproof offload show' print them"
                             : "no offload that DPDK has; write names as "
                               "rte_eth_dev_tx_offload_name() and its Rx twin give them");
        return claim;
    }
    if (!node.is_table()) {
        reader_.complain(node.source(), "'{}' wants a table: {{ expect = \"required\" }}",
                         key.str());
        return claim;
    }
    const toml::table& table = *node.as_table();
    reader_.allow_only(table,
                       {"expect", "default", "why", "when", "kernel", "dpdk", "erratum", "source"});
    claim.expect = reader_.one_of(table, "expect",
                                  {Expectation::kRequired, Expectation::kOptional,
                                   Expectation::kAbsent, Expectation::kBroken});
    if (table.contains("default")) {
        claim.on_by_default = reader_.word(table, "default", {"off", "on"}) == 1;
    }
    claim.why = reader_.optional_text(table, "why");
    claim.when = reader_.optional_text(table, "when");
    claim.kernel = reader_.versions(table, "kernel");
    claim.dpdk = reader_.versions(table, "dpdk");
    claim.erratum = reader_.optional_text(table, "erratum");
    claim.source = source(table);
    if (claim.expect == Expectation::kAbsent && claim.on_by_default) {
        reader_.complain(table.get("default")->source(), "a feature that is absent has no default");
    }
    if (claim.expect == Expectation::kBroken && claim.why.empty() && claim.erratum.empty()) {
        reader_.complain(table.source(), "a feature that is broken says how: 'why' or 'erratum'");
    }
    return claim;
}

std::vector<OffloadExpectation> ProfileReader::read_offloads(const toml::table& table,
                                                             IsName is_name) {
    std::vector<OffloadExpectation> all;
    for (const auto& [key, node] : table) {
        all.push_back(read_offload(key, node, is_name));
    }
    return all;
}

// The version that was read for the claims: before it they are not made.
void hold_since(std::vector<OffloadExpectation>& claims, const std::optional<Version>& from,
                VersionRange OffloadExpectation::*range) {
    for (OffloadExpectation& claim : claims) {
        if ((claim.*range).everything()) {
            (claim.*range).from = from;
        }
    }
}

void ProfileReader::read_all_offloads() {
    const toml::table& offload = reader_.section(root_, "offload");
    reader_.allow_only(offload, {"ethtool", "dpdk", "kernel_from", "dpdk_from"});
    profile_.offloads =
        read_offloads(reader_.optional_section(offload, "ethtool"), is_feature_name);
    hold_since(profile_.offloads, reader_.version(offload, "kernel_from"),
               &OffloadExpectation::kernel);
    const toml::table& dpdk = reader_.optional_section(offload, "dpdk");
    reader_.allow_only(dpdk, {"tx", "rx"});
    profile_.dpdk_tx = read_offloads(reader_.optional_section(dpdk, "tx"), is_dpdk_tx_offload);
    profile_.dpdk_rx = read_offloads(reader_.optional_section(dpdk, "rx"), is_dpdk_rx_offload);
    const auto dpdk_from = reader_.version(offload, "dpdk_from");
    hold_since(profile_.dpdk_tx, dpdk_from, &OffloadExpectation::dpdk);
    hold_since(profile_.dpdk_rx, dpdk_from, &OffloadExpectation::dpdk);
    if (!offload.contains("ethtool") && !offload.contains("dpdk")) {
        reader_.complain(offload.source(), "[offload] expects nothing: give ethtool or dpdk");
    }
}

void ProfileReader::read_link() {
    if (!root_.contains("link")) {
        return;
    }
    const toml::table& table = reader_.section(root_, "link");
    reader_.allow_only(table, {"speeds_mbps", "why", "source"});
    profile_.link = LinkSpeeds{.mbps = reader_.numbers(table, "speeds_mbps", kMaxSpeedMbps),
                               .why = reader_.optional_text(table, "why"),
                               .source = source(table)};
    if (profile_.link->mbps.empty()) {
        reader_.complain(table.source(), "'speeds_mbps' is missing");
    }
}

std::vector<Limit> ProfileReader::read_limits(const toml::table& table) {
    std::vector<Limit> limits;
    reader_.allow_only(table,
                       {"max_mtu", "rx_queues", "tx_queues", "tso_max_bytes", "tso_max_segments"});
    for (const LimitKind kind : {LimitKind::kMaxMtu, LimitKind::kRxQueues, LimitKind::kTxQueues,
                                 LimitKind::kTsoMaxBytes, LimitKind::kTsoMaxSegments}) {
        if (!table.contains(name(kind))) {
            continue;
        }
        const toml::table& claim = reader_.section(table, name(kind));
        reader_.allow_only(claim, {"value", "when", "why", "source"});
        reader_.require(claim, "value");
        limits.push_back({.kind = kind,
                          .value = reader_.number(claim, "value", kMaxLimit).value_or(0),
                          .when = reader_.optional_text(claim, "when"),
                          .why = reader_.optional_text(claim, "why"),
                          .source = source(claim)});
    }
    return limits;
}

void ProfileReader::read_tunnels() {
    const toml::table& table = reader_.optional_section(root_, "tunnel");
    reader_.allow_only(table, {"vxlan", "geneve"});
    for (const auto& [key, node] : table) {
        const toml::table* claim = reader_.as_table(node, key.str());
        if (claim == nullptr) {
            continue;
        }
        reader_.allow_only(*claim, {"count", "fixed", "outer", "when", "why", "source"});
        TunnelPorts ports{.protocol = std::string(key.str()),
                          .count = reader_.number(*claim, "count", 65535),
                          .fixed = reader_.ports(*claim, "fixed"),
                          .outer = reader_.optional_text(*claim, "outer"),
                          .when = reader_.optional_text(*claim, "when"),
                          .why = reader_.optional_text(*claim, "why"),
                          .source = source(*claim)};
        if (claim->contains("outer")) {
            reader_.word(*claim, "outer", {"ipv4", "ipv6"});
        }
        if (!ports.count && ports.fixed.empty()) {
            reader_.complain(claim->source(), "'{}' says nothing of ports: give count or fixed",
                             key.str());
        }
        profile_.tunnels.push_back(std::move(ports));
    }
}

void ProfileReader::read_quirks() {
    reader_.each_table(root_, "quirk", [&](const toml::table& table) {
        reader_.allow_only(table, {"what", "kernel", "dpdk", "erratum", "source"});
        profile_.quirks.push_back({.what = reader_.required_text(table, "what"),
                                   .kernel = reader_.versions(table, "kernel"),
                                   .dpdk = reader_.versions(table, "dpdk"),
                                   .erratum = reader_.optional_text(table, "erratum"),
                                   .source = source(table)});
    });
}

void ProfileReader::read_provenance() {
    const toml::table& table = reader_.section(root_, "provenance");
    reader_.allow_only(table, {"source", "date", "reports"});
    profile_.provenance = {reader_.required_text(table, "source"), reader_.date(table, "date"),
                           reader_.texts(table, "reports")};
}

Profile ProfileReader::read(const std::string& file) {
    reader_.allow_only(root_, {"schema", "id", "title", "status", "evidence_class", "errata",
                               "match", "acceptance", "sources", "link", "limits", "dpdk_limits",
                               "tunnel", "quirk", "offload", "provenance"});
    reader_.word(root_, "schema", {kProfileSchema});
    profile_.file = file;
    profile_.id = reader_.required_text(root_, "id");
    profile_.title = reader_.required_text(root_, "title");
    profile_.maturity = reader_.one_of(root_, "status", {Maturity::kDraft, Maturity::kVerified});
    const std::vector<std::string_view> classes = {"physical", "virtual", "simulated"};
    profile_.evidence_class = classes[reader_.word(root_, "evidence_class", classes)];
    profile_.errata = reader_.texts(root_, "errata");
    profile_.acceptance = reader_.acceptance(root_, "acceptance");
    read_sources();
    profile_.match = read_match(reader_.section(root_, "match"));
    read_link();
    profile_.limits = read_limits(reader_.optional_section(root_, "limits"));
    profile_.dpdk_limits = read_limits(reader_.optional_section(root_, "dpdk_limits"));
    read_tunnels();
    read_quirks();
    read_all_offloads();
    read_provenance();
    return std::move(profile_);
}

}  // namespace

const char* name(Maturity maturity) {
    switch (maturity) {
        case Maturity::kDraft: return "draft";
        case Maturity::kVerified: return "verified";
    }
    return "draft";
}

const char* name(Expectation expectation) {
    switch (expectation) {
        case Expectation::kRequired: return "required";
        case Expectation::kOptional: return "optional";
        case Expectation::kAbsent: return "absent";
        case Expectation::kBroken: return "broken";
    }
    return "optional";
}

const char* name(LimitKind kind) {
    switch (kind) {
        case LimitKind::kMaxMtu: return "max_mtu";
        case LimitKind::kRxQueues: return "rx_queues";
        case LimitKind::kTxQueues: return "tx_queues";
        case LimitKind::kTsoMaxBytes: return "tso_max_bytes";
        case LimitKind::kTsoMaxSegments: return "tso_max_segments";
    }
    return "max_mtu";
}

const OffloadExpectation* claim_on(const std::vector<OffloadExpectation>& claims,
                                   const std::string& name) {
    const auto found = std::ranges::find(claims, name, &OffloadExpectation::name);
    return found == claims.end() ? nullptr : &*found;
}

std::string expected(const std::vector<OffloadExpectation>& claims, const std::string& name) {
    const OffloadExpectation* claim = claim_on(claims, name);
    return claim == nullptr ? "" : profile::name(claim->expect);
}

Result<Profile> parse_profile(const std::string& text, const std::string& file) {
    return parse_toml<Profile>(text, file, [&](TomlReader& reader, const toml::table& root) {
        return ProfileReader(reader, root).read(file);
    });
}

Result<Profile> load_profile(const std::string& path) {
    const auto text = TRY(read_text(path, "profile"));
    return parse_profile(text, path);
}

}  // namespace pathproof::profile
