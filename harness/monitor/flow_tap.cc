#include "harness/monitor/flow_tap.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "dataplane/base/clock.h"
#include "harness/netfilter/names.h"
#include "harness/process/netlink.h"
#include "harness/process/netns.h"

namespace pathproof::monitor {
namespace {

// IP header with options or one IPv6 header, and the flags of TCP.
constexpr int kFlowSnapBytes = 128;

std::string one_way(const netfilter::Tuple& tuple, const frame::Endpoint& source,
                    const frame::Endpoint& destination) {
    std::string text = fmt::format("src host {} and dst host {}", frame::to_string(source.address),
                                   frame::to_string(destination.address));
    if (tuple.protocol == IPPROTO_TCP || tuple.protocol == IPPROTO_UDP ||
        tuple.protocol == IPPROTO_SCTP) {
        text += fmt::format(" and src port {} and dst port {}", source.port, destination.port);
    }
    return "(" + text + ")";
}

// A first fragment of IPv6: `ip6 proto` looks at the header behind the IP header alone (RFC 8200, 4.5).
std::string first_fragment(const netfilter::Tuple& tuple, const frame::Endpoint& source,
                           const frame::Endpoint& destination) {
    std::string text = fmt::format(
        "src host {} and dst host {} and ip6[6] = 44 and ip6[40] = {} and ip6[42:2] & 0xfff8 = 0",
        frame::to_string(source.address), frame::to_string(destination.address), tuple.protocol);
    if (netfilter::has_ports(tuple.protocol)) {
        text +=
            fmt::format(" and ip6[48:2] = {} and ip6[50:2] = {}", source.port, destination.port);
    }
    return "(" + text + ")";
}

// pcap-filter(7).
std::string expression(const netfilter::Tuple& tuple) {
    const bool is_v4 = tuple.source.address.family == frame::Family::kIpv4;
    std::string text = fmt::format("({} proto {} and ({} or {}))", is_v4 ? "ip" : "ip6",
                                   tuple.protocol, one_way(tuple, tuple.source, tuple.destination),
                                   one_way(tuple, tuple.destination, tuple.source));
    if (!is_v4) {
        text += fmt::format(" or {} or {}", first_fragment(tuple, tuple.source, tuple.destination),
                            first_fragment(tuple, tuple.destination, tuple.source));
    }
    return text;
}

// "SYN", "FIN", "RST" of a TCP segment.
std::string tcp_flags(std::span<const std::byte> packet, const frame::PacketView& view) {
    if (view.transport != frame::Transport::kTcp) {
        return {};
    }
    const auto flags = std::to_integer<unsigned>(packet[view.transport_offset + 13]);
    if ((flags & 0x04) != 0) {
        return "RST";
    }
    if ((flags & 0x02) != 0) {
        return "SYN";
    }
    return (flags & 0x01) != 0 ? "FIN" : "";
}

}  // namespace

namespace {

Result<PacketSocket> open_filtered(const std::string& netns, const std::string& words) {
    return PacketSocket::open_for(netns, words, kFlowSnapBytes, "watch the flow's packets");
}

struct Link {
    std::uint32_t index = 0, master = 0, below = 0;
    bool elsewhere = false;  // what it lies on is in another namespace
};

int take_link(const nlattr* attribute, void* data) {
    Link& link = *static_cast<Link*>(data);
    switch (mnl_attr_get_type(attribute)) {
        case IFLA_MASTER: link.master = mnl_attr_get_u32(attribute); break;
        case IFLA_LINK: link.below = mnl_attr_get_u32(attribute); break;
        case IFLA_LINK_NETNSID: link.elsewhere = true; break;
        default: break;
    }
    return MNL_CB_OK;
}

}  // namespace

Result<FlowTap> FlowTap::start(const std::string& netns, const netfilter::Tuple& tuple) {
    auto opened = TRY(open_filtered(netns, expression(tuple)));
    return FlowTap(tuple, std::move(opened));
}

Result<StrayTap> StrayTap::start(const std::string& netns, const netfilter::Tuple& reply) {
    auto opened = TRY(open_filtered(
        netns,
        fmt::format("{} proto {} and src host {} and dst host {} and dst port {} and not src "
                    "port {}",
                    reply.source.address.family == frame::Family::kIpv4 ? "ip" : "ip6",
                    reply.protocol, frame::to_string(reply.source.address),
                    frame::to_string(reply.destination.address), reply.destination.port,
                    reply.source.port)));
    return StrayTap(std::move(opened));
}

void StrayTap::drain(std::map<std::uint16_t, Strays>& by_port) {
    std::array<std::byte, kFlowSnapBytes> buffer;
    while (const auto packet = socket_.next(buffer)) {
        const frame::PacketView view = view_of(packet->bytes);
        if (view.network != frame::Network::kNone) {
            Strays& strays = by_port[view.source_port];
            ++(packet->leaving() ? strays.out : strays.in);
        }
    }
}

Result<DeviceStack> device_stack(const std::string& netns) {
    return process::in_netns(netns, []() -> Result<DeviceStack> {
        auto socket = TRY(process::NetlinkSocket::open(NETLINK_ROUTE));
        std::array<char, 256> buffer{};
        nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
        request->nlmsg_type = RTM_GETLINK;
        request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        mnl_nlmsg_put_extra_header(request, sizeof(ifinfomsg));
        std::vector<Link> links;
        const int error = socket.exchange(*request, [&](const nlmsghdr& message) {
            const auto* info = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&message));
            Link link{.index = static_cast<std::uint32_t>(info->ifi_index)};
            mnl_attr_parse(&message, sizeof(ifinfomsg), take_link, &link);
            links.push_back(link);
        });
        if (error != 0) {
            return fail(ErrorCode::kFailed, "list devices: {}", std::strerror(error));
        }
        DeviceStack stack;
        for (const Link& link : links) {
            if (link.master != 0) {
                stack[link.index].push_back(link.master);
            }
            // Both ends of a veth pair have each other below.
            const bool is_pair = std::ranges::any_of(links, [&](const Link& other) {
                return other.index == link.below && other.below == link.index;
            });
            if (link.below != 0 && !link.elsewhere && !is_pair) {
                stack[link.below].push_back(link.index);
            }
        }
        return stack;
    });
}

Result<std::optional<netfilter::Tuple>> next_flow(const std::string& netns,
                                                  const netfilter::Tuple& like, bool any_source,
                                                  bool any_port,
                                                  const std::function<bool()>& stop) {
    std::string words =
        fmt::format("{} proto {} and dst host {}",
                    like.destination.address.family == frame::Family::kIpv4 ? "ip" : "ip6",
                    like.protocol, frame::to_string(like.destination.address));
    if (like.protocol == IPPROTO_TCP || like.protocol == IPPROTO_UDP ||
        like.protocol == IPPROTO_SCTP) {
        words += fmt::format(" and dst port {}", like.destination.port);
        words += any_port ? "" : fmt::format(" and src port {}", like.source.port);
    }
    if (!any_source) {
        words += " and src host " + frame::to_string(like.source.address);
    }
    PacketSocket socket = TRY(open_filtered(netns, words));
    std::array<std::byte, kFlowSnapBytes> buffer;
    while (!stop()) {
        const auto packet = socket.next(buffer);
        if (!packet) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            continue;
        }
        const frame::PacketView view = view_of(packet->bytes);
        if (view.network == frame::Network::kNone) {
            continue;
        }
        netfilter::Tuple found = like;
        found.source = {view.source, any_port ? view.source_port : like.source.port};
        return std::optional(found);
    }
    return std::optional<netfilter::Tuple>();
}

void FlowTap::drain(const std::function<void(const FlowPacket&)>& visit) {
    std::array<std::byte, kFlowSnapBytes> buffer;
    while (const auto packet = socket_.next(buffer)) {
        const frame::PacketView view = view_of(packet->bytes);
        if (view.network == frame::Network::kNone) {
            continue;
        }
        // Both ends may have one address: then their ports tell.
        const bool back = tuple_.source.address == tuple_.destination.address
                              ? view.source_port != tuple_.source.port
                              : view.source != tuple_.source.address;
        visit({.time_ns = realtime_ns(),
               .back = back,
               .leaving = packet->leaving(),
               .flags = tcp_flags(packet->bytes, view),
               .device = static_cast<std::uint32_t>(packet->from.sll_ifindex)});
    }
}

}  // namespace pathproof::monitor
