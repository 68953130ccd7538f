#include "tests/drops/senders.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <thread>

#include "harness/process/netns.h"

namespace pathproof::drops::lab {
namespace {

sockaddr_in end(const std::string& address, std::uint16_t port) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    BOOST_REQUIRE(inet_pton(AF_INET, address.c_str(), &there.sin_addr) == 1);
    return there;
}

int open_socket(const std::string& netns, int type, int protocol) {
    int fd = -1;
    const auto opened = process::in_netns(netns, [&]() -> Status {
        fd = socket(AF_INET, type | SOCK_CLOEXEC, protocol);
        return {};
    });
    BOOST_REQUIRE(opened && fd >= 0);
    return fd;
}

void send_all(int fd, const sockaddr_in& there, const void* bytes, std::size_t size, int count) {
    const auto* to = reinterpret_cast<const sockaddr*>(&there);
    for (int sent = 0; sent < count;) {
        if (sendto(fd, bytes, size, 0, to, sizeof there) >= 0) {
            ++sent;
        } else {
            // An answer by ICMP to an earlier packet; this one was not sent.
            BOOST_REQUIRE_MESSAGE(errno == ECONNREFUSED, std::strerror(errno));
        }
    }
    close(fd);
}

// UDP without a checksum (RFC 768) from a raw socket, which may use any source port.
class RawSender {
  public:
    RawSender(const std::string& netns, const std::string& source, const std::string& destination)
        : fd_(open_socket(netns, SOCK_RAW, IPPROTO_UDP)), there_(end(destination, 0)) {
        const sockaddr_in here = end(source, 0);
        BOOST_REQUIRE(bind(fd_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
    }
    ~RawSender() { close(fd_); }
    RawSender(const RawSender&) = delete;
    RawSender& operator=(const RawSender&) = delete;

    // Returns whether the packet went out: false for EPERM.
    bool send(std::uint16_t port) {
        const udphdr header{.source = htons(port), .dest = htons(9), .len = htons(8), .check = 0};
        return sendto(fd_, &header, sizeof header, 0, reinterpret_cast<const sockaddr*>(&there_),
                      sizeof there_) >= 0 ||
               errno != EPERM;
    }

  private:
    int fd_;
    sockaddr_in there_;
};

void pin_to(unsigned cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu % std::thread::hardware_concurrency(), &cpus);
    (void)pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
}

}  // namespace

void send_udp(const std::string& netns, const std::string& address, std::uint16_t port, int count) {
    send_all(open_socket(netns, SOCK_DGRAM, 0), end(address, port), "x", 1, count);
}

std::uint64_t send_at_once(const std::string& netns, const std::string& source,
                           const std::string& other_source, const std::string& destination,
                           std::uint16_t first_port, int rounds) {
    RawSender senders[] = {{netns, source, destination}, {netns, other_source, destination}};
    std::atomic<int> arrived = 0;
    std::atomic<std::uint64_t> refused = 0;
    const auto send_rounds = [&](unsigned which) {
        pin_to(which);
        for (int round = 0; round < rounds; ++round) {
            ++arrived;
            while (arrived < 2 * (round + 1)) {
                // The other one may be waiting for this CPU.
                std::this_thread::yield();
            }
            refused += !senders[which].send(static_cast<std::uint16_t>(first_port + round));
        }
    };
    std::thread other(send_rounds, 1);
    std::thread first(send_rounds, 0);
    first.join();
    other.join();
    return refused;
}

}  // namespace pathproof::drops::lab
