// Ping against a host of our own behind a tun device, which answers as a test wants it to.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <functional>
#include <thread>

#include "harness/agent/probes.h"
#include "harness/agent/socket.h"
#include "tests/agent/lab.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(ping_replies)

using namespace pathproof;
using namespace pathproof::agent;
using namespace pathproof::agent::test;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kIpHeader = 20;
constexpr std::size_t kIcmpHeader = 8;

std::uint16_t checksum(const Bytes& bytes, std::size_t begin) {
    std::uint32_t sum = 0;
    for (std::size_t i = begin; i < bytes.size(); ++i) {
        sum += (i - begin) % 2 == 0 ? std::uint32_t{bytes[i]} * 256 : bytes[i];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

void put_checksum(Bytes& packet) {
    packet[kIpHeader + 2] = packet[kIpHeader + 3] = 0;
    const std::uint16_t sum = checksum(packet, kIpHeader);
    packet[kIpHeader + 2] = static_cast<std::uint8_t>(sum >> 8);
    packet[kIpHeader + 3] = static_cast<std::uint8_t>(sum);
}

// The right reply to an IPv4 echo request.
Bytes reply_to(Bytes packet) {
    std::swap_ranges(packet.begin() + 12, packet.begin() + 16, packet.begin() + 16);
    packet[kIpHeader] = 0;  // echo reply
    put_checksum(packet);
    return packet;
}

// 198.18.78.2, seen from the namespace through its device "t0".
class Host {
  public:
    using Answer = std::function<std::vector<Bytes>(const Bytes& request)>;

    Host(const std::string& netns, Answer answer) {
        const Status made = process::in_netns(netns, [&]() -> Status {
            tun_ = Fd(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
            ifreq request{};
            std::strcpy(request.ifr_name, "t0");
            request.ifr_flags = IFF_TUN | IFF_NO_PI;
            if (!tun_ || ioctl(tun_.get(), TUNSETIFF, &request) != 0) {
                return system_failure("make a tun device", errno);
            }
            return {};
        });
        BOOST_REQUIRE_MESSAGE(made, made.error().message);
        run_in(netns, "ip link set t0 addrgenmode none");
        run_in(netns, "ip address add 198.18.78.1/24 dev t0");
        run_in(netns, "ip link set t0 up");
        thread_ = std::thread([this, answer = std::move(answer)] { serve(answer); });
    }
    ~Host() {
        ended_ = true;
        thread_.join();
    }

  private:
    void serve(const Answer& answer) {
        while (!ended_) {
            pollfd entry{.fd = tun_.get(), .events = POLLIN, .revents = 0};
            if (poll(&entry, 1, 20) <= 0) {
                continue;
            }
            Bytes packet(4096);
            const ssize_t got = read(tun_.get(), packet.data(), packet.size());
            packet.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            if (packet.size() < kIpHeader + kIcmpHeader || packet[0] != 0x45 ||
                packet[9] != IPPROTO_ICMP) {
                continue;
            }
            for (const Bytes& reply : answer(packet)) {
                (void)!write(tun_.get(), reply.data(), reply.size());
            }
        }
    }

    Fd tun_;
    std::atomic<bool> ended_ = false;
    std::thread thread_;
};

ProbeResult ping_host(const Host::Answer& answer) {
    const Lab lab;
    const Host host(lab.a, answer);
    const auto result = agent_in(lab.a)->ping({.destination = ip("198.18.78.2"),
                                               .count = 2,
                                               .payload_bytes = 100,
                                               .interval = milliseconds(5),
                                               .timeout = milliseconds(300)});
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return *result;
}

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(right_replies_count_once_each) {
    const ProbeResult result = ping_host([](const Bytes& request) {
        return std::vector<Bytes>{reply_to(request), reply_to(request)};
    });
    BOOST_TEST(result.ok, result.outcome);
    BOOST_TEST(result.received == 2U);
}

BOOST_AUTO_TEST_CASE(a_changed_payload_is_no_good_reply) {
    const ProbeResult result = ping_host([](const Bytes& request) {
        Bytes reply = reply_to(request);
        // Two words exchanged: the checksum stays right.
        std::swap_ranges(reply.end() - 4, reply.end() - 2, reply.end() - 2);
        return std::vector<Bytes>{reply};
    });
    BOOST_TEST(!result.ok);
    BOOST_TEST(result.received == 0U);
    BOOST_TEST(contains(result.outcome, "2 with a wrong payload"), result.outcome);
}

BOOST_AUTO_TEST_CASE(a_shortened_payload_is_no_good_reply) {
    const ProbeResult result = ping_host([](const Bytes& request) {
        Bytes reply = reply_to(request);
        reply.resize(reply.size() - 10);
        reply[3] = static_cast<std::uint8_t>(reply.size());  // total length, below 256 here
        reply[10] = reply[11] = 0;
        const Bytes header(reply.begin(), reply.begin() + kIpHeader);
        const std::uint16_t sum = checksum(header, 0);
        reply[10] = static_cast<std::uint8_t>(sum >> 8);
        reply[11] = static_cast<std::uint8_t>(sum);
        put_checksum(reply);
        return std::vector<Bytes>{reply};
    });
    BOOST_TEST(!result.ok);
    BOOST_TEST(contains(result.outcome, "2 with a wrong payload"), result.outcome);
}

BOOST_AUTO_TEST_CASE(a_wrong_icmp_checksum_is_named) {
    const ProbeResult result = ping_host([](const Bytes& request) {
        Bytes reply = reply_to(request);
        reply[kIpHeader + 2] ^= 1;
        return std::vector<Bytes>{reply};
    });
    BOOST_TEST(!result.ok);
    BOOST_TEST(contains(result.outcome, "2 with a wrong ICMP checksum"), result.outcome);
}

BOOST_AUTO_TEST_CASE(replies_to_others_are_not_ours) {
    const ProbeResult result = ping_host([](const Bytes& request) {
        Bytes other_id = request;
        other_id[kIpHeader + 4] ^= 0xff;
        Bytes other_sequence = request;
        other_sequence[kIpHeader + 6] ^= 0xff;
        return std::vector<Bytes>{reply_to(other_id), reply_to(other_sequence)};
    });
    BOOST_TEST(!result.ok);
    BOOST_TEST(result.outcome == "0 of 2 echo requests answered");
}

BOOST_AUTO_TEST_SUITE_END()
