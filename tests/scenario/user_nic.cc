#include "tests/scenario/user_nic.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#define class rss_class  // a member of one of its types has this name
#include <linux/virtio_net.h>
#undef class
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstring>

#include "harness/process/netns.h"
#include "harness/process/program.h"

using namespace pathproof;

namespace {

constexpr std::size_t kLongest = 70'000;
constexpr std::size_t kShortest = 60;
constexpr std::size_t kEthernet = 14;

int open_tap(const std::string& netns, const std::string& name, int flags, unsigned offloads) {
    int opened = -1;
    const auto done = process::in_netns(netns, [&]() -> Status {
        opened = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
        BOOST_REQUIRE(opened >= 0);
        ifreq request{};
        std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
        request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | flags);
        BOOST_REQUIRE(ioctl(opened, TUNSETIFF, &request) == 0);
        BOOST_REQUIRE(offloads == 0 || ioctl(opened, TUNSETOFFLOAD, offloads) == 0);
        return {};
    });
    BOOST_REQUIRE_MESSAGE(done, "in " << netns);
    const std::string quiet =
        "sysctl -qw net.ipv6.conf." + name + ".disable_ipv6=1; ip link set " + name + " arp off up";
    BOOST_REQUIRE(process::run_checked({"sh", "-c", quiet}, {.netns = netns}).has_value());
    return opened;
}

std::int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::uint32_t sum_of(const std::uint8_t* at, std::size_t size, std::uint32_t sum) {
    for (; size > 1; at += 2, size -= 2) {
        sum += static_cast<std::uint32_t>(at[0] << 8 | at[1]);
    }
    return size == 1 ? sum + static_cast<std::uint32_t>(at[0] << 8) : sum;
}

// RFC 1071.
std::uint16_t folded(std::uint32_t sum) {
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

std::size_t get16(const UserFrame& frame, std::size_t at) {
    return static_cast<std::size_t>(frame[at] << 8 | frame[at + 1]);
}

void put16(UserFrame& frame, std::size_t at, std::size_t value) {
    frame[at] = static_cast<std::uint8_t>(value >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(value);
}

void put32(UserFrame& frame, std::size_t at, std::uint32_t value) {
    put16(frame, at, value >> 16);
    put16(frame, at + 2, value & 0xffff);
}

// Returns the offset behind all tags.
std::size_t network_of(const UserFrame& frame) {
    std::size_t at = kEthernet;
    while (at + 2 < frame.size() &&
           (get16(frame, at - 2) == 0x8100 || get16(frame, at - 2) == 0x88a8)) {
        at += 4;
    }
    return at;
}

}  // namespace

bool UserWork::ipv6() const {
    const std::size_t at = network_of(frame);
    return at < frame.size() && frame[at] >> 4 == 6;
}

bool UserWork::tcp() const {
    const std::size_t at = network_of(frame);
    return at + 10 < frame.size() && frame[at + (ipv6() ? 6 : 9)] == 6;
}

std::size_t UserWork::data_bytes() const {
    const std::size_t at = network_of(frame);
    const std::size_t header = ipv6() ? 40 : (frame[at] & 15u) * 4u;
    const std::size_t all = ipv6() ? get16(frame, at + 4) : get16(frame, at + 2) - header;
    const std::size_t transport = at + header;
    return all - (tcp() ? (frame[transport + 12] >> 4) * 4u : 8u);
}

UserNic::UserNic(const std::string& dut, const std::string& nic, const std::string& far,
                 const std::string& wire, UserFault fault)
    : nic_(open_tap(
          dut, nic, IFF_VNET_HDR,
          TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN | 0x20 | 0x40)),  // USO4, USO6
      wire_(open_tap(far, wire, 0, 0)),
      fault_(std::move(fault)) {
    thread_ = std::thread([this] { run(); });
}

UserNic::~UserNic() {
    stop();
    close(nic_);
    close(wire_);
}

std::uint64_t UserNic::stop() {
    stopping_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
    return acted_;
}

void UserNic::run() {
    std::array<pollfd, 2> waited = {{{nic_, POLLIN, 0}, {wire_, POLLIN, 0}}};
    while (!stopping_) {
        poll(waited.data(), waited.size(), 50);
        transmit();
        receive();
    }
}

void UserNic::send(UserFrame frame) {
    frame.resize(std::max(frame.size(), kShortest));
    const UserFrame before = frame;
    const bool leaves = !fault_.out || fault_.out(frame, out_++);
    acted_ += !leaves || frame != before ? 1 : 0;
    if (leaves) {
        static_cast<void>(write(wire_, frame.data(), frame.size()));
    }
}

// The field holds the pseudo-header's sum.
void UserNic::complete(UserFrame& frame, std::size_t start, std::size_t offset, bool super_frame) {
    if (start + offset + 2 > frame.size()) {
        return;
    }
    const UserWork work{frame,
                        super_frame,
                        checksums_,
                        super_frames_,
                        frames_,
                        last_,
                        static_cast<std::uint16_t>(get16(frame, start + offset))};
    if (fault_.leaves_unfinished && fault_.leaves_unfinished(work)) {
        ++acted_;
        return;
    }
    constexpr std::size_t kUdpField = 6;
    auto right =
        static_cast<std::uint16_t>(~folded(sum_of(frame.data() + start, frame.size() - start, 0)));
    right = right == 0 && offset == kUdpField ? 0xffff : right;
    const std::uint16_t written = fault_.checksum ? fault_.checksum(work, right) : right;
    acted_ += written != right ? 1 : 0;
    put16(frame, start + offset, written);
    last_ = right;
    ++checksums_;
}

void UserNic::cut(const UserFrame& super, std::size_t start, std::size_t offset, std::size_t size,
                  bool udp) {
    const std::size_t network = network_of(super);
    const bool v6 = super[network] >> 4 == 6;
    const std::size_t headers = start + (udp ? 8u : (super[start + 12] >> 4) * 4u);
    const auto sequence =
        static_cast<std::uint32_t>(get16(super, start + 4) << 16 | get16(super, start + 6));
    std::vector<UserFrame> segments;
    for (std::size_t at = headers; at < super.size(); at += size) {
        const std::size_t bytes = std::min(size, super.size() - at);
        const bool last = at + bytes == super.size();
        const auto data = super.begin() + static_cast<std::ptrdiff_t>(at);
        UserFrame one(super.begin(), super.begin() + static_cast<std::ptrdiff_t>(headers));
        one.insert(one.end(), data, data + static_cast<std::ptrdiff_t>(bytes));
        if (v6) {
            put16(one, network + 4, one.size() - network - 40);
        } else {
            put16(one, network + 2, one.size() - network);
            put16(one, network + 4, (get16(super, network + 4) + segments.size()) & 0xffff);
            put16(one, network + 10, 0);
            const std::size_t length = (one[network] & 15u) * 4u;
            put16(one, network + 10,
                  static_cast<std::uint16_t>(~folded(sum_of(one.data() + network, length, 0))));
        }
        if (udp) {
            put16(one, start + 4, one.size() - start);
        } else {
            put32(one, start + 4, sequence + static_cast<std::uint32_t>(at - headers));
            one[start + 13] &= static_cast<std::uint8_t>(last ? 0xff : ~0x09);
            one[start + 13] &= static_cast<std::uint8_t>(segments.empty() ? 0xff : ~0x80);
        }
        const std::uint32_t addresses =
            sum_of(one.data() + network + (v6 ? 8 : 12), v6 ? 32 : 8, 0);
        put16(
            one, start + offset,
            folded(addresses + (udp ? 17u : 6u) + static_cast<std::uint32_t>(one.size() - start)));
        complete(one, start, offset, true);
        segments.push_back(std::move(one));
    }
    ++super_frames_;
    const std::vector<UserFrame> before = segments;
    if (fault_.segments) {
        fault_.segments(segments);
        acted_ += segments != before ? 1 : 0;
    }
    for (UserFrame& segment : segments) {
        send(std::move(segment));
    }
}

void UserNic::transmit() {
    static thread_local std::vector<std::uint8_t> buffer(kLongest);
    virtio_net_hdr header{};
    for (;;) {
        const ssize_t got = read(nic_, buffer.data(), buffer.size());
        if (got < static_cast<ssize_t>(sizeof header + kEthernet)) {
            return;
        }
        std::memcpy(&header, buffer.data(), sizeof header);
        UserFrame frame(buffer.begin() + sizeof header, buffer.begin() + got);
        const bool super_frame = header.gso_type != VIRTIO_NET_HDR_GSO_NONE;
        const UserWork work{frame, super_frame, checksums_, super_frames_, frames_, last_};
        ++frames_;
        if (now_ms() < stalled_until_ms_) {
            ++acted_;
            continue;
        }
        if (fault_.loses && fault_.loses(work)) {
            super_frames_ += super_frame ? 1 : 0;
            ++acted_;
            continue;
        }
        if (const int stall = fault_.stalls ? fault_.stalls(work) : 0; stall != 0) {
            stalled_until_ms_ = now_ms() + stall;
            super_frames_ += super_frame ? 1 : 0;
            ++acted_;
            continue;
        }
        if (super_frame) {
            constexpr int kUso = 5;  // VIRTIO_NET_HDR_GSO_UDP_L4
            const bool udp = (header.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == kUso;
            cut(frame, header.csum_start, header.csum_offset, header.gso_size, udp);
            continue;
        }
        if ((header.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0) {
            complete(frame, header.csum_start, header.csum_offset, false);
        }
        send(std::move(frame));
    }
}

void UserNic::receive() {
    static thread_local std::vector<std::uint8_t> buffer(kLongest);
    for (;;) {
        const ssize_t got = read(wire_, buffer.data(), buffer.size());
        if (got < static_cast<ssize_t>(kEthernet)) {
            return;
        }
        UserFrame frame(buffer.begin(), buffer.begin() + got);
        const UserFrame before = frame;
        const bool comes = !fault_.in || fault_.in(frame, in_++);
        acted_ += !comes || frame != before ? 1 : 0;
        if (comes) {
            frame.insert(frame.begin(), sizeof(virtio_net_hdr), 0);
            static_cast<void>(write(nic_, frame.data(), frame.size()));
        }
    }
}
