#include "harness/agent/offload_frames.h"

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "harness/agent/operations.h"
#include "harness/agent/packet_socket.h"

namespace pathproof::agent {
namespace {

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86dd;
constexpr std::size_t kEthernetType = 12;
constexpr int kUdpSegment = 103;  // UDP_SEGMENT (linux/udp.h)
constexpr int kSendTime = 2000;   // milliseconds until a full queue counts as stuck
// Milliseconds for a full queue whose socket has room: a filter that drops on the way out looks like it.
constexpr int kQueueTime = 200;
constexpr std::chrono::milliseconds kBetweenTries{1};
constexpr int kSendBufferBytes = 4 << 20;

// Returns the EtherType that the kernel shall take the frame for.
std::uint16_t protocol_of(const std::vector<std::uint8_t>& bytes, bool ethernet) {
    if (!ethernet) {
        return !bytes.empty() && bytes[0] >> 4 == 6 ? kIpv6 : kIpv4;
    }
    if (bytes.size() < kEthernetType + 2) {
        return 0;
    }
    return static_cast<std::uint16_t>(bytes[kEthernetType] << 8 | bytes[kEthernetType + 1]);
}

std::string reason_of(int number) {
    const char* word = strerrorname_np(number);
    return fmt::format("{} ({})", std::strerror(number), word != nullptr ? word : "no errno");
}

// 0, or the errno of a refusal. A full queue is waited for.
int send_one(const PacketSocket& packet, const OffloadFrame& frame, int patience) {
    frame::VirtioHeader header = frame::to_bytes(frame.request);
    std::vector<std::uint8_t> bytes = frame.bytes;
    iovec parts[] = {{header.data(), header.size()}, {bytes.data(), bytes.size()}};
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol_of(frame.bytes, packet.ethernet));
    address.sll_ifindex = packet.device_index;
    msghdr message{};
    message.msg_name = &address;
    message.msg_namelen = sizeof address;
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const Deadline deadline{std::chrono::milliseconds(kSendTime)};
    const Deadline queue_deadline{std::chrono::milliseconds(patience)};
    for (;;) {
        if (sendmsg(packet.socket.get(), &message, 0) >= 0) {
            return 0;
        }
        if (errno == ENOBUFS) {
            if (queue_deadline.passed()) {
                return ENOBUFS;
            }
            std::this_thread::sleep_for(kBetweenTries);
        } else if (errno == EAGAIN) {
            if (!wait_for(packet.socket.get(), POLLOUT, deadline)) {
                return ENOBUFS;
            }
        } else if (errno != EINTR) {
            return errno;
        }
    }
}

Status set_datagram_options(int socket, const DatagramOptions& options) {
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
    if (options.segment_bytes > 0) {
        const int bytes = options.segment_bytes;
        if (setsockopt(socket, IPPROTO_UDP, kUdpSegment, &bytes, sizeof bytes) != 0) {
            return system_failure("set UDP_SEGMENT", errno);
        }
    }
    if (options.checksum == UdpChecksum::kOff) {
        if (options.destination.address.family == frame::Family::kIpv6) {
            return fail(ErrorCode::kNotSupported,
                        "UDP over IPv6 has a checksum; only tunnels may leave it out (RFC 6935)");
        }
        const int off = 1;
        if (setsockopt(socket, SOL_SOCKET, SO_NO_CHECK, &off, sizeof off) != 0) {
            return system_failure("set SO_NO_CHECK", errno);
        }
    }
    return {};
}

}  // namespace

Result<SendReport> send_frames(const std::string& device, const std::vector<OffloadFrame>& frames) {
    const PacketSocket packet = TRY(open_packet_socket(device, PacketUse::kSend));
    SendReport report;
    // A filter that drops on the way out looks like a full queue: each refusal is believed sooner.
    int patience = kQueueTime;
    for (std::uint32_t i = 0; i < frames.size(); ++i) {
        const int refused = send_one(packet, frames[i], patience);
        patience /= refused == ENOBUFS ? 8 : 1;
        if (refused == 0) {
            ++report.sent;
        } else {
            report.refusals.push_back({i, reason_of(refused)});
        }
    }
    return report;
}

namespace {

Result<Fd> datagram_socket(const DatagramOptions& options) {
    const int family = socket_family(options.destination.address);
    Fd socket = TRY(open_socket(family, SOCK_DGRAM, 0));
    TRY(set_datagram_options(socket.get(), options));
    const bool bound = options.source.port != 0 || !is_unspecified(options.source.address);
    if (bound) {
        SocketAddress address = to_socket_address(options.source);
        if (bind(socket.get(), address.raw(), address.length) != 0) {
            return system_failure("bind to " + frame::to_string(options.source), errno);
        }
    }
    return socket;
}

// The payloads in one call of the kernel, repeated where they are few: a call for each would cost more
// than the datagram.
class Batch {
  public:
    Batch(const DatagramOptions& options, SocketAddress& to) {
        constexpr std::size_t kLeast = 32;
        const std::size_t rounds = 1 + (kLeast - 1) / options.payloads.size();
        for (std::size_t n = 0; n < rounds * options.payloads.size(); ++n) {
            const auto& payload = options.payloads[n % options.payloads.size()];
            // sendmmsg() only reads what it is given.
            parts_.push_back({const_cast<std::uint8_t*>(payload.data()), payload.size()});
        }
        for (iovec& part : parts_) {
            mmsghdr message{};
            message.msg_hdr.msg_name = to.raw();
            message.msg_hdr.msg_namelen = to.length;
            message.msg_hdr.msg_iov = &part;
            message.msg_hdr.msg_iovlen = 1;
            messages_.push_back(message);
        }
    }

    std::uint64_t send(int socket) {
        const int sent =
            sendmmsg(socket, messages_.data(), static_cast<unsigned>(messages_.size()), 0);
        return sent > 0 ? static_cast<std::uint64_t>(sent) : 0;
    }

  private:
    std::vector<iovec> parts_;
    std::vector<mmsghdr> messages_;
};

Result<SendReport> send_lasting(const DatagramOptions& options) {
    std::vector<Fd> sockets;
    for (std::uint32_t i = 0; i < options.source_ports; ++i) {
        DatagramOptions one = options;
        one.payloads.clear();
        one.source.port = options.source.port == 0
                              ? std::uint16_t{0}
                              : static_cast<std::uint16_t>(options.source.port + i);
        Fd socket = TRY(datagram_socket(one));
        sockets.push_back(std::move(socket));
    }
    SocketAddress to = to_socket_address(options.destination);
    Batch batch(options, to);
    SendReport report;
    for (const Deadline deadline{options.lasting}; !deadline.passed();) {
        std::uint64_t sent = 0;
        for (const Fd& socket : sockets) {
            sent += batch.send(socket.get());
        }
        report.sent += sent;
        if (sent == 0) {
            static_cast<void>(wait_for(sockets.front().get(), POLLOUT, deadline));
        }
    }
    return report;
}

Status send_from(const DatagramOptions& options, SendReport& report) {
    const Fd socket = TRY(datagram_socket(options));
    SocketAddress to = to_socket_address(options.destination);
    for (std::uint32_t i = 0; i < options.payloads.size(); ++i) {
        const auto& payload = options.payloads[i];
        const Deadline deadline{std::chrono::milliseconds(kSendTime)};
        ssize_t sent = -1;
        do {
            sent = sendto(socket.get(), payload.data(), payload.size(), 0, to.raw(), to.length);
        } while (sent < 0 && (errno == EINTR ||
                              (errno == EAGAIN && wait_for(socket.get(), POLLOUT, deadline))));
        if (sent >= 0) {
            ++report.sent;
        } else {
            report.refusals.push_back({i, reason_of(errno)});
        }
    }
    return {};
}

}  // namespace

Result<SendReport> send_datagrams(const DatagramOptions& options) {
    constexpr std::chrono::milliseconds kLongest{60'000};
    if (options.lasting.count() < 0 || options.lasting > kLongest ||
        (options.lasting.count() > 0 && (options.payloads.empty() || options.source_ports == 0))) {
        return fail(
            ErrorCode::kBadInput,
            "datagrams for {} ms from {} ports with {} payloads: up to {} ms, of at least one",
            options.lasting.count(), options.source_ports, options.payloads.size(),
            kLongest.count());
    }
    if (options.lasting.count() > 0) {
        return send_lasting(options);
    }
    SendReport report;
    DatagramOptions one = options;
    for (std::uint32_t i = 0; i < options.source_ports; ++i) {
        one.source.port = static_cast<std::uint16_t>(options.source.port + i);
        TRY(send_from(one, report));
    }
    return report;
}

Result<SendReport> Client::send_frames(const std::string& device,
                                       const std::vector<OffloadFrame>& frames) {
    return impl_->ask_for<SendReport>(kBulkTime, "send_frames", device, frames);
}

Result<SendReport> Client::send_datagrams(const DatagramOptions& options) {
    return impl_->ask_for<SendReport>(kBulkTime, "send_datagrams", options);
}

void add_frame_sender(Operations& operations) {
    operations.add("send_frames", agent::send_frames);
    operations.add("send_datagrams", agent::send_datagrams);
}

}  // namespace pathproof::agent
