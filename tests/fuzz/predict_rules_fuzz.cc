// Any bytes as what iptables-save, nft, ip, bridge, /proc/net and IPVS print of a host, each after a line
// "---": one packet and one entry are then taken through it.
#include <algorithm>
#include <string_view>
#include <vector>

#include "harness/predict/diagnosis.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;
namespace fuzz = pathproof::fuzz;

namespace {

constexpr std::string_view kBetween = "---\n";

std::vector<std::string_view> parts_of(std::string_view text, std::size_t least) {
    std::vector<std::string_view> parts;
    for (std::size_t at; (at = text.find(kBetween)) != std::string_view::npos;) {
        parts.push_back(text.substr(0, at));
        text.remove_prefix(at + kBetween.size());
    }
    parts.push_back(text);
    parts.resize(std::max(parts.size(), least));
    return parts;
}

class Anywhere : public predict::Router {
  public:
    predict::RouteAnswer find(const predict::RouteQuery& query) override {
        using Kind = predict::RouteAnswer::Kind;
        return {.kind = static_cast<Kind>(query.destination.bytes[3] % 6), .out = "s0"};
    }
};

template <typename T>
void take(std::vector<T>& all, Result<std::vector<T>> more) {
    if (more) {
        std::move(more->begin(), more->end(), std::back_inserter(all));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parts = parts_of({reinterpret_cast<const char*>(data), size}, 11);
    hazards::Facts facts;
    if (auto saved = hazards::parse_iptables_save(parts[0], hazards::Origin::kIptablesNft, "ip");
        saved) {
        facts.rules = std::move(*saved);
    }
    hazards::take_handles(parts[10], "ip", "nat", facts.rules);
    if (auto native = hazards::parse_nft(parts[1], parts[1]); native) {
        std::move(native->chains.begin(), native->chains.end(),
                  std::back_inserter(facts.rules.chains));
    }
    if (auto devices = hazards::parse_devices(parts[2], parts[3], parts[4]); devices) {
        facts.devices = std::move(*devices);
    }
    take(facts.locals, hazards::parse_locals(parts[5]));
    take(facts.prefixes, hazards::parse_prefixes(parts[5]));
    take(facts.prefixes, hazards::parse_rule_prefixes(parts[9]));
    take(facts.rule_sources, hazards::parse_rule_sources(parts[9]));
    take(facts.neighbours, hazards::parse_neighbours(parts[6]));
    facts.ipvs = hazards::parse_ipvs(parts[8]);
    Anywhere router;
    const predict::Simulator simulator(facts, router);
    predict::StaleFinder finder(simulator, router);
    for (const std::uint8_t protocol : {std::uint8_t{17}, std::uint8_t{6}, std::uint8_t{1}}) {
        predict::Question question{.in = "c0"};
        question.tuple.protocol = protocol;
        question.tuple.source = {frame::IpAddress::v4(0x0a010005), 4000};
        question.tuple.destination = {frame::IpAddress::v4(0x0a60000a), 53};
        if (protocol == 1) {
            question.tuple.icmp = netfilter::Tuple::Icmp{.type = 8, .code = 0, .id = 7};
        }
        predict::FlowSeen seen{.tuple = question.tuple, .forth_in = 1};
        seen.outcomes = simulator.simulate(question);
        fuzz::require(!seen.outcomes.empty(), "a packet without an outcome");
        for (const predict::Outcome& outcome : seen.outcomes) {
            fuzz::require(!predict::lines_of(outcome).empty(), "an outcome without a line");
        }
        netfilter::Entry entry{.original = question.tuple, .reply = turned(question.tuple)};
        seen.entry = entry;
        seen.stale = finder.check(entry, 0);
        const auto sockets = predict::parse_sockets(parts[7]);
        seen.socket_open = predict::takes(sockets, question.tuple, question.tuple.destination);
        const auto diagnosis = predict::diagnose(seen, 0);
        fuzz::require(!diagnosis.text.empty(), "a diagnosis without a sentence");
        fuzz::require((diagnosis.health == predict::Health::kCause) == !diagnosis.cause.empty(),
                      "a cause without a name");
    }
    return 0;
}
