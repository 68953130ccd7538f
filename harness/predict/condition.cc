#include "harness/predict/condition.h"

#include <netinet/in.h>

#include <algorithm>
#include <iterator>

#include "dataplane/base/contains.h"

namespace pathproof::predict {
namespace {

using hazards::AddressRange;
using hazards::Condition;
using hazards::Field;

constexpr std::uint32_t kSyn = 0x02;

Match of(bool matches) {
    return matches ? Match::kYes : Match::kNo;
}

bool is_device(const std::string& pattern, const std::string& device) {
    if (pattern.ends_with('+') || pattern.ends_with('*')) {
        return device.starts_with(pattern.substr(0, pattern.size() - 1));
    }
    return device == pattern;
}

bool has_value(const std::vector<std::pair<std::uint16_t, std::uint16_t>>& ranges, unsigned value) {
    return std::ranges::any_of(
        ranges, [&](const auto& range) { return range.first <= value && value <= range.second; });
}

frame::IpAddress next(frame::IpAddress address) {
    for (std::size_t i = address.size(); i-- > 0;) {
        if (++address.bytes[i] != 0) {
            break;
        }
    }
    return address;
}

frame::IpAddress before(frame::IpAddress address) {
    for (std::size_t i = address.size(); i-- > 0;) {
        if (address.bytes[i]-- != 0) {
            break;
        }
    }
    return address;
}

// Matches the type of an address (addrtype, fib), as far as rules ask for it.
Match of_type(const std::vector<std::string>& words, const frame::IpAddress& address,
              const Locals& locals) {
    const bool local = is_in(locals, address);
    const bool multicast = address.family == frame::Family::kIpv4
                               ? (address.bytes[0] & 0xf0) == 0xe0
                               : address.bytes[0] == 0xff;
    if (contains(words, "local") && local) {
        return Match::kYes;
    }
    if (contains(words, "multicast") && multicast) {
        return Match::kYes;
    }
    if (local || multicast) {
        return Match::kNo;
    }
    // Unicast, broadcast, blackhole and others are told apart by routes.
    const bool plain = std::ranges::all_of(
        words, [](const std::string& word) { return word == "local" || word == "multicast"; });
    return plain ? Match::kNo : Match::kMaybe;
}

Match match_all(const std::vector<Condition>& conditions, const Packet& packet,
                const Locals& locals, Narrow& narrow) {
    Match all = Match::kYes;
    for (const Condition& condition : conditions) {
        const Match one = match(condition, packet, locals, narrow);
        if (one == Match::kNo) {
            return Match::kNo;
        }
        all = one == Match::kMaybe ? one : all;
    }
    return all;
}

Match address_match(const Condition& condition, const frame::IpAddress& address) {
    return of(std::ranges::any_of(
        condition.addresses, [&](const AddressRange& range) { return range.contains(address); }));
}

Match device_match(const Condition& condition, const std::string& device) {
    return of(std::ranges::any_of(
        condition.words, [&](const std::string& word) { return is_device(word, device); }));
}

Match plain_match(const Condition& condition, const Packet& packet, const Locals& locals,
                  Narrow& narrow) {
    if (!condition.set.empty()) {
        return Match::kMaybe;
    }
    switch (condition.field) {
        case Field::kSource:
            narrow.by(packet.source, condition.addresses);
            return address_match(condition, packet.source.address);
        case Field::kDestination: return address_match(condition, packet.destination.address);
        case Field::kProtocol: {
            const std::string number = std::to_string(packet.protocol);
            return of(contains(condition.words, packet.protocol_word) ||
                      contains(condition.words, number) || contains(condition.words, "all"));
        }
        case Field::kSourcePort:
            narrow.by_ports(packet.source, condition.ports);
            return packet.has_ports() ? of(has_value(condition.ports, packet.source.port))
                                      : Match::kMaybe;
        case Field::kDestinationPort:
            return packet.has_ports() ? of(has_value(condition.ports, packet.destination.port))
                                      : Match::kMaybe;
        case Field::kEitherPort:
            narrow.by_ports(packet.source, condition.ports);
            return packet.has_ports() ? of(has_value(condition.ports, packet.source.port) ||
                                           has_value(condition.ports, packet.destination.port))
                                      : Match::kMaybe;
        case Field::kIn: return packet.any_in ? Match::kMaybe : device_match(condition, packet.in);
        case Field::kOut: return device_match(condition, packet.out);
        case Field::kMark: return of((packet.mark & condition.mask) == condition.mark);
        case Field::kConnmark:
            // Without an entry there is no mark, and the rule does not match whatever it asks.
            return of((packet.connmark & condition.mask) == condition.mark);
        case Field::kState:
            if (packet.state.empty()) {
                return Match::kMaybe;
            }
            return of(contains(condition.words, packet.state) ||
                      (packet.dnat && contains(condition.words, "dnat")) ||
                      (packet.snat && contains(condition.words, "snat")));
        case Field::kStatus: {
            const bool plain = std::ranges::all_of(condition.words, [](const std::string& word) {
                return word == "dnat" || word == "snat";
            });
            const bool met = (packet.dnat && contains(condition.words, "dnat")) ||
                             (packet.snat && contains(condition.words, "snat"));
            if (met) {
                return Match::kYes;
            }
            return plain ? Match::kNo : Match::kMaybe;
        }
        case Field::kDirection:
            return packet.state == "invalid" || packet.state == "untracked"
                       ? Match::kMaybe
                       : of(contains(condition.words, "original"));
        case Field::kDestinationType:
            return of_type(condition.words, packet.destination.address, locals);
        case Field::kSourceType:
            narrow.by_all(packet.source, locals);
            return of_type(condition.words, packet.source.address, locals);
        case Field::kFamily:
            return of(contains(condition.words, packet.source.address.family == frame::Family::kIpv4
                                                    ? "ipv4"
                                                    : "ipv6"));
        case Field::kIcmpType:
            return packet.icmp ? of(has_value(condition.ports, packet.icmp->type)) : Match::kNo;
        case Field::kIcmpCode:
            return packet.icmp ? of(has_value(condition.ports, packet.icmp->code)) : Match::kNo;
        case Field::kTcpFlags:
            // A flow begins with a SYN.
            return packet.protocol == IPPROTO_TCP ? of((kSyn & condition.mask) == condition.mark)
                                                  : Match::kNo;
        case Field::kUser: {
            if (!packet.sent_here) {
                return Match::kNo;  // nobody's socket here sent it
            }
            if (!packet.user) {
                return Match::kMaybe;
            }
            const bool ranges = std::ranges::any_of(condition.words, [](const std::string& word) {
                return word.find('-') != std::string::npos;
            });
            return ranges ? Match::kMaybe
                          : of(contains(condition.words, std::to_string(*packet.user)));
        }
        case Field::kAlternatives: {
            Match any = Match::kNo;
            for (const auto& alternative : condition.alternatives) {
                const Match one = match_all(alternative, packet, locals, narrow);
                if (one == Match::kYes) {
                    return one;
                }
                any = one == Match::kMaybe ? one : any;
            }
            return any;
        }
        case Field::kRandom:
        case Field::kOther: return Match::kMaybe;
    }
    return Match::kMaybe;
}

}  // namespace

bool is_in(const Locals& locals, const frame::IpAddress& address) {
    const auto after = std::ranges::upper_bound(locals, address, {}, &AddressRange::first);
    return after != locals.begin() && std::prev(after)->contains(address);
}

void Narrow::by(const frame::Endpoint& now, const std::vector<AddressRange>& ranges) {
    if (now != source_) {
        return;  // a translated one: it does not depend on what it was
    }
    const auto holds = std::ranges::find_if(
        ranges, [&](const AddressRange& range) { return range.contains(source_.address); });
    if (holds != ranges.end()) {
        region.first_source = std::max(region.first_source, holds->first);
        region.last_source = std::min(region.last_source, holds->last);
        return;
    }
    for (const AddressRange& range : ranges) {
        step_off(range);
    }
}

void Narrow::by_ports(const frame::Endpoint& now,
                      const std::vector<std::pair<std::uint16_t, std::uint16_t>>& ranges) {
    if (now != source_) {
        return;
    }
    const std::uint16_t port = source_.port;
    for (const auto& [first, last] : ranges) {
        if (first <= port && port <= last) {
            region.first_port = std::max(region.first_port, first);
            region.last_port = std::min(region.last_port, last);
        } else if (last < port) {
            region.first_port = std::max(region.first_port, static_cast<std::uint16_t>(last + 1));
        } else {
            region.last_port = std::min(region.last_port, static_cast<std::uint16_t>(first - 1));
        }
    }
}

void Narrow::by_all(const frame::Endpoint& now, const std::vector<AddressRange>& ranges) {
    if (now != source_) {
        return;
    }
    for (const AddressRange& range : ranges) {
        if (range.contains(source_.address)) {
            region.first_source = std::max(region.first_source, range.first);
            region.last_source = std::min(region.last_source, range.last);
        } else {
            step_off(range);
        }
    }
}

void Narrow::step_off(const AddressRange& range) {
    if (range.first.family != family_) {
        return;
    }
    if (range.last < source_.address) {
        region.first_source = std::max(region.first_source, next(range.last));
    } else {
        region.last_source = std::min(region.last_source, before(range.first));
    }
}

std::string word_of(std::uint8_t protocol) {
    if (protocol == IPPROTO_ESP || protocol == IPPROTO_AH) {  // conntrack has no words for them
        return protocol == IPPROTO_ESP ? "esp" : "ah";
    }
    const std::string_view known = netfilter::protocol_name(protocol);
    return known == "unknown" ? std::to_string(protocol) : std::string(known);
}

Match match(const Condition& condition, const Packet& packet, const Locals& locals,
            Narrow& narrow) {
    const Match plain = plain_match(condition, packet, locals, narrow);
    // The user of a packet that no socket here sent is not there: neither form matches.
    if (condition.field == Field::kUser && !packet.sent_here) {
        return Match::kNo;
    }
    if (!condition.negated || plain == Match::kMaybe) {
        return plain;
    }
    return plain == Match::kYes ? Match::kNo : Match::kYes;
}

std::string doubt_of(const Condition& condition) {
    if (!condition.set.empty()) {
        return "set " + condition.set;
    }
    switch (condition.field) {
        case Field::kRandom: return "chance";
        case Field::kUser: return "owner of the socket";
        case Field::kIn: return "device";
        case Field::kState: return "state";
        default: break;
    }
    if (!condition.unknown.empty()) {
        return condition.unknown;
    }
    return condition.field == Field::kAlternatives ? "a set" : "a match that is not modelled";
}

}  // namespace pathproof::predict
