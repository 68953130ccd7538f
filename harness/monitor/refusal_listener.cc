#include "harness/monitor/refusal_listener.h"

#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <netinet/in.h>

#include <array>
#include <chrono>
#include <cstring>
#include <set>

#include "harness/monitor/packet_socket.h"
#include "harness/process/netns.h"

namespace pathproof::monitor {
namespace {

using Clock = std::chrono::steady_clock;

// Outer and quoted IPv6 headers, ICMP header and ports, with room for IPv4 options.
constexpr std::uint32_t kSnapBytes = 160;
constexpr auto kAddressesGoodFor = std::chrono::seconds(5);

constexpr std::uint32_t kProtocol = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PROTOCOL);

// Instructions of the filter that others jump to.
enum At : std::uint8_t { kIpv6 = 13, kTcp = 11, kTcpv6 = 18, kNo = 20, kYes = 21 };
// A jump from an instruction to another counts those between them.
constexpr std::uint8_t jump(int from, At to) {
    return static_cast<std::uint8_t>(to - from - 1);
}

// clang-format off
// Unfragmented ICMP and ICMPv6 "destination unreachable" and TCP segments with RST, by offsets from
// the IP header (a SOCK_DGRAM packet socket).
sock_filter kProgram[] = {
    /*  0 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kProtocol),
    /*  1 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 1, 0),
    /*  2 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, jump(2, kIpv6), jump(2, kNo)),
    /*  3 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
    /*  4 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, jump(4, kNo), 0),
    /*  5 */ BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
    /*  6 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
    /*  7 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, jump(7, kTcp), 0),
    /*  8 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMP, 0, jump(8, kNo)),
    /*  9 */ BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),
    /* 10 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 3, jump(10, kYes), jump(10, kNo)),
    /* kTcp */ BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
    /* 12 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x04, jump(12, kYes), jump(12, kNo)),
    /* kIpv6 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
    /* 14 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, jump(14, kTcpv6), 0),
    /* 15 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, jump(15, kNo)),
    /* 16 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 40),
    /* 17 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, jump(17, kYes), jump(17, kNo)),
    /* kTcpv6 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 53),
    /* 19 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x04, jump(19, kYes), jump(19, kNo)),
    /* kNo */ BPF_STMT(BPF_RET | BPF_K, 0),
    /* kYes */ BPF_STMT(BPF_RET | BPF_K, kSnapBytes),
};
// clang-format on

constexpr const char* kDoing = "watch ICMP errors and resets";

class SocketRefusals final : public RefusalListener {
  public:
    SocketRefusals(std::string netns, PacketSocket socket)
        : netns_(std::move(netns)), socket_(std::move(socket)) {}

    void drain(const std::function<void(const Refusal&, Sender)>& visit) override {
        std::array<std::byte, kSnapBytes> packet;
        while (const auto got = socket_.next(packet)) {
            if (const auto refusal = parse_refusal(got->bytes)) {
                visit(*refusal, sender_of(*got, *refusal));
            }
        }
    }

    std::uint64_t lost() override { return socket_.lost(); }

  private:
    Sender sender_of(const TappedPacket& packet, const Refusal& refusal) {
        if (!packet.leaving()) {
            return Sender::kElsewhere;
        }
        if (Clock::now() >= addresses_until_) {
            read_addresses();
        }
        return addresses_.contains(refusal.by) ? Sender::kHere : Sender::kElsewhere;
    }

    void read_addresses() {
        addresses_.clear();
        addresses_until_ = Clock::now() + kAddressesGoodFor;
        (void)process::in_netns(netns_, [&]() -> Status {
            ifaddrs* all = nullptr;
            if (getifaddrs(&all) != 0) {
                return {};
            }
            for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
                add_address(one->ifa_addr);
            }
            freeifaddrs(all);
            return {};
        });
    }

    void add_address(const sockaddr* address) {
        frame::IpAddress value;
        if (address == nullptr) {
            return;
        }
        if (address->sa_family == AF_INET) {
            std::memcpy(value.bytes.data(),
                        &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
        } else if (address->sa_family == AF_INET6) {
            value.family = frame::Family::kIpv6;
            std::memcpy(value.bytes.data(),
                        &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
        } else {
            return;
        }
        addresses_.insert(value);
    }

    const std::string netns_;
    PacketSocket socket_;
    std::set<frame::IpAddress> addresses_;  // of the namespace's devices
    Clock::time_point addresses_until_;
};

}  // namespace

Result<std::unique_ptr<RefusalListener>> RefusalListener::start(const std::string& netns) {
    auto socket = TRY(PacketSocket::open(netns, {std::size(kProgram), kProgram}, kDoing));
    return std::make_unique<SocketRefusals>(netns, std::move(socket));
}

}  // namespace pathproof::monitor
