#include "tests/netfilter/nfqueue.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <poll.h>

#include <array>
#include <boost/test/unit_test.hpp>

#include "harness/netfilter/netlink.h"
#include "harness/process/netns.h"

namespace pathproof::netfilter::lab {
namespace {

nlmsghdr* begin(void* buffer, std::uint8_t type, std::uint16_t queue) {
    nlmsghdr* message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = static_cast<std::uint16_t>(NFNL_SUBSYS_QUEUE << 8 | type);
    message->nlmsg_flags = NLM_F_REQUEST;
    auto* header = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
    header->nfgen_family = AF_UNSPEC;
    header->version = NFNETLINK_V0;
    header->res_id = htons(queue);
    return message;
}

}  // namespace

HeldPackets::HeldPackets(const std::string& netns, std::uint16_t number) : number_(number) {
    const auto opened = process::in_netns(netns, [&]() -> Status {
        socket_ = mnl_socket_open(NETLINK_NETFILTER);
        return {};
    });
    BOOST_REQUIRE_MESSAGE(opened, opened.error().message);
    BOOST_REQUIRE(socket_ != nullptr && mnl_socket_bind(socket_, 0, MNL_SOCKET_AUTOPID) == 0);
    const nfqnl_msg_config_cmd bind{NFQNL_CFG_CMD_BIND, 0, htons(AF_INET)};
    send_config(&bind, NFQA_CFG_CMD, sizeof bind);
    const nfqnl_msg_config_params copy{0, NFQNL_COPY_META};
    send_config(&copy, NFQA_CFG_PARAMS, sizeof copy);
}

HeldPackets::~HeldPackets() {
    mnl_socket_close(socket_);
}

void HeldPackets::send_config(const void* attribute, std::uint16_t type, std::size_t length) {
    std::array<char, 512> buffer{};
    nlmsghdr* message = begin(buffer.data(), NFQNL_MSG_CONFIG, number_);
    mnl_attr_put(message, type, length, attribute);
    BOOST_REQUIRE(mnl_socket_sendto(socket_, message, message->nlmsg_len) > 0);
}

std::vector<std::uint32_t> HeldPackets::wait_for(std::size_t count) {
    std::vector<std::uint32_t> ids;
    std::array<char, 8192> buffer{};
    pollfd handle{mnl_socket_get_fd(socket_), POLLIN, 0};
    while (ids.size() < count && poll(&handle, 1, 2000) > 0) {
        const ssize_t got = mnl_socket_recvfrom(socket_, buffer.data(), buffer.size());
        BOOST_REQUIRE(got > 0);
        each_in_message(*reinterpret_cast<nlmsghdr*>(buffer.data()), sizeof(nfgenmsg),
                        [&](std::uint16_t type, const nlattr& attribute) {
                            if (type == NFQA_PACKET_HDR) {
                                ids.push_back(load_be<std::uint32_t>(attribute).value_or(0));
                            }
                        });
    }
    BOOST_REQUIRE_EQUAL(ids.size(), count);
    return ids;
}

void HeldPackets::release(std::uint32_t id) {
    std::array<char, 512> buffer{};
    nlmsghdr* message = begin(buffer.data(), NFQNL_MSG_VERDICT, number_);
    const nfqnl_msg_verdict_hdr verdict{htonl(NF_ACCEPT), htonl(id)};
    mnl_attr_put(message, NFQA_VERDICT_HDR, sizeof verdict, &verdict);
    BOOST_REQUIRE(mnl_socket_sendto(socket_, message, message->nlmsg_len) > 0);
}

}  // namespace pathproof::netfilter::lab
