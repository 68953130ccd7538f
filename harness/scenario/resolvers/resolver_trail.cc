#include "harness/scenario/resolvers/resolver_trail.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "dataplane/frame/dns.h"
#include "dataplane/frame/view.h"

namespace pathproof::scenario {
namespace {

constexpr std::uint16_t kDnsPort = 53;

using QueryKey = std::tuple<std::uint16_t, std::uint16_t, std::string, std::uint16_t>;

constexpr std::pair<const char*, const char*> kFateTexts[] = {
    {"query-lost", "queries left the client and the server did not take them"},
    {"answer-lost", "the server answered and the answers did not come to the client"},
    {"late-answer", "answers came later than the resolver waits"},
    {"foreign-answer", "answers came to the client that the server did not give"},
    {"rubbish-answer",
     "the server did not take queries, and what came in the place of answers is none"},
    {"other-server", "the client asked another server than this lab's"},
};

}  // namespace

std::optional<DnsOnWire> dns_on_wire(const agent::CapturedFrame& frame) {
    const frame::PacketView view = frame::parse_packet(frame.bytes);
    if (view.transport != frame::Transport::kUdp ||
        (view.source_port != kDnsPort && view.destination_port != kDnsPort)) {
        return std::nullopt;
    }
    frame::DnsReader reader(view.payload(frame.bytes));
    const auto question = reader.next_question();
    const bool response = reader.header().response;
    if (view.source_port == kDnsPort && (!question || !response)) {
        return DnsOnWire{.time_ns = frame.time_ns,
                         .client = view.destination_endpoint(),
                         .server = view.source_endpoint(),
                         .response = true,
                         .rubbish = true};
    }
    if (!question) {
        return std::nullopt;
    }
    DnsOnWire message{.time_ns = frame.time_ns,
                      .client = response ? view.destination_endpoint() : view.source_endpoint(),
                      .server = response ? view.source_endpoint() : view.destination_endpoint(),
                      .response = response,
                      .id = reader.header().id,
                      .name = question->name.to_text(),
                      .type = question->type,
                      .rcode = reader.header().rcode};
    while (const auto record = reader.next_record()) {
        message.addresses += record->address() ? 1 : 0;
    }
    return message;
}

QueryFate fate_of(const QueryTrail& query, double patience_ms) {
    if (query.elsewhere) {
        return QueryFate::kElsewhere;
    }
    if (query.came && (!query.taken || !query.answered || query.came_rcode != query.rcode)) {
        return QueryFate::kForeign;
    }
    if (!query.taken) {
        return query.strayed ? QueryFate::kRubbish : QueryFate::kQueryLost;
    }
    if (!query.answered) {
        return QueryFate::kWithheld;
    }
    if (!query.came) {
        return QueryFate::kAnswerLost;
    }
    return query.came_after_ms > patience_ms ? QueryFate::kLate : QueryFate::kAnswered;
}

std::string strange_fate(const std::vector<QueryTrail>& queries, double patience_ms) {
    for (const QueryTrail& query : queries) {
        switch (fate_of(query, patience_ms)) {
            case QueryFate::kAnswered:
            case QueryFate::kWithheld: break;
            case QueryFate::kQueryLost: return "query-lost";
            case QueryFate::kAnswerLost: return "answer-lost";
            case QueryFate::kLate: return "late-answer";
            case QueryFate::kForeign: return "foreign-answer";
            case QueryFate::kElsewhere: return "other-server";
            case QueryFate::kRubbish: return "rubbish-answer";
        }
    }
    return "";
}

std::string fate_text(const std::string& strange_fate) {
    for (const auto& [fate, text] : kFateTexts) {
        if (strange_fate == fate) {
            return text;
        }
    }
    return "";
}

std::vector<QueryTrail> join_queries(const frame::IpAddress& server,
                                     const std::vector<DnsOnWire>& queries,
                                     const std::vector<agent::DnsQueryRecord>& log,
                                     const std::vector<DnsOnWire>& answers) {
    std::vector<QueryTrail> trails;
    for (const DnsOnWire& query : queries) {
        trails.push_back({.name = query.name,
                          .type = query.type,
                          .id = query.id,
                          .client = query.client,
                          .elsewhere = !(query.server.address == server),
                          .sent_ns = query.time_ns});
    }
    for (const agent::DnsQueryRecord& record : log) {
        if (record.tcp) {
            trails.push_back({.name = record.name,
                              .type = record.type,
                              .id = record.id,
                              .client = record.client,
                              .tcp = true,
                              .sent_ns = record.time_ns,
                              .taken = true,
                              .answered = record.answered,
                              .rcode = record.rcode,
                              .edns_bytes = record.edns_bytes,
                              .answer_bytes = record.answer_bytes,
                              .truncated = record.truncated,
                              .came = record.answered,
                              .came_rcode = record.rcode});
        }
    }
    std::ranges::stable_sort(trails, {}, &QueryTrail::sent_ns);
    std::map<QueryKey, std::vector<QueryTrail*>> sent;
    for (QueryTrail& trail : trails) {
        if (!trail.tcp) {
            sent[{trail.client.port, trail.id, trail.name, trail.type}].push_back(&trail);
        }
    }
    const auto latest = [&](const QueryKey& key, std::int64_t until_ns,
                            bool QueryTrail::*has) -> QueryTrail* {
        const auto found = sent.find(key);
        if (found == sent.end()) {
            return nullptr;
        }
        for (auto at = found->second.rbegin(); at != found->second.rend(); ++at) {
            if ((*at)->sent_ns <= until_ns && !((*at)->*has)) {
                return *at;
            }
        }
        return nullptr;
    };
    for (const agent::DnsQueryRecord& record : log) {
        if (record.tcp) {
            continue;
        }
        QueryTrail* trail = latest({record.client.port, record.id, record.name, record.type},
                                   record.time_ns, &QueryTrail::taken);
        if (trail != nullptr) {
            trail->taken = true;
            trail->answered = record.answered;
            trail->rcode = record.rcode;
            trail->edns_bytes = record.edns_bytes;
            trail->answer_bytes = record.answer_bytes;
            trail->truncated = record.truncated;
        }
    }
    for (const DnsOnWire& answer : answers) {
        QueryTrail* trail = latest({answer.client.port, answer.id, answer.name, answer.type},
                                   answer.time_ns, &QueryTrail::came);
        if (trail != nullptr) {
            trail->came = true;
            trail->came_after_ms = static_cast<double>(answer.time_ns - trail->sent_ns) / 1e6;
            trail->came_rcode = answer.rcode;
            trail->addresses = answer.addresses;
            continue;
        }
        for (QueryTrail& query : trails) {
            query.strayed |= query.client.port == answer.client.port;
        }
    }
    return trails;
}

std::string first_label(const std::string& name) {
    return name.substr(0, name.find('.'));
}

}  // namespace pathproof::scenario
