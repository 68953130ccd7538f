#include "harness/netfilter/parse.h"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <random>

#include "harness/netfilter/netlink.h"
#include "harness/netfilter/text.h"
#include "tests/netfilter/message_builder.h"
#include "tests/netfilter/recorded.h"

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

const Tuple kOriginal = make_tuple("198.18.0.1:40000", "198.18.9.10:53");
const Tuple kReply = make_tuple("198.18.9.2:53", "198.18.0.1:40000");

Entry parsed(const MessageBuilder& builder) {
    Entry entry;
    BOOST_REQUIRE((parse_entry(builder.message(), entry) == Parsed::kOk));
    return entry;
}

Parsed parse(const MessageBuilder& builder) {
    Entry entry;
    return parse_entry(builder.message(), entry);
}

struct MessageCounts {
    std::uint64_t messages = 0;
    std::uint64_t unreadable = 0;
};

MessageCounts parse_datagram(std::span<const std::byte> datagram) {
    MessageCounts counts;
    Event event;
    MessageReader messages(datagram);
    while (const nlmsghdr* message = messages.next()) {
        ++counts.messages;
        counts.unreadable += parse_event(*message, 0, event) == Parsed::kUnreadable ? 1 : 0;
    }
    return counts;
}

// Everything that an entry can carry.
MessageBuilder full_message() {
    MessageBuilder builder(IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL);
    builder.tuples(kOriginal, kReply)
        .be32(CTA_STATUS, 0x1428)
        .be32(CTA_TIMEOUT, 29)
        .be32(CTA_MARK, 0xfffffff0)
        .be16(CTA_ZONE, 7)
        .be32(CTA_USE, 2)
        .be32(CTA_ID, 4'000'000'000)
        .bytes(CTA_LABELS, std::string_view("\x05\x00\x00\x00", 4))
        .nested(CTA_HELP, [&] { builder.bytes(CTA_HELP_NAME, "ftp"); })
        .nested(CTA_SECCTX, [&] { builder.bytes(CTA_SECCTX_NAME, "unconfined"); });
    builder.nested(CTA_PROTOINFO, [&] {
        builder.nested(CTA_PROTOINFO_TCP, [&] { builder.u8(CTA_PROTOINFO_TCP_STATE, 3); });
    });
    builder.nested(CTA_COUNTERS_ORIG, [&] {
        builder.be64(CTA_COUNTERS_PACKETS, 3).be64(CTA_COUNTERS_BYTES, 1ull << 40);
    });
    builder.nested(CTA_COUNTERS_REPLY,
                   [&] { builder.be64(CTA_COUNTERS_PACKETS, 1).be64(CTA_COUNTERS_BYTES, 60); });
    builder.nested(CTA_TIMESTAMP, [&] {
        builder.be64(CTA_TIMESTAMP_START, 1'763'692'000'000'000'000)
            .be64(CTA_TIMESTAMP_STOP, 1'763'692'001'000'000'000);
    });
    return builder;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_attribute_of_an_entry_is_read) {
    const Entry entry = parsed(full_message());
    BOOST_TEST((entry.original == kOriginal));
    BOOST_TEST((entry.reply == kReply));
    BOOST_TEST(entry.status == 0x1428U);
    BOOST_TEST((entry.timeout_s == std::optional<std::uint32_t>(29)));
    BOOST_TEST(entry.mark == 0xfffffff0U);
    BOOST_TEST(entry.mark_reported);
    BOOST_TEST(entry.zone == 7U);
    BOOST_TEST((entry.zone_direction == ZoneDirection::kBoth));
    BOOST_TEST((entry.use == std::optional<std::uint32_t>(2)));
    BOOST_TEST(entry.id == 4'000'000'000U);
    BOOST_TEST((entry.labels == std::vector<std::uint8_t>{5, 0, 0, 0}));
    BOOST_TEST(entry.helper == "ftp");
    BOOST_TEST(entry.security_context == "unconfined");
    BOOST_TEST(entry.protocol_state == "ESTABLISHED");
    BOOST_TEST((entry.original_counters == std::optional(Counters{3, 1ull << 40})));
    BOOST_TEST((entry.reply_counters == std::optional(Counters{1, 60})));
    BOOST_TEST((entry.started_ns == std::optional<std::uint64_t>(1'763'692'000'000'000'000)));
    BOOST_TEST((entry.stopped_ns == std::optional<std::uint64_t>(1'763'692'001'000'000'000)));
}

BOOST_AUTO_TEST_CASE(nothing_of_the_last_entry_stays_in_the_next) {
    Entry entry;
    BOOST_REQUIRE((parse_entry(full_message().message(), entry) == Parsed::kOk));
    const MessageBuilder bare = MessageBuilder().tuples(kReply, kOriginal);
    BOOST_REQUIRE((parse_entry(bare.message(), entry) == Parsed::kOk));
    BOOST_TEST((entry == parsed(bare)));
    BOOST_TEST(entry.helper.empty());
    BOOST_TEST(!entry.mark_reported);
}

BOOST_AUTO_TEST_CASE(a_recorded_dump_reads_as_conntrack_printed_it) {
    const TextOptions with_id{.id = TextOptions::Column::kShow};
    for (const recorded::Message& message : recorded::kMessages) {
        const std::vector<std::byte> bytes = message.bytes();
        Event event;
        BOOST_REQUIRE((parse_event(*reinterpret_cast<const nlmsghdr*>(bytes.data()), 0, event) ==
                       Parsed::kOk));
        std::string text;
        message.kind == recorded::Message::Kind::kEvent ? append_text(text, event, with_id)
                                                        : append_text(text, event.entry, with_id);
        BOOST_TEST(text == message.text);
    }
}

BOOST_AUTO_TEST_CASE(icmp_has_type_code_and_id_instead_of_ports) {
    MessageBuilder builder;
    for (const std::uint16_t type : {CTA_TUPLE_ORIG, CTA_TUPLE_REPLY}) {
        builder.nested(type, [&] {
            builder.addresses(kOriginal).nested(CTA_TUPLE_PROTO, [&] {
                builder.u8(CTA_PROTO_NUM, IPPROTO_ICMP)
                    .be16(CTA_PROTO_ICMP_ID, 99)
                    .u8(CTA_PROTO_ICMP_TYPE, 8)
                    .u8(CTA_PROTO_ICMP_CODE, 1);
            });
        });
    }
    const Entry entry = parsed(builder);
    BOOST_REQUIRE(entry.original.icmp);
    BOOST_TEST((*entry.original.icmp == Tuple::Icmp{8, 1, 99}));
    BOOST_TEST(entry.original.source.port == 0U);
}

BOOST_AUTO_TEST_CASE(a_zone_of_one_direction_is_told_apart) {
    MessageBuilder builder;
    builder.tuple(CTA_TUPLE_ORIG, kOriginal).nested(CTA_TUPLE_REPLY, [&] {
        builder.addresses(kReply).ports(kReply).be16(CTA_TUPLE_ZONE, 12);
    });
    const Entry entry = parsed(builder);
    BOOST_TEST(entry.zone == 12U);
    BOOST_TEST((entry.zone_direction == ZoneDirection::kReply));
}

BOOST_AUTO_TEST_CASE(the_kind_of_an_event_is_in_type_and_flags) {
    const auto kind = [](MessageBuilder builder) {
        Event event;
        BOOST_REQUIRE(
            (parse_event(builder.tuples(kOriginal, kReply).message(), 17, event) == Parsed::kOk));
        BOOST_TEST(event.time_ns == 17);
        return event.kind;
    };
    BOOST_TEST(
        (kind(MessageBuilder(IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL)) == EventKind::kNew));
    BOOST_TEST((kind(MessageBuilder(IPCTNL_MSG_CT_NEW)) == EventKind::kUpdate));
    BOOST_TEST((kind(MessageBuilder(IPCTNL_MSG_CT_DELETE)) == EventKind::kDestroy));
}

BOOST_AUTO_TEST_CASE(an_event_keeps_who_caused_it_and_the_kernels_time) {
    Event event;
    MessageBuilder builder;
    builder.tuples(kOriginal, kReply).caused_by(4711).be64(27, 1'763'692'000'000'000'001);
    BOOST_REQUIRE((parse_event(builder.message(), 0, event) == Parsed::kOk));
    BOOST_TEST(event.cause_port == 4711U);
    BOOST_TEST((event.kernel_time_ns == std::optional<std::uint64_t>(1'763'692'000'000'000'001)));
    BOOST_REQUIRE((parse_event(MessageBuilder().tuples(kOriginal, kReply).message(), 0, event) ==
                   Parsed::kOk));
    BOOST_TEST(!event.kernel_time_ns);
    BOOST_TEST(event.cause_port == 0U);
}

BOOST_AUTO_TEST_CASE(counters_carry_the_cpu_and_unknown_ones_a_number) {
    CpuStats stats;
    const MessageBuilder builder = MessageBuilder(IPCTNL_MSG_CT_GET_STATS_CPU)
                                       .cpu(513)
                                       .be32(CTA_STATS_INSERT_FAILED, 42)
                                       .be32(CTA_STATS_CLASH_RESOLVE, 4'000'000'000)
                                       .be32(40, 1);
    BOOST_REQUIRE((parse_cpu_stats(builder.message(), stats) == Parsed::kOk));
    BOOST_TEST(stats.cpu == 513U);
    BOOST_TEST(stats.value("insert_failed") == 42U);
    BOOST_TEST(stats.value("clash_resolve") == 4'000'000'000U);
    BOOST_TEST(stats.value("counter_40") == 1U);
}

BOOST_AUTO_TEST_CASE(unknown_attributes_are_passed_over) {
    MessageBuilder builder;
    builder.bytes(300, "from a newer kernel").tuples(kOriginal, kReply).nested(77, [&] {
        builder.be32(1, 2);
    });
    BOOST_TEST((parsed(builder) == parsed(MessageBuilder().tuples(kOriginal, kReply))));
}

BOOST_AUTO_TEST_CASE(an_entry_without_both_tuples_is_unreadable) {
    BOOST_TEST((parse(MessageBuilder()) == Parsed::kUnreadable));
    BOOST_TEST((parse(MessageBuilder().tuple(CTA_TUPLE_ORIG, kOriginal)) == Parsed::kUnreadable));
    MessageBuilder empty;
    empty.tuple(CTA_TUPLE_ORIG, kOriginal).nested(CTA_TUPLE_REPLY, [] {});
    BOOST_TEST((parse(empty) == Parsed::kUnreadable));
}

BOOST_AUTO_TEST_CASE(short_attributes_are_not_read_beyond_their_end) {
    MessageBuilder builder;
    builder.tuples(kOriginal, kReply)
        .bytes(CTA_STATUS, "\xff\xff\xff")
        .bytes(CTA_ZONE, "\xff")
        .bytes(CTA_MARK, "")
        .nested(CTA_HELP, [&] { builder.bytes(CTA_HELP_NAME, "no end"); });
    const Entry entry = parsed(builder);
    BOOST_TEST(entry.status == 0U);
    BOOST_TEST(entry.zone == 0U);
    BOOST_TEST(entry.helper == "no end");
    MessageBuilder address;
    address.nested(CTA_TUPLE_ORIG, [&] {
        address.nested(CTA_TUPLE_IP, [&] { address.bytes(CTA_IP_V6_SRC, "short"); });
    });
    address.tuple(CTA_TUPLE_REPLY, kReply);
    Entry cut;
    parse_entry(address.message(), cut);
    BOOST_TEST((cut.original.source.address == frame::IpAddress{}));
}

BOOST_AUTO_TEST_CASE(the_last_of_two_addresses_leaves_nothing_of_the_first) {
    const Tuple other = make_tuple("[2001:db8::1]:1", "[2001:db8::2]:2");
    MessageBuilder builder;
    builder.nested(CTA_TUPLE_ORIG,
                   [&] { builder.addresses(other).addresses(kOriginal).ports(kOriginal); });
    builder.tuple(CTA_TUPLE_REPLY, kReply);
    BOOST_TEST((parsed(builder).original == kOriginal));
}

BOOST_AUTO_TEST_CASE(absurd_lengths_end_the_walk) {
    for (const std::uint16_t length : std::initializer_list<std::uint16_t>{0, 1, 3, 4096, 65535}) {
        MessageBuilder builder;
        builder.tuples(kOriginal, kReply).be32(CTA_STATUS, 0xffffffff);
        auto* status_attribute = reinterpret_cast<nlattr*>(
            reinterpret_cast<char*>(&builder.message()) + builder.message().nlmsg_len - 8);
        BOOST_REQUIRE(mnl_attr_get_type(status_attribute) == CTA_STATUS);
        status_attribute->nla_len = length;
        BOOST_TEST(parsed(builder).status == 0U);
    }
    MessageBuilder nested;
    nested.tuples(kOriginal, kReply);
    auto* first =
        static_cast<nlattr*>(mnl_nlmsg_get_payload_offset(&nested.message(), sizeof(nfgenmsg)));
    auto* inner = static_cast<nlattr*>(mnl_attr_get_payload(first));
    inner->nla_len = 60'000;
    BOOST_TEST((parse(nested) == Parsed::kUnreadable));
}

BOOST_AUTO_TEST_CASE(a_datagram_counts_messages_that_cannot_be_read) {
    const MessageBuilder whole = full_message();
    const MessageBuilder bare;
    std::vector<std::byte> datagram(whole.datagram().begin(), whole.datagram().end());
    datagram.insert(datagram.end(), bare.datagram().begin(), bare.datagram().end());
    const MessageCounts counts = parse_datagram(datagram);
    BOOST_TEST(counts.messages == 2U);
    BOOST_TEST(counts.unreadable == 1U);
}

BOOST_AUTO_TEST_CASE(a_message_longer_than_its_datagram_is_none) {
    for (const std::uint32_t length : {0U, 15U, 100'000U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
        MessageBuilder builder = full_message();
        const std::size_t size = builder.datagram().size();
        builder.message().nlmsg_len = length;
        BOOST_TEST(parse_datagram({reinterpret_cast<const std::byte*>(&builder.message()), size})
                       .messages == 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_message_cut_anywhere_is_read_no_further) {
    const MessageBuilder whole = full_message();
    for (std::size_t length = 0; length < whole.datagram().size(); ++length) {
        // A buffer of exactly this size, so that a checker of memory sees each byte too many.
        const auto cut = std::make_unique<std::byte[]>(length);
        std::copy_n(whole.datagram().begin(), length, cut.get());
        BOOST_TEST(parse_datagram({cut.get(), length}).messages == 0U);
        if (length >= sizeof(nlmsghdr)) {
            reinterpret_cast<nlmsghdr*>(cut.get())->nlmsg_len = static_cast<std::uint32_t>(length);
            BOOST_TEST(parse_datagram({cut.get(), length}).messages == 1U);
        }
    }
}

BOOST_AUTO_TEST_CASE(damaged_messages_do_no_harm) {
    std::mt19937 random(20251121);
    const MessageBuilder whole = full_message();
    const std::size_t size = whole.datagram().size();
    std::uint64_t readable = 0;
    for (int round = 0; round < 20'000; ++round) {
        const auto damaged = std::make_unique<std::byte[]>(size);
        std::copy_n(whole.datagram().begin(), size, damaged.get());
        for (int i = 0; i < 4; ++i) {
            damaged[16 + random() % (size - 16)] = static_cast<std::byte>(random());
        }
        const MessageCounts counts = parse_datagram({damaged.get(), size});
        BOOST_REQUIRE(counts.messages == 1U);
        readable += 1 - counts.unreadable;
    }
    BOOST_TEST(readable > 1'000U);
    BOOST_TEST(readable < 20'000U);
}
