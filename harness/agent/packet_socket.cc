#include "harness/agent/packet_socket.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "harness/agent/interfaces.h"

namespace pathproof::agent {
namespace {

constexpr std::uint16_t kEveryProtocol = 3;  // ETH_P_ALL
constexpr int kReceiveBufferBytes = 64 << 20;

Status set_on(int socket, int option, const char* what) {
    const int on = 1;
    if (setsockopt(socket, SOL_PACKET, option, &on, sizeof on) != 0) {
        return system_failure(fmt::format("set {} on a packet socket", what), errno);
    }
    return {};
}

bool has_ethernet_header(int socket, const std::string& device) {
    ifreq request{};
    std::memcpy(request.ifr_name, device.c_str(), device.size());
    if (ioctl(socket, SIOCGIFHWADDR, &request) != 0) {
        return true;
    }
    return request.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
           request.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
}

Status prepare_to_receive(int socket) {
    // Without CAP_NET_ADMIN the default size stays; what it loses is counted (PACKET_STATISTICS).
    setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBufferBytes,
               sizeof kReceiveBufferBytes);
    TRY(set_on(socket, PACKET_AUXDATA, "PACKET_AUXDATA"));
    return set_on(socket, PACKET_IGNORE_OUTGOING, "PACKET_IGNORE_OUTGOING");
}

// Frames to any address, as long as the socket is open: those of a test are sent to nobody's.
Status listen_to_all(int socket, int device) {
    const packet_mreq membership{
        .mr_ifindex = device, .mr_type = PACKET_MR_PROMISC, .mr_alen = 0, .mr_address = {}};
    if (setsockopt(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, sizeof membership) !=
        0) {
        return system_failure("listen to frames for all addresses", errno);
    }
    return {};
}

}  // namespace

Result<PacketSocket> open_packet_socket(const std::string& device, PacketUse use) {
    if (!device.empty()) {
        TRY(require_interface(device));
    }
    // Protocol 0 receives nothing until bind() says what.
    Fd socket =
        TRY(doing(open_socket(AF_PACKET, SOCK_RAW, 0), "open a packet socket on {}", device));
    const int descriptor = socket.get();
    TRY(set_on(descriptor, PACKET_VNET_HDR, "PACKET_VNET_HDR"));
    if (use == PacketUse::kReceive) {
        TRY(prepare_to_receive(descriptor));
    }
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = use == PacketUse::kReceive ? htons(kEveryProtocol) : 0;
    address.sll_ifindex = device.empty() ? 0 : static_cast<int>(if_nametoindex(device.c_str()));
    if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return system_failure(fmt::format("bind a packet socket to {}", device), errno);
    }
    if (use == PacketUse::kReceive && !device.empty()) {
        TRY(listen_to_all(descriptor, address.sll_ifindex));
    }
    const bool ethernet = device.empty() || has_ethernet_header(descriptor, device);
    return PacketSocket{std::move(socket), address.sll_ifindex, ethernet};
}

}  // namespace pathproof::agent
