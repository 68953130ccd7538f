#include "harness/predict/stale.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "harness/netfilter/names.h"
#include "harness/netfilter/text.h"

namespace pathproof::predict {
namespace {

using hazards::Action;
using hazards::AddressRange;
using netfilter::Entry;
using netfilter::Tuple;

constexpr std::size_t kMostKnown = 64;  // regions of one destination
constexpr std::size_t kMostLikenesses = 200'000;
// 2^64 divided by the golden ratio.
constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;

std::uint64_t hash_of(std::uint64_t hash, const frame::IpAddress& address) {
    std::array<std::uint64_t, 2> words{};
    static_assert(sizeof words == sizeof address.bytes);
    std::memcpy(words.data(), address.bytes.data(), sizeof words);
    for (const std::uint64_t word : words) {
        hash = (hash ^ word) * kSpread;
        hash ^= hash >> 32;
    }
    return hash;
}

std::uint16_t icmp_of(const Tuple& tuple) {
    return static_cast<std::uint16_t>(tuple.icmp ? (tuple.icmp->type << 8U) | tuple.icmp->code : 0);
}

std::string end_text(const frame::Endpoint& endpoint) {
    return endpoint.port == 0 ? frame::to_string(endpoint.address) : frame::to_string(endpoint);
}

bool is_in(const std::pair<std::uint16_t, std::uint16_t>& range, std::uint16_t port) {
    return range.first <= port && port <= range.second;
}

// Returns whether the outcome sends the flow to the entry's destination.
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

std::string why_undecided(const Outcome& outcome) {
    if (outcome.end == End::kBridged) {
        return "it may be bridged";
    }
    return outcome.doubts.empty() ? "not modelled" : outcome.doubts.front();
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
    return hash_of(key.destination.port | std::uint64_t{key.icmp} << 16 |
                       std::uint64_t{key.device} << 32 | std::uint64_t{key.protocol} << 48 |
                       std::uint64_t{key.any_device} << 56,
                   key.destination.address);
}

std::size_t StaleFinder::LikenessHash::operator()(const Likeness& likeness) const {
    const std::uint64_t ports =
        likeness.destination.port | std::uint64_t{likeness.goes.port} << 16 |
        std::uint64_t{likeness.device} << 32 | std::uint64_t{likeness.protocol} << 48;
    return hash_of(hash_of(hash_of(ports, likeness.destination.address), likeness.goes.address),
                   likeness.source_now);
}

StaleFinder::Likeness StaleFinder::likeness_of(const Entry& entry, std::uint16_t device) {
    const frame::IpAddress& now = entry.reply.destination.address;
    const bool keeps_source = now == entry.original.source.address;
    return {.destination = entry.original.destination,
            .goes = entry.reply.source,
            .source_now = keeps_source ? frame::IpAddress() : now,
            .device = device,
            .zone = entry.zone,
            .icmp = icmp_of(entry.original),
            .protocol = entry.original.protocol,
            .keeps_source = keeps_source,
            .zone_direction = entry.zone_direction};
}

bool StaleFinder::is_known_as_current(const Likeness& likeness,
                                      const frame::Endpoint& source) const {
    const auto found = current_.find(likeness);
    return found != current_.end() &&
           std::any_of(found->second.regions.begin(),
                       found->second.regions.begin() + found->second.count,
                       [&](const Region& region) { return region.contains(source); });
}

void StaleFinder::keep_as_current(const Likeness& likeness, const Region& region) {
    if (current_.size() >= kMostLikenesses && !current_.contains(likeness)) {
        return;
    }
    Current& current = current_[likeness];
    current.regions[current.next] = region;
    current.next = static_cast<std::uint8_t>((current.next + 1) % current.regions.size());
    current.count = static_cast<std::uint8_t>(
        std::min<std::size_t>(current.count + 1U, current.regions.size()));
}

const StaleFinder::Known& StaleFinder::known_of(const Tuple& tuple, std::uint16_t device,
                                                bool any_device) {
    std::vector<Known>& known = known_[{.destination = tuple.destination,
                                        .device = device,
                                        .icmp = icmp_of(tuple),
                                        .protocol = tuple.protocol,
                                        .any_device = any_device}];
    for (const Known& each : known) {
        if (each.region.contains(tuple.source)) {
            return each;
        }
    }
    Known fresh;
    fresh.outcomes = simulator_.simulate(
        {.tuple = tuple, .in = devices_[device], .any_device = any_device}, fresh.region);
    ++simulations_;
    for (Outcome& outcome : fresh.outcomes) {
        outcome.steps.clear();
        outcome.steps.shrink_to_fit();
    }
    if (known.size() >= kMostKnown) {
        last_ = std::move(fresh);
        return last_;
    }
    known.push_back(std::move(fresh));
    return known.back();
}

std::uint16_t StaleFinder::number_of(const std::string& device) {
    const auto found = std::ranges::find(devices_, device);
    if (found == devices_.end()) {
        devices_.push_back(device);
        return static_cast<std::uint16_t>(devices_.size() - 1);
    }
    return static_cast<std::uint16_t>(found - devices_.begin());
}

StaleFinder::Way StaleFinder::way_towards(const frame::IpAddress& source) {
    for (const Way& way : ways_) {
        if (way.first <= source && source <= way.last) {
            return way;
        }
    }
    Way way{.first = source, .last = source, .device = {}};
    const RouteAnswer answer = router_.find({.destination = source});
    if (simulator_.is_local(source) || answer.kind == RouteAnswer::Kind::kLocal) {
        way.device = 0;
    } else if (answer.kind == RouteAnswer::Kind::kOnward) {
        way.device = number_of(answer.out);
    }
    // The way holds for all addresses around this one up to the next at which a route begins or
    // ends.
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
    return way;
}

std::optional<std::string> StaleFinder::device_towards(const frame::IpAddress& source) {
    const Way way = way_towards(source);
    return way.device ? std::optional(devices_[*way.device]) : std::nullopt;
}

// Returns whether answers are taken to another zone, or out of conntrack, before their entry is
// looked for.
bool StaleFinder::answers_elsewhere(const Entry& entry) {
    if (entry.zone_direction != netfilter::ZoneDirection::kBoth) {
        return false;
    }
    const auto device = device_towards(entry.reply.source.address);
    if (!device) {
        return false;
    }
    for (const bool any : {false, true}) {
        const auto outcomes = simulator_.simulate_before_tracking(
            {.tuple = entry.reply, .in = *device, .any_device = any});
        for (const Outcome& outcome : outcomes) {
            if (outcome.end != End::kDelivered || !outcome.zone_known ||
                (outcome.tracked && outcome.zone == entry.zone)) {
                return false;
            }
        }
    }
    return true;
}

StaleVerdict StaleFinder::verdict_of_answers(const Entry& entry) {
    const auto answers = simulator_.simulate_before_tracking(
        {.tuple = entry.reply, .in = device_towards(entry.reply.source.address).value_or("")});
    const Outcome& first = answers.front();
    StaleVerdict verdict{.staleness = Staleness::kAnswersElsewhere,
                         .goes = fmt::format("answers are looked for in zone {}", entry.zone),
                         .would_go = first.tracked
                                         ? fmt::format("answers come in zone {}", first.zone)
                                         : "answers are not tracked"};
    for (const Step& step : first.steps) {
        verdict.rule =
            step.rule != nullptr && !step.rule->effects.empty() ? step.rule : verdict.rule;
    }
    return verdict;
}

// An entry does not name the device by which its flow came: the result must hold for any of them.
std::optional<StaleFinder::Difference> StaleFinder::difference(const Entry& entry,
                                                               std::uint16_t device,
                                                               std::string& why,
                                                               std::optional<Region>& region) {
    const bool keeps_source = entry.reply.destination.address == entry.original.source.address;
    const Outcome* differing = nullptr;
    Difference found;
    for (const bool any : {false, true}) {
        if (any && device == 0) {
            continue;
        }
        const Known& known = known_of(entry.original, device, any);
        if (region) {
            region->intersect(known.region);
        }
        for (const Outcome& outcome : known.outcomes) {
            if (keeps_source && !outcome.sources.empty()) {
                region.reset();
            }
            const Staleness one = compare(entry, outcome);
            if (one == Staleness::kNotDecided) {
                why = why_undecided(outcome);
                return std::nullopt;
            }
            if (one == Staleness::kCurrent) {
                return std::nullopt;
            }
            if (differing == nullptr) {
                found = {.how = one, .outcome = outcome};
                differing = &found.outcome;
            }
        }
    }
    return differing == nullptr ? std::nullopt : std::optional(std::move(found));
}

// The difference for a socket of that user, where every outcome differs.
std::optional<StaleFinder::Difference> StaleFinder::difference_for(const Entry& entry,
                                                                   std::uint32_t user) {
    const auto asked = simulator_.simulate({.tuple = entry.original, .in = "", .user = user});
    const bool differs = std::ranges::all_of(asked, [&](const Outcome& outcome) {
        const Staleness one = compare(entry, outcome);
        return one != Staleness::kCurrent && one != Staleness::kNotDecided;
    });
    return differs ? std::optional(Difference{Staleness::kOtherUser, asked.front()}) : std::nullopt;
}

bool StaleFinder::is_bound(const Entry& entry) {
    const Tuple& tuple = entry.original;
    if (!simulator_.is_local(tuple.source.address)) {
        return false;
    }
    const RouteAnswer chosen = router_.find({.destination = tuple.destination.address,
                                             .protocol = tuple.protocol,
                                             .source_port = tuple.source.port,
                                             .destination_port = tuple.destination.port});
    return chosen.source != tuple.source.address;
}

StaleVerdict StaleFinder::check(const Entry& entry, std::optional<std::uint32_t> user) {
    if ((entry.status & kExpected) != 0 || netfilter::is_hidden(entry)) {
        return {};
    }
    const Way way = way_towards(entry.original.source.address);
    if (!way.device) {
        return {.staleness = Staleness::kNotDecided, .why = "there is no route back to its source"};
    }
    const Likeness likeness = likeness_of(entry, *way.device);
    if (!user && is_known_as_current(likeness, entry.original.source)) {
        return {};
    }
    std::string why;
    std::optional<Region> region = Region();
    auto differing = difference(entry, *way.device, why, region);
    if (!why.empty()) {
        return {.staleness = Staleness::kNotDecided, .why = std::move(why)};
    }
    if (!differing && user && *way.device == 0) {
        differing = difference_for(entry, *user);
    }
    if (differing) {
        if (differing->how == Staleness::kOtherSource && is_bound(entry)) {
            return {.staleness = Staleness::kNotDecided,
                    .why = "a socket that is bound to its source may be bound to a device"};
        }
        return verdict_of(entry, *differing);
    }
    if (simulator_.before_tracking()) {
        return answers_elsewhere(entry) ? verdict_of_answers(entry) : StaleVerdict();
    }
    if (region && !user) {
        keep_as_current(likeness, *region);
    }
    return {};
}

StaleVerdict StaleFinder::verdict_of(const Entry& entry, const Difference& difference) const {
    const Outcome& outcome = difference.outcome;
    StaleVerdict verdict{.staleness = difference.how, .goes = "to " + end_text(entry.reply.source)};
    switch (difference.how) {
        case Staleness::kOtherSource:
            verdict.goes = "from " + frame::to_string(entry.reply.destination.address);
            verdict.rule = outcome.source_rule;
            verdict.would_go =
                "from " + frame::to_string(outcome.sources.empty() ? entry.original.source.address
                                                                   : outcome.sources.front().first);
            if (entry.reply.destination.address != entry.original.source.address &&
                !simulator_.is_local(entry.reply.destination.address)) {
                verdict.staleness = Staleness::kAddressGone;
            }
            break;
        case Staleness::kUntracked: verdict.would_go = "untracked"; break;
        case Staleness::kOtherZone:
            verdict.goes = fmt::format("in zone {}", entry.zone);
            verdict.would_go = fmt::format("in zone {}", outcome.zone);
            break;
        default:
            verdict.rule = outcome.destination_rule;
            verdict.would_go =
                outcome.destinations
                    ? fmt::format("to one of {}-{}", frame::to_string(outcome.destinations->first),
                                  frame::to_string(outcome.destinations->last))
                    : "to " + end_text(outcome.destination);
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
