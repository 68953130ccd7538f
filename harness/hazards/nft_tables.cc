#include "harness/hazards/nft_tables.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "harness/process/netlink.h"
#include "harness/process/netns.h"

namespace pathproof::hazards {
namespace {

// NFPROTO_* of linux/netfilter.h, which does not go with netinet/in.h.
const char* family_name(unsigned char family) {
    switch (family) {
        case 1: return "inet";
        case 2: return "ip";
        case 3: return "arp";
        case 5: return "netdev";
        case 7: return "bridge";
        case 10: return "ip6";
        default: return "";
    }
}

void take(const nlmsghdr& message, std::vector<Table>& tables) {
    if (mnl_nlmsg_get_payload_len(&message) < sizeof(nfgenmsg)) {
        return;
    }
    const auto* head = static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(&message));
    Table table{.family = family_name(head->nfgen_family), .name = ""};
    mnl_attr_parse(
        &message, sizeof(nfgenmsg),
        [](const nlattr* attribute, void* data) {
            const bool is_name = mnl_attr_get_type(attribute) == NFTA_TABLE_NAME &&
                                 mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0;
            if (is_name) {
                static_cast<Table*>(data)->name = mnl_attr_get_str(attribute);
            }
            return MNL_CB_OK;
        },
        &table);
    if (!table.family.empty() && !table.name.empty()) {
        tables.push_back(std::move(table));
    }
}

}  // namespace

Result<std::vector<Table>> read_nft_tables(const std::string& netns) {
    return process::in_netns(netns, [&]() -> Result<std::vector<Table>> {
        constexpr unsigned kMostTries = 5;
        for (unsigned tries = 1;; ++tries) {
            auto socket = TRY(process::NetlinkSocket::open(NETLINK_NETFILTER));
            std::array<char, 256> buffer{};
            nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
            request->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE;
            request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
            auto* head =
                static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(request, sizeof(nfgenmsg)));
            head->nfgen_family = AF_UNSPEC;
            head->version = NFNETLINK_V0;
            std::vector<Table> tables;
            const int error =
                socket.exchange(*request, [&](const nlmsghdr& message) { take(message, tables); });
            // EINTR: they changed meanwhile; EINVAL, EOPNOTSUPP: nobody has registered nftables.
            if (error == 0 || error == EINVAL || error == EOPNOTSUPP) {
                return tables;
            }
            if (error != EINTR || tries == kMostTries) {
                return fail(ErrorCode::kFailed, "ask the kernel for nftables' tables: {}",
                            std::strerror(error));
            }
        }
    });
}

}  // namespace pathproof::hazards
