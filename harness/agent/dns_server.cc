#include "harness/agent/dns_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/frame/dns.h"
#include "harness/agent/listener.h"
#include "harness/agent/operations.h"
#include "harness/agent/reactor.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kPlainUdpAnswer = 512;  // RFC 1035 section 4.2.1: without EDNS
constexpr std::size_t kMostDatagram = 4096;
constexpr std::size_t kMostAnswer = 65535;
constexpr int kDatagramsPerTurn = 64;
constexpr std::size_t kControlBytes = 256;
constexpr std::size_t kMostLogged = 1'000'000;

// A datagram with where it came from, and the control message that makes the answer leave from the
// address it was sent to.
struct Datagram {
    Bytes message;
    SocketAddress peer;
    std::array<char, kControlBytes> control{};
    std::size_t control_bytes = 0;
};

// The pktinfo of a received datagram, turned into one for sending: by the same address, by the
// route's device.
void keep_pktinfo(msghdr& received, Datagram& datagram) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&received); part != nullptr;
         part = CMSG_NXTHDR(&received, part)) {
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
            in_pktinfo info{};
            std::memcpy(&info, CMSG_DATA(part), sizeof info);
            info.ipi_ifindex = 0;
            std::memcpy(CMSG_DATA(part), &info, sizeof info);
            datagram.control_bytes = CMSG_SPACE(sizeof info);
        } else if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
            // The device stays: an answer to a link-local address needs it.
            datagram.control_bytes = CMSG_SPACE(sizeof(in6_pktinfo));
        } else {
            continue;
        }
        const auto offset = reinterpret_cast<char*>(part) - datagram.control.data();
        std::memmove(datagram.control.data(), datagram.control.data() + offset,
                     datagram.control_bytes);
        return;
    }
}

std::optional<Datagram> receive(int socket) {
    Datagram datagram;
    datagram.message.resize(kMostDatagram);
    iovec piece{.iov_base = datagram.message.data(), .iov_len = datagram.message.size()};
    msghdr header{};
    header.msg_name = &datagram.peer.storage;
    header.msg_namelen = sizeof datagram.peer.storage;
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = datagram.control.data();
    header.msg_controllen = datagram.control.size();
    const ssize_t got = recvmsg(socket, &header, 0);
    if (got < 0) {
        return std::nullopt;
    }
    datagram.message.resize(static_cast<std::size_t>(got));
    datagram.peer.length = header.msg_namelen;
    keep_pktinfo(header, datagram);
    return datagram;
}

void send_answer(int socket, Datagram& question, Bytes& answer) {
    iovec piece{.iov_base = answer.data(), .iov_len = answer.size()};
    msghdr header{};
    header.msg_name = &question.peer.storage;
    header.msg_namelen = question.peer.length;
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (question.control_bytes > 0) {
        header.msg_control = question.control.data();
        header.msg_controllen = question.control_bytes;
    }
    // A refusal (no route back, a full queue) is loss on the path, as it would be for any server.
    sendmsg(socket, &header, 0);
}

// Reply to a query: a message, or nothing where a rule or a loss withholds it. Neither: it was no
// query.
struct Reply {
    Bytes message;
    bool withheld = false;
};

// A rule with its name read.
struct ReadyRule {
    frame::DnsName name;
    DnsRule rule;
};

// Names, types, and how many queries of them are still to be left unanswered.
struct LossLeft {
    frame::DnsName name;
    std::uint16_t type = 0;
    std::uint32_t left = 0;
};

const frame::DnsName& outside() {
    static const frame::DnsName name =
        frame::DnsName::from_text(kCnameTarget).value_or(frame::DnsName());
    return name;
}

// Two records are promised, and the first breaks off.
void spoil(Bytes& message) {
    constexpr std::size_t kAnswersAt = 7;  // the low byte of ANCOUNT
    message[kAnswersAt] = 2;
    message.insert(message.end(), {0xc0, 0x0c, 0x00});
}

struct Connection {
    Fd socket;
    frame::Endpoint peer;
    Bytes in;
    Bytes out;
    std::size_t unanswered = 0;
    bool peer_finished = false;
};

struct KernelDnsServer final : DnsServer {
    DnsServerOptions options;
    DnsRules given;
    frame::Endpoint serves_at;
    Fd udp;
    Fd tcp;
    std::vector<ReadyRule> rules;
    std::vector<LossLeft> losses;
    std::chrono::steady_clock::time_point began;
    std::mutex log_mutex;
    std::vector<DnsQueryRecord> log;
    std::map<int, std::shared_ptr<Connection>> connections;
    std::unique_ptr<Reactor> reactor;  // the last: callbacks use the members until it ends

    const frame::Endpoint& endpoint() const override { return serves_at; }
    std::vector<DnsQueryRecord> take_log() override {
        const std::lock_guard lock(log_mutex);
        return std::exchange(log, {});
    }
    Status bind_both();
    Status take_rules();
    const DnsRule* rule_for(const frame::DnsQuestion& question) const;
    bool loses(const frame::DnsQuestion& question);
    std::size_t largest_answer(std::uint16_t edns_bytes, bool by_tcp) const;
    Reply answer(std::span<const std::uint8_t> query, const frame::Endpoint& client, bool by_tcp);
    void serve_udp();
    void serve_connection(const std::shared_ptr<Connection>& connection);
    void read_connection(Connection& connection);
    void take_queries(const std::shared_ptr<Connection>& connection);
    void flush(Connection& connection);
    void finish_if_done(Connection& connection);
    void close(Connection& connection);
};

Status KernelDnsServer::bind_both() {
    const int tries = options.listen.port == 0 ? 16 : 1;
    Error last;
    for (int i = 0; i < tries; ++i) {
        Fd udp_socket = TRY(bind_udp(options.listen));
        const frame::Endpoint bound = TRY(local_endpoint(udp_socket.get()));
        Result<Fd> tcp_socket = listen_tcp(bound);
        if (tcp_socket) {
            serves_at = bound;
            udp = std::move(udp_socket);
            tcp = std::move(*tcp_socket);
            return {};
        }
        last = tcp_socket.error();
    }
    return pass_on(last);
}

Status KernelDnsServer::take_rules() {
    for (const DnsRule& rule : given.rules) {
        const frame::DnsName name = TRY(frame::DnsName::from_text(rule.name));
        rules.push_back({name, rule});
    }
    for (const DnsLoss& loss : given.losses) {
        const frame::DnsName name = TRY(frame::DnsName::from_text(loss.name));
        losses.push_back({name, loss.type, loss.first});
    }
    began = std::chrono::steady_clock::now();
    return {};
}

const DnsRule* KernelDnsServer::rule_for(const frame::DnsQuestion& question) const {
    const auto age = std::chrono::steady_clock::now() - began;
    for (const auto& [name, rule] : rules) {
        if ((rule.type == 0 || rule.type == question.type) && age >= rule.from &&
            (rule.until.count() == 0 || age < rule.until) && question.name.is_under(name)) {
            return &rule;
        }
    }
    return nullptr;
}

bool KernelDnsServer::loses(const frame::DnsQuestion& question) {
    for (LossLeft& loss : losses) {
        if (loss.left != 0 && loss.type == question.type && loss.name == question.name) {
            --loss.left;
            return true;
        }
    }
    return false;
}

std::size_t KernelDnsServer::largest_answer(std::uint16_t edns_bytes, bool by_tcp) const {
    if (by_tcp) {
        return kMostAnswer;
    }
    if (given.ignores_query_size) {
        return given.largest_udp;
    }
    return std::min<std::size_t>(given.largest_udp,
                                 std::max<std::size_t>(edns_bytes, kPlainUdpAnswer));
}

Reply KernelDnsServer::answer(std::span<const std::uint8_t> query, const frame::Endpoint& client,
                              bool by_tcp) {
    const std::int64_t now = realtime_ns();
    frame::DnsReader reader(query);
    const frame::DnsHeader& header = reader.header();
    if (reader.defect() != frame::DnsDefect::kNone || header.response) {
        return {};
    }
    const std::optional<frame::DnsQuestion> question = reader.next_question();
    if (!question) {
        return {};
    }
    std::uint16_t edns_bytes = 0;
    while (const auto record = reader.next_record()) {
        edns_bytes = record->type == frame::kDnsTypeOpt ? record->record_class : edns_bytes;
    }
    const DnsRule* rule = rule_for(*question);
    const bool withheld =
        loses(*question) || (rule != nullptr && rule->says == DnsRule::Says::kNothing);
    std::vector<frame::IpAddress> addresses;
    for (const frame::IpAddress& address : {rule == nullptr ? options.address : rule->address,
                                            rule == nullptr ? options.address6 : rule->address6}) {
        for (std::uint16_t n = 0;
             !is_unspecified(address) && n < (rule == nullptr ? 1 : rule->addresses); ++n) {
            addresses.push_back(address.plus(n));
        }
    }
    frame::DnsAnswer content;
    if (header.opcode != 0) {
        content.rcode = frame::Rcode::kNotImp;
    } else if (rule != nullptr) {
        content.rcode = static_cast<frame::Rcode>(rule->rcode);
    }
    const bool of_internet = header.opcode == 0 && question->query_class == frame::kDnsClassIn;
    content.addresses = of_internet ? std::span<const frame::IpAddress>(addresses)
                                    : std::span<const frame::IpAddress>();
    content.cname = rule != nullptr && rule->cname && of_internet ? &outside() : nullptr;
    Bytes message;
    if (!withheld) {
        message.resize(largest_answer(edns_bytes, by_tcp));
        message.resize(frame::write_answer(message, query, content));
    }
    if (!message.empty() && rule != nullptr && rule->says == DnsRule::Says::kRubbish) {
        spoil(message);
    }
    if (given.keep_log) {
        const std::lock_guard lock(log_mutex);
        if (log.size() < kMostLogged) {
            log.push_back({.time_ns = now,
                           .client = client,
                           .tcp = by_tcp,
                           .id = header.id,
                           .name = question->name.to_text(),
                           .type = question->type,
                           .answered = !withheld,
                           .rcode = static_cast<std::uint8_t>(content.rcode),
                           .edns_bytes = edns_bytes,
                           .answer_bytes = static_cast<std::uint32_t>(message.size()),
                           .truncated = frame::DnsReader(message).header().truncated});
        }
    }
    return {.message = std::move(message), .withheld = withheld};
}

void KernelDnsServer::serve_udp() {
    for (int i = 0; i < kDatagramsPerTurn; ++i) {
        std::optional<Datagram> question = receive(udp.get());
        if (!question) {
            return;
        }
        Bytes message =
            answer(question->message, to_endpoint(question->peer.storage), false).message;
        if (message.empty()) {
            continue;
        }
        if (options.delay.count() == 0) {
            send_answer(udp.get(), *question, message);
            continue;
        }
        question->message = {};
        reactor->after(options.delay, [this, question = std::move(*question), message]() mutable {
            send_answer(udp.get(), question, message);
        });
    }
}

void KernelDnsServer::serve_connection(const std::shared_ptr<Connection>& connection) {
    read_connection(*connection);
    take_queries(connection);
    flush(*connection);
    finish_if_done(*connection);
}

void KernelDnsServer::read_connection(Connection& connection) {
    if (!connection.socket) {
        return;
    }
    if (connection.peer_finished) {
        // Called although nothing is to be read: the peer has reset the connection, it wants no
        // answer.
        if (pending_error(connection.socket.get()) != 0) {
            close(connection);
        }
        return;
    }
    std::array<std::uint8_t, 16384> chunk{};
    const ssize_t got = recv(connection.socket.get(), chunk.data(), chunk.size(), 0);
    if (got > 0) {
        connection.in.insert(connection.in.end(), chunk.begin(), chunk.begin() + got);
    } else if (got == 0) {
        connection.peer_finished = true;
    } else if (errno != EAGAIN && errno != EINTR) {
        close(connection);
    }
}

void KernelDnsServer::take_queries(const std::shared_ptr<Connection>& connection) {
    while (connection->socket) {
        const auto query = take_message(connection->in);
        if (!query) {
            return;
        }
        auto [message, withheld] = answer(*query, connection->peer, true);
        if (withheld) {
            continue;
        }
        if (message.empty()) {
            close(*connection);  // not DNS: nothing sensible can follow
            return;
        }
        ++connection->unanswered;
        const auto send_now = [this, connection, message = std::move(message)] {
            --connection->unanswered;
            put_message(connection->out, message);
            flush(*connection);
            finish_if_done(*connection);
        };
        if (options.delay.count() == 0) {
            send_now();
        } else {
            reactor->after(options.delay, send_now);
        }
    }
}

void KernelDnsServer::flush(Connection& connection) {
    while (connection.socket && !connection.out.empty()) {
        const ssize_t sent = send(connection.socket.get(), connection.out.data(),
                                  connection.out.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && errno != EAGAIN) {
            close(connection);
            return;
        }
        if (sent < 0) {
            break;
        }
        connection.out.erase(connection.out.begin(), connection.out.begin() + sent);
    }
    if (connection.socket) {
        const std::uint32_t in =
            connection.peer_finished ? 0u : static_cast<std::uint32_t>(EPOLLIN);
        const std::uint32_t out =
            connection.out.empty() ? 0u : static_cast<std::uint32_t>(EPOLLOUT);
        reactor->change(connection.socket.get(), in | out);
    }
}

void KernelDnsServer::finish_if_done(Connection& connection) {
    if (connection.socket && connection.peer_finished && connection.unanswered == 0 &&
        connection.out.empty()) {
        close(connection);
    }
}

// Delayed answers keep the connection's memory alive; without a socket they come to nothing.
void KernelDnsServer::close(Connection& connection) {
    const int descriptor = connection.socket.get();
    reactor->forget(descriptor);
    const Fd closing = std::move(connection.socket);
    connections.erase(descriptor);
}

}  // namespace

Result<std::unique_ptr<DnsServer>> DnsServer::start(const DnsServerOptions& options,
                                                    const DnsRules& rules) {
    auto server = std::make_unique<KernelDnsServer>();
    KernelDnsServer& own = *server;
    own.options = options;
    own.given = rules;
    TRY(own.take_rules());
    TRY(doing(own.bind_both(), "DNS server"));
    own.reactor = TRY(Reactor::create());
    TRY(own.reactor->watch(own.udp.get(), EPOLLIN, [&own] { own.serve_udp(); }));
    const auto take_connection = [&own](Fd socket) {
        const int descriptor = socket.get();
        auto connection = std::make_shared<Connection>();
        connection->socket = std::move(socket);
        SocketAddress peer;
        peer.length = sizeof peer.storage;
        if (getpeername(descriptor, peer.raw(), &peer.length) == 0) {
            connection->peer = to_endpoint(peer.storage);
        }
        if (own.reactor->watch(descriptor, EPOLLIN,
                               [&own, connection] { own.serve_connection(connection); })) {
            own.connections[descriptor] = connection;
        }
    };
    if (rules.serves_tcp) {
        TRY(accept_all(*own.reactor, own.tcp.get(), take_connection));
    } else {
        own.tcp.reset();
    }
    own.reactor->start();
    return server;
}

Status Client::start_dns_server(const DnsServerOptions& options) {
    return impl_->ask<void>("start_dns_server", options);
}

void add_dns_server(Operations& operations) {
    operations.add_server<DnsServer, DnsServerOptions>("dns_server");
}

}  // namespace pathproof::agent
