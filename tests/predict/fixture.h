// A host with two devices, and routes that a table gives in place of the kernel.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "harness/netfilter/lookup.h"
#include "harness/predict/stale.h"

namespace pathproof::predict::fixture {

// 10.1.0.0/24 by c0 (clients), 10.2.0.0/24 by s0 and all else by way of 10.2.0.2. Groups and broadcasts
// leave by s0, and are taken in where they come from outside.
class Routes : public Router {
  public:
    RouteAnswer find(const RouteQuery& query) override {
        const std::string to = frame::to_string(query.destination);
        using Kind = RouteAnswer::Kind;
        if (to == "10.1.0.1" || to == "10.2.0.1" || to.starts_with("127.")) {
            return {.kind = Kind::kLocal, .out = "lo"};
        }
        if (to == refused) {
            return {.kind = Kind::kReversePath};
        }
        const auto onward = [](const char* device, const char* source) {
            return RouteAnswer{
                .kind = Kind::kOnward, .out = device, .source = *frame::parse_ip(source)};
        };
        if (to.starts_with("10.1.0.")) {
            return onward("c0", "10.1.0.1");
        }
        RouteAnswer by_s0 = onward("s0", "10.2.0.1");
        if (to.starts_with("224.0.0.") || to == "255.255.255.255") {
            return query.in.empty() ? by_s0 : RouteAnswer{.kind = Kind::kLocal};
        }
        if (!to.starts_with("10.2.0.")) {
            by_s0.gateway = *frame::parse_ip("10.2.0.2");
        }
        return by_s0;
    }
    std::string refused;
};

inline hazards::Address address(const std::string& text) {
    const std::string plain = text.substr(0, text.find('/'));
    return {*frame::parse_ip(plain), *hazards::parse_range(text)};
}

struct Host {
    explicit Host(const std::string& rules,
                  hazards::Origin origin = hazards::Origin::kIptablesNft) {
        const auto parsed = hazards::parse_iptables_save(rules, origin, "ip");
        BOOST_REQUIRE_MESSAGE(parsed, parsed.error().message);
        facts.rules = *parsed;
        facts.devices = {{.name = "lo", .addresses = {address("127.0.0.1/8")}},
                         {.name = "c0", .addresses = {address("10.1.0.1/24")}},
                         {.name = "s0", .addresses = {address("10.2.0.1/24")}}};
        facts.prefixes = {*hazards::parse_range("10.1.0.0/24"),
                          *hazards::parse_range("10.2.0.0/24")};
    }

    std::vector<Outcome> simulate(const std::string& flow, const std::string& in = "c0") {
        const Simulator simulator(facts, routes);
        const auto tuple = netfilter::parse_flow({flow});
        BOOST_REQUIRE_MESSAGE(tuple, tuple.error().message);
        return simulator.simulate({.tuple = *tuple, .in = in});
    }

    hazards::Facts facts;
    Routes routes;
};

}  // namespace pathproof::predict::fixture
