#include "harness/predict/outcome.h"

#include <fmt/ranges.h>

#include "dataplane/base/contains.h"

namespace pathproof::predict {

using hazards::AddressRange;
using hazards::Chain;
using hazards::Origin;
using hazards::Rule;

const char* name(End end) {
    switch (end) {
        case End::kDelivered: return "delivered";
        case End::kForwarded: return "forwarded";
        case End::kBridged: return "bridged";
        case End::kDropped: return "dropped";
        case End::kRejected: return "rejected";
        case End::kNoRoute: return "no route";
        case End::kReversePath: return "reverse path";
        case End::kNotForwarding: return "not forwarding";
        case End::kUnmodelled: return "not modelled";
    }
    return "";
}

bool Outcome::has_doubt(std::string_view about) const {
    return contains(doubts, about);
}

std::string place_of(const Rule& rule) {
    std::string place = fmt::format("{} {}", rule.table, rule.chain);
    if (rule.origin != Origin::kNftables) {
        place += fmt::format(" rule {}", rule.number);
    }
    if (rule.handle != 0) {
        place += fmt::format(" handle {}", rule.handle);
    }
    return place + fmt::format(" ({}, {})", rule.family, hazards::name(rule.origin));
}

std::string rule_text(const Rule& rule) {
    return fmt::format("{}: {}", place_of(rule), rule.text);
}

std::string policy_text(const Chain& chain) {
    return fmt::format("policy {} of {} {} ({}, {})", chain.drops ? "DROP" : "ACCEPT", chain.table,
                       chain.name, chain.family, hazards::name(chain.origin));
}

std::vector<std::string> lines_of(const Outcome& outcome) {
    std::vector<std::string> lines;
    for (const Step& step : outcome.steps) {
        lines.push_back(step.rule != nullptr ? rule_text(*step.rule) : policy_text(*step.chain));
    }
    lines.push_back("=> " + sentence_of(outcome));
    return lines;
}

namespace {

std::string rule_or_policy_text(const Outcome& outcome) {
    if (outcome.by_rule != nullptr) {
        return rule_text(*outcome.by_rule);
    }
    return outcome.by_chain != nullptr ? policy_text(*outcome.by_chain) : "a rule";
}

}  // namespace

std::string sentence_of(const Outcome& outcome) {
    const auto end = [](const frame::Endpoint& endpoint) {
        return endpoint.port == 0 ? frame::to_string(endpoint.address) : frame::to_string(endpoint);
    };
    std::string to = "to " + end(outcome.destination);
    if (outcome.destinations) {
        to = fmt::format("to one of {}-{}", frame::to_string(outcome.destinations->first),
                         frame::to_string(outcome.destinations->last));
    }
    std::string text;
    switch (outcome.end) {
        case End::kDelivered: text = fmt::format("is delivered here, {}", to); break;
        case End::kForwarded:
            text = fmt::format("leaves by {} {}{}", outcome.out, to,
                               outcome.gateway ? " via " + frame::to_string(*outcome.gateway) : "");
            break;
        case End::kBridged:
            text = fmt::format("is bridged by {} {}, past the rules of IP", outcome.out, to);
            break;
        case End::kDropped:
        case End::kRejected:
            text = fmt::format("is {} by {}", name(outcome.end), rule_or_policy_text(outcome));
            break;
        case End::kNoRoute: text = fmt::format("has no route {}", to); break;
        case End::kReversePath:
            text = fmt::format(
                "is dropped by the reverse path filter of {} on its way {} (the way back to its "
                "source is not by {})",
                outcome.in, to, outcome.in);
            break;
        case End::kNotForwarding:
            text = fmt::format("is not forwarded: {} does not forward (on its way {})", outcome.in,
                               to);
            break;
        case End::kUnmodelled: text = "goes where this model cannot follow"; break;
    }
    if (!outcome.sources.empty()) {
        const AddressRange& from = outcome.sources.front();
        text += fmt::format(", with the source {}{}", frame::to_string(from.first),
                            from.is_one_address() ? "" : "-" + frame::to_string(from.last));
    }
    if (!outcome.tracked) {
        text += ", untracked";
    } else if (outcome.zone != 0) {
        text += fmt::format(", in zone {}", outcome.zone);
    }
    if (!outcome.doubts.empty()) {
        text += fmt::format(" (not certain: {})", fmt::join(outcome.doubts, ", "));
    }
    return text;
}

}  // namespace pathproof::predict
