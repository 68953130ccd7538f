#include "harness/predict/diagnosis.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dataplane/base/contains.h"
#include "dataplane/base/join_each.h"
#include "dataplane/base/number.h"
#include "dataplane/base/plural.h"
#include "harness/fate/summary.h"
#include "harness/netfilter/names.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::predict {
namespace {

using hazards::Origin;
using netfilter::Entry;
using netfilter::Tuple;

constexpr unsigned kListens = 10;  // TCP_LISTEN

// "0100007F:3AD5", "00000000000000000000000000000000:0035": words of four bytes in host order.
std::optional<frame::Endpoint> proc_endpoint(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon != 8 && colon != 32) {
        return std::nullopt;
    }
    const auto port = whole_number<std::uint16_t>(text.substr(colon + 1), 16);
    frame::Endpoint end;
    end.address.family = colon == 8 ? frame::Family::kIpv4 : frame::Family::kIpv6;
    for (std::size_t word = 0; word < colon / 8; ++word) {
        const auto value = whole_number<std::uint32_t>(text.substr(word * 8, 8), 16);
        if (!value) {
            return std::nullopt;
        }
        for (std::size_t byte = 0; byte < 4; ++byte) {
            end.address.bytes[word * 4 + byte] = static_cast<std::uint8_t>(*value >> (8 * byte));
        }
    }
    if (!port) {
        return std::nullopt;
    }
    end.port = *port;
    return end;
}

bool is_any(const frame::IpAddress& address) {
    return std::ranges::all_of(address.bytes, [](std::uint8_t byte) { return byte == 0; });
}

// ::ffff:10.0.0.1 of a socket of IPv6 that talks IPv4.
frame::IpAddress unmapped(const frame::IpAddress& address) {
    static constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (address.family != frame::Family::kIpv6 ||
        !std::equal(std::begin(kMapped), std::end(kMapped), address.bytes.begin())) {
        return address;
    }
    frame::IpAddress plain;
    std::copy_n(address.bytes.begin() + 12, 4, plain.bytes.begin());
    return plain;
}

bool is_bound(const frame::IpAddress& bound, const frame::IpAddress& address) {
    // "::" takes IPv4 too, unless IPV6_V6ONLY is set, which is not shown.
    return (is_any(bound) &&
            (bound.family == address.family || address.family == frame::Family::kIpv4)) ||
           unmapped(bound) == address;
}

bool goes_there(const Outcome& outcome, const Entry& entry) {
    const bool there = outcome.destinations
                           ? outcome.destinations->contains(entry.reply.source.address)
                           : outcome.destination.address == entry.reply.source.address;
    return there && (outcome.destination_ports || entry.original.icmp ||
                     outcome.destination.port == entry.reply.source.port);
}

std::string addresses_text(const FlowSeen& seen) {
    return fmt::format("{} -> {}", frame::to_string(seen.tuple.source.address),
                       frame::to_string(seen.tuple.destination.address));
}

std::string packets_text(const FlowSeen& seen) {
    return fmt::format("{} came in and {} went out; of the answers {} and {}",
                       plural(seen.forth_in, "packet"), seen.forth_out, seen.back_in,
                       seen.back_out);
}

std::string iptables_of(const hazards::Chain& chain) {
    const std::string program = chain.family == "ip6" ? "ip6tables" : "iptables";
    return program + (chain.origin == Origin::kIptablesLegacy ? "-legacy" : "");
}

std::string accept_command(const FlowSeen& seen, const Outcome& outcome) {
    const hazards::Chain* chain = outcome.by_chain;
    if (chain == nullptr) {
        return "";
    }
    const std::string from = frame::to_string(seen.tuple.source.address);
    const std::string to = frame::to_string(outcome.destination.address);
    if (chain->origin == Origin::kNftables) {
        const char* family =
            seen.tuple.source.address.family == frame::Family::kIpv4 ? "ip" : "ip6";
        return fmt::format("nft insert rule {} {} {} {} saddr {} {} daddr {} accept", chain->family,
                           chain->table, chain->name, family, from, family, to);
    }
    return fmt::format("{} -t {} -I {} -s {} -d {} -j ACCEPT", iptables_of(*chain), chain->table,
                       chain->name, from, to);
}

// A rule that gives the answers the zone of their entry. `from_afar`: they come from another host.
std::string zone_command(const Entry& entry, bool from_afar) {
    const bool is_v6 = entry.reply.source.address.family == frame::Family::kIpv6;
    std::string text = fmt::format("{} -t raw -A {} -s {} -p {}", is_v6 ? "ip6tables" : "iptables",
                                   from_afar ? "PREROUTING" : "OUTPUT",
                                   frame::to_string(entry.reply.source.address),
                                   netfilter::protocol_name(entry.original.protocol));
    if (netfilter::has_ports(entry.original.protocol)) {
        text += fmt::format(" --sport {}", entry.reply.source.port);
    }
    return text + fmt::format(" -j CT --zone {}", entry.zone);
}

std::string text_of_dropper(const Outcome& outcome) {
    if (outcome.by_rule != nullptr) {
        return "the rule " + rule_text(*outcome.by_rule);
    }
    return outcome.by_chain != nullptr ? "the " + policy_text(*outcome.by_chain) : "a rule";
}

// One cause by what the outcome says, where it says one.
std::optional<Diagnosis> by_outcome(const FlowSeen& seen, const Outcome& outcome) {
    Diagnosis found{.health = Health::kCause};
    switch (outcome.end) {
        case End::kDropped:
        case End::kRejected:
            found.cause = outcome.by_rule != nullptr ? "dropped-by-rule" : "dropped-by-policy";
            found.text = fmt::format(
                "The flow is {} by {}{}", name(outcome.end), text_of_dropper(outcome),
                outcome.by_rule == nullptr ? ", as no rule before it accepts the packet." : ".");
            found.remedy = accept_command(seen, outcome);
            return found;
        case End::kReversePath:
            found.cause = "reverse-path-filter";
            found.text = fmt::format(
                "The reverse path filter of {} drops it (net.ipv4.conf.{}.rp_filter, the larger of "
                "that and all, is 1): {}from {} to {} the way back is by another device.",
                outcome.in, outcome.in,
                outcome.destination_rule != nullptr
                    ? fmt::format("after the rule {} has sent it to {}, ",
                                  place_of(*outcome.destination_rule),
                                  frame::to_string(outcome.destination))
                    : "",
                frame::to_string(outcome.destination.address),
                frame::to_string(seen.tuple.source.address));
            found.remedy = fmt::format("sysctl -w net.ipv4.conf.{}.rp_filter=2", outcome.in);
            return found;
        case End::kNoRoute:
            found.cause = "no-route";
            found.text = fmt::format("There is no route to {}, or it refuses.",
                                     frame::to_string(outcome.destination.address));
            return found;
        case End::kNotForwarding:
            found.cause = "not-forwarding";
            found.text = fmt::format("{} does not forward.", outcome.in);
            found.remedy = fmt::format("sysctl -w net.ipv4.conf.{}.forwarding=1", outcome.in);
            return found;
        case End::kDelivered:
            if (seen.socket_open && !*seen.socket_open) {
                found.cause = "closed-socket";
                found.text =
                    fmt::format("It is delivered to this host, and no socket is open at {}.",
                                frame::to_string(outcome.destination));
                return found;
            }
            return std::nullopt;
        case End::kForwarded: {
            const bool missing = seen.neighbour && (seen.neighbour->state == "FAILED" ||
                                                    seen.neighbour->state == "INCOMPLETE");
            if (!missing && seen.neighbour && !seen.neighbour->gone_mac.empty()) {
                found.cause = "gone-neighbour";
                found.text = fmt::format(
                    "The neighbour entry of {} on {} leads to {}, which no port of that bridge "
                    "has: "
                    "the pod with it is gone, and the next one with its address is not met until "
                    "the entry is renewed.",
                    frame::to_string(seen.neighbour->address), seen.neighbour->device,
                    seen.neighbour->gone_mac);
                found.remedy =
                    fmt::format("ip neigh del {} dev {}", frame::to_string(seen.neighbour->address),
                                seen.neighbour->device);
                return found;
            }
            if (!missing) {
                return std::nullopt;
            }
            found.cause = "no-neighbour";
            const std::string rule =
                outcome.destination_rule != nullptr
                    ? fmt::format("The rule {} sends it to {}, where nobody answers",
                                  rule_text(*outcome.destination_rule),
                                  frame::to_string(outcome.destination))
                    : "Nobody answers";
            found.text = fmt::format("{} for the neighbour {} on {} ({}).", rule,
                                     frame::to_string(seen.neighbour->address),
                                     seen.neighbour->device, seen.neighbour->state);
            if (outcome.destination_rule != nullptr && seen.without_rule.size() == 1 &&
                seen.without_rule[0].destination_rule != nullptr) {
                found.text += fmt::format(
                    " Behind it stands the rule {} for the same packets, which they never reach: "
                    "it would send them to {}.",
                    rule_text(*seen.without_rule[0].destination_rule),
                    frame::to_string(seen.without_rule[0].destination));
                found.remedy = remove_command(*outcome.destination_rule);
            }
            return found;
        }
        case End::kBridged:
        case End::kUnmodelled: return std::nullopt;
    }
    return std::nullopt;
}

Diagnosis by_strays(const FlowSeen& seen, Diagnosis diagnosis) {
    const frame::Endpoint& asked = seen.tuple.destination;
    diagnosis.health = Health::kCause;
    diagnosis.cause = "answers-from-another-port";
    diagnosis.text = fmt::format(
        "{} came from port {} and not from {}, which was asked: they belong to no entry here and "
        "are "
        "not let back. {}.",
        plural(seen.stray_answers, "answer"), seen.stray_port, asked.port, packets_text(seen));
    for (const hazards::HelpedProtocol& protocol : hazards::kHelped) {
        if (protocol.port == asked.port && protocol.protocol == seen.tuple.protocol) {
            diagnosis.text += fmt::format(
                " {} answers so, and no rule gives the flow its helper (the kernel assigns none by "
                "itself since Linux 6.0).",
                protocol.name);
            diagnosis.remedy =
                fmt::format("iptables -t raw -A {} -p udp --dport {} -j CT --helper {}",
                            seen.sent_here ? "OUTPUT" : "PREROUTING", asked.port, protocol.name);
        }
    }
    return diagnosis;
}

}  // namespace

const char* name(Health health) {
    switch (health) {
        case Health::kHealthy: return "healthy";
        case Health::kCause: return "cause found";
        case Health::kNotDecided: return "not decided";
    }
    return "";
}

Result<Neighbour> parse_neighbour(std::string_view text, const frame::IpAddress& address,
                                  const std::string& device) {
    using process::part;
    Neighbour neighbour{.address = address, .device = device};
    const nlohmann::json list = process::parse_foreign(process::valid_utf8(std::string(text)));
    if (!list.is_array()) {
        return fail(ErrorCode::kBadInput, "`ip -j neigh show` printed no list of JSON");
    }
    for (const nlohmann::json& one : list) {
        const nlohmann::json& states = part(one, "state");
        if (process::text_of(part(one, "dst")) == frame::to_string(address) && states.is_array() &&
            !states.empty()) {
            neighbour.state = process::text_of(states[0]);
            break;
        }
    }
    return neighbour;
}

std::vector<LocalSocket> parse_sockets(std::string_view text) {
    std::vector<LocalSocket> sockets;
    for (const std::string& line : process::lines_of(text)) {
        std::istringstream words(line);
        std::string number, local, remote, state, queues, timer, again, user;
        words >> number >> local >> remote >> state >> queues >> timer >> again >> user;
        const auto here = proc_endpoint(local), there = proc_endpoint(remote);
        const auto in_state = whole_number<unsigned>(state, 16);
        const auto owner = whole_number<std::uint32_t>(user);
        if (here && there && in_state && owner) {
            sockets.push_back(
                {.local = *here, .remote = *there, .state = *in_state, .user = *owner});
        }
    }
    return sockets;
}

bool takes(const std::vector<LocalSocket>& sockets, const Tuple& tuple,
           const frame::Endpoint& destination) {
    return std::ranges::any_of(sockets, [&](const LocalSocket& socket) {
        if (socket.local.port != destination.port ||
            !is_bound(socket.local.address, destination.address)) {
            return false;
        }
        const bool connected = socket.remote.port != 0;
        return (!connected && (tuple.protocol != IPPROTO_TCP || socket.state == kListens)) ||
               (connected && socket.remote.port == tuple.source.port &&
                unmapped(socket.remote.address) == tuple.source.address);
    });
}

std::optional<std::uint32_t> owner_of(const std::vector<LocalSocket>& sockets,
                                      const frame::Endpoint& source) {
    for (const LocalSocket& socket : sockets) {
        if (socket.local.port == source.port && is_bound(socket.local.address, source.address)) {
            return socket.user;
        }
    }
    return std::nullopt;
}

std::vector<Outcome> fitting(const std::vector<Outcome>& outcomes,
                             const std::optional<Entry>& entry) {
    std::vector<Outcome> fit;
    for (const Outcome& outcome : outcomes) {
        if (entry && goes_there(outcome, *entry)) {
            fit.push_back(outcome);
        }
    }
    return fit.empty() ? outcomes : fit;
}

namespace {

bool passes_below(const FlowSeen& seen) {
    return !seen.sent_here && seen.forth_in == 0 && seen.forth_out != 0 && seen.back_in != 0 &&
           seen.back_out == 0;
}

// Acknowledgements of a stream come one for several packets, evenly; answers of which many are lost do
// not.
bool is_answered_at_intervals(const FlowSeen& seen, std::uint64_t asked, std::uint64_t answered) {
    constexpr std::uint64_t kFewestAnswers = 4;
    return answered >= kFewestAnswers && seen.longest_silence != 0 &&
           seen.longest_silence <= 2 * (asked / answered) + 1;
}

// Diagnoses by the entry, the packets that were counted, rules, routes, neighbours and sockets.
Diagnosis by_state(const FlowSeen& seen, std::int64_t now_ns) {
    Diagnosis diagnosis;
    const std::vector<Outcome> fit = fitting(seen.outcomes, seen.entry);
    if (!fit.empty()) {
        diagnosis.rules = lines_of(fit.front());
    }
    if (seen.entry && seen.stale.stale()) {
        diagnosis.health = Health::kCause;
        diagnosis.cause = "stale-entry";
        diagnosis.text = sentence_of(*seen.entry, seen.stale, now_ns);
        if (seen.stale.staleness == Staleness::kAnswersElsewhere) {
            diagnosis.cause = "zone-of-answers";
            diagnosis.remedy = zone_command(*seen.entry, seen.sent_here);
        } else {
            diagnosis.remedy = delete_command(*seen.entry);
        }
        return diagnosis;
    }
    // Packets sent through a device of this host below its rules (macvlan, ipvlan, a packet socket)
    // are seen to leave, and their answers to come.
    const bool below = passes_below(seen);
    const bool sent_here = seen.sent_here || below;
    const std::uint64_t asked = sent_here ? seen.forth_out : seen.forth_in;
    const std::uint64_t answered = sent_here ? seen.back_in : seen.back_out;
    const std::uint64_t bridged_back = std::min(seen.back_in, seen.back_out);
    if (!seen.other_cause.empty()) {
        diagnosis.health = Health::kCause;
        diagnosis.cause = "conntrack";
        diagnosis.text = seen.other_cause;
        return diagnosis;
    }
    // An entry without an answer is a packet that nobody has answered, though it passed before the look.
    const bool is_unanswered = seen.entry && !netfilter::seen_reply(*seen.entry);
    if (asked + seen.forth_out == 0 && answered + bridged_back == 0 && !is_unanswered) {
        const bool known = fit.size() == 1 && fit[0].doubts.empty();
        diagnosis.text = fmt::format(
            "No packet of {} was seen.{}", addresses_text(seen),
            known ? fmt::format(" By the rules of now one {}.", sentence_of(fit[0])) : "");
        if (seen.entry) {
            diagnosis.health = Health::kHealthy;
            diagnosis.text += " Its entry is as the rules of now would make it.";
        }
        return diagnosis;
    }
    if (answered != 0) {
        const std::uint64_t most = std::max(asked, seen.forth_out);
        if (seen.tuple.protocol == IPPROTO_TCP || answered * 2 >= most) {
            diagnosis.health = Health::kHealthy;
            diagnosis.text =
                fmt::format("It is answered: {}.{}", packets_text(seen),
                            below ? " It passes a device of this host below its rules." : "");
            return diagnosis;
        }
        if (is_answered_at_intervals(seen, most, answered)) {
            diagnosis.health = Health::kHealthy;
            diagnosis.text =
                fmt::format("It is answered, at intervals of at most {}: {}.",
                            plural(seen.longest_silence, "packet"), packets_text(seen));
            return diagnosis;
        }
        diagnosis.text = fmt::format("{} of {} were answered: {}.", answered,
                                     plural(most, "packet"), packets_text(seen));
        return diagnosis;
    }
    if (seen.stray_answers != 0 && seen.strays_pass) {
        diagnosis.health = Health::kHealthy;
        diagnosis.text = fmt::format(
            "It is answered, from port {} and not from {}, which was asked: {}, which who asked "
            "gets. {}.",
            seen.stray_port, seen.tuple.destination.port, plural(seen.stray_answers, "answer"),
            packets_text(seen));
        return diagnosis;
    }
    if (seen.stray_answers != 0) {
        return by_strays(seen, std::move(diagnosis));
    }
    // The flow is not answered: a cause on which all fitting ways agree is its cause.
    std::optional<Diagnosis> cause;
    bool alike = true;
    for (const Outcome& outcome : fit) {
        const auto one = by_outcome(seen, outcome);
        alike = alike && one && (!cause || cause->cause == one->cause);
        cause = cause ? cause : one;
    }
    // A drop that the packets pass is none.
    const bool passed_before = is_unanswered && asked + seen.forth_out == 0;
    const bool passes = passed_before || (seen.forth_out != 0 && !seen.sent_here);
    const bool stops =
        cause &&
        !contains(std::array{"no-neighbour", "gone-neighbour", "closed-socket"}, cause->cause);
    if (cause && alike && !(stops && passes)) {
        cause->rules = diagnosis.rules;
        cause->text += fmt::format(" {}.", packets_text(seen));
        return *cause;
    }
    if (cause && !(stops && passes)) {
        diagnosis.text = fmt::format(
            "It may be this, and is not certain ({}): {} {}.",
            fit.front().doubts.empty() ? "several ways fit" : fit.front().doubts.front(),
            cause->text, packets_text(seen));
        return diagnosis;
    }
    diagnosis.text = fmt::format(
        "As far as this host sees, only one direction passes here: {}.{}", packets_text(seen),
        fit.size() == 1 && fit[0].doubts.empty()
            ? fmt::format(" It {}; what becomes of it then is not seen here.", sentence_of(fit[0]))
            : "");
    return diagnosis;
}

// "3 packets and 2 answers were dropped ..."
std::string drops_text(const FlowSeen& seen) {
    return join_each(
        seen.drops,
        [](const FlowDrop& drop) {
            return fmt::format("{} {} dropped {}",
                               plural(drop.packets, drop.of_answers ? "answer" : "packet"),
                               drop.packets == 1 ? "was" : "were", drop.text);
        },
        "; ");
}

bool is_by_netfilter(const FlowDrop& drop) {
    return fate::is_by_netfilter(drop.cause);
}

// A bridge that floods a frame to no port: nobody has the MAC that it goes to.
bool is_to_nobody(const FlowDrop& drop) {
    return drop.cause == "no-port" && drop.place.starts_with("br_");
}

Diagnosis by_drops(const FlowSeen& seen, Diagnosis diagnosis) {
    const FlowDrop& first = seen.drops.front();
    diagnosis.health = Health::kCause;
    diagnosis.remedy.clear();
    diagnosis.cause = "dropped-" + first.cause;
    diagnosis.text = fmt::format("{}. {}.", drops_text(seen), packets_text(seen));
    if (is_to_nobody(first)) {
        diagnosis.cause = "unknown-mac";
        diagnosis.text +=
            " No port of the bridge has the MAC that they go to: the sender's neighbour entry is "
            "that of a device which is gone, or of the bridge before it took another MAC.";
    }
    return diagnosis;
}

}  // namespace

Diagnosis diagnose(const FlowSeen& seen, std::int64_t now_ns) {
    // One in so many packets is a loss that is told as the cause.
    constexpr std::uint64_t kFewest = 20;
    Diagnosis diagnosis = by_state(seen, now_ns);
    std::uint64_t dropped = 0;
    for (const FlowDrop& drop : seen.drops) {
        dropped += drop.packets;
    }
    if (dropped == 0) {
        return diagnosis;
    }
    const bool blames_rules =
        contains(std::array{"dropped-by-rule", "dropped-by-policy"}, diagnosis.cause);
    if (diagnosis.health == Health::kCause && blames_rules &&
        std::ranges::none_of(seen.drops, is_by_netfilter)) {
        return by_drops(seen, std::move(diagnosis));
    }
    if (diagnosis.health == Health::kCause) {
        diagnosis.text += fmt::format(" Followed: {}.", drops_text(seen));
        return diagnosis;
    }
    const std::uint64_t all =
        std::max(seen.forth_in, seen.forth_out) + std::max(seen.back_in, seen.back_out);
    if (diagnosis.health == Health::kHealthy && dropped * kFewest < all) {
        diagnosis.text += fmt::format(" A few were lost: {}.", drops_text(seen));
        return diagnosis;
    }
    return by_drops(seen, std::move(diagnosis));
}

std::string remove_command(const hazards::Rule& rule) {
    if (rule.origin == Origin::kNftables) {
        return fmt::format("nft delete rule {} {} {} handle {}", rule.family, rule.table,
                           rule.chain, rule.handle);
    }
    const std::string program = rule.family == "ip6" ? "ip6tables" : "iptables";
    return fmt::format("{}{} -t {} -D {} {}", program,
                       rule.origin == Origin::kIptablesLegacy ? "-legacy" : "", rule.table,
                       rule.chain, rule.number);
}

}  // namespace pathproof::predict
