// Claims of vxlan-checksum: the conditions that must hold where one of its texts has a phrase.
#pragma once

#include "tests/scenario/traps.h"

inline const nlohmann::json* cell_if_any(const nlohmann::json& scenario, const std::string& id) {
    for (const nlohmann::json& cell : scenario["cells"]) {
        if (cell["id"] == id) {
            return &cell;
        }
    }
    return nullptr;
}

// Returns whether some cell (or this one) has exactly this value, and it is not zero.
inline bool some_cell_has(const Said& said, const std::string& name, double value) {
    if (said.cell != nullptr) {
        return value != 0 && said.total(name) == value;
    }
    for (const nlohmann::json& cell : said.scenario["cells"]) {
        if (value != 0 && cell["measures"].contains(name) && measure(cell, name) == value) {
            return true;
        }
    }
    return false;
}

inline std::vector<Claim> vxlan_claims() {
    const auto positive = [](const char* name) {
        return [name](const Said& said) { return said.total(name) > 0; };
    };
    const auto exactly = [](const char* name) {
        return [name](const Said& said) { return some_cell_has(said, name, said.number(1)); };
    };
    const auto cure = [](const char* id, auto holds) {
        return [id, holds](const Said& said) {
            const nlohmann::json* cell = cell_if_any(said.scenario, id);
            return cell != nullptr && holds(*cell);
        };
    };
    const auto probe = [](const char* name, bool works) {
        return [name, works](const Said& said) {
            for (const nlohmann::json& cell : said.scenario["cells"]) {
                if ((said.cell == nullptr || cell["id"] == (*said.cell)["id"]) &&
                    (measure(cell, name) == 1) == works) {
                    return true;
                }
            }
            // A control is the copy of a cell under another id.
            return said.cell != nullptr && (measure(*said.cell, name) == 1) == works;
        };
    };
    const auto matrix_is_clean = [](const Said& said) {
        double points = 0;
        for (const nlohmann::json& cell : said.scenario["cells"]) {
            if (cell["role"] == "matrix") {
                ++points;
                if (cell["verdict"] != "PASS" || measure(cell, "wire_bad_frames") != 0) {
                    return false;
                }
            }
        }
        return points == said.number(1);
    };
    return {
        {"before NAT", positive("cause_stale_port")},
        {"bare pseudo-header sum", positive("cause_left_partial")},
        {"dropped ([0-9]+) packets for it \\(Udp.InCsumErrors\\)",
         exactly("peer_udp_in_csum_errors")},
        {"dropped ([0-9]+) packets \\(NETFILTER_DROP\\)", exactly("drop.NETFILTER_DROP")},
        {"([0-9]+) packets were dropped by packet filter rules",
         [](const Said& said) {
             return said.number(1) > 0 && said.total("drop.NETFILTER_DROP") >= said.number(1);
         }},
        {"the underlay's link went down ([0-9]+) times", exactly("links_down")},
        {"conntrack had no entry for ([0-9]+) packets", exactly("conntrack_no_room")},
        {"([0-9]+) packets did not fit", exactly("ip_frag_fails")},
        {"the underlay's MTU is ([0-9]+), and",
         [](const Said& said) {
             return said.total("underlay_mtu") < said.total("tunnel_packet") &&
                    (said.cell == nullptr || said.total("underlay_mtu") == said.number(1));
         }},
        {"NAT did not take place",
         [](const Said& said) {
             return said.cell == nullptr || said.total("translated_flows") == 0 ||
                    said.total("translated_flows") < said.total("tunnel_flows");
         }},
        {"SNAT gave ([0-9]+) of ([0-9]+) flows", exactly("translated_flows")},
        {"the same failure is back", cure("cure.flag-back-on",
                                          [](const nlohmann::json& cell) {
                                              return cell["verdict"] == "FAIL" &&
                                                     cell["cause"].get<std::string>().starts_with(
                                                         "stale-port");
                                          })},
        {"no checksum is wrong", cure("cure.flag-off",
                                      [](const nlohmann::json& cell) {
                                          return cell["verdict"] == "PASS" &&
                                                 measure(cell, "wire_bad_frames") == 0 &&
                                                 measure(cell, "translated_flows") > 0;
                                      })},
        {"did NOT help",
         cure("cure.flag-off",
              [](const nlohmann::json& cell) { return cell["verdict"] != "PASS"; })},
        {"Why ping works", probe("probe_icmp", true)},
        {"ping works", probe("probe_icmp", true)},
        {"failing: [^;]*DNS over UDP", probe("probe_dns_udp", false)},
        {"failing: [^;]*DNS over TCP", probe("probe_dns_tcp", false)},
        {"failing: [^;]*the TCP transfer", probe("probe_tcp_1mb", false)},
        {"failing: [^;]*ping", probe("probe_icmp", false)},
        {"nothing works", probe("probe_icmp", false)},
        {"([0-9]+) of ([0-9]+) frames carry a wrong checksum",
         [](const Said& said) {
             return said.cell == nullptr || (said.total("wire_bad_frames") == said.number(1) &&
                                             said.total("wire_frames") == said.number(2));
         }},
        {"At none of ([0-9]+) points", matrix_is_clean},
        {"tx offload of the vxlan device[;.]",
         cure("vx-tx-off.udpcsum.masquerade.eth0-tx-off",
              [](const nlohmann::json& cell) { return cell["verdict"] == "PASS"; })},
        {"tx offload of the vxlan device off it is right",
         cure("vx-tx-off.udpcsum.masquerade.eth0-tx-off",
              [](const nlohmann::json& cell) { return cell["verdict"] == "PASS"; })},
        {"SNAT of the outer source port",
         cure("vx-tx-on.udpcsum.no-nat.eth0-tx-off",
              [](const nlohmann::json& cell) { return cell["verdict"] == "PASS"; })},
        {"produced and told apart",
         cure("vx-tx-on.udpcsum.no-nat.eth0-tx-on.wire-leaves-partial",
              [](const nlohmann::json& cell) { return cell["cause"] == "left-partial"; })},
    };
}
