#include "harness/profile/live.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dataplane/base/file.h"
#include "harness/agent/ethtool.h"
#include "harness/process/netlink.h"

namespace pathproof::profile {
namespace {

std::string release() {
    struct utsname names {};
    return uname(&names) == 0 ? names.release : "";
}

std::string hexadecimal_id(const std::string& path) {
    const std::string text = first_word(path);
    return text.starts_with("0x") && text.size() == 6 ? text.substr(2) : "";
}

int note_attribute(const nlattr* attribute, void* data) {
    LiveLimits& limits = *static_cast<LiveLimits*>(data);
    const auto note = [&](LimitKind kind) {
        if (mnl_attr_validate(attribute, MNL_TYPE_U32) < 0) {
            return;
        }
        // A driver that sets no limit gives 0, or all ones.
        if (const std::uint32_t value = mnl_attr_get_u32(attribute);
            value != 0 && value != UINT32_MAX) {
            limits[kind] = value;
        }
    };
    switch (mnl_attr_get_type(attribute)) {
        case IFLA_MAX_MTU: note(LimitKind::kMaxMtu); break;
        case IFLA_TSO_MAX_SIZE: note(LimitKind::kTsoMaxBytes); break;
        case IFLA_TSO_MAX_SEGS: note(LimitKind::kTsoMaxSegments); break;
        default: break;
    }
    return MNL_CB_OK;
}

Status read_link_limits(const std::string& name, LiveLimits& limits) {
    auto socket = TRY(process::NetlinkSocket::open(NETLINK_ROUTE));
    char room[256];
    nlmsghdr* request = mnl_nlmsg_put_header(room);
    request->nlmsg_type = RTM_GETLINK;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    auto* link =
        static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(request, sizeof(struct ifinfomsg)));
    link->ifi_index = static_cast<int>(if_nametoindex(name.c_str()));
    const int problem = socket.exchange(*request, [&](const nlmsghdr& message) {
        mnl_attr_parse(&message, sizeof(ifinfomsg), note_attribute, &limits);
    });
    if (problem != 0) {
        return fail(ErrorCode::kFailed, "the kernel does not tell the limits of {}: {}", name,
                    std::strerror(problem));
    }
    return {};
}

// A driver without channels leaves the queues out.
void read_channels(const std::string& name, LiveLimits& limits) {
    const Fd control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!control) {
        return;
    }
    ethtool_channels channels{.cmd = ETHTOOL_GCHANNELS};
    struct ifreq request {};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&channels);
    if (ioctl(control.get(), SIOCETHTOOL, &request) == 0) {
        const auto note = [&](LimitKind kind, std::uint64_t most) {
            if (most != 0) {
                limits[kind] = most;
            }
        };
        note(LimitKind::kRxQueues, std::uint64_t{channels.max_combined} + channels.max_rx);
        note(LimitKind::kTxQueues, std::uint64_t{channels.max_combined} + channels.max_tx);
    }
}

}  // namespace

std::string pci_id(const std::string& address) {
    if (address.find(':') == std::string::npos || address.find('/') != std::string::npos) {
        return "";
    }
    const std::string folder = "/sys/bus/pci/devices/" + address;
    const std::string vendor = hexadecimal_id(folder + "/vendor");
    const std::string device = hexadecimal_id(folder + "/device");
    return vendor.empty() || device.empty() ? "" : vendor + ":" + device;
}

Result<LiveDevice> read_kernel_device(const std::string& name) {
    const auto info = TRY(agent::read_device(name));
    auto features = TRY(agent::read_features(name));
    LiveDevice device{
        .name = name,
        .identity = {.kernel_driver = info.driver, .pmd = "", .pci = pci_id(info.bus)},
        .firmware = info.firmware,
        .features = std::move(features),
        .dpdk_tx = {},
        .dpdk_rx = {},
        .limits = {},
        .speed_mbps = info.speed_mbps,
        .running = {.kernel = release(), .dpdk = ""}};
    TRY(read_link_limits(name, device.limits));
    read_channels(name, device.limits);
    return device;
}

}  // namespace pathproof::profile
