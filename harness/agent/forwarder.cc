#include "harness/agent/forwarder.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>

#include "dataplane/base/clock.h"
#include "dataplane/frame/dns.h"
#include "harness/agent/dns_load.h"
#include "harness/agent/listener.h"
#include "harness/agent/operations.h"
#include "harness/agent/reactor.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Outcome = ForwarderTry::Outcome;

constexpr milliseconds kReadTimeout{2'000};
constexpr milliseconds kWholeQuery{5'000};
constexpr milliseconds kCleanEvery{10'000};
// CoreDNS tries again at once what was refused, until its health check says no.
constexpr milliseconds kAfterRefusal{100};
constexpr std::size_t kLargestQuery = 65'535;
constexpr int kQueriesPerTurn = 64;

std::uint16_t id_of(const Bytes& message) {
    return static_cast<std::uint16_t>(message[0] << 8 | message[1]);
}

struct CoreDnsForwarder final : Forwarder {
    struct Query {
        SocketAddress client;
        Bytes message;
        bool done = false;
    };
    struct Connection {
        Fd socket;
        std::uint16_t port = 0;
        bool connected = false;
        bool used = false;                 // it brought an answer before
        std::optional<std::size_t> trial;  // of report.tries; nothing: idle
        Bytes in;
        std::int64_t idle_since_ns = 0;
    };

    ForwarderOptions options;
    Fd front;
    std::vector<Query> queries;
    std::map<int, Connection> connections;  // by their descriptors
    std::deque<int> idle;                   // the one that waits longest first
    ForwarderReport report;
    std::unique_ptr<Reactor> reactor;  // the last: callbacks use the members until it ends

    static std::uint16_t port_of(const Query& query) {
        return to_endpoint(query.client.storage).port;
    }

    void take_queries() {
        for (int i = 0; i < kQueriesPerTurn; ++i) {
            Query query;
            query.message.resize(kLargestQuery);
            query.client.length = sizeof query.client.storage;
            const ssize_t got = recvfrom(front.get(), query.message.data(), query.message.size(), 0,
                                         query.client.raw(), &query.client.length);
            if (got < 0) {
                return;
            }
            query.message.resize(static_cast<std::size_t>(got));
            frame::DnsReader reader(query.message);
            if (reader.header().response || !reader.next_question()) {
                continue;
            }
            const std::size_t index = queries.size();
            queries.push_back(std::move(query));
            ++report.queries;
            reactor->after(kWholeQuery, [this, index] { give_up(index); });
            attempt(index);
        }
    }

    void give_up(std::size_t index) {
        if (queries[index].done) {
            return;
        }
        Bytes answer(512);
        answer.resize(frame::write_answer(answer, queries[index].message,
                                          {.rcode = frame::Rcode::kServFail, .addresses = {}}));
        ++report.servfail;
        reply(index, answer);
        for (auto at = connections.begin(); at != connections.end();) {
            const auto next = std::next(at);
            if (at->second.trial && report.tries[*at->second.trial].query == index) {
                end_try(at->second, Outcome::kGivenUp);
                close(at->first);
            }
            at = next;
        }
    }

    void reply(std::size_t index, const Bytes& answer) {
        Query& query = queries[index];
        query.done = true;
        sendto(front.get(), answer.data(), answer.size(), 0, query.client.raw(),
               query.client.length);
    }

    void attempt(std::size_t index) {
        if (queries[index].done) {
            return;
        }
        if (!idle.empty()) {
            const int descriptor = idle.front();
            idle.pop_front();
            Connection& connection = connections.at(descriptor);
            begin_try(index, connection);
            send_query(descriptor);
            return;
        }
        dial(index);
    }

    void begin_try(std::size_t index, Connection& connection) {
        connection.trial = report.tries.size();
        report.tries.push_back({.query = static_cast<std::uint32_t>(index),
                                .client_port = port_of(queries[index]),
                                .port = connection.port,
                                .start_ns = realtime_ns(),
                                .end_ns = 0,
                                .connected = connection.connected});
    }

    void end_try(Connection& connection, Outcome outcome) {
        ForwarderTry& made = report.tries[*connection.trial];
        made.end_ns = realtime_ns();
        made.outcome = outcome;
        connection.trial.reset();
    }

    void again_after(milliseconds pause, std::size_t index) {
        reactor->after(pause, [this, index] { attempt(index); });
    }

    void dial(std::size_t index) {
        const SocketAddress upstream = to_socket_address(options.upstream);
        const int type = options.prefer_udp ? SOCK_DGRAM : SOCK_STREAM;
        Fd socket(::socket(socket_family(options.upstream.address),
                           type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket ||
            (connect(socket.get(), upstream.raw(), upstream.length) != 0 && errno != EINPROGRESS)) {
            const int reason = errno;
            const std::int64_t now = realtime_ns();
            report.tries.push_back({.query = static_cast<std::uint32_t>(index),
                                    .client_port = port_of(queries[index]),
                                    .start_ns = now,
                                    .end_ns = now,
                                    .outcome = Outcome::kRefused});
            report.refusal = describe_errno(reason);
            again_after(kAfterRefusal, index);
            return;
        }
        const int descriptor = socket.get();
        const auto local = local_endpoint(descriptor);
        Connection& connection = connections[descriptor];
        connection.socket = std::move(socket);
        connection.port = local ? local->port : std::uint16_t{0};
        begin_try(index, connection);
        ++report.dials;
        report.most_open =
            std::max(report.most_open, static_cast<std::uint32_t>(connections.size()));
        if (!reactor->watch(descriptor, EPOLLOUT, [this, descriptor] { ready(descriptor); })) {
            end_try(connection, Outcome::kRefused);
            connections.erase(descriptor);
            again_after(kAfterRefusal, index);
        }
    }

    void send_query(int descriptor) {
        Connection& connection = connections.at(descriptor);
        ForwarderTry& made = report.tries[*connection.trial];
        made.connected = true;
        const Bytes& message = queries[made.query].message;
        Bytes out;
        if (options.prefer_udp) {
            out = message;
        } else {
            put_message(out, message);
        }
        reactor->change(descriptor, EPOLLIN);
        connection.in.clear();
        // One query fits the send buffer. What fails is told by the next event.
        (void)!send(descriptor, out.data(), out.size(), MSG_NOSIGNAL);
        const std::size_t trial = *connection.trial;
        reactor->after(kReadTimeout, [this, descriptor, trial] {
            const auto at = connections.find(descriptor);
            if (at != connections.end() && at->second.trial == trial) {
                const std::size_t index = report.tries[trial].query;
                end_try(at->second, Outcome::kTimedOut);
                close(descriptor);
                attempt(index);
            }
        });
    }

    void ready(int descriptor) {
        Connection& connection = connections.at(descriptor);
        if (const int reason = pending_error(descriptor); reason != 0) {
            report.refusal = describe_errno(reason);
            lose(descriptor);
            return;
        }
        if (!connection.connected) {
            connection.connected = true;
            send_query(descriptor);
            return;
        }
        read(descriptor);
    }

    void read(int descriptor) {
        Connection& connection = connections.at(descriptor);
        std::array<std::uint8_t, 16'384> chunk;
        const ssize_t got = recv(descriptor, chunk.data(), chunk.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (got <= 0 || !connection.trial) {
            lose(descriptor);  // closed by the server, or it speaks without being asked
            return;
        }
        if (options.prefer_udp) {
            take_answer(descriptor, {chunk.data(), chunk.data() + got});
            return;
        }
        connection.in.insert(connection.in.end(), chunk.begin(), chunk.begin() + got);
        while (const auto message = take_message(connection.in)) {
            if (take_answer(descriptor, *message)) {
                return;
            }
        }
    }

    // True once the try is over. An answer to another question is passed over.
    bool take_answer(int descriptor, const Bytes& message) {
        Connection& connection = connections.at(descriptor);
        const std::size_t index = report.tries[*connection.trial].query;
        frame::DnsReader reader(message);
        if (!is_whole_dns(message) || !reader.header().response) {
            report.refusal = "no DNS message";
            lose(descriptor, Outcome::kRubbish);
            return true;
        }
        if (reader.header().id != id_of(queries[index].message)) {
            return false;
        }
        end_try(connection, Outcome::kAnswered);
        connection.used = true;
        if (options.prefer_udp || (options.max_idle != 0 && idle.size() >= options.max_idle)) {
            close(descriptor);
        } else {
            connection.idle_since_ns = realtime_ns();
            idle.push_back(descriptor);
        }
        if (!queries[index].done) {
            ++report.answered;
            reply(index, message);
        }
        return true;
    }

    // The connection is no more. A query on one that was used before has met one that the server
    // had closed, and is tried again at once.
    void lose(int descriptor, Outcome outcome = Outcome::kRefused) {
        Connection& connection = connections.at(descriptor);
        std::erase(idle, descriptor);
        if (connection.trial) {
            const std::size_t index = report.tries[*connection.trial].query;
            const bool used = connection.used;
            end_try(connection, outcome);
            close(descriptor);
            again_after(used ? milliseconds(0) : kAfterRefusal, index);
            return;
        }
        close(descriptor);
    }

    void close(int descriptor) {
        reactor->forget(descriptor);
        connections.erase(descriptor);
    }

    void clean() {
        const std::int64_t stale = realtime_ns() - std::chrono::nanoseconds(kCleanEvery).count();
        while (!idle.empty() && connections.at(idle.front()).idle_since_ns < stale) {
            const int descriptor = idle.front();
            idle.pop_front();
            close(descriptor);
        }
        reactor->after(kCleanEvery, [this] { clean(); });
    }

    ForwarderReport stop() override {
        reactor->stop();
        report.idle = static_cast<std::uint32_t>(idle.size());
        connections.clear();
        return report;
    }
};

}  // namespace

Result<std::unique_ptr<Forwarder>> Forwarder::start(const ForwarderOptions& options) {
    auto forwarder = std::make_unique<CoreDnsForwarder>();
    CoreDnsForwarder& own = *forwarder;
    own.options = options;
    own.front = TRY(bind_udp(options.listen));
    own.reactor = TRY(Reactor::create());
    TRY(own.reactor->watch(own.front.get(), EPOLLIN, [&own] { own.take_queries(); }));
    own.reactor->after(kCleanEvery, [&own] { own.clean(); });
    own.reactor->start();
    return forwarder;
}

Status Client::start_forwarder(const ForwarderOptions& options) {
    return impl_->ask<void>("start_forwarder", options);
}

Result<ForwarderReport> Client::stop_forwarder() {
    return impl_->ask<ForwarderReport>("stop_forwarder");
}

void add_forwarder(Operations& operations) {
    operations.add_one<Forwarder, ForwarderOptions>("forwarder", "a forwarder");
}

}  // namespace pathproof::agent
