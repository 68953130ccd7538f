#include "harness/netfilter/dump.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "harness/netfilter/kernel_filter.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/socket.h"

namespace pathproof::netfilter {
namespace {

enum class FilterPlace { kKernel, kHere };

Result<DumpSummary> dump_with(Socket& socket, const Filter& filter, FilterPlace place,
                              const EntryVisitor& visit) {
    alignas(nlmsghdr) char buffer[4096];
    nlmsghdr& request = begin_request(buffer, IPCTNL_MSG_CT_GET, NLM_F_DUMP, kernel_family(filter));
    if (place == FilterPlace::kKernel) {
        add_dump_filter(request, filter);
    }
    DumpSummary summary;
    Entry entry;
    const auto read = socket.request(request, [&](const nlmsghdr& message) {
        ++summary.received;
        summary.interrupted |= (message.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        if (parse_entry(message, entry) == Parsed::kUnreadable) {
            ++summary.unreadable;
            return Next::kContinue;
        }
        if (!matches(filter, entry)) {
            return Next::kContinue;
        }
        ++summary.entries;
        return visit(entry);
    });
    if (!read) {
        return pass_on(read.error());
    }
    return summary;
}

}  // namespace

Result<DumpSummary> dump(const std::string& netns, const Filter& filter,
                         const EntryVisitor& visit) {
    auto socket = Socket::open(netns);
    if (!socket) {
        return pass_on(socket.error());
    }
    auto summary = dump_with(*socket, filter, FilterPlace::kKernel, visit);
    // A kernel that does not know a filter attribute refuses before it sends the first entry.
    if (!summary && summary.error().code == ErrorCode::kNotSupported) {
        return dump_with(*socket, filter, FilterPlace::kHere, visit);
    }
    return summary;
}

Result<std::vector<Entry>> dump_all(const std::string& netns, const Filter& filter) {
    std::vector<Entry> entries;
    const auto summary = dump(netns, filter, [&](const Entry& entry) {
        entries.push_back(entry);
        return Next::kContinue;
    });
    if (!summary) {
        return pass_on(summary.error());
    }
    return entries;
}

Status flush(const std::string& netns) {
    auto socket = Socket::open(netns);
    if (!socket) {
        return pass_on(socket.error());
    }
    alignas(nlmsghdr) char buffer[4096];
    nlmsghdr& request = begin_request(buffer, IPCTNL_MSG_CT_DELETE, NLM_F_ACK, AF_UNSPEC);
    return socket->request(request, [](const nlmsghdr&) { return Next::kContinue; });
}

}  // namespace pathproof::netfilter
