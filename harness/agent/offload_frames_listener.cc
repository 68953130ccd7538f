#include <linux/filter.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "harness/agent/offload_frames.h"
#include "harness/agent/operations.h"
#include "harness/agent/packet_socket.h"
#include "harness/agent/reactor.h"

namespace pathproof::agent {
namespace {

constexpr std::array<const char*, 3> kStatusNames = {"unknown", "valid", "partial"};

ChecksumStatus status_of(std::uint32_t flags) {
    if ((flags & TP_STATUS_CSUMNOTREADY) != 0) {
        return ChecksumStatus::kPartial;
    }
    return (flags & TP_STATUS_CSUM_VALID) != 0 ? ChecksumStatus::kValid : ChecksumStatus::kUnknown;
}

void read_auxdata(const msghdr& message, CapturedFrame& frame) {
    for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
         control = CMSG_NXTHDR(const_cast<msghdr*>(&message), control)) {
        if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_TIMESTAMPNS) {
            timespec at{};
            std::memcpy(&at, CMSG_DATA(control), sizeof at);
            frame.time_ns = at.tv_sec * 1'000'000'000 + at.tv_nsec;
        }
        if (control->cmsg_level != SOL_PACKET || control->cmsg_type != PACKET_AUXDATA) {
            continue;
        }
        tpacket_auxdata data{};
        std::memcpy(&data, CMSG_DATA(control), sizeof data);
        frame.length = data.tp_len;
        frame.checksum = status_of(data.tp_status);
        if ((data.tp_status & TP_STATUS_VLAN_VALID) != 0) {
            frame.vlan_tci = data.tp_vlan_tci;
        }
    }
}

// Lets only TCP over IPv4 with one of these flags reach the socket, which gets frames from the
// Ethernet header on.
Status keep_tcp_flags(int socket, std::uint8_t flags) {
    std::array<sock_filter, 10> program{{
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0800, 0, 7),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 5),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),  // 4 * IHL
        BPF_STMT(BPF_LD | BPF_B | BPF_IND, 14 + 13),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_STMT(BPF_RET | BPF_A, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
    }};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0
               ? Status()
               : system_failure("attach a filter to a packet socket", errno);
}

struct PacketListener final : FrameListener {
    CaptureOptions options;
    PacketSocket packet;
    std::vector<std::uint8_t> buffer;
    Capture capture;
    std::unique_ptr<Reactor> reactor;  // last: its thread ends before what it uses does

    // False when nothing is waiting.
    bool read_one() {
        frame::VirtioHeader header;
        iovec parts[] = {{header.data(), header.size()}, {buffer.data(), buffer.size()}};
        alignas(cmsghdr)
            std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata)) + CMSG_SPACE(sizeof(timespec))>
                control;
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = 2;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t got = recvmsg(packet.socket.get(), &message, MSG_DONTWAIT);
        if (got < static_cast<ssize_t>(header.size())) {
            return got >= 0 || errno == EINTR;
        }
        if (capture.frames.size() >= options.most_frames) {
            ++capture.left_out;
            return true;
        }
        CapturedFrame frame;
        const auto kept = static_cast<std::size_t>(got) - header.size();
        frame.bytes.assign(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(kept));
        frame.length = static_cast<std::uint32_t>(kept);
        frame.request = frame::virtio_from_bytes(header);
        read_auxdata(message, frame);
        capture.frames.push_back(std::move(frame));
        return true;
    }

    void read_all() {
        while (read_one()) {
        }
    }

    Capture stop() override {
        reactor->stop();
        read_all();  // what came in after the last look
        tpacket_stats statistics{};
        socklen_t length = sizeof statistics;
        if (getsockopt(packet.socket.get(), SOL_PACKET, PACKET_STATISTICS, &statistics, &length) ==
            0) {
            capture.dropped = statistics.tp_drops;
        }
        return std::move(capture);
    }
};

}  // namespace

const char* name(ChecksumStatus status) {
    return kStatusNames[static_cast<std::size_t>(status)];
}

Result<std::unique_ptr<FrameListener>> FrameListener::start(const CaptureOptions& options) {
    PacketSocket packet = TRY(open_packet_socket(options.device, PacketUse::kReceive));
    const int told = 1;
    setsockopt(packet.socket.get(), SOL_SOCKET, SO_TIMESTAMPNS, &told, sizeof told);
    if (options.tcp_flags != 0) {
        TRY(keep_tcp_flags(packet.socket.get(), options.tcp_flags));
    }
    std::unique_ptr<Reactor> reactor = TRY(Reactor::create());
    auto listener = std::make_unique<PacketListener>();
    listener->options = options;
    listener->packet = std::move(packet);
    listener->buffer.resize(options.most_bytes);
    listener->reactor = std::move(reactor);
    TRY(listener->reactor->watch(listener->packet.socket.get(), EPOLLIN,
                                 [&own = *listener] { own.read_all(); }));
    listener->reactor->start();
    return listener;
}

Status check(const CaptureOptions& options) {
    constexpr std::uint32_t kMostFrameBytes = 65'550;
    constexpr std::uint32_t kMostFrames = 1'000'000;
    if (options.most_frames > kMostFrames || options.most_bytes > kMostFrameBytes) {
        return fail(ErrorCode::kBadInput, "{} frames of {} bytes are over {} of {}",
                    options.most_frames, options.most_bytes, kMostFrames, kMostFrameBytes);
    }
    return {};
}

Status Client::start_capture(const CaptureOptions& options) {
    return impl_->ask<void>("start_capture", options);
}

Result<Capture> Client::stop_capture() {
    return impl_->ask_for<Capture>(kBulkTime, "stop_capture");
}

void add_frame_listener(Operations& operations) {
    operations.add_one<FrameListener, CaptureOptions>("capture", "a capture");
}

}  // namespace pathproof::agent
