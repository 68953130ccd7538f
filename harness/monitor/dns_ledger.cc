#include "harness/monitor/dns_ledger.h"

#include <fmt/format.h>

#include <algorithm>

namespace pathproof::monitor {
namespace {

// One packet is seen on a bridge port, the bridge and the way out; who asks again waits longer.
constexpr std::int64_t kSamePacketNs = 100'000'000;
constexpr std::int64_t kPatienceNs = 1'000'000'000;
constexpr std::int64_t kMemoryNs = 30'000'000'000;
constexpr std::size_t kMostQueries = 100'000;
constexpr std::size_t kMostLatencies = 1'000'000;
constexpr std::size_t kMostFailures = 10;

bool is_failure(std::uint8_t rcode) {
    constexpr auto kNxDomain = static_cast<std::uint8_t>(frame::Rcode::kNxDomain);
    return rcode != 0 && rcode != kNxDomain;
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    return text;
}

}  // namespace

std::string rcode_name(std::uint8_t rcode) {
    constexpr const char* kNames[] = {"NOERROR",  "FORMERR", "SERVFAIL",
                                      "NXDOMAIN", "NOTIMP",  "REFUSED"};
    return rcode < std::size(kNames) ? kNames[rcode] : fmt::format("rcode {}", rcode);
}

std::string query_type_name(std::uint16_t type) {
    switch (type) {
        case frame::kDnsTypeA: return "A";
        case frame::kDnsTypeAaaa: return "AAAA";
        case frame::kDnsTypeCname: return "CNAME";
        case 12: return "PTR";
        case 15: return "MX";
        case 16: return "TXT";
        case 33: return "SRV";
        case 65: return "HTTPS";
        default: return fmt::format("TYPE{}", type);
    }
}

std::uint64_t ResolverSeen::failed() const {
    std::uint64_t failed = unanswered;
    for (const auto& [rcode, count] : rcodes) {
        failed += is_failure(rcode) ? count : 0;
    }
    return failed;
}

void DnsLedger::take(std::int64_t time_ns, const frame::Endpoint& source,
                     const frame::Endpoint& destination, frame::Bytes message) {
    frame::DnsReader reader(message);
    const frame::DnsHeader header = reader.header();
    const auto question = reader.next_question();
    if (!question || header.opcode != 0) {
        return;
    }
    const bool answers = header.response;
    const Key key{answers ? destination : source, answers ? source : destination, header.id,
                  lower(question->name.to_text()), question->type};
    if (answers) {
        answer(time_ns, key, header);
    } else {
        ask(time_ns, key);
    }
}

void DnsLedger::ask(std::int64_t time_ns, const Key& key) {
    const auto& [client, resolver, id, name, type] = key;
    ResolverSeen& seen = resolvers_[resolver].seen;
    seen.resolver = resolver;
    const auto [wanted, is_first] = open_.try_emplace({client.address, name, type}, time_ns);
    const bool waits = !is_first && time_ns - wanted->second >= kSamePacketNs;
    auto [query, is_new] = queries_.try_emplace(key, Query{time_ns, time_ns, false});
    if (!is_new && time_ns - query->second.last_ns < kSamePacketNs) {
        return;
    }
    if (!is_new && query->second.answered) {
        query->second = {time_ns, time_ns, false};  // another query by the same id
        is_new = true;
    }
    seen.queries += is_new ? 1 : 0;
    seen.retries += waits ? 1 : 0;
    query->second.last_ns = time_ns;
    if (queries_.size() > kMostQueries) {
        forget(time_ns - kMemoryNs);
    }
}

void DnsLedger::answer(std::int64_t time_ns, const Key& key, const frame::DnsHeader& header) {
    const auto& [client, resolver, id, name, type] = key;
    const auto query = queries_.find(key);
    if (query == queries_.end() || query->second.answered) {
        return;
    }
    query->second.answered = true;
    query->second.last_ns = time_ns;
    open_.erase({client.address, name, type});
    Resolver& from = resolvers_[resolver];
    ++from.seen.answered;
    ++from.seen.rcodes[header.rcode];
    from.seen.truncated += header.truncated ? 1 : 0;
    const double milliseconds = static_cast<double>(time_ns - query->second.first_ns) / 1e6;
    if (from.latencies_ms.size() < kMostLatencies) {
        from.latencies_ms.push_back(static_cast<float>(milliseconds));
    }
    DnsQuestionSeen question{.client = client,
                             .name = name,
                             .type = query_type_name(type),
                             .outcome = header.rcode == 0 ? "answered" : rcode_name(header.rcode),
                             .milliseconds = milliseconds};
    if (milliseconds >= from.seen.longest_ms) {
        from.seen.longest_ms = milliseconds;
        from.seen.slowest = question;
    }
    if (is_failure(header.rcode) && from.seen.failures.size() < kMostFailures) {
        from.seen.failures.push_back(std::move(question));
    }
}

// Drops queries whose last packet is older; those without an answer are counted.
void DnsLedger::forget(std::int64_t before_ns) {
    for (auto query = queries_.begin(); query != queries_.end();) {
        if (query->second.last_ns >= before_ns) {
            ++query;
            continue;
        }
        if (!query->second.answered) {
            ++resolvers_[std::get<1>(query->first)].seen.unanswered;
        }
        query = queries_.erase(query);
    }
    std::erase_if(open_, [&](const auto& each) { return each.second < before_ns; });
}

std::vector<ResolverSeen> DnsLedger::finish(std::int64_t now_ns) const {
    std::map<frame::Endpoint, Resolver> resolvers = resolvers_;
    for (const auto& [key, query] : queries_) {
        if (query.answered || now_ns - query.first_ns < kPatienceNs) {
            continue;
        }
        const auto& [client, resolver, id, name, type] = key;
        ResolverSeen& seen = resolvers[resolver].seen;
        ++seen.unanswered;
        if (seen.failures.size() < kMostFailures) {
            seen.failures.push_back({.client = client,
                                     .name = name,
                                     .type = query_type_name(type),
                                     .outcome = "no answer"});
        }
    }
    std::vector<ResolverSeen> all;
    for (auto& [endpoint, resolver] : resolvers) {
        auto& latencies = resolver.latencies_ms;
        if (!latencies.empty()) {
            const auto middle =
                latencies.begin() + static_cast<std::ptrdiff_t>(latencies.size() / 2);
            std::ranges::nth_element(latencies, middle);
            resolver.seen.median_ms = *middle;
        }
        all.push_back(std::move(resolver.seen));
    }
    return all;
}

}  // namespace pathproof::monitor
