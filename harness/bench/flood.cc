#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "dataplane/base/file.h"
#include "dataplane/frame/template.h"
#include "harness/bench/worker.h"

namespace pathproof::bench {
namespace {

constexpr std::size_t kBurst = 32;
constexpr std::size_t kFrameBytes = 64;
constexpr std::uint64_t kPorts = 60'000;
constexpr std::uint16_t kFirstPort = 1024;
constexpr std::uint16_t kDestinationPort = 4433;
// 198.18.1.1 and the addresses after it up to 198.18.127.254: what the lab routes to one port.
constexpr std::uint64_t kAddresses = 32'000;

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void sleep_until(double moment) {
    const timespec until{.tv_sec = static_cast<time_t>(moment),
                         .tv_nsec = static_cast<long>(
                             (moment - static_cast<double>(static_cast<time_t>(moment))) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

Result<frame::FrameTemplate> make_template(const FloodPlan& plan) {
    const auto source_mac = frame::parse_mac(plan.source_mac);
    const auto destination_mac = frame::parse_mac(plan.destination_mac);
    const auto source = frame::parse_ip(plan.first_source);
    const auto destination = frame::parse_ip(plan.destination);
    if (!source_mac || !destination_mac || !source || !destination) {
        return fail(ErrorCode::kBadInput, "flood: '{}', '{}', '{}' or '{}' is no address",
                    plan.source_mac, plan.destination_mac, plan.first_source, plan.destination);
    }
    frame::FrameSpec spec;
    spec.packet.source_mac = *source_mac;
    spec.packet.destination_mac = *destination_mac;
    spec.packet.source = {*source, kFirstPort};
    spec.packet.destination = {*destination, kDestinationPort};
    spec.payload.assign(kFrameBytes - frame::layout_of(spec).end, 0);
    return frame::FrameTemplate::make(spec);
}

frame::FramePatch patch_for(std::uint64_t flow, const frame::IpAddress& first) {
    frame::FramePatch patch;
    patch.source = first.plus(static_cast<std::uint32_t>(flow / kPorts % kAddresses));
    patch.source_port = static_cast<std::uint16_t>(kFirstPort + flow % kPorts);
    return patch;
}

// A packet socket bound to the device.
class PacketSocket {
  public:
    static Result<PacketSocket> open(const std::string& device) {
        const unsigned index = if_nametoindex(device.c_str());
        if (index == 0) {
            return fail(ErrorCode::kNotFound, "flood: there is no device '{}' here", device);
        }
        PacketSocket made(Fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)));
        const int on = 1;
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_ifindex = static_cast<int>(index);
        const int handle = made.handle_.get();
        if (handle < 0 ||
            setsockopt(handle, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) != 0 ||
            bind(handle, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            return fail(ErrorCode::kFailed, "flood: packet socket on '{}': {}", device,
                        std::strerror(errno));
        }
        return made;
    }

    // Sends all of them; those that the device refuses for now again.
    Status send(std::array<mmsghdr, kBurst>& frames, std::size_t count) {
        std::size_t done = 0;
        while (done < count) {
            const int sent = sendmmsg(handle_.get(), frames.data() + done,
                                      static_cast<unsigned>(count - done), 0);
            if (sent > 0) {
                done += static_cast<std::size_t>(sent);
            } else if (errno != EINTR && errno != ENOBUFS && errno != EAGAIN) {
                return fail(ErrorCode::kFailed, "flood: send: {}", std::strerror(errno));
            }
        }
        return {};
    }

  private:
    explicit PacketSocket(Fd handle) : handle_(std::move(handle)) {}

    Fd handle_;
};

}  // namespace

Result<Flooded> flood(const FloodPlan& plan) {
    const auto made = TRY(make_template(plan));
    auto socket = TRY(PacketSocket::open(plan.device));
    std::array<std::array<std::uint8_t, kFrameBytes>, kBurst> bytes{};
    std::array<iovec, kBurst> vectors{};
    std::array<mmsghdr, kBurst> frames{};
    for (std::size_t i = 0; i < kBurst; ++i) {
        vectors[i] = {bytes[i].data(), made.size()};
        frames[i].msg_hdr.msg_iov = &vectors[i];
        frames[i].msg_hdr.msg_iovlen = 1;
    }
    const double began = now();
    Flooded flooded;
    while (flooded.sent < plan.flows) {
        if (plan.flows_per_second > 0) {
            sleep_until(began + static_cast<double>(flooded.sent) /
                                    static_cast<double>(plan.flows_per_second));
        }
        const std::size_t count = std::min<std::uint64_t>(kBurst, plan.flows - flooded.sent);
        for (std::size_t i = 0; i < count; ++i) {
            made.render(bytes[i].data(), patch_for(plan.first_flow + flooded.sent + i,
                                                   made.spec().packet.source.address));
        }
        TRY(socket.send(frames, count));
        flooded.sent += count;
    }
    flooded.seconds = now() - began;
    return flooded;
}

}  // namespace pathproof::bench
