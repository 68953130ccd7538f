#include "harness/netfilter/stats.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <algorithm>

#include "dataplane/base/number.h"
#include "harness/netfilter/netlink.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/socket.h"

namespace pathproof::netfilter {
namespace {

struct Meaning {
    std::string_view counter;
    KernelVersion since;
    std::string_view text;
};

// From nf_conntrack_core.c and nf_conntrack_netlink.c; the last line of a counter whose `since` has
// come holds. An empty text ends what was known before.
constexpr Meaning kMeanings[] = {
    {"found",
     {4, 9},
     "NAT looked for a free tuple and found the one it tried taken (nf_conntrack_tuple_taken)"},
    {"invalid",
     {3, 0},
     "packets that could not be tracked: malformed, bad checksum or state; they pass unNATed. ICMP "
     "errors that 'error' counts are counted here too"},
    {"invalid",
     {5, 10},
     "packets that could not be tracked: malformed, bad checksum or state; they pass unNATed"},
    {"ignore", {3, 0}, "packets that came with an entry already or were exempted from tracking"},
    {"ignore", {5, 10}, ""},
    {"insert",
     {4, 9},
     "entries inserted through netlink (conntrack -I, conntrackd), not those of packets"},
    {"insert_failed",
     {3, 0},
     "entry not inserted: another one had the tuple; clashes that were then resolved are counted "
     "too"},
    {"insert_failed",
     {5, 10},
     "entry not inserted: unresolvable clash, taken NAT tuple, or (see chaintoolong) full "
     "hash chain; with drop it is one lost packet each"},
    {"drop", {3, 0}, "packets dropped by conntrack: clash not resolved, no memory, or table full"},
    {"early_drop", {3, 0}, "unassured entries thrown out early to make room in a full table"},
    {"error", {3, 0}, "ICMP or ICMPv6 error packets that could not be tracked"},
    {"search_restart", {3, 0}, "lookups begun again because the hash chain changed under them"},
    {"clash_resolve",
     {5, 10},
     "clashes resolved: the packet went on with the existing entry, or with a hidden NAT_CLASH "
     "entry that lives for 1 s"},
    {"chaintoolong", {5, 15}, "entry not inserted: its hash chain was too long"},
};

// The newest kernel whose counters were read in source; a change of what insert_failed, drop and
// invalid count was queued for a later one (nf-next, "Untangle insert_failed counter from others").
constexpr KernelVersion kNewestRead{6, 19};

// A counter that came with a change of what another one means. Where a kernel has it, it has the
// change, whatever its release says: vendors carry changes back.
struct Sign {
    std::string_view counter;
    KernelVersion came;
};
constexpr Sign kSigns[] = {{"clash_resolve", {5, 10}}, {"chaintoolong", {5, 15}}};

// The release as it is read, or the one whose counters these are if that is later.
KernelVersion version_of_counters(KernelVersion release, const CpuStats& stats) {
    for (const Sign& sign : kSigns) {
        if (stats.has(sign.counter)) {
            release = std::max(release, sign.came);
        }
    }
    return release;
}

Status read_dump(const std::string& netns, std::uint8_t type, std::uint16_t flags,
                 const Socket::MessageVisitor& visit) {
    auto socket = TRY(Socket::open(netns));
    alignas(nlmsghdr) char buffer[4096];
    return socket.request(begin_request(buffer, type, flags, AF_UNSPEC), visit);
}

}  // namespace

Result<std::vector<CpuStats>> cpu_stats(const std::string& netns) {
    std::vector<CpuStats> all;
    bool readable = true;
    TRY(read_dump(netns, IPCTNL_MSG_CT_GET_STATS_CPU, NLM_F_DUMP, [&](const nlmsghdr& message) {
        CpuStats stats;
        readable = parse_cpu_stats(message, stats) == Parsed::kOk && readable;
        all.push_back(std::move(stats));
    }));
    if (!readable || all.empty()) {
        return fail(ErrorCode::kFailed, "ctnetlink gave no readable per-CPU statistics");
    }
    return all;
}

Result<TableSize> table_size(const std::string& netns) {
    TableSize size;
    TRY(read_dump(netns, IPCTNL_MSG_CT_GET_STATS, NLM_F_ACK, [&](const nlmsghdr& message) {
        each_in_message(
            message, sizeof(nfgenmsg), [&](std::uint16_t type, const nlattr& attribute) {
                const std::uint64_t value = load_be<std::uint32_t>(attribute).value_or(0);
                if (type == CTA_STATS_GLOBAL_ENTRIES) {
                    size.entries = value;
                } else if (type == CTA_STATS_GLOBAL_MAX_ENTRIES) {
                    size.maximum = value;
                }
            });
    }));
    return size;
}

std::optional<KernelVersion> parse_kernel_release(std::string_view release) {
    const auto major = take_number<unsigned>(release);
    if (!major || !release.starts_with('.')) {
        return std::nullopt;
    }
    release.remove_prefix(1);
    const auto minor = take_number<unsigned>(release);
    return minor ? std::optional(KernelVersion{*major, *minor}) : std::nullopt;
}

std::string running_kernel_release() {
    utsname names{};
    uname(&names);
    return names.release;
}

std::string counter_meaning(std::string_view counter, KernelVersion kernel) {
    std::string_view text;
    if (kernel > kNewestRead) {
        return {};
    }
    for (const Meaning& meaning : kMeanings) {
        if (meaning.counter == counter && kernel >= meaning.since) {
            text = meaning.text;
        }
    }
    return std::string(text);
}

std::vector<CounterMeaning> counter_meanings(const CpuStats& stats, std::string_view release) {
    const auto version = parse_kernel_release(release);
    std::vector<CounterMeaning> meanings;
    for (const auto& [counter, value] : stats.counters) {
        CounterMeaning meaning{.counter = counter};
        if (!version) {
            meaning.unknown =
                fmt::format("not known: '{}' is no kernel release that we can read", release);
        } else if (*version > kNewestRead) {
            meaning.unknown = fmt::format("not known for kernels after {}.{}, raw value only",
                                          kNewestRead.major, kNewestRead.minor);
        } else {
            meaning.text = counter_meaning(counter, version_of_counters(*version, stats));
            meaning.unknown =
                meaning.text.empty() ? "not known for this kernel: raw value only" : "";
        }
        meanings.push_back(std::move(meaning));
    }
    return meanings;
}

}  // namespace pathproof::netfilter
