// DNS queries and answers over UDP that pass a host: what each resolver was asked, what it answered and
// how fast, who had to ask again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/frame/dns.h"
#include "dataplane/frame/view.h"

namespace pathproof::monitor {

// "NOERROR", "SERVFAIL", ...; "rcode 9" where it has no name here.
std::string rcode_name(std::uint8_t rcode);
// "A", "AAAA", "TYPE65".
std::string query_type_name(std::uint16_t type);

struct DnsQuestionSeen {
    frame::Endpoint client;
    std::string name, type;
    std::string outcome;  // "SERVFAIL", "no answer", "answered"
    double milliseconds = 0;
};

struct ResolverSeen {
    frame::Endpoint resolver;
    std::uint64_t queries = 0;  // each once, however often it was asked
    std::uint64_t retries =
        0;  // asked again, of this resolver or another, while no answer had come
    std::uint64_t answered = 0, truncated = 0, unanswered = 0;
    std::map<std::uint8_t, std::uint64_t> rcodes;  // of the answers
    double median_ms = 0, longest_ms = 0;
    DnsQuestionSeen slowest;
    std::vector<DnsQuestionSeen> failures;  // the first ones: refused, failed, without an answer
    // Queries that failed: the resolver could not, would not or did not answer.
    std::uint64_t failed() const;
};

class DnsLedger {
  public:
    // A UDP packet from or to a resolver; one that is seen on several devices counts once.
    void take(std::int64_t time_ns, const frame::Endpoint& source,
              const frame::Endpoint& destination, frame::Bytes message);
    // By the resolvers' addresses. What was asked less than a second before `now_ns` may still be answered.
    std::vector<ResolverSeen> finish(std::int64_t now_ns) const;

  private:
    struct Query {
        std::int64_t first_ns = 0, last_ns = 0;
        bool answered = false;
    };
    using Key = std::tuple<frame::Endpoint, frame::Endpoint, std::uint16_t, std::string,
                           std::uint16_t>;  // client, resolver, id, name, type
    using Wanted = std::tuple<frame::IpAddress, std::string, std::uint16_t>;
    struct Resolver {
        ResolverSeen seen;
        std::vector<float> latencies_ms;
    };

    void ask(std::int64_t time_ns, const Key& key);
    void answer(std::int64_t time_ns, const Key& key, const frame::DnsHeader& header);
    void forget(std::int64_t before_ns);

    std::map<Key, Query> queries_;
    std::map<Wanted, std::int64_t> open_;  // since when a client waits for an answer to it
    std::map<frame::Endpoint, Resolver> resolvers_;
};

}  // namespace pathproof::monitor
