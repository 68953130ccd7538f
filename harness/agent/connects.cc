// Many short TCP connections, one after the other at a rate, and the server that ends them: what a
// client waits for when its connections are made anew again and again.

#include "harness/agent/connects.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "dataplane/base/clock.h"
#include "harness/agent/listener.h"
#include "harness/agent/operations.h"
#include "harness/agent/reactor.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {
namespace {

using ConnectClock = std::chrono::steady_clock;

constexpr std::size_t kMostSaid = 64;
constexpr int kLookAgainMs = 1;  // for the next moment to connect at
constexpr std::chrono::milliseconds kLookForLate{100};
constexpr char kQuestion[] = "ask\n";

class Connects {
  public:
    Connects(const ConnectsOptions& options, Fd epoll)
        : options_(options), epoll_(std::move(epoll)) {}

    ConnectsReport run() {
        while (report_.connects.size() < options_.count || !open_.empty()) {
            start_due();
            ask_due();
            take_events();
            end_late();
        }
        report_.seconds = milliseconds_since(begin_) / 1000;
        return std::move(report_);
    }

  private:
    struct Open {
        Fd socket;
        std::size_t index = 0;
        ConnectClock::time_point began;
        bool connected = false;
        bool asked = false;
    };

    void start_due() {
        while (report_.connects.size() < options_.count) {
            const double due_ms =
                1000.0 * static_cast<double>(report_.connects.size()) / options_.per_second;
            const double now_ms = milliseconds_since(begin_);
            if (now_ms < due_ms) {
                return;
            }
            report_.worst_late_ms = std::max(report_.worst_late_ms, now_ms - due_ms);
            start_one();
        }
    }

    void ask_due() {
        if (options_.closes_first != Closer::kServerAsked) {
            return;
        }
        for (auto& [descriptor, open] : open_) {
            if (open.connected && !open.asked &&
                ConnectClock::now() - open.began >= options_.asks_after) {
                open.asked = true;
                // recv(2) reports a connection that was reset meanwhile.
                (void)!send(descriptor, kQuestion, sizeof kQuestion - 1, MSG_NOSIGNAL);
            }
        }
    }

    void start_one() {
        Connect& made = report_.connects.emplace_back();
        made.start_ns = realtime_ns();
        Open open{.index = report_.connects.size() - 1, .began = ConnectClock::now()};
        Result<Fd> socket = open_socket(socket_family(options_.server.address), SOCK_STREAM, 0);
        if (!socket) {
            made.error = EMFILE;
            return;
        }
        open.socket = std::move(*socket);
        const int descriptor = open.socket.get();
        const SocketAddress server = to_socket_address(options_.server);
        const bool begun =
            connect(descriptor, server.raw(), server.length) == 0 || errno == EINPROGRESS;
        made.error = begun ? 0 : errno;
        const auto local = local_endpoint(descriptor);
        made.port = local ? local->port : 0;
        epoll_event event{.events = EPOLLOUT, .data = {.fd = descriptor}};
        if (begun && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) {
            open_.emplace(descriptor, std::move(open));
        }
    }

    void take_events() {
        std::array<epoll_event, 256> events;
        const int ready =
            epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), kLookAgainMs);
        for (int i = 0; i < ready; ++i) {
            const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
            Open& open = open_.at(descriptor);
            if (open.connected) {
                ended(descriptor);
            } else {
                connected(open);
            }
        }
    }

    void connected(Open& open) {
        const int descriptor = open.socket.get();
        Connect& made = report_.connects[open.index];
        made.milliseconds = milliseconds_since(open.began);
        made.error = pending_error(descriptor);
        if (made.error != 0 || options_.closes_first == Closer::kClient) {
            open_.erase(descriptor);
            return;
        }
        open.connected = true;
        epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
        epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
    }

    // The server closed, or says something.
    void ended(int descriptor) {
        std::array<char, 256> bytes;
        const ssize_t got = recv(descriptor, bytes.data(), bytes.size(), 0);
        if (got <= 0) {
            report_.connects[open_.at(descriptor).index].end = got < 0 ? errno : 0;
            open_.erase(descriptor);
            return;
        }
        std::string& said = report_.connects[open_.at(descriptor).index].said;
        for (ssize_t i = 0; i < got && said.size() < kMostSaid; ++i) {
            const char each = bytes[static_cast<std::size_t>(i)];
            said += each >= ' ' && each <= '~' ? each : '?';
        }
    }

    void end_late() {
        const auto now = ConnectClock::now();
        if (now < look_again_) {
            return;
        }
        look_again_ = now + kLookForLate;
        std::erase_if(open_, [&](const auto& each) {
            const Open& open = each.second;
            if (now - open.began < options_.timeout) {
                return false;
            }
            if (!open.connected) {
                report_.connects[open.index].error = ETIMEDOUT;
                report_.connects[open.index].milliseconds = milliseconds_since(open.began);
            } else {
                report_.connects[open.index].end = ETIMEDOUT;
                ++report_.left_open;
            }
            return true;
        });
    }

    const ConnectsOptions& options_;
    Fd epoll_;
    ConnectsReport report_;
    std::map<int, Open> open_;
    ConnectClock::time_point begin_ = ConnectClock::now();
    ConnectClock::time_point look_again_ = begin_;
};

// Accepts connections on a thread of its own until destruction. The side that closes first keeps
// the connection's TIME_WAIT (RFC 9293, section 3.6).
struct ClosingServer {
    ClosingServerOptions options;
    std::map<int, Fd> waiting;  // for the client to close
    TcpLoop loop;

    static Result<std::unique_ptr<ClosingServer>> start(const ClosingServerOptions& options) {
        allow_descriptors();
        auto server = std::make_unique<ClosingServer>();
        server->options = options;
        TRY(doing(
            server->loop.start(options.listen,
                               [&own = *server](Fd socket) { own.accepted(std::move(socket)); }),
            "closing server"));
        return server;
    }
    void accepted(Fd socket) {
        const int descriptor = socket.get();
        greet(descriptor);
        if (options.closes_first != Closer::kServer &&
            loop.reactor().watch(descriptor, EPOLLIN, [this, descriptor] { look(descriptor); })) {
            waiting[descriptor] = std::move(socket);
        }
    }
    void greet(int descriptor) const {
        // Little more was sent on this connection before: a few bytes always fit its buffer.
        (void)!send(descriptor, options.greeting.data(), options.greeting.size(), MSG_NOSIGNAL);
    }
    void look(int descriptor) {
        std::array<char, 256> question;
        const bool asked = recv(descriptor, question.data(), question.size(), 0) > 0;
        const bool answers = asked && options.closes_first == Closer::kServerAsked;
        if (answers) {
            greet(descriptor);
        }
        if (!asked || answers) {
            loop.reactor().forget(descriptor);
            waiting.erase(descriptor);
        }
    }
};

// An error means that nothing could be connected at all; a connection that failed is a value.
Result<ConnectsReport> make_connects(const ConnectsOptions& options) {
    allow_descriptors();
    Fd epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) {
        return system_failure("make an epoll descriptor", errno);
    }
    return Connects(options, std::move(epoll)).run();
}

}  // namespace

Status check(const ConnectsOptions& options) {
    constexpr std::uint32_t kMostConnects = 100'000;
    if (options.count > kMostConnects || !(options.per_second > 0)) {
        return fail(ErrorCode::kBadInput,
                    "{} connections at {} a second: allowed are up to {}, at more than 0 a second",
                    options.count, options.per_second, kMostConnects);
    }
    return {};
}

Result<ConnectsReport> Client::tcp_connects(const ConnectsOptions& options) {
    const milliseconds begun(
        static_cast<std::int64_t>(1000.0 * options.count / options.per_second));
    return impl_->ask_for<ConnectsReport>(begun * 2 + options.timeout + kBulkTime, "tcp_connects",
                                          options);
}

Status Client::start_closing_server(const ClosingServerOptions& options) {
    return impl_->ask<void>("start_closing_server", options);
}

void add_connects(Operations& operations) {
    operations.add("tcp_connects", make_connects);
    operations.add_server<ClosingServer, ClosingServerOptions>("closing_server");
}

}  // namespace pathproof::agent
