#include "harness/metrics/http_server.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "dataplane/base/file.h"
#include "dataplane/base/owned.h"
#include "harness/agent/socket.h"

namespace pathproof::metrics {
namespace {

// Scrapers come one by one; what is more waits or is turned away.
constexpr unsigned kMostConnections = 16;
constexpr unsigned kIdleSeconds = 10;
constexpr int kBacklog = 16;

Failure not_listening(const frame::Endpoint& listen, int problem) {
    const std::string where = frame::to_string(listen);
    switch (problem) {
        case EADDRINUSE:
            return fail(ErrorCode::kBadInput,
                        "listen on {}: another program uses this address; choose another port",
                        where);
        case EADDRNOTAVAIL:
            return fail(ErrorCode::kBadInput,
                        "listen on {}: this machine has no such address; see 'ip address'", where);
        case EACCES:
            return fail(ErrorCode::kNotPermitted,
                        "listen on {}: ports below 1024 need root; choose another port", where);
        default: return fail(ErrorCode::kFailed, "listen on {}: {}", where, std::strerror(problem));
    }
}

// A socket that listens.
Result<Fd> open_listener(const frame::Endpoint& listen) {
    const agent::SocketAddress address = agent::to_socket_address(listen);
    Fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) {
        return not_listening(listen, errno);
    }
    const int yes = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd.get(), address.raw(), address.length) != 0 || ::listen(fd.get(), kBacklog) != 0) {
        return not_listening(listen, errno);
    }
    return fd;
}

struct Answer {
    unsigned status = MHD_HTTP_OK;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
};

Answer answer_to(std::string_view method, std::string_view path, const std::string& accept,
                 const HttpServer::Body& body) {
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
        return {.status = MHD_HTTP_METHOD_NOT_ALLOWED, .body = "only GET and HEAD are answered\n"};
    }
    if (path != "/metrics") {
        return {.status = MHD_HTTP_NOT_FOUND, .body = "the metrics are at /metrics\n"};
    }
    const Dialect dialect = dialect_for(accept);
    return {.type = content_type(dialect), .body = body(dialect)};
}

MHD_Result send(MHD_Connection* connection, Answer answer) {
    MHD_Response* response = MHD_create_response_from_buffer(answer.body.size(), answer.body.data(),
                                                             MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) {
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
    if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
    MHD_destroy_response(response);
    return queued;
}

// Called when a request's head has come, again for each part of a body that it carries, and last
// with none: answered then.
MHD_Result on_request(void* context, MHD_Connection* connection, const char* url,
                      const char* method, const char*, const char*, std::size_t* upload_bytes,
                      void** state) {
    static char seen;
    if (*state == nullptr) {
        *state = &seen;
        return MHD_YES;
    }
    if (*upload_bytes > 0) {
        *upload_bytes = 0;
        return MHD_YES;
    }
    const char* accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    return send(connection, answer_to(method, url, accept != nullptr ? accept : "",
                                      *static_cast<const HttpServer::Body*>(context)));
}

class Microhttpd final : public HttpServer {
  public:
    explicit Microhttpd(Body body) : body_(std::move(body)) {}

    // Takes the socket where it succeeds.
    Status start_on(Fd fd) {
        address_ = TRY(agent::local_endpoint(fd.get()));
        daemon_.reset(MHD_start_daemon(
            MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, nullptr, nullptr, &on_request,
            &body_, MHD_OPTION_LISTEN_SOCKET, fd.get(), MHD_OPTION_CONNECTION_LIMIT,
            kMostConnections, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_END));
        if (!daemon_) {
            return fail(ErrorCode::kFailed, "start the HTTP server on {}: {}",
                        frame::to_string(address_), std::strerror(errno));
        }
        fd.release();  // the daemon's
        return {};
    }

    frame::Endpoint address() const override { return address_; }

  private:
    Body body_;
    frame::Endpoint address_;
    Owned<MHD_Daemon, MHD_stop_daemon> daemon_;  // closes its socket
};

}  // namespace

Dialect dialect_for(const std::string& accept) {
    const bool open_metrics = accept.find("application/openmetrics-text") != std::string::npos;
    const bool plain = accept.find("text/plain") != std::string::npos;
    return plain && !open_metrics ? Dialect::kPrometheus : Dialect::kOpenMetrics;
}

bool is_loopback(const frame::IpAddress& address) {
    if (address.family == frame::Family::kIpv4) {
        return address.bytes[0] == 127;
    }
    frame::IpAddress loopback{.family = frame::Family::kIpv6};
    loopback.bytes[15] = 1;
    return address == loopback;
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const frame::Endpoint& listen, Body body) {
    Fd fd = TRY(open_listener(listen));
    auto server = std::make_unique<Microhttpd>(std::move(body));
    TRY(server->start_on(std::move(fd)));
    return server;
}

}  // namespace pathproof::metrics
