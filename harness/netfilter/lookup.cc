#include "harness/netfilter/lookup.h"

#include <fmt/ranges.h>
#include <sys/socket.h>

#include <sstream>

#include "dataplane/base/number.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/tuple_message.h"

namespace pathproof::netfilter {
namespace {

constexpr std::uint8_t kEchoRequest = 8;
constexpr std::uint8_t kEchoRequestV6 = 128;

// "id=7".
Result<std::uint16_t> parse_echo_id(const std::string& word) {
    const auto id =
        word.starts_with("id=") ? whole_number<std::uint16_t>(word.substr(3)) : std::nullopt;
    if (!id) {
        return fail(ErrorCode::kBadInput, "'{}' is no id of an echo: write id=7", word);
    }
    return *id;
}

}  // namespace

std::vector<std::string> flow_words(const std::vector<std::string>& words) {
    std::vector<std::string> parts;
    for (const std::string& word : words) {
        std::istringstream text(word);
        for (std::string part; text >> part;) {
            if (part != ">") {
                parts.push_back(part);
            }
        }
    }
    return parts;
}

Result<Tuple> parse_flow(const std::vector<std::string>& words) {
    const std::vector<std::string> parts = flow_words(words);
    const auto refuse = [&](const std::string& why) {
        return fail(ErrorCode::kBadInput,
                    "'{}' is no flow: {}; write 'udp 10.0.0.5:40000 10.96.0.10:53', 'tcp "
                    "[2001:db8::5]:40000 [2001:db8::9]:80' or 'icmp 10.0.0.5 10.0.0.9 id=7'",
                    fmt::join(parts, " "), why);
    };
    const auto protocol = parts.empty() ? std::nullopt : protocol_number(parts.front());
    if (!protocol) {
        return refuse(parts.empty() ? "it is empty"
                                    : fmt::format("no protocol is called '{}'", parts.front()));
    }
    const bool icmp = *protocol == IPPROTO_ICMP || *protocol == IPPROTO_ICMPV6;
    if (!icmp && !has_ports(*protocol)) {
        return refuse(fmt::format("{} has neither ports nor ids", parts.front()));
    }
    if (parts.size() != (icmp ? 4 : 3)) {
        return refuse(icmp ? "it needs two addresses and an id"
                           : "it needs two addresses with ports");
    }
    Tuple tuple{.protocol = *protocol};
    for (auto [end, part] :
         {std::pair{&tuple.source, &parts[1]}, {&tuple.destination, &parts[2]}}) {
        if (icmp) {
            end->address = TRY(frame::parse_ip(*part));
        } else {
            *end = TRY(frame::parse_endpoint(*part));
        }
    }
    const bool ipv6 = tuple.source.address.family == frame::Family::kIpv6;
    if (tuple.source.address.family != tuple.destination.address.family) {
        return refuse("one address is IPv4, the other IPv6");
    }
    if (icmp) {
        if (ipv6 != (*protocol == IPPROTO_ICMPV6)) {
            return refuse("icmp is of IPv4, icmpv6 of IPv6");
        }
        tuple.icmp = Tuple::Icmp{.type = ipv6 ? kEchoRequestV6 : kEchoRequest,
                                 .id = TRY(parse_echo_id(parts[3]))};
    }
    return tuple;
}

std::string flow_text(const Tuple& tuple) {
    if (tuple.icmp) {
        return fmt::format("{} {} > {} id={}", protocol_name(tuple.protocol),
                           frame::to_string(tuple.source.address),
                           frame::to_string(tuple.destination.address), tuple.icmp->id);
    }
    return fmt::format("{} {} > {}", protocol_name(tuple.protocol), frame::to_string(tuple.source),
                       frame::to_string(tuple.destination));
}

Result<Lookup> Lookup::open(const std::string& netns) {
    return Lookup(TRY(Socket::open(netns)));
}

Result<std::optional<Entry>> Lookup::find(const Tuple& tuple, std::uint16_t zone) {
    alignas(nlmsghdr) char buffer[4096];
    nlmsghdr& request = begin_request(buffer, IPCTNL_MSG_CT_GET, NLM_F_ACK,
                                      kernel_family(tuple.source.address.family));
    put_tuple(request, CTA_TUPLE_ORIG, tuple, all_parts(tuple));
    if (zone != 0) {
        mnl_attr_put_u16(&request, CTA_ZONE, htons(zone));
    }
    std::optional<Entry> entry;
    const auto answered = socket_.request(request, [&](const nlmsghdr& message) {
        Entry found;
        if (parse_entry(message, found) == Parsed::kOk) {
            entry = std::move(found);
        }
    });
    if (!answered && answered.error().code != ErrorCode::kNotFound) {
        return pass_on(answered.error());
    }
    return entry;
}

}  // namespace pathproof::netfilter
