#include "harness/predict/router.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "dataplane/base/file.h"
#include "dataplane/base/number.h"
#include "harness/process/netlink.h"
#include "harness/process/netns.h"

namespace pathproof::predict {
namespace {

frame::IpAddress address_of(const nlattr* attribute) {
    frame::IpAddress address;
    const std::size_t size = std::min<std::size_t>(mnl_attr_get_payload_len(attribute), 16);
    address.family = size == 4 ? frame::Family::kIpv4 : frame::Family::kIpv6;
    std::memcpy(address.bytes.data(), mnl_attr_get_payload(attribute), size);
    return address;
}

class KernelRouter : public Router {
  public:
    KernelRouter(std::string netns, process::NetlinkSocket socket,
                 std::map<std::string, unsigned> devices)
        : netns_(std::move(netns)), socket_(std::move(socket)), devices_(std::move(devices)) {
        for (const auto& [device, index] : devices_) {
            names_[index] = device;
        }
    }

    RouteAnswer find(const RouteQuery& query) override {
        std::array<char, 1024> buffer{};
        nlmsghdr* message = mnl_nlmsg_put_header(buffer.data());
        message->nlmsg_type = RTM_GETROUTE;
        message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
        auto* route = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
        const bool is_v4 = query.destination.family == frame::Family::kIpv4;
        route->rtm_family = is_v4 ? AF_INET : AF_INET6;
        const auto bits = static_cast<unsigned char>(query.destination.size() * 8);
        route->rtm_dst_len = bits;
        mnl_attr_put(message, RTA_DST, query.destination.size(), query.destination.bytes.data());
        if (query.source) {
            route->rtm_src_len = bits;
            mnl_attr_put(message, RTA_SRC, query.source->size(), query.source->bytes.data());
        }
        if (!query.in.empty()) {
            const auto device = devices_.find(query.in);
            if (device == devices_.end()) {
                return {.text = "there is no device " + query.in};
            }
            mnl_attr_put_u32(message, RTA_IIF, device->second);
        }
        if (query.mark != 0) {
            mnl_attr_put_u32(message, RTA_MARK, query.mark);
        }
        if (query.user) {
            mnl_attr_put_u32(message, RTA_UID, *query.user);
        }
        if (query.protocol == IPPROTO_TCP || query.protocol == IPPROTO_UDP) {
            mnl_attr_put_u8(message, RTA_IP_PROTO, query.protocol);
            mnl_attr_put_u16(message, RTA_SPORT, htons(query.source_port));
            mnl_attr_put_u16(message, RTA_DPORT, htons(query.destination_port));
        }
        RouteAnswer answer;
        const int error = socket_.exchange(
            *message, [&](const nlmsghdr& reply) { answer = read(reply, query.in.empty()); });
        if (error == 0) {
            return answer;
        }
        using Kind = RouteAnswer::Kind;
        const bool filtered = error == EXDEV || (error == EINVAL && is_v4 && is_filtered(query));
        Kind kind = Kind::kUnknown;
        if (filtered) {
            kind = Kind::kReversePath;
        } else if (error == EHOSTUNREACH && !query.in.empty() && is_v4) {
            kind = Kind::kNotForwarding;
        } else if (error == ENETUNREACH || error == EHOSTUNREACH || error == EACCES ||
                   error == EINVAL) {
            kind = Kind::kNone;
        }
        return {.kind = kind, .text = std::strerror(error)};
    }

  private:
    // Linux 6.15 and later answer EINVAL for all that validates the source: it is the reverse path filter
    // where that is on for the device and the source is not this host's own (a martian).
    bool is_filtered(const RouteQuery& query) {
        if (query.in.empty() || !query.source) {
            return false;
        }
        const auto [found, is_new] = filters_.try_emplace(query.in, 0);
        if (is_new) {
            for (const std::string& device : {std::string("all"), query.in}) {
                found->second = std::max(found->second, filter_of(device));
            }
        }
        return found->second != 0 &&
               find({.destination = *query.source}).kind != RouteAnswer::Kind::kLocal;
    }

    unsigned filter_of(const std::string& device) const {
        unsigned value = 0;
        (void)process::in_netns(netns_, [&]() -> Status {
            const std::string text =
                read_file("/proc/sys/net/ipv4/conf/" + device + "/rp_filter").value_or("");
            value = whole_number<unsigned>(std::string_view(text).substr(0, 1)).value_or(0);
            return {};
        });
        return value;
    }

    void take(const nlattr& attribute, RouteAnswer& answer) const {
        switch (mnl_attr_get_type(&attribute)) {
            case RTA_OIF: {
                const auto found = names_.find(mnl_attr_get_u32(&attribute));
                answer.out = found == names_.end() ? "" : found->second;
                break;
            }
            case RTA_GATEWAY: answer.gateway = address_of(&attribute); break;
            case RTA_VIA: {
                const auto* via = static_cast<const rtvia*>(mnl_attr_get_payload(&attribute));
                frame::IpAddress gateway;
                gateway.family =
                    via->rtvia_family == AF_INET ? frame::Family::kIpv4 : frame::Family::kIpv6;
                std::memcpy(gateway.bytes.data(), via->rtvia_addr, gateway.size());
                answer.gateway = gateway;
                break;
            }
            case RTA_PREFSRC: answer.source = address_of(&attribute); break;
            case RTA_METRICS:
                mnl_attr_parse_nested(
                    &attribute,
                    [](const nlattr* metric, void* data) {
                        if (mnl_attr_get_type(metric) == RTAX_MTU) {
                            static_cast<RouteAnswer*>(data)->mtu = mnl_attr_get_u32(metric);
                        }
                        return MNL_CB_OK;
                    },
                    &answer);
                break;
            default: break;
        }
    }

    // A broadcast or multicast that this host sends leaves by the device of its route
    // (ip_mc_output()); one that comes from outside is taken in.
    static RouteAnswer::Kind kind_of(unsigned char type, bool sent_here) {
        using Kind = RouteAnswer::Kind;
        switch (type) {
            case RTN_LOCAL:
            case RTN_ANYCAST: return Kind::kLocal;
            case RTN_UNICAST: return Kind::kOnward;
            case RTN_BROADCAST:
            case RTN_MULTICAST: return sent_here ? Kind::kOnward : Kind::kLocal;
            default: return Kind::kNone;
        }
    }

    RouteAnswer read(const nlmsghdr& reply, bool sent_here) const {
        RouteAnswer answer;
        const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&reply));
        answer.kind = kind_of(route->rtm_type, sent_here);
        struct Taken {
            const KernelRouter& self;
            RouteAnswer& answer;
        } taken{*this, answer};
        mnl_attr_parse(
            &reply, sizeof(rtmsg),
            [](const nlattr* attribute, void* data) {
                const Taken& to = *static_cast<const Taken*>(data);
                to.self.take(*attribute, to.answer);
                return MNL_CB_OK;
            },
            &taken);
        return answer;
    }

    std::string netns_;
    process::NetlinkSocket socket_;
    std::map<std::string, unsigned> devices_;
    std::map<unsigned, std::string> names_;
    std::map<std::string, unsigned> filters_;  // rp_filter by device, the larger of that and all
};

}  // namespace

Result<std::unique_ptr<Router>> kernel_router(const std::string& netns) {
    return process::in_netns(netns, [&]() -> Result<std::unique_ptr<Router>> {
        auto socket = TRY(process::NetlinkSocket::open(NETLINK_ROUTE));
        std::map<std::string, unsigned> devices;
        if (struct if_nameindex* const all = if_nameindex(); all != nullptr) {
            for (const struct if_nameindex* one = all; one->if_index != 0; ++one) {
                devices[one->if_name] = one->if_index;
            }
            if_freenameindex(all);
        }
        return std::unique_ptr<Router>(
            std::make_unique<KernelRouter>(netns, std::move(socket), std::move(devices)));
    });
}

}  // namespace pathproof::predict
