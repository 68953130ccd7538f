#include "tests/tester/traffic.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <vector>

#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::tester {
namespace {

using std::chrono::milliseconds;

constexpr std::uint16_t kTcpPort = 7777;

sockaddr_in address(const std::string& text, std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    inet_pton(AF_INET, text.c_str(), &out.sin_addr);
    return out;
}

template <typename Address>
const sockaddr* plain(const Address& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

void be_patient(int socket, milliseconds patience) {
    const timeval limit{.tv_sec = patience.count() / 1000,
                        .tv_usec = patience.count() % 1000 * 1000};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// An error in a namespace's thread is told outside: Boost.Test is not for several threads.
void run_in(const std::string& netns, const std::function<void()>& work) {
    const Status done = process::in_netns(netns, [&] {
        work();
        return Status();
    });
    BOOST_REQUIRE_MESSAGE(done, done.error().message);
}

std::uint16_t icmp_sum(const std::vector<std::uint8_t>& data) {
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at < data.size(); ++at) {
        sum += at % 2 == 0 ? data[at] : static_cast<std::uint32_t>(data[at] << 8);
    }
    while (sum > 0xffff) {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    return static_cast<std::uint16_t>(~sum);
}

bool answered(int socket, std::uint16_t sequence) {
    std::vector<std::uint8_t> packet(65536);
    for (;;) {
        const ssize_t got = recv(socket, packet.data(), packet.size(), 0);
        if (got < 28) {
            return false;  // nothing came in time
        }
        icmphdr header{};
        std::memcpy(&header, packet.data() + (packet[0] & 15) * 4, sizeof header);
        if (header.type == ICMP_ECHOREPLY && header.un.echo.sequence == sequence) {
            return true;
        }
    }
}

std::size_t receive_all(int listener, std::size_t size) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) {
        return 0;
    }
    be_patient(connection, milliseconds(3000));
    std::vector<char> chunk(1 << 16);
    std::size_t received = 0;
    while (received < size) {
        const ssize_t got = recv(connection, chunk.data(), chunk.size(), 0);
        if (got <= 0) {
            break;
        }
        received += static_cast<std::size_t>(got);
    }
    close(connection);
    return received;
}

void send_all(const Side& to, std::size_t size, milliseconds patience) {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    be_patient(connection, patience);
    const sockaddr_in server = address(to.address, kTcpPort);
    if (connect(connection, plain(server), sizeof server) == 0) {
        const std::vector<char> chunk(size, 'p');
        std::size_t sent = 0;
        while (sent < size) {
            const ssize_t put = send(connection, chunk.data() + sent, size - sent, MSG_NOSIGNAL);
            if (put <= 0) {
                break;
            }
            sent += static_cast<std::size_t>(put);
        }
    }
    close(connection);
}

// Bound to eth0 of the calling thread's namespace; 0 receives nothing. ETH_P_ALL sees a frame's
// tag: it is taken off before the handler of one type (__netif_receive_skb_core).
int packet_socket(std::uint16_t ethertype) {
    const int handle = socket(AF_PACKET, SOCK_RAW, 0);
    sockaddr_ll local{};
    local.sll_family = AF_PACKET;
    local.sll_protocol = htons(ethertype);
    local.sll_ifindex = static_cast<int>(if_nametoindex("eth0"));
    BOOST_REQUIRE(bind(handle, plain(local), sizeof local) == 0);
    const int on = 1;
    setsockopt(handle, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on);
    be_patient(handle, milliseconds(500));
    return handle;
}

// The next frame: the kernel hands its VLAN tag over beside it.
bool is_tagged(int socket, std::size_t size) {
    std::vector<std::uint8_t> frame(4096);
    alignas(cmsghdr) std::array<char, 256> control{};
    iovec where{.iov_base = frame.data(), .iov_len = frame.size()};
    msghdr message{};
    message.msg_iov = &where;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (recvmsg(socket, &message, 0) != static_cast<ssize_t>(size)) {
        return false;
    }
    tpacket_auxdata beside{};
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == SOL_PACKET && part->cmsg_type == PACKET_AUXDATA) {
            std::memcpy(&beside, CMSG_DATA(part), sizeof beside);
        }
    }
    return (beside.tp_status & TP_STATUS_VLAN_VALID) != 0 && beside.tp_vlan_tci == 7;
}

}  // namespace

unsigned ping(const Side& from, const Side& to, unsigned count, std::size_t payload) {
    unsigned replies = 0;
    run_in(from.netns, [&] {
        const int handle = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
        be_patient(handle, milliseconds(300));
        const sockaddr_in target = address(to.address, 0);
        for (std::uint16_t sequence = 1; sequence <= count; ++sequence) {
            std::vector<std::uint8_t> packet(sizeof(icmphdr) + payload, 0x5a);
            icmphdr header{};
            header.type = ICMP_ECHO;
            header.un.echo.sequence = sequence;
            std::memcpy(packet.data(), &header, sizeof header);
            header.checksum = icmp_sum(packet);
            std::memcpy(packet.data(), &header, sizeof header);
            sendto(handle, packet.data(), packet.size(), 0, plain(target), sizeof target);
            replies += answered(handle, sequence) ? 1 : 0;
        }
        close(handle);
    });
    return replies;
}

std::size_t tcp_transfer(const Side& from, const Side& to, std::size_t size,
                         milliseconds patience) {
    std::size_t received = 0;
    int listener = -1;
    run_in(to.netns, [&] {
        listener = socket(AF_INET, SOCK_STREAM, 0);
        const int on = 1;
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        be_patient(listener, patience);
        const sockaddr_in local = address(to.address, kTcpPort);
        if (bind(listener, plain(local), sizeof local) != 0 || listen(listener, 4) != 0) {
            close(listener);
            listener = -1;
        }
    });
    BOOST_REQUIRE(listener >= 0);
    std::thread server([&] { received = receive_all(listener, size); });
    run_in(from.netns, [&] { send_all(to, size, patience); });
    server.join();
    close(listener);
    return received;
}

unsigned udp_burst(const Side& from, const Side& to, unsigned count) {
    unsigned sent = 0;
    run_in(from.netns, [&] {
        const int handle = socket(AF_INET, SOCK_DGRAM, 0);
        const sockaddr_in target = address(to.address, 9);
        const std::vector<char> payload(64, 'u');
        for (unsigned index = 0; index < count; ++index) {
            sent +=
                sendto(handle, payload.data(), payload.size(), 0, plain(target), sizeof target) > 0
                    ? 1
                    : 0;
        }
        close(handle);
    });
    return sent;
}

unsigned tagged_frames(const Side& from, const Side& to, unsigned count, std::size_t size) {
    int receiver = -1;
    run_in(to.netns, [&] { receiver = packet_socket(ETH_P_ALL); });
    run_in(from.netns, [&] {
        const int sender = packet_socket(0);
        std::vector<std::uint8_t> frame(size + 4, 0xa5);
        const std::array<std::uint8_t, 18> head = {2, 0, 0, 0,    0, 2, 2, 0,    0,
                                                   0, 0, 1, 0x81, 0, 0, 7, 0x88, 0xb5};
        std::copy(head.begin(), head.end(), frame.begin());
        for (unsigned index = 0; index < count; ++index) {
            BOOST_CHECK(send(sender, frame.data(), frame.size(), 0) ==
                        static_cast<ssize_t>(frame.size()));
        }
        close(sender);
    });
    unsigned arrived = 0;
    while (arrived < count && is_tagged(receiver, size)) {
        ++arrived;
    }
    close(receiver);
    return arrived;
}

std::uint64_t kernel_counter(const std::string& netns, const std::string& protocol,
                             const std::string& name) {
    std::uint64_t value = 0;
    run_in(netns, [&] {
        std::ifstream file("/proc/thread-self/net/snmp");
        std::string names;
        std::string values;
        while (std::getline(file, names) && std::getline(file, values)) {
            std::istringstream titles(names);
            std::istringstream numbers(values);
            std::string title;
            std::string number;
            titles >> title;
            numbers >> number;
            if (title != protocol + ":") {
                continue;
            }
            while (titles >> title && numbers >> number) {
                if (title == name) {
                    value = std::stoull(number);
                }
            }
        }
    });
    return value;
}

void in(const std::string& netns, const std::string& command) {
    const auto done = process::run_checked({"sh", "-c", command}, {.netns = netns});
    BOOST_REQUIRE_MESSAGE(done, done.error().message);
}

}  // namespace pathproof::tester
