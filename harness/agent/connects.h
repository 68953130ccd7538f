// TCP connections that are only opened and closed, and the server that they are made to.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::agent {

using std::chrono::milliseconds;

// Side of a connection that sends its FIN first: the TIME_WAIT is that side's.
enum class Closer : std::uint8_t {
    kServer,       // at once
    kClient,       // at once
    kServerAsked,  // the server, once the client has asked for something and it has answered
};
ENUM_VALUES(Closer, 3)

// A TCP server that only ends connections: at once, when the client has, or when it was asked. Its
// answer is its greeting once more.
struct ClosingServerOptions {
    frame::Endpoint listen;
    Closer closes_first = Closer::kServer;
    std::string greeting = "";  // what it says first
};
FIELDS(ClosingServerOptions, listen, closes_first, greeting)

// Connections to such a server, begun at a rate whatever becomes of those before.
struct ConnectsOptions {
    frame::Endpoint server;
    std::uint32_t count = 100;
    double per_second = 100;
    Closer closes_first = Closer::kServer;
    milliseconds timeout{10'000};  // for each, and for its end
    milliseconds asks_after{0};    // of kServerAsked: so long after the start of each
};
FIELDS(ConnectsOptions, server, count, per_second, closes_first, timeout, asks_after)
Status check(const ConnectsOptions& options);

struct Connect {
    std::int64_t start_ns = 0;  // CLOCK_REALTIME, just before connect(2)
    std::uint16_t port = 0;     // of the client; 0: it got none
    std::int32_t error = 0;     // errno; ETIMEDOUT: not connected in time
    double milliseconds = 0;    // from start to connected or failed
    std::string said = "";      // by a server that closes first: 64 bytes at most, printable
    std::int32_t end = 0;       // errno of its end; 0: the server closed it, or the client did
    bool operator==(const Connect&) const = default;
};
PACKED_FIELDS(Connect, start_ns, port, error, milliseconds, said, end)

struct ConnectsReport {
    std::vector<Connect> connects;  // in the order of their start
    double seconds = 0;             // all of it
    double worst_late_ms = 0;       // of a start, behind its moment
    std::uint64_t left_open = 0;    // connected, and the server did not close in time
};
FIELDS(ConnectsReport, connects, seconds, worst_late_ms, left_open)

}  // namespace pathproof::agent
