// A DNS server on kernel sockets, UDP and TCP on one port: what a pod's cluster DNS looks like to
// its clients.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/name_servers.h"

namespace pathproof::agent {

// Name of no real domain (RFC 6761 section 6.2), for which a resolver in between asks as for any other.
inline constexpr const char* kCnameTarget = "elsewhere.test";

// Answers of a DNS server to queries for a name and all below it. An address left 0.0.0.0 is none.
struct DnsRule {
    std::string name;        // ".": every name
    std::uint16_t type = 0;  // 0: every type
    enum class Says : std::uint8_t {
        kAnswer,   // what follows
        kNothing,  // the query is taken, and not answered
        kRubbish,  // a message with id and question that breaks off in its records
    } says = Says::kAnswer;
    std::uint8_t rcode = 0;
    bool cname = false;  // a CNAME record to kCnameTarget, which then owns the addresses
    frame::IpAddress address = {}, address6 = {};
    std::uint16_t addresses = 1;  // so many in a row, the first of them `address` or `address6`
    // From the start of the server; 0: for ever.
    milliseconds from{0}, until{0};
    bool operator==(const DnsRule&) const = default;
};

// The first queries for exactly that name and type are taken, and not answered.
struct DnsLoss {
    std::string name;
    std::uint16_t type = 0;
    std::uint32_t first = 1;
    bool operator==(const DnsLoss&) const = default;
};

// Beside DnsServerOptions: the first rule that fits says what a name gets; where none does, it is the
// address of the options.
struct DnsRules {
    std::vector<DnsRule> rules = {};
    std::vector<DnsLoss> losses = {};
    bool keep_log = false;
    // The largest answer over UDP, in bytes; a larger one is cut and has TC. Lowered to what the query takes,
    // 512 or its EDNS size (RFC 6891 section 6.2.5), unless `ignores_query_size`. Answers have no OPT record.
    std::uint16_t largest_udp = 512;
    bool ignores_query_size = false;
    bool serves_tcp = true;  // or refuses connections
};

// A query as a server took it.
struct DnsQueryRecord {
    std::int64_t time_ns = 0;  // CLOCK_REALTIME
    frame::Endpoint client;
    bool tcp = false;
    std::uint16_t id = 0;
    std::string name;
    std::uint16_t type = 0;
    bool answered = false;  // or left without an answer, as its rules and losses say
    std::uint8_t rcode = 0;
    std::uint16_t edns_bytes = 0;  // that the query takes by UDP; 0: it says nothing, and takes 512
    std::uint32_t answer_bytes = 0;  // without the lower headers
    bool truncated = false;          // TC of the answer
    bool operator==(const DnsQueryRecord&) const = default;
};

class DnsServer {
  public:
    // Serves on a thread of its own from the return of start until destruction. Each answer leaves
    // `options.delay` after its query came. Port 0 takes one that is free for both UDP and TCP.
    // An address left 0.0.0.0 (or ::) gives an answer without records, as does any other query
    // type. Errors: a rule or a loss of a name that is none (kBadInput).
    static Result<std::unique_ptr<DnsServer>> start(const DnsServerOptions& options,
                                                    const DnsRules& rules = {});
    virtual ~DnsServer() = default;

    virtual const frame::Endpoint& endpoint() const = 0;
    // Returns the queries since the last call, with `rules.keep_log`.
    virtual std::vector<DnsQueryRecord> take_log() = 0;
};

}  // namespace pathproof::agent
