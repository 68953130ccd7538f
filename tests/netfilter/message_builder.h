// Conntrack netlink messages made by hand, with libmnl.
#pragma once

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

class MessageBuilder {
  public:
    explicit MessageBuilder(std::uint8_t type = IPCTNL_MSG_CT_NEW, std::uint16_t flags = 0) {
        mnl_nlmsg_put_header(buffer_.data());
        message().nlmsg_type = static_cast<std::uint16_t>(NFNL_SUBSYS_CTNETLINK << 8 | type);
        message().nlmsg_flags = flags;
        auto* generic =
            static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(&message(), sizeof(nfgenmsg)));
        generic->nfgen_family = AF_INET;
    }

    MessageBuilder& cpu(std::uint16_t number) {
        static_cast<nfgenmsg*>(mnl_nlmsg_get_payload(&message()))->res_id = htons(number);
        return *this;
    }
    MessageBuilder& caused_by(std::uint32_t port) {
        message().nlmsg_pid = port;
        return *this;
    }

    template <typename Fill>
    MessageBuilder& nested(std::uint16_t type, const Fill& fill) {
        nlattr* nest = mnl_attr_nest_start(&message(), type);
        fill();
        mnl_attr_nest_end(&message(), nest);
        return *this;
    }
    MessageBuilder& u8(std::uint16_t type, std::uint8_t value) {
        mnl_attr_put_u8(&message(), type, value);
        return *this;
    }
    MessageBuilder& be16(std::uint16_t type, std::uint16_t value) {
        mnl_attr_put_u16(&message(), type, htons(value));
        return *this;
    }
    MessageBuilder& be32(std::uint16_t type, std::uint32_t value) {
        mnl_attr_put_u32(&message(), type, htonl(value));
        return *this;
    }
    MessageBuilder& be64(std::uint16_t type, std::uint64_t value) {
        mnl_attr_put_u64(&message(), type, __builtin_bswap64(value));
        return *this;
    }
    MessageBuilder& bytes(std::uint16_t type, std::string_view value) {
        mnl_attr_put(&message(), type, value.size(), value.data());
        return *this;
    }

    MessageBuilder& addresses(const Tuple& tuple) {
        const bool ipv4 = tuple.source.address.family == frame::Family::kIpv4;
        return nested(CTA_TUPLE_IP, [&] {
            mnl_attr_put(&message(), ipv4 ? CTA_IP_V4_SRC : CTA_IP_V6_SRC, ipv4 ? 4 : 16,
                         tuple.source.address.bytes.data());
            mnl_attr_put(&message(), ipv4 ? CTA_IP_V4_DST : CTA_IP_V6_DST, ipv4 ? 4 : 16,
                         tuple.destination.address.bytes.data());
        });
    }
    MessageBuilder& ports(const Tuple& tuple) {
        return nested(CTA_TUPLE_PROTO, [&] {
            u8(CTA_PROTO_NUM, tuple.protocol);
            be16(CTA_PROTO_SRC_PORT, tuple.source.port);
            be16(CTA_PROTO_DST_PORT, tuple.destination.port);
        });
    }
    MessageBuilder& tuple(std::uint16_t type, const Tuple& value) {
        return nested(type, [&] { addresses(value).ports(value); });
    }
    MessageBuilder& tuples(const Tuple& original, const Tuple& reply) {
        return tuple(CTA_TUPLE_ORIG, original).tuple(CTA_TUPLE_REPLY, reply);
    }

    const nlmsghdr& message() const { return *reinterpret_cast<const nlmsghdr*>(buffer_.data()); }
    nlmsghdr& message() { return *reinterpret_cast<nlmsghdr*>(buffer_.data()); }
    std::span<const std::byte> datagram() const {
        return {reinterpret_cast<const std::byte*>(buffer_.data()), message().nlmsg_len};
    }

  private:
    alignas(8) std::array<char, 8192> buffer_{};
};

inline Tuple make_tuple(const std::string& source, const std::string& destination,
                        std::uint8_t protocol = IPPROTO_UDP) {
    return {.source = frame::parse_endpoint(source).value(),
            .destination = frame::parse_endpoint(destination).value(),
            .protocol = protocol};
}

// Makes the entry of a client's flow to a service that is translated to a backend.
inline Entry make_entry(const std::string& client, const std::string& service,
                        const std::string& backend, std::uint32_t id,
                        std::uint32_t bits = status::kConfirmed | status::kDstNat) {
    Entry entry;
    entry.id = id;
    entry.original = make_tuple(client, service);
    entry.reply = make_tuple(backend, client);
    entry.status = bits;
    return entry;
}

}  // namespace pathproof::netfilter
