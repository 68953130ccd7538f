// Facts of hosts that were once there: what the programs printed, in data/NAME/. Made with the real
// plug-ins and kube-proxy's and flannel's rules; calico's rules are written as felix's sources have
// them, on flannel's devices.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "dataplane/base/file.h"
#include "harness/hazards/facts.h"
#include "harness/hazards/hazards.h"

namespace pathproof::hazards::fixture {

inline std::string file(const std::string& host, const std::string& name) {
    return read_file(std::string(HAZARD_DATA) + "/" + host + "/" + name).value_or("");
}

struct Host {
    explicit Host(const std::string& host) {
        rules = file(host, "iptables-save");
        nft = file(host, "nft.json");
        nft_texts = file(host, "nft.txt");
        facts.devices = *parse_devices(file(host, "links.json"), file(host, "addresses.json"),
                                       file(host, "fdb.json"));
        facts.routes = *parse_routes(file(host, "routes.json"));
        BOOST_REQUIRE(!facts.devices.empty() && !facts.routes.empty());
        std::string sysctls = file(host, "sysctls");
        for (std::size_t end; (end = sysctls.find('\n')) != std::string::npos;) {
            const std::string line = sysctls.substr(0, end);
            facts.sysctls[line.substr(0, line.find(" = "))] = line.substr(line.find(" = ") + 3);
            sysctls.erase(0, end + 1);
        }
        for (Device& device : facts.devices) {
            if (device.kind == "vxlan") {
                device.tx_checksum = true;
            }
        }
    }

    // Replaces a text wherever it stands; it must stand there at least once.
    Host& replace(const std::string& old, const std::string& other) {
        std::string& where = nft.empty() ? rules : nft;
        std::size_t at = where.find(old);
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no '" + old + "' to replace");
        for (; at != std::string::npos; at = where.find(old, at + other.size())) {
            where.replace(at, old.size(), other);
        }
        return *this;
    }

    Device& device(const std::string& name) {
        for (Device& each : facts.devices) {
            if (each.name == name) {
                return each;
            }
        }
        BOOST_FAIL("no device " + name);
        return facts.devices.front();
    }

    Findings find() {
        Facts all = facts;
        auto saved = parse_iptables_save(rules, Origin::kIptablesNft, "ip");
        BOOST_REQUIRE_MESSAGE(saved, saved.error().message);
        all.rules = *saved;
        if (!nft.empty()) {
            auto native = parse_nft(nft, nft_texts);
            BOOST_REQUIRE_MESSAGE(native, native.error().message);
            all.rules.chains.insert(all.rules.chains.end(), native->chains.begin(),
                                    native->chains.end());
        }
        return find_hazards(all);
    }

    // Ids, in the order of known_hazards(), joined by blanks.
    std::string ids() {
        std::string joined;
        for (const Hazard& hazard : find().hazards) {
            joined += (joined.empty() ? "" : " ") + hazard.id;
        }
        return joined;
    }

    // The first piece of evidence of a hazard; empty: it is not among them.
    Evidence evidence(const std::string& id) {
        for (const Hazard& hazard : find().hazards) {
            if (hazard.id == id) {
                return hazard.evidence.front();
            }
        }
        return {};
    }

    std::string rules, nft, nft_texts;
    Facts facts;
};

}  // namespace pathproof::hazards::fixture
