#include "harness/netfilter/kernel_probe.h"

#include <linux/netlink.h>
#include <sched.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>

#include "harness/netfilter/create.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/socket.h"
#include "harness/netfilter/tuple_message.h"

namespace pathproof::netfilter {
namespace {

// Two entries of each kind that differ in all that a clause can ask for.
std::vector<Entry> specimens() {
    std::vector<Entry> entries;
    for (const std::uint8_t number : {std::uint8_t{1}, std::uint8_t{2}}) {
        const auto add = [&](const char* source, const char* destination, std::uint8_t protocol) {
            Entry entry;
            entry.original.source.address = frame::parse_ip(source)->plus(number);
            entry.original.destination.address = frame::parse_ip(destination)->plus(number);
            entry.original.protocol = protocol;
            const bool icmp = protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6;
            if (icmp) {
                entry.original.icmp = Tuple::Icmp{
                    static_cast<std::uint8_t>(protocol == IPPROTO_ICMP ? 8 : 128), number, number};
            } else {
                entry.original.source.port = number;
                entry.original.destination.port = static_cast<std::uint16_t>(10 + number);
            }
            entry.mark = number;
            entry.zone = number;
            entry.status = status::kConfirmed | (number == 1 ? status::kSeenReply : 0);
            entries.push_back(entry);
        };
        add("198.18.0.0", "198.18.1.0", IPPROTO_UDP);
        add("198.18.0.0", "198.18.1.0", IPPROTO_ICMP);
        add("2001:db8::", "2001:db8:1::", IPPROTO_UDP);
        add("2001:db8::", "2001:db8:1::", IPPROTO_ICMPV6);
    }
    return entries;
}

Tuple inverse(const Tuple& tuple) {
    Tuple reply = turned(tuple);
    if (reply.icmp) {
        reply.icmp->type = reply.icmp->type == 8 ? 0 : 129;  // the echo's reply
    }
    return reply;
}

// The entries that the kernel gives for a filter; nothing when it refuses.
std::optional<std::vector<Entry>> ask(Socket& socket, const Filter& filter,
                                      const KernelFilterSupport& clauses) {
    alignas(nlmsghdr) char buffer[4096];
    nlmsghdr& request = begin_request(buffer, IPCTNL_MSG_CT_GET, NLM_F_DUMP, kernel_family(filter));
    add_dump_filter(request, filter, clauses);
    std::vector<Entry> entries;
    Entry entry;
    const auto read = socket.request(request, [&](const nlmsghdr& message) {
        if (parse_entry(message, entry) == Parsed::kOk) {
            entries.push_back(entry);
        }
    });
    return read ? std::optional(std::move(entries)) : std::nullopt;
}

Behaviour judge(const Filter& filter, const std::vector<Entry>& all,
                const std::optional<std::vector<Entry>>& given) {
    if (!given) {
        return Behaviour::kRefuses;
    }
    const auto matching = [&](const std::vector<Entry>& entries) {
        return std::ranges::count_if(entries,
                                     [&](const Entry& entry) { return matches(filter, entry); });
    };
    if (matching(*given) < matching(all)) {
        return Behaviour::kInverts;
    }
    return static_cast<std::size_t>(matching(*given)) == given->size() ? Behaviour::kSelects
                                                                       : Behaviour::kIgnores;
}

struct Trial {
    Clause clause;
    std::vector<std::string> words;
};
const std::vector<Trial>& trials() {
    // A clause comes after those that it needs in a request.
    static const std::vector<Trial> all{
        {Clause::kMark, {"mark=1"}},
        {Clause::kStatus, {"status=seen_reply"}},
        {Clause::kStatus, {"status=!seen_reply"}},
        {Clause::kZone, {"zone=2"}},
        {Clause::kIpv4Address, {"src=198.18.0.1"}},
        {Clause::kIpv4Address, {"reply-src=198.18.1.2"}},
        {Clause::kIpv6Address, {"src=2001:db8::1"}},
        {Clause::kIpv6Address, {"dst=2001:db8:1::2"}},
        {Clause::kIpv6Address, {"reply-dst=2001:db8::2"}},
        {Clause::kProtocol, {"ipv4", "udp"}},
        {Clause::kPorts, {"ipv4", "udp", "sport=1"}},
        {Clause::kPorts, {"ipv6", "udp", "dport=12"}},
        {Clause::kPorts, {"ipv4", "udp", "reply-sport=12"}},
        {Clause::kIcmp, {"ipv4", "icmp", "icmp-id=2"}},
        {Clause::kIcmp, {"ipv4", "icmp", "icmp-type=8", "icmp-code=1"}},
        {Clause::kIcmpv6, {"ipv6", "icmpv6", "icmp-id=2"}},
        {Clause::kIcmpv6, {"ipv6", "icmpv6", "icmp-type=128", "icmp-code=1"}},
    };
    return all;
}

// Supports only one clause, and the protocol when the clause needs it.
KernelFilterSupport only(Clause clause, const KernelFilterSupport& known) {
    KernelFilterSupport support(Behaviour::kRefuses);
    if (clause > Clause::kProtocol) {
        support.of(Clause::kProtocol) = known.of(Clause::kProtocol);
    }
    support.of(clause) = Behaviour::kSelects;
    return support;
}

// Keeps the worse result when a clause is tried twice.
void note(KernelFilterSupport& support, Clause clause, Behaviour behaviour) {
    Behaviour& known = support.of(clause);
    if (known == Behaviour::kNotTried || behaviour > known) {
        known = behaviour;
    }
}

KernelFilterSupport try_all(const Clauses& wanted) {
    KernelFilterSupport support(Behaviour::kNotTried);
    auto socket = Socket::open({});
    if (!socket) {
        return support;
    }
    for (Entry entry : specimens()) {
        entry.reply = inverse(entry.original);
        if (!create_entry(*socket, entry)) {
            return support;
        }
    }
    const auto all = ask(*socket, {}, support);
    if (!all || all->size() != specimens().size()) {
        return support;
    }
    for (const Trial& trial : trials()) {
        if (!wanted.test(static_cast<std::size_t>(trial.clause))) {
            continue;
        }
        const Filter filter = parse_filter(trial.words).value();
        note(support, trial.clause,
             judge(filter, *all, ask(*socket, filter, only(trial.clause, support))));
    }
    return support;
}

}  // namespace

KernelFilterSupport probe_kernel_filter(const Clauses& wanted) {
    KernelFilterSupport support(Behaviour::kNotTried);
    // A thread may leave its namespace alone; the new one ends with it.
    std::thread scratch([&] {
        if (unshare(CLONE_NEWNET) == 0) {
            support = try_all(wanted);
        }
    });
    scratch.join();
    return support;
}

KernelFilterSupport kernel_filter_support(const Filter& filter) {
    static std::mutex mutex;
    static Clauses tried;
    static KernelFilterSupport known(Behaviour::kNotTried);
    const std::scoped_lock lock(mutex);
    Clauses wanted = clauses_of(filter) & ~tried;
    if (wanted.none()) {
        return known;
    }
    // Ports and ICMP cannot be asked for without the protocol.
    wanted.set(static_cast<std::size_t>(Clause::kProtocol));
    const KernelFilterSupport found = probe_kernel_filter(wanted);
    for (std::size_t clause = 0; clause < kClauses; ++clause) {
        if (wanted.test(clause)) {
            known.behaviour[clause] = found.behaviour[clause];
        }
    }
    tried |= wanted;
    return known;
}

}  // namespace pathproof::netfilter
