#include "harness/kubernetes/echo.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>
#include <vector>

#include "harness/agent/digest.h"
#include "harness/agent/socket.h"

namespace pathproof::kubernetes {
namespace {

using agent::Deadline;
using Bytes = std::vector<std::uint8_t>;
using std::chrono::milliseconds;

constexpr std::array<std::uint8_t, 7> kMagic{'p', 'p', 'e', 'c', 'h', 'o', '1'};
constexpr std::uint8_t kDf = 1, kNoChecksum = 2;
constexpr milliseconds kEchoLook{100};

// IP_PMTUDISC_PROBE: DF, whatever the kernel believes the path to carry.
void set_form(int socket, bool is_v6, bool df, bool no_checksum) {
    const int discover_v4 = df ? IP_PMTUDISC_PROBE : IP_PMTUDISC_DONT;
    const int discover_v6 = df ? IPV6_PMTUDISC_PROBE : IPV6_PMTUDISC_DONT;
    const int discover = is_v6 ? discover_v6 : discover_v4;
    setsockopt(socket, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP,
               is_v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &discover, sizeof discover);
    const int off = no_checksum && !is_v6 ? 1 : 0;
    setsockopt(socket, SOL_SOCKET, SO_NO_CHECK, &off, sizeof off);
}

class Echoing final : public EchoServer {
  public:
    Echoing(Fd socket, const frame::Endpoint& at)
        : socket_(std::move(socket)), at_(at), thread_([this] { serve(); }) {}
    ~Echoing() override {
        stopping_ = true;
        thread_.join();
    }

    const frame::Endpoint& endpoint() const override { return at_; }

  private:
    void serve() {
        const bool is_v6 = at_.address.family == frame::Family::kIpv6;
        Bytes buffer(65'536);
        while (!stopping_) {
            if (!agent::wait_for(socket_.get(), POLLIN, Deadline(kEchoLook))) {
                continue;
            }
            agent::SocketAddress from;
            from.length = sizeof from.storage;
            const ssize_t got =
                recvfrom(socket_.get(), buffer.data(), buffer.size(), 0, from.raw(), &from.length);
            const bool is_ours = got >= static_cast<ssize_t>(kLeastEcho) &&
                                 std::equal(kMagic.begin(), kMagic.end(), buffer.begin());
            if (!is_ours) {
                continue;
            }
            const std::uint8_t form = buffer[kMagic.size()];
            set_form(socket_.get(), is_v6, (form & kDf) != 0, (form & kNoChecksum) != 0);
            (void)!sendto(socket_.get(), buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL,
                          from.raw(), from.length);
        }
    }

    Fd socket_;
    const frame::Endpoint at_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

Result<Fd> connected(const frame::Endpoint& server) {
    Fd socket = TRY(agent::open_socket(agent::socket_family(server.address), SOCK_DGRAM, 0));
    if (const int refused = agent::connect_before(socket.get(), server, Deadline(kEchoLook))) {
        return fail(ErrorCode::kUnavailable, "reach {}: {}", frame::to_string(server),
                    agent::describe_errno(refused));
    }
    return socket;
}

// Waits for the answer to that datagram; others, late ones of before, are passed over.
void await(int socket, const Bytes& sent, milliseconds timeout, EchoFigures& figures) {
    const Deadline deadline(timeout);
    Bytes answer(65'536);
    while (agent::wait_for(socket, POLLIN, deadline)) {
        const ssize_t got = recv(socket, answer.data(), answer.size(), 0);
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            figures.trouble = agent::describe_errno(errno);
            return;
        }
        const bool is_its = got >= static_cast<ssize_t>(kLeastEcho) &&
                            std::equal(sent.begin(), sent.begin() + kLeastEcho, answer.begin());
        if (!is_its) {
            continue;
        }
        const bool same = static_cast<std::size_t>(got) == sent.size() &&
                          std::equal(sent.begin(), sent.end(), answer.begin());
        ++(same ? figures.answered : figures.wrong);
        figures.trouble = same ? figures.trouble : "other bytes came back";
        return;
    }
    figures.trouble = fmt::format("no answer within {} ms", timeout.count());
}

}  // namespace

Result<std::unique_ptr<EchoServer>> EchoServer::start(const frame::Endpoint& listen) {
    Fd socket = TRY(agent::open_socket(agent::socket_family(listen.address), SOCK_DGRAM, 0));
    const auto address = agent::to_socket_address(listen);
    if (bind(socket.get(), address.raw(), address.length) != 0) {
        return agent::system_failure("listen at " + frame::to_string(listen), errno);
    }
    const frame::Endpoint at = TRY(agent::local_endpoint(socket.get()));
    return std::unique_ptr<EchoServer>(std::make_unique<Echoing>(std::move(socket), at));
}

Result<EchoFigures> echo(const frame::Endpoint& server, const EchoForm& form, unsigned count,
                         milliseconds timeout) {
    const bool is_v6 = server.address.family == frame::Family::kIpv6;
    const Fd socket = TRY(connected(server));
    set_form(socket.get(), is_v6, form.df, form.no_checksum);
    std::random_device random;
    EchoFigures figures;
    for (unsigned i = 0; i < count; ++i) {
        Bytes datagram(std::clamp(form.bytes, kLeastEcho, kMostEcho));
        agent::ByteStream((std::uint64_t{random()} << 32) | random()).fill(datagram);
        std::copy(kMagic.begin(), kMagic.end(), datagram.begin());
        datagram[kMagic.size()] =
            static_cast<std::uint8_t>((form.df ? kDf : 0) | (form.no_checksum ? kNoChecksum : 0));
        ++figures.sent;
        // An ICMP error about an earlier one is reported by the next call: try once more.
        bool is_sent = false;
        for (int tries = 0; tries < 2 && !is_sent; ++tries) {
            is_sent = send(socket.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL) >= 0;
            figures.trouble = is_sent ? figures.trouble : agent::describe_errno(errno);
        }
        if (is_sent) {
            await(socket.get(), datagram, timeout, figures);
        }
    }
    return figures;
}

Result<std::uint32_t> mtu_towards(const frame::Endpoint& server) {
    const bool is_v6 = server.address.family == frame::Family::kIpv6;
    const Fd socket = TRY(connected(server));
    int mtu = 0;
    socklen_t length = sizeof mtu;
    if (getsockopt(socket.get(), is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_MTU : IP_MTU, &mtu,
                   &length) != 0) {
        return agent::system_failure("ask for the path's MTU", errno);
    }
    return static_cast<std::uint32_t>(std::max(mtu, 0));
}

}  // namespace pathproof::kubernetes
