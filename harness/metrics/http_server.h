// Serving the metrics to whoever asks by HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/metrics/exposition.h"

struct MHD_Daemon;

namespace pathproof::metrics {

// The dialect for a request's Accept header (empty: none was sent): OpenMetrics, unless plain text
// is asked for and OpenMetrics is not.
Dialect dialect_for(const std::string& accept);

// Returns whether only this machine can reach the address: 127.0.0.0/8 or ::1.
bool is_loopback(const frame::IpAddress& address);

class HttpServer {
  public:
    // Called from the server's own thread, for one request at a time.
    using Body = std::function<std::string(Dialect)>;

    // Answers GET /metrics at the address until destroyed. kBadInput when the address is in use or
    // not this machine's, kNotPermitted for a port that needs more rights.
    static Result<std::unique_ptr<HttpServer>> start(const frame::Endpoint& listen, Body body);

    // Returns the address at which it listens: with the port that the kernel chose, when 0 was
    // asked for.
    const frame::Endpoint& address() const { return address_; }

  private:
    struct Stop {
        void operator()(MHD_Daemon* daemon) const;
    };
    explicit HttpServer(Body body) : body_(std::move(body)) {}

    Body body_;
    frame::Endpoint address_;
    std::unique_ptr<MHD_Daemon, Stop> daemon_;  // closes its socket
};

}  // namespace pathproof::metrics
