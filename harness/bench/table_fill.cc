#include "harness/bench/table_fill.h"

#include <netinet/in.h>

#include <cstdlib>

#include "dataplane/frame/address.h"
#include "harness/lab/undo.h"
#include "harness/netfilter/create.h"
#include "harness/netfilter/stats.h"

namespace pathproof::bench {
namespace {

using frame::Endpoint;
using frame::Family;
using frame::IpAddress;

constexpr std::uint32_t kFirstClient = 0xc6120001;  // 198.18.0.1
constexpr std::uint32_t kServer = 0xcb007102;       // 203.0.113.2
constexpr std::uint32_t kService = 0xc633640a;      // 198.51.100.10
constexpr std::uint32_t kPorts = 60'000;
constexpr std::uint16_t kFirstPort = 1024;

IpAddress v6(std::uint32_t low) {
    IpAddress address{.family = Family::kIpv6, .bytes = {0x20, 0x01, 0x0d, 0xb8}};
    return address.plus(low);
}

netfilter::NewEntry entry_number(std::uint64_t index) {
    const auto client = static_cast<std::uint32_t>(index / kPorts);
    const auto port = static_cast<std::uint16_t>(kFirstPort + index % kPorts);
    netfilter::NewEntry entry{.source = {IpAddress::v4(kFirstClient + client), port},
                              .destination = {IpAddress::v4(kServer), 443},
                              .protocol = IPPROTO_TCP,
                              .status = netfilter::kAnsweredFlow,
                              .translated = {}};
    switch (index % 8) {
        case 3:
        case 4:
            entry.protocol = IPPROTO_UDP;
            entry.destination.port = 53;
            break;
        case 5:
            entry.protocol = IPPROTO_UDP;
            entry.destination = {IpAddress::v4(kService), 53};
            entry.translated = IpAddress::v4(kServer);
            break;
        case 6:
            entry.source.address = v6(1 + client);
            entry.destination.address = v6(0x10000);
            break;
        case 7:
            entry.protocol = IPPROTO_UDP;
            entry.destination.port = 4789;
            entry.status = netfilter::status::kConfirmed;
            break;
        default: break;
    }
    return entry;
}

}  // namespace

Status fill_table(const std::string& netns, std::uint64_t entries) {
    TRY(netfilter::create_entries(netns, entries, entry_number));
    const auto size = TRY(netfilter::table_size(netns));
    if (size.entries != entries) {
        return fail(ErrorCode::kFailed, "the table of namespace {} holds {} entries instead of {}",
                    netns, size.entries, entries);
    }
    return {};
}

Result<std::uint64_t> table_limit() {
    const auto value = TRY(doing(lab::read_sysctl("net.netfilter.nf_conntrack_max", {}),
                                 "connection tracking is not available here"));
    return std::strtoull(value.c_str(), nullptr, 10);
}

}  // namespace pathproof::bench
