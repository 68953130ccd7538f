#include "harness/monitor/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <pcap/pcap.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "dataplane/base/clock.h"
#include "dataplane/base/owned.h"
#include "dataplane/frame/packet_reader.h"
#include "harness/process/netns.h"

namespace pathproof::monitor {
namespace {

constexpr int kReceiveBuffer = 4 << 20;

// Returns the kernel's stamp of a packet; without one, now.
std::int64_t stamp_of(msghdr& message) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
            timespec time{};
            std::memcpy(&time, CMSG_DATA(part), sizeof time);
            return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
        }
    }
    return realtime_ns();
}

}  // namespace

frame::PacketView view_of(std::span<const std::byte> packet) {
    const bool ipv6 = !packet.empty() && std::to_integer<unsigned>(packet[0]) >> 4 == 6;
    frame::PacketView view;
    frame::read_ip_packet({reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size()}, 0,
                          ipv6 ? ETH_P_IPV6 : ETH_P_IP, view);
    return view;
}

Result<PacketSocket> PacketSocket::open(const std::string& netns, const sock_fprog& filter,
                                        const std::string& purpose) {
    PacketSocket socket;
    socket.handle_ = TRY(process::in_netns(netns, [&]() -> Result<Fd> {
        // No protocol yet: nothing comes in before the filter is attached.
        Fd opened(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (opened) {
            return opened;
        }
        return errno == EPERM ? fail(ErrorCode::kNotPermitted,
                                     "cannot {}: a packet socket needs CAP_NET_RAW", purpose)
                              : fail(ErrorCode::kKernelLacks, "cannot {}: packet socket: {}",
                                     purpose, std::strerror(errno));
    }));
    const int on = 1;
    (void)setsockopt(socket.handle_.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    sockaddr_ll all{};
    all.sll_family = AF_PACKET;
    all.sll_protocol = htons(ETH_P_ALL);
    if (setsockopt(socket.handle_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) !=
            0 ||
        bind(socket.handle_.get(), reinterpret_cast<const sockaddr*>(&all), sizeof all) != 0) {
        return fail(ErrorCode::kFailed, "cannot {}: {}", purpose, std::strerror(errno));
    }
    // Without the capability for more the default stays.
    (void)setsockopt(socket.handle_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer,
                     sizeof kReceiveBuffer);
    return socket;
}

Result<PacketSocket> PacketSocket::open_for(const std::string& netns, const std::string& words,
                                            int bytes, const std::string& purpose) {
    const Owned<pcap_t, pcap_close> capture(pcap_open_dead(DLT_RAW, bytes));
    bpf_program program{};
    if (pcap_compile(capture.get(), &program, words.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
        return fail(ErrorCode::kFailed, "compile the packet filter '{}': {}", words,
                    pcap_geterr(capture.get()));
    }
    static_assert(sizeof(bpf_insn) == sizeof(sock_filter));
    const sock_fprog filter{static_cast<unsigned short>(program.bf_len),
                            reinterpret_cast<sock_filter*>(program.bf_insns)};
    auto socket = open(netns, filter, purpose);
    pcap_freecode(&program);
    return socket;
}

std::optional<TappedPacket> PacketSocket::next(std::span<std::byte> buffer) {
    TappedPacket packet;
    iovec data{.iov_base = buffer.data(), .iov_len = buffer.size()};
    alignas(cmsghdr) std::array<char, 128> control{};
    msghdr message{};
    message.msg_name = &packet.from;
    message.msg_namelen = sizeof packet.from;
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(handle_.get(), &message, 0);
    if (got < 0) {
        return std::nullopt;
    }
    packet.time_ns = stamp_of(message);
    packet.bytes = buffer.first(static_cast<std::size_t>(got));
    return packet;
}

std::uint64_t PacketSocket::lost() {
    tpacket_stats fresh{};
    socklen_t length = sizeof fresh;
    // Reading resets the kernel's count.
    if (getsockopt(handle_.get(), SOL_PACKET, PACKET_STATISTICS, &fresh, &length) == 0) {
        lost_ += fresh.tp_drops;
    }
    return lost_;
}

}  // namespace pathproof::monitor
