// ICMP and ICMPv6 echo through a raw socket, or a ping socket where raw ones are not permitted.

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "dataplane/frame/checksum.h"
#include "harness/agent/digest.h"
#include "harness/agent/operations.h"
#include "harness/agent/probes.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Clock = Deadline::Clock;

// ICMP and ICMPv6 echo messages share their layout (RFC 792, RFC 4443 section 4.1): type, code,
// checksum, id, sequence, payload.
constexpr std::size_t kEchoHead = 8;
constexpr std::size_t kMostPayload = 65535 - 20 - kEchoHead;

struct PingSocket {
    Fd socket;
    bool raw = true;
};

class Pinger {
  public:
    Pinger(PingSocket socket, const PingOptions& options)
        : socket_(std::move(socket)),
          options_(options),
          ipv6_(options.destination.family == frame::Family::kIpv6) {
        std::random_device random;
        id_ = static_cast<std::uint16_t>(random());
        seed_ = random();
    }

    ProbeResult run() {
        std::vector<Clock::time_point> sent_at;
        Clock::time_point next = Clock::now();
        while (sent_at.size() < options_.count || !outstanding_.empty()) {
            const Clock::time_point now = Clock::now();
            if (sent_at.size() < options_.count && now >= next) {
                send_request(static_cast<std::uint16_t>(sent_at.size()));
                sent_at.push_back(now);
                next = now + options_.interval;
                continue;
            }
            give_up_on_late(sent_at, now);
            if (sent_at.size() == options_.count && outstanding_.empty()) {
                break;
            }
            receive_until(next_moment(sent_at, next), sent_at);
        }
        return result();
    }

  private:
    Bytes payload(std::uint16_t sequence) const {
        Bytes bytes(options_.payload_bytes);
        ByteStream(seed_ + sequence).fill(bytes);
        return bytes;
    }

    Bytes request(std::uint16_t sequence) const {
        const std::uint8_t type = ipv6_ ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
        Bytes message{type,
                      0,
                      0,
                      0,
                      static_cast<std::uint8_t>(id_ >> 8),
                      static_cast<std::uint8_t>(id_),
                      static_cast<std::uint8_t>(sequence >> 8),
                      static_cast<std::uint8_t>(sequence)};
        const Bytes data = payload(sequence);
        message.insert(message.end(), data.begin(), data.end());
        if (!ipv6_) {  // the kernel fills in ICMPv6's, which needs the source address
            const std::uint16_t sum = frame::checksum_of(frame::sum_bytes(message));
            message[2] = static_cast<std::uint8_t>(sum >> 8);
            message[3] = static_cast<std::uint8_t>(sum);
        }
        return message;
    }

    void send_request(std::uint16_t sequence) {
        const Bytes message = request(sequence);
        // An error of an earlier request (host unreachable) is reported by the next call: try once
        // more.
        for (int tries = 0; tries < 2; ++tries) {
            if (send(socket_.socket.get(), message.data(), message.size(), 0) >= 0) {
                ++sent_;
                outstanding_.insert(sequence);
                return;
            }
            trouble_ = describe_errno(errno);
        }
        ++sent_;
    }

    void give_up_on_late(const std::vector<Clock::time_point>& sent_at, Clock::time_point now) {
        std::erase_if(outstanding_, [&](std::uint16_t sequence) {
            return now >= sent_at[sequence] + options_.timeout;
        });
    }

    Clock::time_point next_moment(const std::vector<Clock::time_point>& sent_at,
                                  Clock::time_point next) const {
        Clock::time_point moment =
            sent_at.size() < options_.count ? next : Clock::time_point::max();
        if (!outstanding_.empty()) {
            moment = std::min(moment, sent_at[*outstanding_.begin()] + options_.timeout);
        }
        return moment;
    }

    void receive_until(Clock::time_point moment, const std::vector<Clock::time_point>& sent_at) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(moment - Clock::now());
        if (!wait_for(socket_.socket.get(), POLLIN, Deadline(std::max(left, milliseconds(0))))) {
            return;
        }
        Bytes message(65536);
        const ssize_t got = recv(socket_.socket.get(), message.data(), message.size(), 0);
        if (got < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                trouble_ = describe_errno(errno);
            }
            return;
        }
        message.resize(static_cast<std::size_t>(got));
        take_reply(message, sent_at);
    }

    // The echo message within what was received: raw IPv4 sockets give the IP header too (raw(7)).
    std::span<const std::uint8_t> echo_of(const Bytes& received) const {
        std::span<const std::uint8_t> echo(received);
        if (ipv6_ || !socket_.raw) {
            return echo;
        }
        if (echo.size() < sizeof(iphdr)) {
            return {};
        }
        const std::size_t header_bytes = std::size_t{echo[0]} % 16 * 4;
        return echo.size() < header_bytes ? std::span<const std::uint8_t>()
                                          : echo.subspan(header_bytes);
    }

    void take_reply(const Bytes& received, const std::vector<Clock::time_point>& sent_at) {
        const std::span<const std::uint8_t> echo = echo_of(received);
        const std::uint8_t type = ipv6_ ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
        if (echo.size() < kEchoHead || echo[0] != type || echo[1] != 0) {
            return;
        }
        const auto id = static_cast<std::uint16_t>(echo[4] << 8 | echo[5]);
        const auto sequence = static_cast<std::uint16_t>(echo[6] << 8 | echo[7]);
        // The kernel gives ping sockets an identifier of their own and filters by it.
        if ((socket_.raw && id != id_) || !outstanding_.contains(sequence)) {
            return;
        }
        outstanding_.erase(sequence);
        // The kernel hands raw IPv4 sockets a message before it checks the ICMP checksum
        // (raw_local_deliver).
        if (socket_.raw && !ipv6_ && frame::checksum_of(frame::sum_bytes(echo)) != 0) {
            ++bad_checksum_;
            return;
        }
        const Bytes expected = payload(sequence);
        const std::span<const std::uint8_t> data = echo.subspan(kEchoHead);
        if (!std::equal(data.begin(), data.end(), expected.begin(), expected.end())) {
            ++wrong_payload_;
            return;
        }
        ++received_;
        total_ms_ += milliseconds_since(sent_at[sequence]);
    }

    ProbeResult result() const {
        ProbeResult result;
        result.sent = sent_;
        result.received = received_;
        result.ok = received_ == sent_;
        result.milliseconds = received_ > 0 ? total_ms_ / static_cast<double>(received_) : 0;
        result.outcome = fmt::format("{} of {} echo requests answered", received_, sent_);
        if (received_ > 0) {
            result.outcome += fmt::format(", {:.2f} ms on average", result.milliseconds);
        }
        if (wrong_payload_ > 0) {
            result.outcome += fmt::format("; {} with a wrong payload", wrong_payload_);
        }
        if (bad_checksum_ > 0) {
            result.outcome += fmt::format("; {} with a wrong ICMP checksum", bad_checksum_);
        }
        if (!result.ok && !trouble_.empty()) {
            result.outcome += "; " + trouble_;
        }
        return result;
    }

    PingSocket socket_;
    PingOptions options_;
    bool ipv6_;
    std::uint16_t id_ = 0;
    std::uint64_t seed_ = 0;
    std::set<std::uint16_t> outstanding_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t wrong_payload_ = 0;
    std::uint64_t bad_checksum_ = 0;
    double total_ms_ = 0;
    std::string trouble_;
};

Result<PingSocket> open_ping_socket(const frame::IpAddress& destination) {
    const int family = socket_family(destination);
    const int protocol =
        family == AF_INET ? static_cast<int>(IPPROTO_ICMP) : static_cast<int>(IPPROTO_ICMPV6);
    Result<Fd> raw = open_socket(family, SOCK_RAW, protocol);
    if (raw) {
        return PingSocket{std::move(*raw), true};
    }
    if (raw.error().code != ErrorCode::kNotPermitted) {
        return pass_on(raw.error());
    }
    Result<Fd> datagram = open_socket(family, SOCK_DGRAM, protocol);
    if (!datagram) {
        return fail(ErrorCode::kNotPermitted,
                    "ping {}: neither a raw nor a ping socket is permitted; run as root, or widen "
                    "net.ipv4.ping_group_range",
                    frame::to_string(destination));
    }
    return PingSocket{std::move(*datagram), false};
}

// Sends `options.count` echo requests, one each interval, and waits for each up to
// `options.timeout`. A reply counts when its identifier, sequence number and every payload byte are
// right. `ok`: every request was answered so.
Result<ProbeResult> send_pings(const PingOptions& options) {
    PingSocket socket = TRY(open_ping_socket(options.destination));
    // Connected, the socket gets only the destination's replies, and the errors that ICMP brings
    // (raw(7)).
    const SocketAddress peer = to_socket_address({options.destination, 0});
    if (connect(socket.socket.get(), peer.raw(), peer.length) != 0) {
        ProbeResult result;
        result.outcome = fmt::format("nothing could be sent: {}", describe_errno(errno));
        return result;
    }
    return Pinger(std::move(socket), options).run();
}

}  // namespace

Status check(const PingOptions& options) {
    if (options.count == 0 || options.count > 65535) {
        return fail(ErrorCode::kBadInput, "ping: the count must be 1 to 65535, not {}",
                    options.count);
    }
    if (options.payload_bytes > kMostPayload) {
        return fail(ErrorCode::kBadInput, "ping: the payload must be at most {} bytes, not {}",
                    kMostPayload, options.payload_bytes);
    }
    return {};
}

Result<ProbeResult> Client::ping(const PingOptions& options) {
    const milliseconds longest = options.interval * options.count + options.timeout;
    return impl_->ask_for<ProbeResult>(longest + kAnswerTime, "ping", options);
}

void add_ping(Operations& operations) {
    operations.add("ping", send_pings);
}

}  // namespace pathproof::agent
