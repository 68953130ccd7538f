#include "tests/scenario/nic_between.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#define class rss_class  // a member of one of its types has this name
#include <linux/virtio_net.h>
#undef class
#include <net/if.h>
#include <poll.h>
#include <rte_mbuf_core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "dataplane/frame/view.h"
#include "harness/process/netns.h"

using namespace pathproof;

namespace {

constexpr std::size_t kLongest = 70'000;
constexpr std::size_t kMacs = 12;
using FrameBytes = std::vector<std::uint8_t>;

struct Received {
    FrameBytes bytes;
    virtio_net_hdr request{};
};

int open_socket(const std::string& netns, const std::string& device) {
    int opened = -1;
    const auto done = process::in_netns(netns, [&]() -> Status {
        opened = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        const int on = 1;
        const int room = 16 << 20;
        for (const int option : {PACKET_VNET_HDR, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING}) {
            BOOST_REQUIRE(setsockopt(opened, SOL_PACKET, option, &on, sizeof on) == 0);
        }
        BOOST_REQUIRE(setsockopt(opened, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) == 0);
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(ETH_P_ALL);
        address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
        packet_mreq all{};
        all.mr_ifindex = address.sll_ifindex;
        all.mr_type = PACKET_MR_PROMISC;
        BOOST_REQUIRE(setsockopt(opened, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) == 0);
        BOOST_REQUIRE(bind(opened, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        return {};
    });
    BOOST_REQUIRE_MESSAGE(done, "in " << netns);
    return opened;
}

// False when nothing is waiting. A tag that the kernel took out is put back.
bool receive_one(int from, Received& frame) {
    static thread_local std::vector<std::uint8_t> buffer(kLongest);
    iovec parts[] = {{&frame.request, sizeof frame.request}, {buffer.data(), buffer.size()}};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> control;
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(from, &message, MSG_DONTWAIT);
    if (got < static_cast<ssize_t>(sizeof frame.request + kMacs)) {
        return false;
    }
    frame.bytes.assign(buffer.begin(), buffer.begin() + got - sizeof frame.request);
    const cmsghdr* about = CMSG_FIRSTHDR(&message);
    tpacket_auxdata data{};
    if (about != nullptr && about->cmsg_type == PACKET_AUXDATA) {
        std::memcpy(&data, CMSG_DATA(about), sizeof data);
    }
    if ((data.tp_status & TP_STATUS_VLAN_VALID) != 0) {
        const std::uint16_t tag[] = {htons(data.tp_vlan_tpid), htons(data.tp_vlan_tci)};
        const auto* at = reinterpret_cast<const std::uint8_t*>(tag);
        frame.bytes.insert(frame.bytes.begin() + kMacs, at, at + sizeof tag);
        frame.request.csum_start =
            static_cast<std::uint16_t>(frame.request.csum_start + sizeof tag);
    }
    return true;
}

void send_one(int to, const FrameBytes& bytes) {
    struct {
        virtio_net_hdr nothing{};
    } header;
    iovec parts[] = {{&header, sizeof header},
                     {const_cast<std::uint8_t*>(bytes.data()), bytes.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    // Loses a frame that is longer than the interface's MTU, as a NIC between does: it has an MTU,
    // too.
    static_cast<void>(sendmsg(to, &message, 0));
}

frame::TunnelPorts tunnels() {
    frame::TunnelPorts ports = frame::TunnelPorts::well_known();
    ports.add(8223, frame::Tunnel::kVxlan);
    return ports;
}

std::uint16_t narrow(std::size_t value) {
    return static_cast<std::uint16_t>(value);
}

// Translates a virtio_net_hdr's request into an mbuf's terms; no flags where the checksum belongs
// to no packet that can be read.
frame::OffloadRequest request_of(const Received& frame) {
    const frame::FrameView view = frame::parse_frame(frame.bytes, tunnels());
    const bool cut = frame.request.gso_type != VIRTIO_NET_HDR_GSO_NONE;
    const bool inner =
        view.has_inner && (cut || view.inner.transport_offset == frame.request.csum_start);
    const frame::PacketView& packet = inner ? view.inner : view.outer;
    const bool tcp = packet.transport == frame::Transport::kTcp;
    if (!cut && packet.transport_offset != frame.request.csum_start) {
        return {};
    }
    std::uint64_t flags = tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
    if (cut) {
        flags |= tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG;
    }
    const bool v4 = packet.network == frame::Network::kIpv4;
    flags |= v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
    flags |= v4 && cut ? RTE_MBUF_F_TX_IP_CKSUM : 0;
    frame::OffloadRequest request{.mbuf_flags = flags,
                                  .l2_len = narrow(packet.network_offset),
                                  .l3_len = narrow(packet.network_length),
                                  .l4_len = narrow(packet.payload_offset - packet.transport_offset),
                                  .segment_bytes = frame.request.gso_size};
    if (inner) {
        const std::size_t sum = view.outer.transport_offset + 6u;
        const bool computed = frame.bytes[sum] != 0 || frame.bytes[sum + 1] != 0;
        const bool outer_v4 = view.outer.network == frame::Network::kIpv4;
        request.mbuf_flags |= RTE_MBUF_F_TX_TUNNEL_VXLAN;
        request.mbuf_flags |= outer_v4 ? RTE_MBUF_F_TX_OUTER_IPV4 : RTE_MBUF_F_TX_OUTER_IPV6;
        // The outer headers of a frame that is not cut are complete.
        request.mbuf_flags |= cut && outer_v4 ? RTE_MBUF_F_TX_OUTER_IP_CKSUM : 0;
        request.mbuf_flags |= cut && computed ? RTE_MBUF_F_TX_OUTER_UDP_CKSUM : 0;
        request.outer_l2_len = narrow(view.outer.network_offset);
        request.outer_l3_len = narrow(view.outer.network_length);
        request.l2_len = narrow(view.inner.network_offset - view.outer.transport_offset);
    }
    return request;
}

// RFC 1071 from csum_start to the end (virtio 1.2 section 5.1.6.2).
void fill_in(Received& frame) {
    const std::size_t start = frame.request.csum_start;
    std::uint64_t sum = 0;
    for (std::size_t at = start; at < frame.bytes.size(); ++at) {
        sum += (at - start) % 2 == 0 ? std::uint64_t{frame.bytes[at]} << 8 : frame.bytes[at];
    }
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    constexpr std::uint16_t kUdpField = 6;
    auto value = narrow(~sum);
    value = value == 0 && frame.request.csum_offset == kUdpField ? 0xffff : value;
    frame.bytes[start + frame.request.csum_offset] = static_cast<std::uint8_t>(value >> 8);
    frame.bytes[start + frame.request.csum_offset + 1u] = static_cast<std::uint8_t>(value);
}

std::vector<softnic::Fault> parsed(const std::vector<std::string>& texts) {
    std::vector<softnic::Fault> faults;
    for (const std::string& text : texts) {
        const auto fault = softnic::parse_fault(text);
        BOOST_REQUIRE_MESSAGE(fault, text);
        faults.push_back(*fault);
    }
    return faults;
}

}  // namespace

NicBetween::NicBetween(const std::string& netns, const std::string& host_side,
                       const std::string& wire_side, const std::vector<std::string>& faults)
    : host_(open_socket(netns, host_side)),
      wire_(open_socket(netns, wire_side)),
      nic_({}, parsed(faults)) {
    thread_ = std::thread([this] { run(); });
}

NicBetween::~NicBetween() {
    stop();
    close(host_);
    close(wire_);
}

std::vector<std::uint64_t> NicBetween::stop() {
    stopping_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
    return nic_.fault_hits();
}

void NicBetween::run() {
    std::array<pollfd, 2> waited = {{{host_, POLLIN, 0}, {wire_, POLLIN, 0}}};
    while (!stopping_) {
        poll(waited.data(), waited.size(), 50);
        transmit();
        receive();
    }
}

void NicBetween::transmit() {
    for (Received frame; receive_one(host_, frame);) {
        if ((frame.request.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0) {
            send_one(wire_, frame.bytes);
            continue;
        }
        softnic::TxFrame handed{.bytes = frame.bytes};
        handed.request.offload = request_of(frame);
        softnic::TxResult sent;
        if (handed.request.offload.mbuf_flags != 0) {
            nic_.transmit(handed, sent);
        }
        if (handed.request.offload.mbuf_flags == 0 || sent.refusal != softnic::Refusal::kNone) {
            fill_in(frame);
            sent.frames = {frame.bytes};
        }
        for (const FrameBytes& bytes : sent.frames) {
            send_one(wire_, bytes);
        }
    }
}

void NicBetween::receive() {
    for (Received frame; receive_one(wire_, frame);) {
        softnic::RxResult got;
        nic_.receive(frame.bytes, got);
        if (got.delivery == softnic::RxResult::Delivery::kDelivered) {
            send_one(host_, got.bytes);
        }
    }
}
