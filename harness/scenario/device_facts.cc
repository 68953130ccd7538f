#include "harness/scenario/device_facts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "harness/agent/device_info.h"
#include "harness/fingerprint/nic.h"
#include "harness/profile/compare.h"

namespace pathproof::scenario {
namespace {

using verdict::Fact;

Fact read_fact(const std::string& name, const std::string& value, const std::string& source) {
    return {.name = name,
            .value = value,
            .status = value.empty() ? Fact::Status::kAbsent : Fact::Status::kRead,
            .source = source};
}

}  // namespace

Result<verdict::FactGroup> device_facts(agent::Client& agent, const std::string& device,
                                        const std::string& title) {
    const auto info = TRY(agent.device(device));
    const auto features = TRY(agent.features(device));
    const auto pci = info.pci.value_or(agent::PciIds{});
    const std::string pci_ids = fmt::format("{}:{}, subsystem {}:{}", pci.vendor, pci.device,
                                            pci.subsystem_vendor, pci.subsystem_device);
    verdict::FactGroup group{.title = title};
    group.facts = {
        read_fact("driver", info.driver, "ETHTOOL_GDRVINFO"),
        read_fact("driver version", info.driver_version, "ETHTOOL_GDRVINFO"),
        read_fact("firmware", info.firmware, "ETHTOOL_GDRVINFO"),
        read_fact("bus", info.bus, "ETHTOOL_GDRVINFO"),
        read_fact("driver srcversion", info.srcversion, "/sys/module/DRIVER/srcversion"),
        read_fact("PCI ids", info.pci ? pci_ids : "", "sysfs"),
        read_fact("PCIe link",
                  info.pcie ? fmt::format("{}; the device can {}, its slot {}",
                                          to_string(info.pcie->linked),
                                          to_string(info.pcie->device), to_string(info.pcie->slot))
                            : "",
                  "sysfs"),
        read_fact("NUMA node", info.numa_node < 0 ? "" : std::to_string(info.numa_node), "sysfs"),
        read_fact("MTU", fmt::format("{}", info.mtu), "SIOCGIFMTU"),
        read_fact("link", info.link_up ? "up" : "down", "ETHTOOL_GLINK"),
        read_fact("speed", info.speed_mbps < 0 ? "" : fmt::format("{} Mb/s", info.speed_mbps),
                  "ETHTOOL_GLINKSETTINGS"),
    };
    auto settings = TRY(agent.nic_facts(device));
    std::ranges::move(settings, std::back_inserter(group.facts));
    for (const agent::Feature& feature : features) {
        group.facts.push_back(
            read_fact(feature.name,
                      std::string(feature.active ? "on" : "off") +
                          (feature.never_changed || !feature.available ? " [fixed]" : ""),
                      "ETHTOOL_GFEATURES"));
    }
    return group;
}

Status know_device(Measured& measured, agent::Client& agent, const std::string& device,
                   const std::string& title) {
    auto facts = TRY(device_facts(agent, device, title));
    measured.know(std::move(facts));
    auto item = TRY(agent.item(device, fingerprint::Serials::kLeftOut));
    item.title = title;
    measured.know_item(std::move(item));
    return {};
}

Result<std::vector<verdict::FactGroup>> host_facts(agent::Client& agent) {
    auto groups = TRY(agent.host_facts());
    for (verdict::FactGroup& group : groups) {
        group.title = "DUT: " + group.title;
    }
    return groups;
}

Result<verdict::FactGroup> profile_facts(agent::Client& agent, const std::string& device,
                                         const profile::Profile& profile) {
    const auto features = TRY(agent.features(device));
    const std::vector<profile::Finding> findings = profile::compare(profile, features);
    verdict::FactGroup group{.title = fmt::format("Profile {} against {}: {}", profile.id, device,
                                                  profile::agrees(findings)
                                                      ? "nothing missing, nothing unexpected"
                                                      : "the driver offers something else")};
    for (const profile::Finding& finding : findings) {
        if (finding.kind != profile::Finding::Kind::kUnlisted) {
            group.facts.push_back(
                read_fact(finding.feature,
                          fmt::format("{}: expected {}, found {}", profile::name(finding.kind),
                                      finding.expected, finding.found),
                          "nicprofiles and ETHTOOL_GFEATURES"));
        }
    }
    return group;
}

verdict::FactGroup role_facts(const lab::RoleFacts& facts, const std::string& title) {
    verdict::FactGroup group{.title = title};
    for (const auto& [name, value] : facts) {
        group.facts.push_back({name, value, verdict::Fact::Status::kRead, "the lab"});
    }
    return group;
}

verdict::FactGroup port_facts(const std::vector<port::PortInfo>& ports, const std::string& title) {
    verdict::FactGroup group{.title = title};
    for (const port::PortInfo& port : ports) {
        const std::string offloads =
            port.tx_offloads.empty()
                ? "no Tx offloads"
                : fmt::format("Tx offloads {}", fmt::join(port.tx_offloads, " "));
        group.facts.push_back(read_fact(port.name,
                                        fmt::format("{}, {} evidence, {}", port.driver,
                                                    port::evidence_name(port.evidence), offloads),
                                        "rte_eth_dev_info_get"));
    }
    return group;
}

}  // namespace pathproof::scenario
