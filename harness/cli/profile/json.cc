#include "harness/cli/profile/json.h"

namespace pathproof::cli::profiles {
namespace {

using namespace profile;
using nlohmann::ordered_json;

// Puts the value under the key. An empty value says nothing, and is left out.
template <typename Said>
void put(ordered_json& json, const char* key, const Said& said) {
    if (!said.empty()) {
        json[key] = said;
    }
}

void put(ordered_json& json, const char* key, const VersionRange& range) {
    if (!range.everything()) {
        json[key] = to_text(range);
    }
}

ordered_json of_claim(const OffloadExpectation& claim) {
    ordered_json json{{"expect", name(claim.expect)}, {"default", nullptr}, {"why", claim.why}};
    if (claim.on_by_default) {
        json["default"] = *claim.on_by_default ? "on" : "off";
    }
    put(json, "when", claim.when);
    put(json, "kernel", claim.kernel);
    put(json, "dpdk", claim.dpdk);
    put(json, "erratum", claim.erratum);
    put(json, "source", claim.source);
    return json;
}

ordered_json of_claims(const std::vector<OffloadExpectation>& claims) {
    ordered_json json = ordered_json::object();
    for (const OffloadExpectation& claim : claims) {
        json[claim.name] = of_claim(claim);
    }
    return json;
}

ordered_json of_limits(const std::vector<Limit>& limits) {
    ordered_json json = ordered_json::object();
    for (const Limit& limit : limits) {
        ordered_json one{{"value", limit.value}};
        put(one, "when", limit.when);
        put(one, "why", limit.why);
        put(one, "source", limit.source);
        json[name(limit.kind)] = std::move(one);
    }
    return json;
}

ordered_json of_tunnels(const std::vector<TunnelPorts>& tunnels) {
    ordered_json json = ordered_json::object();
    for (const TunnelPorts& ports : tunnels) {
        ordered_json one = ordered_json::object();
        if (ports.count) {
            one["count"] = *ports.count;
        }
        one["fixed"] = ports.fixed;
        put(one, "outer", ports.outer);
        put(one, "when", ports.when);
        put(one, "why", ports.why);
        put(one, "source", ports.source);
        json[ports.protocol] = std::move(one);
    }
    return json;
}

ordered_json of_quirk(const Quirk& quirk) {
    ordered_json json{{"what", quirk.what}};
    put(json, "kernel", quirk.kernel);
    put(json, "dpdk", quirk.dpdk);
    put(json, "erratum", quirk.erratum);
    put(json, "source", quirk.source);
    return json;
}

ordered_json of_affected(const Affected& affected) {
    ordered_json json = ordered_json::object();
    put(json, "kernel_driver", affected.kernel_driver);
    put(json, "pmd", affected.pmd);
    put(json, "hardware", affected.hardware);
    put(json, "software", affected.software);
    put(json, "firmware", affected.firmware);
    put(json, "kernel", affected.kernel);
    put(json, "dpdk", affected.dpdk);
    put(json, "only_ports", affected.only_ports);
    put(json, "except_ports", affected.except_ports);
    return json;
}

ordered_json of_source(const Source& source) {
    ordered_json json{{"reference", source.reference}};
    put(json, "url", source.url);
    json["says"] = source.says;
    json["evidence"] = name(source.evidence);
    return json;
}

template <typename List, typename Convert>
ordered_json array_of(const List& list, Convert convert) {
    ordered_json json = ordered_json::array();
    for (const auto& item : list) {
        json.push_back(convert(item));
    }
    return json;
}

ordered_json signatures_of(const Erratum& erratum) {
    return array_of(erratum.signatures, [](const Signature& one) { return to_text(one); });
}

}  // namespace

ordered_json brief(const Profile& profile) {
    return {{"id", profile.id},
            {"title", profile.title},
            {"status", name(profile.maturity)},
            {"evidence_class", profile.evidence_class},
            {"file", profile.file}};
}

ordered_json in_full(const Profile& profile) {
    ordered_json json = brief(profile);
    json["match"] = {{"kernel_driver", profile.match.kernel_driver},
                     {"pmd", profile.match.pmd},
                     {"pci", profile.match.pci}};
    if (profile.link) {
        json["link"] = {{"speeds_mbps", profile.link->mbps}, {"source", profile.link->source}};
    }
    json["limits"] = of_limits(profile.limits);
    json["dpdk_limits"] = of_limits(profile.dpdk_limits);
    json["tunnel"] = of_tunnels(profile.tunnels);
    json["quirks"] = array_of(profile.quirks, of_quirk);
    json["offload"] = {
        {"ethtool", of_claims(profile.offloads)},
        {"dpdk", {{"tx", of_claims(profile.dpdk_tx)}, {"rx", of_claims(profile.dpdk_rx)}}}};
    json["errata"] = profile.errata;
    json["sources"] = profile.sources;
    json["provenance"] = {{"source", profile.provenance.source},
                          {"date", profile.provenance.date},
                          {"reports", profile.provenance.reports}};
    return json;
}

ordered_json brief(const Erratum& erratum) {
    return {{"id", erratum.id},
            {"title", erratum.title},
            {"signatures", signatures_of(erratum)},
            {"evidence", name(erratum.evidence())},
            {"file", erratum.file}};
}

ordered_json in_full(const Erratum& erratum) {
    ordered_json json = brief(erratum);
    json["conditions"] = erratum.conditions;
    json["affected"] = array_of(erratum.affected, of_affected);
    json["seen"] = erratum.seen;
    json["counters"] = erratum.counters;
    json["workaround"] = erratum.workaround;
    json["advice"] = erratum.advice;
    json["faults"] = erratum.faults;
    json["sources"] = array_of(erratum.sources, of_source);
    return json;
}

ordered_json of_finding(const Finding& finding) {
    ordered_json json{{"feature", finding.feature},
                      {"result", name(finding.kind)},
                      {"expected", finding.expected},
                      {"found", finding.found},
                      {"why", finding.why}};
    put(json, "when", finding.when);
    put(json, "erratum", finding.erratum);
    put(json, "source", finding.source);
    return json;
}

ordered_json of_device(const LiveDevice& device) {
    ordered_json json{
        {"device", device.name},       {"kernel_driver", device.identity.kernel_driver},
        {"pmd", device.identity.pmd},  {"pci", device.identity.pci},
        {"firmware", device.firmware}, {"kernel", device.running.kernel},
        {"dpdk", device.running.dpdk}};
    json["limits"] = ordered_json::object();
    for (const auto& [kind, value] : device.limits) {
        json["limits"][name(kind)] = value;
    }
    json["features"] = ordered_json::object();
    for (const agent::Feature& feature : device.features) {
        json["features"][feature.name] = {{"active", feature.active},
                                          {"fixed", !feature.available || feature.never_changed}};
    }
    json["dpdk_tx"] = device.dpdk_tx;
    json["dpdk_rx"] = device.dpdk_rx;
    return json;
}

}  // namespace pathproof::cli::profiles
