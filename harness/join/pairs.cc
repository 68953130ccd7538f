#include "harness/join/pairs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "dataplane/base/contains.h"
#include "harness/drops/agreement.h"

namespace pathproof::join {
namespace {

using frame::Endpoint;
using judge::QueryRecord;
using judge::QueryState;
using netfilter::Entry;
using netfilter::Event;
using netfilter::EventKind;

// nf_ct_resolve_clash_harder() gives a hidden entry one second, answered or not.
constexpr std::int64_t kHiddenLifeNs = 1'000'000'000;
// Between a change of a link and the message about it.
constexpr std::int64_t kLinkNewsNs = 50'000'000;
// Causes of drops (fate::End::cause): of a packet whose entry was not inserted, of packets that
// conntrack can have refused, of packets on their way to a device without a link.
constexpr std::string_view kInsertFailed = "insert-failed";
constexpr std::string_view kRefused[] = {"netfilter", "table-full", "conntrack"};
constexpr std::string_view kFullQueue[] = {"qdisc", "backlog", "ring-full"};
// Full queues by the names that a summary of drops gives them.
constexpr std::string_view kFullQueueReasons[] = {"QDISC_DROP", "QDISC_OVERLIMIT",
                                                  "QDISC_CONGESTED", "CPU_BACKLOG", "FULL_RING"};
constexpr std::string_view kWithoutLink[] = {"no-route",    "neighbour", "qdisc",
                                             "device-down", "device",    "no-reason"};

// Events that conntrack reported for the flows that one client end point began.
struct ClientEvents {
    const Event* inserted = nullptr;  // NEW
    const Entry* hidden = nullptr;    // an event with the clash bit: it never had a NEW
    bool hidden_answered = false;     // UPDATE (SEEN_REPLY) before its DESTROY
    std::vector<const Event*> gone;   // destroyed before our own flush
};

// Returns when it happened, or on kernels that do not say, when we read of it.
std::int64_t time_of(const Event& event) {
    return event.kernel_time_ns ? static_cast<std::int64_t>(*event.kernel_time_ns) : event.time_ns;
}

std::string describe(const Entry& entry) {
    return fmt::format("{} > {}, reply {} > {}", frame::to_string(entry.original.source),
                       frame::to_string(entry.original.destination),
                       frame::to_string(entry.reply.source),
                       frame::to_string(entry.reply.destination));
}

std::uint64_t less(std::uint64_t whole, std::uint64_t part) {
    return whole > part ? whole - part : 0;
}

bool take_one(std::uint64_t& budget) {
    return budget != 0 && budget-- != 0;
}

class Joiner {
  public:
    Joiner(const pairs::PairPlan& plan, const judge::PairReport& report, const DutRecord& dut,
           std::chrono::nanoseconds delay)
        : plan_(plan), report_(report), dut_(dut), own_(dut.own), delay_ns_(delay.count()) {
        index_events();
        find_clock();
        set_queues();
        set_budgets();
    }

    PairFindings join() {
        for (std::size_t pair = 0; pair < report_.records.size() / 2; ++pair) {
            const QueryRecord* halves = &report_.records[2 * pair];
            unsigned bits = clash_of(halves[0], halves[1]);
            for (const QueryRecord* record : {halves, halves + 1}) {
                bits |= judge(*record);
            }
            ++found_.pairs[bits];
            balance(halves[0], halves[1]);
        }
        found_.strange_entries = less(found_.entries, entries_of_pairs_);
        return std::move(found_);
    }

  private:
    void index_events() {
        for (const Event& event : dut_.log.events) {
            const Entry& entry = event.entry;
            ClientEvents& client = by_client_[entry.original.source];
            if (event.kind == EventKind::kDestroy && time_of(event) < dut_.flushed_ns) {
                client.gone.push_back(&event);
                found_.flushed_entries += event.cause_port != 0 ? 1 : 0;
            }
            if (is_hidden(entry)) {
                client.hidden = &entry;
                client.hidden_answered |= seen_reply(entry);
            } else if (event.kind == EventKind::kNew) {
                client.inserted = &event;
                new_towards_[entry.original.destination].push_back(&entry);
                const bool ours = entry.original.destination == plan_.service;
                found_.entries += ours ? 1 : 0;
                found_.entries_found += ours && event.missed ? 1 : 0;
                if (entry.original.destination == plan_.service &&
                    entry.reply.destination.address != entry.original.source.address) {
                    ++found_.source_nat;
                    found_.changed_ports +=
                        entry.reply.destination.port != entry.original.source.port ? 1 : 0;
                }
            }
        }
    }

    // No entry is older than its query: the least difference of the two clocks is theirs.
    void find_clock() {
        for (const QueryRecord& record : report_.records) {
            const Event* inserted = events_of(plan_.client(record.pair, record.member)).inserted;
            if (inserted != nullptr && record.sent_ns >= 0) {
                const std::int64_t epoch = time_of(*inserted) - record.sent_ns;
                epoch_ns_ = std::min(epoch_ns_.value_or(epoch), epoch);
            }
        }
    }

    void set_budgets() {
        const drops::Agreement refused = compare(dut_.drops, dut_.stats);
        const bool traced = dut_.untraced.empty() && dut_.drops.lost == 0;
        insertions_ = refused.insert_failed;
        if (traced && found_.source_nat != 0) {
            // Past source NAT nothing but the insertion drops.
            insertions_ = std::min(insertions_, refused.seen_past_nat);
        }
        if (dut_.table_full()) {
            // A clash raises both counters, a full table only `drop`.
            refusals_ = less(refused.drop, refused.insert_failed);
            evictions_ = dut_.counter("early_drop");
        }
        if (!dut_.untraced.empty()) {
            return;
        }
        std::uint64_t by_conntrack = refused.refused;
        for (const drops::DropCount& count : dut_.drops.counts) {
            if (count.protocol != "ip/udp" || count.reason == kWarmUpReason) {
                continue;
            }
            const std::uint64_t own =
                count.reason == "NETFILTER_DROP" ? std::min(by_conntrack, count.packets) : 0;
            by_conntrack -= own;
            const std::string how = fmt::format("{} at {}", count.reason,
                                                count.location.substr(0, count.location.find('+')));
            (pathproof::contains(kFullQueueReasons, count.reason) ? full_ : drops_)[how] +=
                count.packets - own;
        }
    }

    // A CPU's backlog tells its drops by reason and by counter: once where they are traced.
    void set_queues() {
        for (const auto& [ring, packets] : dut_.rings) {
            full_[ring] += packets;
        }
        std::uint64_t told = 0;
        for (const drops::DropCount& count : dut_.drops.counts) {
            told += count.reason == "CPU_BACKLOG" ? count.packets : 0;
        }
        if (const std::uint64_t more = less(dut_.backlog, told); more != 0) {
            full_["full backlogs of the host's CPUs (softnet_stat)"] += more;
        }
    }

    // Conntrack's entries of a pair against its queries.
    void balance(const QueryRecord& first, const QueryRecord& second) {
        const Endpoint clients[] = {plan_.client(first.pair, 0), plan_.client(first.pair, 1)};
        const bool one_tuple = clients[0] == clients[1];
        for (std::size_t member = 0; member < (one_tuple ? 1 : 2); ++member) {
            const ClientEvents& events = events_of(clients[member]);
            entries_of_pairs_ += events.inserted != nullptr ? 1 : 0;
            const QueryRecord& own = member == 0 ? first : second;
            const bool came = own.server_saw != 0 || (one_tuple && second.server_saw != 0);
            found_.unheard +=
                came && events.inserted == nullptr && events.hidden == nullptr ? 1 : 0;
        }
    }

    unsigned clash_of(const QueryRecord& first, const QueryRecord& second) {
        const bool both = first.server_saw != 0 && second.server_saw != 0;
        unsigned bits = both && first.server != second.server ? kTwoBackends : 0u;
        const Endpoint client = plan_.client(first.pair, 0);
        if (client != plan_.client(first.pair, 1)) {
            return bits;
        }
        const ClientEvents& events = events_of(client);
        if (events.hidden != nullptr) {
            bits |= kHiddenEntry;
            found_.hidden_unanswered += events.hidden_answered ? 0 : 1;
            if (found_.clashed.size() < PairFindings::kStories) {
                found_.clashed.push_back(first.pair);
            }
        }
        return bits;
    }

    // Returns whether somebody had the entry destroyed that led from the client to this backend.
    bool was_flushed(const QueryRecord& record, const Endpoint& backend, QueryStory& story) const {
        for (const Event* gone : events_of(plan_.client(record.pair, record.member)).gone) {
            if (gone->cause_port != 0 && gone->entry.reply.source == backend) {
                story.fate = Fate::kFlushed;
                story.event = fmt::format("DESTROY on the request of netlink port {}: {}",
                                          gone->cause_port, describe(gone->entry));
                return true;
            }
        }
        return false;
    }

    // The answer came from a backend's own address to our client: its entry was gone by then.
    void explain_misdelivery(const QueryRecord& record, QueryStory& story) {
        const Endpoint client = plan_.client(record.pair, record.member);
        if (was_flushed(record, record.answer_source, story)) {
            return;
        }
        const ClientEvents& events = events_of(client);
        const std::int64_t age_ns = record.answered_ns - record.sent_ns;
        const auto towards = new_towards_.find(client);
        // One packet of the pair met the clash: the entry tells of no more than one answer.
        if (events.hidden != nullptr && !used_hidden_.contains(client) &&
            towards != new_towards_.end() && age_ns > kHiddenLifeNs &&
            events.hidden->reply.source == record.answer_source &&
            std::ranges::any_of(towards->second, [&](const Entry* entry) {
                return entry->original.source == record.answer_source;
            })) {
            story.fate = Fate::kUntranslatedAnswer;
            used_hidden_.insert(client);
            found_.least_age_ns =
                found_.least_age_ns == 0 ? age_ns : std::min(found_.least_age_ns, age_ns);
            story.winner = events.inserted != nullptr ? describe(events.inserted->entry) : "";
            story.event = fmt::format(
                "hidden entry (status 0x{:x}) reply {} > {} {}; then, {:.3f} s after the query, "
                "NEW {} "
                "> {}",
                events.hidden->status, frame::to_string(events.hidden->reply.source),
                frame::to_string(events.hidden->reply.destination),
                events.hidden_answered ? "was answered" : "expired unanswered",
                static_cast<double>(age_ns) / 1e9, frame::to_string(record.answer_source),
                frame::to_string(client));
            return;
        }
        for (const Event* gone : events.gone) {
            if (gone->entry.reply.source == record.answer_source && take_one(evictions_)) {
                story.fate = Fate::kTableFull;
                story.event = "DESTROY before its time: " + describe(gone->entry);
                return;
            }
        }
    }

    bool in_outage(const QueryRecord& record, QueryStory& story) {
        const std::int64_t left_ns = epoch_ns_.value_or(dut_.began_ns) + record.sent_ns;
        for (const drops::Outage& outage : dut_.outages) {
            if (left_ns + delay_ns_ + kLinkNewsNs >= outage.from_ns &&
                (outage.until_ns == INT64_MAX || left_ns <= outage.until_ns + kLinkNewsNs)) {
                story.fate = Fate::kLinkDown;
                story.event = outage.device + " had no link then";
                ++found_.down[outage.device];
                return true;
            }
        }
        return false;
    }

    // The query never reached a server and got no entry of its own. The other half of its pair holds
    // the entry that it clashed with if that entry has the port which both would have kept;
    // MASQUERADE may draw ports, and the drawn one of a packet that was dropped is told by nobody.
    bool failed_insertion(const QueryRecord& record, QueryStory& story) {
        const Endpoint client = plan_.client(record.pair, record.member);
        const Endpoint partner = plan_.client(record.pair, 1u - record.member);
        const ClientEvents& own = events_of(client);
        const ClientEvents& other = events_of(partner);
        const bool one_tuple = client == partner;
        if (record.server_saw != 0 || other.inserted == nullptr ||
            (!one_tuple && own.inserted != nullptr) || !take_one(insertions_)) {
            return false;
        }
        story.fate = Fate::kDroppedAtInsertion;
        const Entry& winner = other.inserted->entry;
        if (one_tuple || winner.reply.destination.port == client.port) {
            story.winner = describe(winner);
            story.event = one_tuple ? "one NEW for the two packets"
                                    : "no NEW for this query; NEW for the winner";
        } else {
            story.event = "no NEW for this query; the drawn port of a dropped packet is not told";
        }
        return true;
    }

    // Explains a query whose own packet was dropped at insertion: behind source NAT another pair's entry
    // may have taken its tuple.
    bool failed_by_another_pair(const QueryRecord& record, QueryStory& story) {
        const bool two_clients = plan_.client(record.pair, record.member) !=
                                 plan_.client(record.pair, 1u - record.member);
        if (!two_clients || found_.source_nat == 0 || record.server_saw != 0 ||
            events_of(plan_.client(record.pair, record.member)).inserted != nullptr ||
            !take_one(insertions_)) {
            return false;
        }
        story.fate = Fate::kDroppedAtInsertion;
        story.event = "no NEW for this query; its packet was dropped at insertion";
        return true;
    }

    enum class Inserted : std::uint8_t { kUnknown, kYes, kNo };

    // Behind source NAT a packet that was refused at insertion has the tuple of the one that took it, and both may
    // have been dropped: an entry of its own tells which of them a query was.
    static std::optional<OwnDrop> take(OwnDrops::ByClient& drops, const Endpoint& client,
                                       Inserted inserted) {
        const auto [from, to] = drops.equal_range(client);
        const auto found = std::find_if(from, to, [&](const auto& drop) {
            return inserted == Inserted::kUnknown ||
                   (drop.second.cause == kInsertFailed) == (inserted == Inserted::kNo) ||
                   drop.second.hook == "prerouting";
        });
        if (found == to) {
            return std::nullopt;
        }
        const OwnDrop drop = found->second;
        drops.erase(found);
        return drop;
    }

    // The drop of the query's own packet, or of its answer's. By the client's end as it left, as source
    // NAT keeps or draws its port, or by its address alone before conntrack.
    std::optional<OwnDrop> take_drop_of(const QueryRecord& record) {
        const Endpoint client = plan_.client(record.pair, record.member);
        if (record.server_saw != 0) {
            return take(own_.answers, client, Inserted::kUnknown);
        }
        const Endpoint partner = plan_.client(record.pair, 1u - record.member);
        const Event* own = events_of(client).inserted;
        const Event* other = events_of(partner).inserted;
        const bool behind_nat = client != partner && found_.source_nat != 0;
        if (behind_nat && own != nullptr) {
            if (auto drop = take(own_.queries, own->entry.reply.destination, Inserted::kYes)) {
                return drop;
            }
        }
        // Before conntrack, or where no NAT was.
        if (auto drop = take(own_.queries, client, Inserted::kUnknown)) {
            return drop;
        }
        const Endpoint translated = other == nullptr ? partner : other->entry.reply.destination;
        if (own == nullptr && translated.address != partner.address) {
            const Inserted inserted = behind_nat ? Inserted::kNo : Inserted::kUnknown;
            if (auto drop = take(own_.queries, {translated.address, client.port}, inserted)) {
                return drop;
            }
            const auto drawn = own_.queries.lower_bound({translated.address, 0});
            if (translated.port != client.port && drawn != own_.queries.end() &&
                drawn->first.address == translated.address) {
                return take(own_.queries, drawn->first, inserted);
            }
        }
        return take(own_.queries, {client.address, 0}, Inserted::kUnknown);
    }

    // By counters of full queues.
    bool found_a_full_queue(QueryStory& story) {
        const auto most = std::ranges::max_element(
            full_, {}, &std::map<std::string, std::uint64_t>::value_type::second);
        if (most == full_.end() || !take_one(most->second)) {
            return false;
        }
        story.fate = Fate::kOverload;
        story.event = "as many packets found a queue full: " + most->first;
        ++found_.overloaded[fmt::format("{} ({})", most->first, fate::kByCounters)];
        return true;
    }

    // By counters, where no packet tells.
    bool was_dropped(QueryStory& story) {
        const auto most = std::ranges::max_element(
            drops_, {}, &std::map<std::string, std::uint64_t>::value_type::second);
        if (most == drops_.end() || !take_one(most->second)) {
            return false;
        }
        story.fate = Fate::kDropped;
        story.event = "the kernel dropped as many UDP packets: " + most->first;
        ++found_.dropped[fmt::format(
            "by {} ({}), {}",
            most->first.starts_with("NETFILTER_DROP") ? "a netfilter rule" : "the kernel",
            most->first, fate::kByCounters)];
        return true;
    }

    // conntrack refuses an entry where a packet comes in, before it has any.
    bool found_no_room(const QueryRecord& record, QueryStory& story) {
        const Endpoint client = plan_.client(record.pair, record.member);
        if (record.server_saw != 0 || events_of(client).inserted != nullptr ||
            !take_one(refusals_)) {
            return false;
        }
        story.fate = Fate::kTableFull;
        story.event = "no NEW for this query; counter drop";
        return true;
    }

    bool flushed(const QueryRecord& record, QueryStory& story) const {
        return record.server_saw != 0 && was_flushed(record, record.server, story);
    }

    // The cause is what its own packet told.
    void explain_drop(const QueryRecord& record, const OwnDrop& drop, QueryStory& story) {
        const bool can_be_refused =
            drop.hook == "prerouting" && pathproof::contains(kRefused, drop.cause);
        if ((drop.cause == kInsertFailed &&
             (failed_insertion(record, story) || failed_by_another_pair(record, story))) ||
            (can_be_refused && found_no_room(record, story))) {
            return;
        }
        for (auto* budget : {&drops_, &full_}) {
            if (const auto counted = budget->find(drop.counted_as); counted != budget->end()) {
                take_one(counted->second);
            }
        }
        if (pathproof::contains(kWithoutLink, drop.cause) && in_outage(record, story)) {
            return;
        }
        const bool full = pathproof::contains(kFullQueue, drop.cause);
        story.fate = full ? Fate::kOverload : Fate::kDropped;
        story.event = fmt::format("{} was dropped {}",
                                  record.server_saw != 0 ? "the answer" : "the query", drop.text);
        ++(full ? found_.overloaded : found_.dropped)[drop.text];
    }

    void explain_loss(const QueryRecord& record, QueryStory& story) {
        if (const auto drop = take_drop_of(record)) {
            explain_drop(record, *drop, story);
            return;
        }
        if (in_outage(record, story)) {
            return;
        }
        // Insertion and the table's room are packets' own where these are followed.
        if ((!own_.by_packet() && failed_insertion(record, story)) || flushed(record, story) ||
            (!own_.by_packet() && found_no_room(record, story))) {
            return;
        }
        if (!found_a_full_queue(story)) {
            was_dropped(story);
        }
    }

    // Counts a query under its state and fate; gives what it makes true of its pair.
    unsigned judge(const QueryRecord& record) {
        const Endpoint client = plan_.client(record.pair, record.member);
        QueryStory story{.pair = record.pair,
                         .member = record.member,
                         .state = record.state,
                         .query = fmt::format("{} > {}", frame::to_string(client),
                                              frame::to_string(plan_.service))};
        unsigned bit = kLateOrWrong;
        switch (record.state) {
            case QueryState::kAnswered:
                story.fate = Fate::kNone;
                bit = 0;
                break;
            case QueryState::kLate:
                story.fate = Fate::kSlow;
                story.event =
                    fmt::format("answered after {:.3f} s",
                                static_cast<double>(record.answered_ns - record.sent_ns) / 1e9);
                break;
            case QueryState::kWrongSource:
                explain_misdelivery(record, story);
                bit = kMisdelivered;
                break;
            case QueryState::kNever:
                explain_loss(record, story);
                bit = kLost;
                break;
            case QueryState::kWrong: break;
        }
        ++found_
              .queries[static_cast<std::size_t>(story.state)][static_cast<std::size_t>(story.fate)];
        if (story.fate != Fate::kNone && found_.stories.size() < PairFindings::kStories) {
            found_.stories.push_back(std::move(story));
        }
        return bit;
    }

    const ClientEvents& events_of(const Endpoint& client) const {
        static const ClientEvents none;
        const auto found = by_client_.find(client);
        return found == by_client_.end() ? none : found->second;
    }

    const pairs::PairPlan& plan_;
    const judge::PairReport& report_;
    const DutRecord& dut_;
    OwnDrops own_;  // those that no query has been given yet
    const std::int64_t delay_ns_;
    PairFindings found_;
    std::map<Endpoint, ClientEvents> by_client_;
    // Answers that conntrack took for new flows: their source is a backend, their destination a
    // client.
    std::map<Endpoint, std::vector<const Entry*>> new_towards_;
    std::set<Endpoint> used_hidden_;        // clients whose hidden entry has told of an answer
    std::optional<std::int64_t> epoch_ns_;  // the run's time 0 in CLOCK_REALTIME
    // Drops and losses that the kernel counted and that no query has been given yet.
    std::uint64_t insertions_ = 0;
    std::uint64_t refusals_ = 0;   // no entry as the table was full
    std::uint64_t evictions_ = 0;  // entries thrown out early
    std::map<std::string, std::uint64_t> drops_;
    std::map<std::string, std::uint64_t> full_;  // by queue
    std::uint64_t entries_of_pairs_ = 0;
};

}  // namespace

const char* name(Fate fate) {
    switch (fate) {
        case Fate::kNone: return "answered in time";
        case Fate::kDroppedAtInsertion: return "dropped at insertion";
        case Fate::kUntranslatedAnswer: return "answer came back un-translated";
        case Fate::kFlushed: return "its entry was flushed";
        case Fate::kTableFull: return "the table was full";
        case Fate::kLinkDown: return "a link was down";
        case Fate::kDropped: return "dropped for another reason";
        case Fate::kOverload: return "a queue was full";
        case Fate::kSlow: return "answered late";
        case Fate::kUnexplained: return "unexplained";
    }
    return "unexplained";
}

std::uint64_t PairFindings::count(judge::QueryState state) const {
    const auto& fates = queries[static_cast<std::size_t>(state)];
    return std::accumulate(fates.begin(), fates.end(), std::uint64_t{0});
}

std::uint64_t PairFindings::count(Fate fate) const {
    std::uint64_t sum = 0;
    for (const auto& fates : queries) {
        sum += fates[static_cast<std::size_t>(fate)];
    }
    return sum;
}

std::uint64_t PairFindings::harmed() const {
    std::uint64_t sum = 0;
    for (std::size_t fate = 1; fate < kFates; ++fate) {
        sum += count(static_cast<Fate>(fate));
    }
    return sum;
}

std::uint64_t PairFindings::with(unsigned bits) const {
    std::uint64_t sum = 0;
    for (unsigned set = 0; set < pairs.size(); ++set) {
        sum += (set & bits) == bits ? pairs[set] : 0;
    }
    return sum;
}

PairFindings join_pairs(const pairs::PairPlan& plan, const judge::PairReport& report,
                        const DutRecord& dut, std::chrono::nanoseconds delay) {
    return Joiner(plan, report, dut, delay).join();
}

}  // namespace pathproof::join
