#include "harness/fate/flow.h"

#include <algorithm>

#include "dataplane/base/number.h"
#include "harness/netfilter/lookup.h"
#include "harness/netfilter/names.h"

namespace pathproof::fate {
namespace {

struct Part {
    std::optional<frame::IpAddress> address;
    std::uint16_t port = 0;
};

Result<std::uint16_t> parse_port(const std::string& text, const std::string& word) {
    if (text.empty() || text.size() > 5 ||
        !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
        return fail(ErrorCode::kBadInput, "{}: '{}' is no port; ports are 1 to 65535", word, text);
    }
    const int port = std::stoi(text);
    if (port < 1 || port > 65'535) {
        return fail(ErrorCode::kBadInput, "{}: ports are 1 to 65535", word);
    }
    return static_cast<std::uint16_t>(port);
}

Result<Part> parse_part(const std::string& word) {
    Part part;
    if (word == "*") {
        return part;
    }
    if (word.starts_with("*:")) {
        part.port = TRY(parse_port(word.substr(2), word));
        return part;
    }
    if (auto address = frame::parse_ip(word)) {
        part.address = *address;
        return part;
    }
    const auto endpoint = frame::parse_endpoint(word);
    if (!endpoint) {
        return fail(ErrorCode::kBadInput,
                    "{} is no address: it is ADDRESS, ADDRESS:PORT, [IPV6]:PORT, *:PORT or *",
                    word);
    }
    part.address = endpoint->address;
    part.port = endpoint->port;
    return part;
}

std::string part_text(const std::optional<frame::IpAddress>& address, std::uint16_t port) {
    if (!address) {
        return port == 0 ? "*" : fmt::format("*:{}", port);
    }
    return port == 0 ? frame::to_string(*address)
                     : frame::to_string(frame::Endpoint{*address, port});
}

void put(const std::optional<frame::IpAddress>& address, __u8 (&bytes)[16], __u8& has) {
    if (address) {
        std::copy_n(address->bytes.begin(), address->size(), bytes);
        has = 1;
    }
}

}  // namespace

Result<Flow> parse_flow(const std::vector<std::string>& words) {
    const std::vector<std::string> parts = netfilter::flow_words(words);
    if (parts.size() != 3) {
        return fail(ErrorCode::kBadInput,
                    "a flow is a protocol, a source and a destination, such as 'udp 10.0.0.5:40000 "
                    "10.96.0.10:53' or 'tcp * 10.96.0.10:443'");
    }
    Flow flow;
    if (parts[0] != "any") {
        const auto protocol = netfilter::protocol_number(parts[0]);
        if (!protocol || *protocol == 0) {
            return fail(ErrorCode::kBadInput,
                        "'{}' is no protocol; use udp, tcp, icmp, icmpv6, sctp, any or a number "
                        "from 1 to 255",
                        parts[0]);
        }
        flow.protocol = *protocol;
    }
    const Part source = TRY(parse_part(parts[1]));
    const Part destination = TRY(parse_part(parts[2]));
    if ((source.port != 0 || destination.port != 0) && flow.protocol != 0 &&
        !netfilter::has_ports(flow.protocol)) {
        return fail(ErrorCode::kBadInput, "packets of {} have no ports", parts[0]);
    }
    if (source.address && destination.address &&
        source.address->family != destination.address->family) {
        return fail(ErrorCode::kBadInput, "{} and {} are not of one family", parts[1], parts[2]);
    }
    if (!source.address && source.port == 0 && !destination.address && destination.port == 0) {
        return fail(ErrorCode::kBadInput,
                    "a flow needs an address or a port: that of all packets is not followed");
    }
    flow.source = source.address;
    flow.source_port = source.port;
    flow.destination = destination.address;
    flow.destination_port = destination.port;
    return flow;
}

std::string to_string(const Flow& flow) {
    return fmt::format("{} {} > {}",
                       flow.protocol == 0 ? "any" : netfilter::protocol_name(flow.protocol),
                       part_text(flow.source, flow.source_port),
                       part_text(flow.destination, flow.destination_port));
}

fate_filter to_filter(const Flow& flow) {
    fate_filter filter{};
    filter.tcp_flags = flow.tcp_flags;
    filter.flow.protocol = flow.protocol;
    filter.flow.source_port = flow.source_port;
    filter.flow.destination_port = flow.destination_port;
    put(flow.source, filter.flow.source, filter.has_source);
    put(flow.destination, filter.flow.destination, filter.has_destination);
    const auto& address = flow.source ? flow.source : flow.destination;
    if (address) {
        filter.flow.family = address->family == frame::Family::kIpv4 ? 4 : 6;
    }
    return filter;
}

}  // namespace pathproof::fate
