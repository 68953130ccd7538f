#include "dataplane/port/kernel_interface.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "dataplane/base/number.h"

namespace pathproof::port {
namespace {

int read_link_info(const nlattr* attribute, void* into) {
    if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND) {
        static_cast<InterfaceState*>(into)->kind = mnl_attr_get_str(attribute);
    }
    return MNL_CB_OK;
}

int read_attribute(const nlattr* attribute, void* into) {
    InterfaceState& state = *static_cast<InterfaceState*>(into);
    switch (mnl_attr_get_type(attribute)) {
        case IFLA_IFNAME: state.name = mnl_attr_get_str(attribute); break;
        case IFLA_MTU: state.mtu = mnl_attr_get_u32(attribute); break;
        case IFLA_LINKINFO: return mnl_attr_parse_nested(attribute, read_link_info, into);
        case IFLA_STATS64: {
            rtnl_link_stats64 stats{};
            std::memcpy(&stats, mnl_attr_get_payload(attribute),
                        std::min<std::size_t>(sizeof stats, mnl_attr_get_payload_len(attribute)));
            state.tx_packets = stats.tx_packets;
            state.rx_dropped = stats.rx_dropped;
            state.tx_dropped = stats.tx_dropped;
            break;
        }
        default: break;
    }
    return MNL_CB_OK;
}

int read_link(const nlmsghdr* message, void* into) {
    if (message->nlmsg_type != RTM_NEWLINK) {
        return MNL_CB_OK;
    }
    const auto* link = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(message));
    static_cast<InterfaceState*>(into)->flags = link->ifi_flags;
    return mnl_attr_parse(message, sizeof *link, read_attribute, into);
}

int domain_of(int file) {
    int domain = -1;  // stays for what is no socket
    socklen_t size = sizeof domain;
    getsockopt(file, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    return domain;
}

bool is_bound_to(int packet_socket, unsigned interface_index) {
    sockaddr_ll bound{};
    socklen_t size = sizeof bound;
    return getsockname(packet_socket, reinterpret_cast<sockaddr*>(&bound), &size) == 0 &&
           bound.sll_ifindex == static_cast<int>(interface_index);
}

std::vector<int> sockets_of(int domain) {
    std::vector<int> sockets;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
        const int file = whole_number<int>(entry.path().filename().string()).value_or(-1);
        if (file >= 0 && domain_of(file) == domain) {
            sockets.push_back(file);
        }
    }
    return sockets;
}

}  // namespace

KernelInterface::KernelInterface(unsigned index, Fd socket)
    : index_(index), socket_(std::move(socket)), asking_(std::make_unique<std::mutex>()) {}

Result<KernelInterface> KernelInterface::watch(unsigned index) {
    Fd handle(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!handle) {
        return fail(ErrorCode::kFailed, "route netlink socket: {}", std::strerror(errno));
    }
    // The kernel answers while it handles the request; the limit only keeps a fault from hanging
    // us.
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    setsockopt(handle.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return KernelInterface(index, std::move(handle));
}

Result<InterfaceState> KernelInterface::state() const {
    const std::lock_guard lock(*asking_);
    alignas(nlmsghdr) std::array<char, 32768> buffer{};
    nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
    request->nlmsg_type = RTM_GETLINK;
    request->nlmsg_flags = NLM_F_REQUEST;
    auto* link = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(request, sizeof(ifinfomsg)));
    link->ifi_family = AF_UNSPEC;
    link->ifi_index = static_cast<int>(index_);
    if (send(socket_.get(), request, request->nlmsg_len, 0) < 0) {
        return fail(ErrorCode::kFailed, "ask for interface {}: {}", index_, std::strerror(errno));
    }
    const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    InterfaceState state;
    if (got < 0 ||
        mnl_cb_run(buffer.data(), static_cast<std::size_t>(got), 0, 0, read_link, &state) < 0) {
        return fail(errno == ENODEV ? ErrorCode::kNotFound : ErrorCode::kFailed,
                    "kernel interface {}: {}", index_,
                    errno == ENODEV ? "it no longer exists" : std::strerror(errno));
    }
    return state;
}

Result<Promiscuous> Promiscuous::on(unsigned index) {
    // The socket is of no protocol: it hears nothing itself.
    Promiscuous asked(Fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)));
    packet_mreq request{};
    request.mr_ifindex = static_cast<int>(index);
    request.mr_type = PACKET_MR_PROMISC;
    if (!asked.socket_ || setsockopt(asked.socket_.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP,
                                     &request, sizeof request) != 0) {
        return fail(ErrorCode::kFailed, "promiscuous mode: {}", std::strerror(errno));
    }
    return asked;
}

PacketSockets::PacketSockets(unsigned interface_index) {
    for (const int socket : sockets_of(AF_PACKET)) {
        if (is_bound_to(socket, interface_index)) {
            sockets_.push_back(socket);
        }
    }
}

Status PacketSockets::hear(PortHears which) const {
    // PACKET_IGNORE_OUTGOING does not reach a socket that is already in a fanout group, as the
    // driver's are (fanout_add() copies it once): a filter on the socket does.
    constexpr unsigned kWhole = 0xffffffff;
    const bool sent = which == PortHears::kSent;
    std::array<sock_filter, 4> program = {{
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, static_cast<unsigned>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, sent ? kWhole : 0),
        BPF_STMT(BPF_RET | BPF_K, sent ? 0 : kWhole),
    }};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    for (const int socket : sockets_) {
        if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) {
            return fail(ErrorCode::kFailed, "filter on the packet socket: {}",
                        std::strerror(errno));
        }
    }
    return {};
}

bool PacketSockets::push_out() const noexcept {
    bool nothing_waited = true;
    for (const int socket : sockets_) {
        // The bytes that were sent, 0 where none waited, an error where there was no room for any.
        const ssize_t sent = send(socket, nullptr, 0, MSG_DONTWAIT);
        nothing_waited &= sent == 0 || (sent < 0 && errno != EAGAIN && errno != ENOBUFS);
    }
    return nothing_waited;
}

void PacketSockets::start_counting() {
    dropped();
    const std::lock_guard lock(mutex_);
    dropped_ = 0;
}

std::uint64_t PacketSockets::dropped() {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) {
        tpacket_stats since{};
        socklen_t size = sizeof since;
        if (getsockopt(socket, SOL_PACKET, PACKET_STATISTICS, &since, &size) == 0) {
            dropped_ += since.tp_drops;
        }
    }
    return dropped_;
}

XdpSockets XdpSockets::all() {
    XdpSockets there;
    there.sockets_ = sockets_of(AF_XDP);
    return there;
}

XdpSockets XdpSockets::opened_since(const XdpSockets& before) {
    XdpSockets opened = all();
    std::erase_if(opened.sockets_, [&](int socket) {
        return std::ranges::find(before.sockets_, socket) != before.sockets_.end();
    });
    return opened;
}

Status XdpSockets::set_send_buffer(std::uint32_t bytes) const {
    if (bytes == 0) {
        return {};
    }
    const int half = static_cast<int>(bytes / 2);  // the kernel doubles it (sock_setsockopt)
    for (const int socket : sockets_) {
        if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &half, sizeof half) != 0) {
            return fail(ErrorCode::kFailed, "send buffer of the AF_XDP socket: {}",
                        std::strerror(errno));
        }
    }
    return {};
}

std::uint64_t XdpSockets::dropped_at_full_ring() const {
    std::uint64_t dropped = 0;
    for (const int socket : sockets_) {
        xdp_statistics counted{};
        socklen_t size = sizeof counted;
        if (getsockopt(socket, SOL_XDP, XDP_STATISTICS, &counted, &size) == 0) {
            dropped += counted.rx_ring_full;
        }
    }
    return dropped;
}

std::uint32_t packet_ring_room(std::uint32_t framesz) {
    // tpacket_rcv(): netoff = TPACKET_ALIGN(tp_hdrlen + max(maclen, 16)), macoff = netoff - maclen;
    // a frame is cut to the slot's rest. Ethernet's maclen is 14.
    constexpr std::uint32_t kMacOffset = TPACKET_ALIGN(TPACKET2_HDRLEN + 16) - 14;
    return framesz > kMacOffset ? framesz - kMacOffset : 0;
}

std::uint32_t packet_ring_send_room(std::uint32_t framesz) {
    // tpacket_snd(): size_max.
    constexpr std::uint32_t kBeforeTheFrame = TPACKET2_HDRLEN - sizeof(sockaddr_ll);
    return framesz > kBeforeTheFrame ? framesz - kBeforeTheFrame : 0;
}

}  // namespace pathproof::port
