#include <linux/if_packet.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "harness/agent/offload_frames.h"
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

}  // namespace

const char* name(ChecksumStatus status) {
    return kStatusNames[static_cast<std::size_t>(status)];
}

std::optional<ChecksumStatus> checksum_status(const std::string& name) {
    for (std::size_t i = 0; i < kStatusNames.size(); ++i) {
        if (name == kStatusNames[i]) {
            return static_cast<ChecksumStatus>(i);
        }
    }
    return std::nullopt;
}

struct FrameListener::Impl {
    CaptureOptions options;
    PacketSocket packet;
    std::vector<std::uint8_t> buffer;
    Capture capture;
    std::unique_ptr<Reactor> reactor;  // last: its thread ends before what it uses does

    // False when nothing is waiting.
    bool read_one() {
        std::array<std::uint8_t, frame::kVirtioHeaderBytes> header;
        iovec parts[] = {{header.data(), header.size()}, {buffer.data(), buffer.size()}};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> control;
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
};

FrameListener::FrameListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FrameListener::~FrameListener() {
    impl_->reactor->stop();
}

Result<std::unique_ptr<FrameListener>> FrameListener::start(const CaptureOptions& options) {
    PacketSocket packet = TRY(open_packet_socket(options.device, PacketUse::kReceive));
    std::unique_ptr<Reactor> reactor = TRY(Reactor::create());
    auto impl = std::make_unique<Impl>();
    impl->options = options;
    impl->packet = std::move(packet);
    impl->buffer.resize(options.most_bytes);
    impl->reactor = std::move(reactor);
    Impl* const self = impl.get();
    TRY(self->reactor->watch(self->packet.socket.get(), EPOLLIN, [self] { self->read_all(); }));
    self->reactor->start();
    return std::unique_ptr<FrameListener>(new FrameListener(std::move(impl)));
}

Capture FrameListener::stop() {
    impl_->reactor->stop();
    impl_->read_all();  // what came in after the last look
    tpacket_stats statistics{};
    socklen_t length = sizeof statistics;
    if (getsockopt(impl_->packet.socket.get(), SOL_PACKET, PACKET_STATISTICS, &statistics,
                   &length) == 0) {
        impl_->capture.dropped = statistics.tp_drops;
    }
    return std::move(impl_->capture);
}

}  // namespace pathproof::agent
