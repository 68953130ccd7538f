#include "harness/join/pairs.h"

#include <map>

namespace pathproof::join {
namespace {

using frame::Endpoint;
using judge::QueryRecord;
using judge::QueryState;
using netfilter::Entry;
using netfilter::Event;
using netfilter::EventKind;

// What conntrack said of the flows that one client end point began.
struct ClientEvents {
    const Entry* inserted = nullptr;         // NEW
    const Entry* hidden = nullptr;           // an UPDATE or DESTROY with the clash bit: it never had a NEW
    bool hidden_answered = false;            // UPDATE (SEEN_REPLY) before its DESTROY
};

struct Index {
    std::map<Endpoint, ClientEvents> by_client;
    // Answers that conntrack took for new flows: their source is a backend, their destination a client.
    std::map<Endpoint, std::vector<const Entry*>> new_towards;
};

Index index_events(const netfilter::EventLog& log) {
    Index index;
    for (const Event& event : log.events) {
        const Entry& entry = event.entry;
        if ((entry.status & netfilter::status::kNatClash) != 0) {
            ClientEvents& client = index.by_client[entry.original.source];
            client.hidden = &entry;
            client.hidden_answered |= (entry.status & netfilter::status::kSeenReply) != 0;
        } else if (event.kind == EventKind::kNew) {
            index.by_client[entry.original.source].inserted = &entry;
            index.new_towards[entry.original.destination].push_back(&entry);
        }
    }
    return index;
}

const ClientEvents& events_of(const Index& index, const Endpoint& client) {
    static const ClientEvents none;
    const auto found = index.by_client.find(client);
    return found == index.by_client.end() ? none : found->second;
}

std::string describe(const Entry& entry) {
    return fmt::format("{} > {}, reply {} > {}", frame::to_string(entry.original.source),
                       frame::to_string(entry.original.destination), frame::to_string(entry.reply.source),
                       frame::to_string(entry.reply.destination));
}

// The answer came from a backend's own address to our client: conntrack must have taken it for a new flow.
void explain_misdelivery(const Index& index, const Endpoint& client, const QueryRecord& record,
                         QueryStory& story) {
    const ClientEvents& events = events_of(index, client);
    if (events.hidden == nullptr) {
        return;
    }
    const auto towards = index.new_towards.find(client);
    if (towards == index.new_towards.end()) {
        return;
    }
    for (const Entry* entry : towards->second) {
        if (entry->original.source == record.answer_source &&
            entry->original.source == events.hidden->reply.source) {
            story.fate = Fate::kUntranslatedAnswer;
            story.winner = events.inserted != nullptr ? describe(*events.inserted) : "";
            story.event = fmt::format(
                "hidden entry (status 0x{:x}) reply {} > {} {}; then NEW {} > {}", events.hidden->status,
                frame::to_string(events.hidden->reply.source),
                frame::to_string(events.hidden->reply.destination),
                events.hidden_answered ? "was answered" : "expired unanswered",
                frame::to_string(entry->original.source), frame::to_string(entry->original.destination));
            return;
        }
    }
}

// The query never reached a server and got no entry of its own. The other half of its pair holds the entry that it
// clashed with if that entry has the port which both would have kept; --random-fully draws ports, and the drawn one of
// a packet that was dropped is told by nobody.
void explain_loss(const Index& index, const Endpoint& client, const Endpoint& partner,
                  const QueryRecord& record, QueryStory& story) {
    if (record.server_saw != 0) {
        return;
    }
    const ClientEvents& own = events_of(index, client);
    const ClientEvents& other = events_of(index, partner);
    const bool one_tuple = client == partner;
    if (other.inserted == nullptr || (!one_tuple && own.inserted != nullptr)) {
        return;
    }
    story.fate = Fate::kDroppedAtInsertion;
    if (one_tuple || other.inserted->reply.destination.port == client.port) {
        story.winner = describe(*other.inserted);
        story.event = one_tuple ? "one NEW for the two packets" : "no NEW for this query; NEW for the winner";
    } else {
        story.event = "no NEW for this query; the drawn port of a dropped packet is not told";
    }
}

QueryStory tell(const Index& index, const traffic::PairPlan& plan, const QueryRecord& record) {
    const Endpoint client = plan.client(record.pair, record.member);
    const Endpoint partner = plan.client(record.pair, 1u - record.member);
    QueryStory story{.pair = record.pair,
                     .member = record.member,
                     .state = record.state,
                     .query = fmt::format("{} > {}", frame::to_string(client), frame::to_string(plan.service)),
                     .winner = "",
                     .event = ""};
    if (record.state == QueryState::kWrongSource) {
        explain_misdelivery(index, client, record, story);
    } else if (record.state == QueryState::kNever) {
        explain_loss(index, client, partner, record, story);
    }
    return story;
}

void count_clash(const Index& index, const traffic::PairPlan& plan, const QueryRecord& first,
                 const QueryRecord& second, PairFindings& findings) {
    const bool two_backends =
        first.server_saw != 0 && second.server_saw != 0 && first.server != second.server;
    findings.met_two_backends += two_backends ? 1 : 0;
    const Endpoint client = plan.client(first.pair, 0);
    if (client != plan.client(first.pair, 1)) {
        return;
    }
    const ClientEvents& events = events_of(index, client);
    if (events.hidden != nullptr) {
        ++findings.hidden_entries;
        findings.hidden_unanswered += events.hidden_answered ? 0 : 1;
    } else if (two_backends) {
        ++findings.two_backends_without_hidden;
    }
}

}  // namespace

const char* name(Fate fate) {
    switch (fate) {
        case Fate::kDroppedAtInsertion: return "dropped at insertion";
        case Fate::kUntranslatedAnswer: return "answer came back un-translated";
        case Fate::kUnexplained: return "unexplained";
    }
    return "unexplained";
}

PairFindings join_pairs(const traffic::PairPlan& plan, const judge::PairReport& report,
                        const netfilter::EventLog& log, std::uint64_t insert_failed) {
    const Index index = index_events(log);
    PairFindings findings;
    findings.pairs = report.records.size() / 2;
    for (std::size_t pair = 0; pair < findings.pairs; ++pair) {
        const QueryRecord* halves = &report.records[2 * pair];
        count_clash(index, plan, halves[0], halves[1], findings);
        bool lost = false;
        bool misdelivered = false;
        for (std::size_t half = 0; half < 2; ++half) {
            const QueryRecord& record = halves[half];
            if (record.state == QueryState::kAnswered) {
                continue;
            }
            lost |= record.state == QueryState::kNever;
            misdelivered |= record.state == QueryState::kWrongSource;
            findings.lost += record.state == QueryState::kNever ? 1 : 0;
            findings.misdelivered += record.state == QueryState::kWrongSource ? 1 : 0;
            QueryStory story = tell(index, plan, record);
            if (story.fate == Fate::kDroppedAtInsertion && findings.dropped_at_insertion == insert_failed) {
                story.fate = Fate::kUnexplained;
                story.event += "; but insert_failed counted no more";
            }
            findings.dropped_at_insertion += story.fate == Fate::kDroppedAtInsertion ? 1 : 0;
            findings.untranslated += story.fate == Fate::kUntranslatedAnswer ? 1 : 0;
            findings.unexplained += story.fate == Fate::kUnexplained ? 1 : 0;
            if (findings.stories.size() < PairFindings::kStories) {
                findings.stories.push_back(std::move(story));
            }
        }
        findings.with_loss += lost ? 1 : 0;
        findings.with_misdelivery += misdelivered ? 1 : 0;
        findings.both_answered += halves[0].state == QueryState::kAnswered &&
                                          halves[1].state == QueryState::kAnswered
                                      ? 1
                                      : 0;
    }
    return findings;
}

}  // namespace pathproof::join
