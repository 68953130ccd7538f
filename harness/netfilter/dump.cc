#include "harness/netfilter/dump.h"

#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "harness/netfilter/answer_reader.h"
#include "harness/netfilter/kernel_probe.h"
#include "harness/netfilter/netlink.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/socket.h"

namespace pathproof::netfilter {
namespace {

// Buckets of the table that all namespaces share; 0 when nobody says. The kernel sets no
// NLM_F_DUMP_INTR when it moves entries to a table of another size.
std::uint64_t table_buckets() {
    std::uint64_t buckets = 0;
    for (const char* path : {"/proc/sys/net/netfilter/nf_conntrack_buckets",
                             "/sys/module/nf_conntrack/parameters/hashsize"}) {
        if (std::ifstream(path) >> buckets) {
            return buckets;
        }
    }
    return 0;
}

// Knows the entries that the kernel sends again. They are in one bucket, so that only the last ones
// of a datagram can come again as the first ones of the next.
class Repeats {
  public:
    // Returns whether the kernel sent this message before. `place`: its place in the datagram,
    // whose predecessor must still be in memory.
    bool known(const nlmsghdr& message, std::size_t place, std::uint32_t id) {
        const bool repeated = place < kFirst && was_sent(message, id);
        if (!repeated) {
            last_[next_++ % kLast] = {&message, id};
        }
        return repeated;
    }
    void end_datagram() {
        before_ = last_;
        last_ = {};
        next_ = 0;
    }

  private:
    static constexpr std::size_t kFirst = 16;
    static constexpr std::size_t kLast = 64;
    struct Sent {
        const nlmsghdr* message = nullptr;
        std::uint32_t id = 0;
    };

    bool was_sent(const nlmsghdr& message, std::uint32_t id) {
        return std::ranges::any_of(before_, [&](const Sent& sent) {
            return sent.message != nullptr && sent.id == id && same_flow(*sent.message, message);
        });
    }

    // An id alone may be of two flows.
    bool same_flow(const nlmsghdr& one, const nlmsghdr& other) {
        return parse_entry(one, one_) == Parsed::kOk && parse_entry(other, other_) == Parsed::kOk &&
               one_.original == other_.original && one_.reply == other_.reply &&
               one_.zone == other_.zone;
    }

    std::array<Sent, kLast> last_{};
    std::array<Sent, kLast> before_{};
    std::size_t next_ = 0;
    Entry one_;
    Entry other_;
};

// Handles the messages of a dump: gives entries that match to a visitor, or counts all of them
// where there is no visitor.
class DumpWork {
  public:
    DumpWork(const Filter& filter, const EntryVisitor* visit)
        : filter_(filter), filtered_(filter != Filter{}), visit_(visit) {}

    Next message(const nlmsghdr& message, std::size_t place, DumpSummary& summary) {
        if (visit_ == nullptr) {
            ++summary.entries;
            return Next::kContinue;
        }
        if (parse_entry(message, entry_) == Parsed::kUnreadable) {
            ++summary.unreadable;
            return Next::kContinue;
        }
        if (repeats_.known(message, place, entry_.id)) {
            ++summary.repeated;
            return Next::kContinue;
        }
        if (filtered_ && !matches(filter_, entry_)) {
            return Next::kContinue;
        }
        ++summary.entries;
        return (*visit_)(entry_);
    }
    void end_datagram() { repeats_.end_datagram(); }

  private:
    const Filter& filter_;
    const bool filtered_;
    const EntryVisitor* const visit_;
    Repeats repeats_;
    Entry entry_;
};

// Gives the messages of a datagram to the work until the kernel's end, which is kDone as the work's
// stop is.
Result<Progress> work_through(std::span<const std::byte> datagram, std::uint32_t sequence,
                              DumpWork& work, DumpSummary& summary) {
    MessageReader messages(datagram);
    for (std::size_t place = 0; const nlmsghdr* message = messages.next(); ++place) {
        if (message->nlmsg_seq != sequence) {
            continue;
        }
        summary.interrupted |= (message->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        if (message->nlmsg_type < NLMSG_MIN_TYPE) {
            const auto progress = read_end(*message);
            if (!progress || *progress == Progress::kDone) {
                return progress;
            }
            continue;
        }
        ++summary.received;
        if (work.message(*message, place, summary) == Next::kStop) {
            return Progress::kDone;
        }
    }
    work.end_datagram();
    return Progress::kMore;
}

Result<DumpSummary> run(const std::string& netns, const Filter& filter,
                        const KernelFilterSupport& support, DumpWork& work) {
    auto socket = TRY(Socket::open(netns));
    alignas(nlmsghdr) char buffer[4096];
    nlmsghdr& request = begin_request(buffer, IPCTNL_MSG_CT_GET, NLM_F_DUMP, kernel_family(filter));
    add_dump_filter(request, filter, support);
    const std::uint64_t buckets = table_buckets();
    const auto sequence = TRY(socket.send(request));
    AnswerReader reader(socket, sequence);
    DumpSummary summary;
    while (true) {
        const auto datagram = TRY(reader.next());
        const auto progress = TRY(work_through(datagram, sequence, work, summary));
        if (progress == Progress::kDone) {
            break;
        }
    }
    summary.interrupted |= table_buckets() != buckets;
    return summary;
}

Result<DumpSummary> run(const std::string& netns, const Filter& filter, DumpWork& work) {
    auto summary = run(netns, filter, kernel_filter_support(filter), work);
    // A kernel refuses before it sends the first entry, also a value that no entry can have (an
    // ICMP type without answer).
    if (!summary && summary.error().code == ErrorCode::kKernelLacks && clauses_of(filter).any()) {
        return run(netns, filter, KernelFilterSupport(Behaviour::kRefuses), work);
    }
    return summary;
}

}  // namespace

Result<DumpSummary> dump(const std::string& netns, const Filter& filter,
                         const EntryVisitor& visit) {
    DumpWork work(filter, &visit);
    return run(netns, filter, work);
}

Result<DumpSummary> count_entries(const std::string& netns, const Filter& filter) {
    const KernelFilterSupport support = kernel_filter_support(filter);
    if (!filter_shares(filter, support).here.empty()) {
        return dump(netns, filter, [](const Entry&) { return Next::kContinue; });
    }
    DumpWork work(filter, nullptr);
    return run(netns, filter, work);
}

Result<std::vector<Entry>> dump_all(const std::string& netns, const Filter& filter) {
    std::vector<Entry> entries;
    TRY(dump(netns, filter, [&](const Entry& entry) {
        entries.push_back(entry);
        return Next::kContinue;
    }));
    return entries;
}

Status flush(const std::string& netns) {
    auto socket = TRY(Socket::open(netns));
    alignas(nlmsghdr) char buffer[4096];
    nlmsghdr& request = begin_request(buffer, IPCTNL_MSG_CT_DELETE, NLM_F_ACK, AF_UNSPEC);
    return socket.request(request);
}

}  // namespace pathproof::netfilter
