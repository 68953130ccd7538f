#include "harness/predict/stale.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>

#include "harness/netfilter/names.h"
#include "harness/netfilter/text.h"

namespace pathproof::predict {
namespace {

using hazards::Action;
using hazards::AddressRange;
using netfilter::Entry;
using netfilter::Tuple;

constexpr std::uint32_t kExpected = 1U << 0;  // IPS_EXPECTED: a helper made it, not the rules
constexpr std::size_t kMostKnown = 64;        // regions of one destination

std::string end_text(const frame::Endpoint& endpoint) {
    return endpoint.port == 0 ? frame::to_string(endpoint.address) : frame::to_string(endpoint);
}

bool is_in(const std::pair<std::uint16_t, std::uint16_t>& range, std::uint16_t port) {
    return range.first <= port && port <= range.second;
}

// Whether the outcome sends the entry's flow where the entry does.
bool same_destination(const Entry& entry, const Outcome& outcome) {
    const frame::Endpoint& goes = entry.reply.source;
    const frame::Endpoint& asked = entry.original.destination;
    if (outcome.destination_rule == nullptr) {
        return goes == asked;
    }
    if (outcome.destinations) {
        return outcome.destinations->contains(goes.address);
    }
    const auto& targets = outcome.destination_rule->nat;
    const bool keeps_address =
        outcome.destination_rule->action == Action::kDnat &&
        std::ranges::all_of(targets, [](const auto& target) { return !target.addresses; });
    const bool keeps_port =
        std::ranges::all_of(targets, [](const auto& target) { return !target.ports; });
    if (goes.address != (keeps_address ? asked.address : outcome.destination.address)) {
        return false;
    }
    // Without a port of its own the rule keeps the flow's, unless another flow has it.
    if (entry.original.icmp || keeps_port) {
        return true;
    }
    return outcome.destination_ports ? is_in(*outcome.destination_ports, goes.port)
                                     : goes.port == outcome.destination.port;
}

bool same_source(const Entry& entry, const Outcome& outcome) {
    const frame::IpAddress& now = entry.reply.destination.address;
    if (outcome.sources.empty()) {
        return now == entry.original.source.address;
    }
    return std::ranges::any_of(outcome.sources,
                               [&](const AddressRange& range) { return range.contains(now); });
}

// Packets of a flow that it had before may be dropped now, which is no matter of its entry.
bool past_source_nat(const Outcome& outcome) {
    return outcome.end == End::kForwarded || outcome.end == End::kDelivered;
}

// This host's own packets are routed before the rules of output translate them.
bool past_destination_nat(const Outcome& outcome) {
    const bool sent_here = outcome.in.empty();
    return past_source_nat(outcome) || (outcome.end == End::kNoRoute && !sent_here) ||
           outcome.end == End::kReversePath || outcome.end == End::kNotForwarding;
}

Staleness compare(const Entry& entry, const Outcome& outcome) {
    if (outcome.end == End::kUnmodelled || outcome.end == End::kBridged) {
        return Staleness::kNotDecided;
    }
    if (!past_destination_nat(outcome)) {
        return Staleness::kCurrent;
    }
    if (outcome.taken_out) {
        return Staleness::kUntracked;
    }
    const bool compares_zones =
        outcome.zone_known && entry.zone_direction == netfilter::ZoneDirection::kBoth;
    if (compares_zones && outcome.zone != entry.zone) {
        return Staleness::kOtherZone;
    }
    if (!same_destination(entry, outcome)) {
        return Staleness::kOtherDestination;
    }
    return past_source_nat(outcome) && !same_source(entry, outcome) ? Staleness::kOtherSource
                                                                    : Staleness::kCurrent;
}

}  // namespace

const char* name(Staleness staleness) {
    switch (staleness) {
        case Staleness::kCurrent: return "current";
        case Staleness::kOtherDestination: return "other destination";
        case Staleness::kOtherSource: return "other source";
        case Staleness::kAddressGone: return "address gone";
        case Staleness::kUntracked: return "not tracked now";
        case Staleness::kOtherZone: return "other zone";
        case Staleness::kAnswersElsewhere: return "answers in another zone";
        case Staleness::kOtherUser: return "made by another user";
        case Staleness::kNotDecided: return "not decided";
    }
    return "";
}

std::size_t StaleFinder::KeyHash::operator()(const Key& key) const {
    std::uint64_t hash = 1469598103934665603ULL;
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
    for (const std::uint8_t byte : key.destination.address.bytes) {
        add(byte);
    }
    add(key.destination.port);
    add(key.icmp);
    add(key.protocol);
    add(key.any_device ? 1 : 0);
    return static_cast<std::size_t>(hash) ^ std::hash<std::string>()(key.in);
}

const std::vector<Outcome>& StaleFinder::outcomes_of(const Tuple& tuple, const std::string& in,
                                                     bool any_device) {
    const auto icmp =
        static_cast<std::uint16_t>(tuple.icmp ? (tuple.icmp->type << 8U) | tuple.icmp->code : 0);
    std::vector<Known>& known = known_[{.destination = tuple.destination,
                                        .in = in,
                                        .icmp = icmp,
                                        .protocol = tuple.protocol,
                                        .any_device = any_device}];
    for (const Known& each : known) {
        if (each.region.contains(tuple.source)) {
            return each.outcomes;
        }
    }
    Known fresh;
    fresh.outcomes =
        simulator_.simulate({.tuple = tuple, .in = in, .any_device = any_device}, fresh.region);
    ++simulations_;
    for (Outcome& outcome : fresh.outcomes) {
        outcome.steps.clear();
        outcome.steps.shrink_to_fit();
    }
    if (known.size() >= kMostKnown) {
        last_ = std::move(fresh.outcomes);
        return last_;
    }
    known.push_back(std::move(fresh));
    return known.back().outcomes;
}

std::optional<std::string> StaleFinder::device_towards(const frame::IpAddress& source) {
    for (const Way& way : ways_) {
        if (way.first <= source && source <= way.last) {
            return way.device;
        }
    }
    Way way{.first = source, .last = source, .device = {}};
    const RouteAnswer answer = router_.find({.destination = source});
    if (simulator_.is_local(source) || answer.kind == RouteAnswer::Kind::kLocal) {
        way.device = "";
    } else if (answer.kind == RouteAnswer::Kind::kOnward) {
        way.device = answer.out;
    }
    // As far around the address as no route begins or ends.
    way.first = {.family = source.family};
    way.last = {.family = source.family};
    std::fill_n(way.last.bytes.begin(), source.size(), std::uint8_t{0xff});
    for (const AddressRange& range : simulator_.facts().prefixes) {
        if (range.first.family != source.family) {
            continue;
        }
        if (range.contains(source)) {
            way.first = std::max(way.first, range.first);
            way.last = std::min(way.last, range.last);
        } else if (range.last < source) {
            way.first = std::max(way.first, range.last.plus(1));
        } else {
            way.last = std::min(way.last, range.first.plus(0xffffffffU));
        }
    }
    if (simulator_.is_local(source)) {
        way.first = way.last = source;
    }
    if (ways_.size() < 4096) {
        ways_.push_back(way);
    }
    return way.device;
}

// Whether answers are taken to another zone, or out of conntrack, before their entry is looked for.
std::optional<Staleness> StaleFinder::answers_elsewhere(const Entry& entry) {
    if (entry.zone_direction != netfilter::ZoneDirection::kBoth) {
        return std::nullopt;
    }
    const auto device = device_towards(entry.reply.source.address);
    if (!device) {
        return std::nullopt;
    }
    for (const bool any : {false, true}) {
        const auto outcomes = simulator_.simulate_before_tracking(
            {.tuple = entry.reply, .in = *device, .any_device = any});
        for (const Outcome& outcome : outcomes) {
            if (outcome.end != End::kDelivered || !outcome.zone_known ||
                (outcome.tracked && outcome.zone == entry.zone)) {
                return std::nullopt;
            }
        }
    }
    return Staleness::kAnswersElsewhere;
}

StaleVerdict StaleFinder::check(const Entry& entry, std::optional<std::uint32_t> user) {
    StaleVerdict verdict;
    if ((entry.status & kExpected) != 0 || netfilter::is_hidden(entry)) {
        return verdict;
    }
    const auto device = device_towards(entry.original.source.address);
    if (!device) {
        verdict.staleness = Staleness::kNotDecided;
        verdict.why = "there is no route back to its source";
        return verdict;
    }
    verdict.goes = "to " + end_text(entry.reply.source);
    // An entry does not name the device by which its flow came: the result must hold for any of them.
    std::optional<Outcome> differing;
    Staleness how = Staleness::kCurrent;
    for (const bool any : {false, true}) {
        if (any && device->empty()) {
            continue;
        }
        bool differs = true;
        for (const Outcome& outcome : outcomes_of(entry.original, *device, any)) {
            const Staleness one = compare(entry, outcome);
            if (one == Staleness::kNotDecided) {
                verdict.staleness = one;
                verdict.why = outcome.end == End::kBridged ? "it may be bridged"
                              : outcome.doubts.empty()     ? "not modelled"
                                                           : outcome.doubts.front();
                return verdict;
            }
            if (one == Staleness::kCurrent) {
                differs = false;
                break;
            }
            if (!differing) {
                differing = outcome;
                how = one;
            }
        }
        if (!differs) {
            differing.reset();
            break;
        }
    }
    if (!differing && user && device->empty()) {
        const auto asked = simulator_.simulate({.tuple = entry.original, .in = "", .user = user});
        const bool differs = std::ranges::all_of(asked, [&](const Outcome& outcome) {
            const Staleness one = compare(entry, outcome);
            return one != Staleness::kCurrent && one != Staleness::kNotDecided;
        });
        if (differs) {
            differing = asked.front();
            how = Staleness::kOtherUser;
        }
    }
    if (!differing) {
        if (simulator_.before_tracking()) {
            if (const auto elsewhere = answers_elsewhere(entry); elsewhere) {
                verdict.staleness = *elsewhere;
                const auto answers = simulator_.simulate_before_tracking(
                    {.tuple = entry.reply,
                     .in = device_towards(entry.reply.source.address).value_or("")});
                verdict.goes = fmt::format("answers are looked for in zone {}", entry.zone);
                verdict.would_go = !answers.front().tracked ? "answers are not tracked"
                                                            : fmt::format("answers come in zone {}",
                                                                          answers.front().zone);
                for (const Step& step : answers.front().steps) {
                    verdict.rule = step.rule != nullptr && !step.rule->effects.empty()
                                       ? step.rule
                                       : verdict.rule;
                }
            }
        }
        return verdict;
    }
    verdict.staleness = how;
    switch (how) {
        case Staleness::kOtherSource:
            verdict.goes = "from " + frame::to_string(entry.reply.destination.address);
            verdict.rule = differing->source_rule;
            verdict.would_go = "from " + frame::to_string(differing->sources.empty()
                                                              ? entry.original.source.address
                                                              : differing->sources.front().first);
            if (entry.reply.destination.address != entry.original.source.address &&
                !simulator_.is_local(entry.reply.destination.address)) {
                verdict.staleness = Staleness::kAddressGone;
            }
            break;
        case Staleness::kUntracked: verdict.would_go = "untracked"; break;
        case Staleness::kOtherZone:
            verdict.goes = fmt::format("in zone {}", entry.zone);
            verdict.would_go = fmt::format("in zone {}", differing->zone);
            break;
        default:
            verdict.rule = differing->destination_rule;
            verdict.would_go = differing->destinations
                                   ? fmt::format("to one of {}-{}",
                                                 frame::to_string(differing->destinations->first),
                                                 frame::to_string(differing->destinations->last))
                                   : "to " + end_text(differing->destination);
    }
    return verdict;
}

std::string delete_command(const Entry& entry) {
    const Tuple& original = entry.original;
    const Tuple& reply = entry.reply;
    std::string text = fmt::format(
        "conntrack -D{} -p {} -s {} -d {} -r {} -q {}",
        original.source.address.family == frame::Family::kIpv6 ? " -f ipv6" : "",
        netfilter::protocol_name(original.protocol), frame::to_string(original.source.address),
        frame::to_string(original.destination.address), frame::to_string(reply.source.address),
        frame::to_string(reply.destination.address));
    if (original.icmp) {
        text += fmt::format(" --icmp-type {} --icmp-code {} --icmp-id {}", original.icmp->type,
                            original.icmp->code, original.icmp->id);
    } else if (netfilter::has_ports(original.protocol)) {
        text += fmt::format(
            " --orig-port-src {} --orig-port-dst {} --reply-port-src {} "
            "--reply-port-dst {}",
            original.source.port, original.destination.port, reply.source.port,
            reply.destination.port);
    }
    if (entry.zone_direction == netfilter::ZoneDirection::kBoth) {
        text += fmt::format(" --zone {}", entry.zone);
    } else {
        text += fmt::format(
            " --{}-zone {}",
            entry.zone_direction == netfilter::ZoneDirection::kOriginal ? "orig" : "reply",
            entry.zone);
    }
    return text;
}

std::optional<double> age_s(const Entry& entry, std::int64_t now_ns) {
    if (!entry.started_ns) {
        return std::nullopt;
    }
    return static_cast<double>(now_ns - static_cast<std::int64_t>(*entry.started_ns)) / 1e9;
}

std::string sentence_of(const Entry& entry, const StaleVerdict& verdict, std::int64_t now_ns) {
    const auto age = age_s(entry, now_ns);
    const std::string rule =
        verdict.rule != nullptr ? "rule " + rule_text(*verdict.rule) : "the rules of now";
    const std::string made = age ? fmt::format(" (made {:.0f} s ago)", *age) : "";
    switch (verdict.staleness) {
        case Staleness::kCurrent: return "The entry is as the rules of now would make it.";
        case Staleness::kNotDecided:
            return fmt::format(
                "Whether the rules of now would make the entry so is not decided: {}.",
                verdict.why);
        case Staleness::kOtherDestination:
        case Staleness::kOtherSource:
            return fmt::format(
                "This entry{} is older than {}: it goes {}, a new flow would go {}.", made,
                verdict.rule != nullptr ? rule : "the removal of the rule that made it",
                verdict.goes, verdict.would_go);
        case Staleness::kAddressGone:
            return fmt::format(
                "This entry{} sends {}, an address that this host has no more: answers cannot come "
                "back; a new flow would go {}{}.",
                made, verdict.goes, verdict.would_go, verdict.rule != nullptr ? " by " + rule : "");
        case Staleness::kUntracked:
            return fmt::format(
                "This entry{} is older than a rule that takes its packets out of conntrack: they "
                "do "
                "not meet it any more.",
                made);
        case Staleness::kOtherZone:
            return fmt::format(
                "This entry{} is {}, and the rules of now look for it {}: its packets do not meet "
                "it any more.",
                made, verdict.goes, verdict.would_go);
        case Staleness::kAnswersElsewhere:
            return fmt::format(
                "The answers do not meet this entry: {}, and {}{}: it never sees an answer, and "
                "each answer makes an entry of its own.",
                verdict.goes, verdict.would_go,
                verdict.rule != nullptr ? " by " + rule : ", as no rule gives them its zone");
        case Staleness::kOtherUser:
            return fmt::format(
                "This entry{} was made by another user's socket, which the rules exempt: it takes "
                "the flow {}, past {}, by which this socket's flow would go {}.",
                made, verdict.goes, rule, verdict.would_go);
    }
    return "";
}

}  // namespace pathproof::predict
