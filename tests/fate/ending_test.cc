#include "harness/fate/ending.h"

#include <linux/netfilter/nf_conntrack_common.h>
#include <netinet/in.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <map>

#include "harness/fate/record_reader.h"

BOOST_AUTO_TEST_SUITE(ending)

using namespace pathproof;
using fate::Ending;

namespace {

// Functions are numbered from 1 on in the order in which a test names them.
struct Kernel {
    std::vector<std::string> functions;
    std::string reason = "NOT_SPECIFIED";

    std::uint64_t address(const std::string& function) {
        functions.push_back(function);
        return functions.size();
    }
    fate::Names names() const {
        return {.function =
                    [this](std::uint64_t address) {
                        return address - 1 < functions.size() ? functions[address - 1] : "";
                    },
                .reason = [this](std::uint32_t) { return reason; },
                .netns = [](std::uint32_t inode) { return inode == 1 ? "dut" : "elsewhere"; },
                .device = [](std::uint32_t,
                             std::uint32_t index) { return "d" + std::to_string(index); }};
    }
};

fate_record with_steps(const std::vector<fate_place>& places) {
    fate_record record{};
    record.netns = 1;
    record.first.family = 4;
    record.first.protocol = IPPROTO_UDP;
    for (const fate_place place : places) {
        fate_step& step = record.way[record.steps];
        step.place = static_cast<__u8>(place);
        step.device = record.steps++;
        step.netns = 1;
    }
    return record;
}

fate_record dropped(Kernel& kernel, const std::string& reason,
                    const std::vector<std::string>& stack, fate_record record) {
    kernel.reason = reason;
    record.end = FATE_FREED;
    std::size_t frame = 0;
    for (const std::string& function : stack) {
        record.stack[frame++] = kernel.address(function);
    }
    return record;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_reason_of_the_kernel_is_the_cause) {
    const std::pair<const char*, const char*> kReasons[] = {
        {"TC_INGRESS", "tc-ingress"},
        {"TC_EGRESS", "tc-egress"},
        {"XDP", "xdp"},
        {"NO_SOCKET", "no-socket"},
        {"SOCKET_RCVBUFF", "socket-full"},
        {"IP_RPFILTER", "rp-filter"},
        {"IP_INNOROUTES", "no-route"},
        {"NEIGH_FAILED", "neighbour"},
        {"PKT_TOO_BIG", "mtu"},
        {"QDISC_DROP", "qdisc"},
        {"TCP_ZEROWINDOW", "tcp-zerowindow"},
    };
    for (const auto& [reason, cause] : kReasons) {
        Kernel kernel;
        const auto end = fate::end_of(
            dropped(kernel, reason, {"sk_skb_reason_drop"}, with_steps({FATE_RECEIVED})),
            kernel.names());
        BOOST_TEST((end.ending == Ending::kDropped), reason);
        BOOST_TEST(end.cause == cause, reason);
        BOOST_TEST(end.reason == reason);
        BOOST_TEST(end.netns == "dut");
    }
}

namespace {

const std::vector<std::string> kForward = {"bpf_trace_run4", "sk_skb_reason_drop", "nf_hook_slow",
                                           "ip_forward", "ip_rcv"};

fate::End in_forward(std::uint8_t flags, const fate_counters& grown) {
    Kernel kernel;
    fate_record record =
        dropped(kernel, "NETFILTER_DROP", kForward, with_steps({FATE_QUEUED, FATE_RECEIVED}));
    record.flags = flags;
    record.grown = grown;
    return fate::end_of(record, kernel.names());
}

}  // namespace

// The four ways out of one hook are told apart by conntrack's counters of that CPU while it worked on
// this packet alone.
BOOST_AUTO_TEST_CASE(conntrack_and_rules_are_told_apart) {
    const auto end = in_forward(FATE_WAS_COUNTED, {});
    BOOST_TEST(end.cause == "rule");
    BOOST_TEST(end.hook == "forward");
    BOOST_TEST(in_forward(FATE_WAS_COUNTED, {.drop = 1, .insert_failed = 1}).cause ==
               "insert-failed");
    BOOST_TEST(in_forward(FATE_WAS_COUNTED, {.chaintoolong = 1}).cause == "insert-failed");
    BOOST_TEST(in_forward(FATE_WAS_COUNTED, {.drop = 1}).cause == "table-full");
    BOOST_TEST(in_forward(FATE_WAS_COUNTED | FATE_HAS_ENTRY, {.drop = 1}).cause == "conntrack");
}

BOOST_AUTO_TEST_CASE(what_was_not_counted_is_not_guessed) {
    BOOST_TEST(in_forward(0, {}).cause == "netfilter");
    BOOST_TEST(in_forward(FATE_HAS_ENTRY, {}).cause == "netfilter");
    // Conntrack drops no packet whose entry is in the table.
    BOOST_TEST(in_forward(FATE_HAS_ENTRY | FATE_IS_CONFIRMED, {}).cause == "rule");
    // Counted before it was handed on: other packets may have come between.
    Kernel kernel;
    fate_record queued =
        dropped(kernel, "NETFILTER_DROP", kForward, with_steps({FATE_RECEIVED, FATE_QUEUED}));
    queued.flags = FATE_WAS_COUNTED;
    queued.grown.insert_failed = 1;
    BOOST_TEST(fate::end_of(queued, kernel.names()).cause == "netfilter");
}

// Packets that are looked at only when they are dropped leave nothing to count from.
BOOST_AUTO_TEST_CASE(a_new_entry_that_is_dropped_behind_source_nat_was_not_inserted) {
    const auto cause = [](const char* caller, std::uint8_t flags, std::uint32_t status) {
        Kernel kernel;
        fate_record record =
            dropped(kernel, "NETFILTER_DROP",
                    {"bpf_trace_run4", "sk_skb_reason_drop", "nf_hook_slow", caller}, {});
        record.flags = flags;
        record.entry_status = status;
        return fate::end_of(record, kernel.names()).cause;
    };
    BOOST_TEST(cause("ip_output", FATE_HAS_ENTRY, IPS_SRC_NAT_DONE) == "insert-failed");
    BOOST_TEST(cause("ip_local_deliver", FATE_HAS_ENTRY, IPS_SRC_NAT_DONE) == "insert-failed");
    // A rule of an earlier priority.
    BOOST_TEST(cause("ip_output", FATE_HAS_ENTRY, IPS_DST_NAT_DONE) == "netfilter");
    BOOST_TEST(cause("ip_forward", FATE_HAS_ENTRY, IPS_SRC_NAT_DONE) == "netfilter");
    BOOST_TEST(cause("ip_output", 0, IPS_SRC_NAT_DONE) == "netfilter");
    BOOST_TEST(cause("ip_output", FATE_HAS_ENTRY | FATE_IS_CONFIRMED, IPS_SRC_NAT_DONE) == "rule");
}

BOOST_AUTO_TEST_CASE(nftables_frees_what_a_verdict_drops_itself) {
    Kernel kernel;
    const auto record = dropped(kernel, "NETFILTER_DROP",
                                {"sk_skb_reason_drop", "nft_do_chain", "nft_do_chain_ipv4",
                                 "nf_hook_slow", "ip_local_deliver"},
                                with_steps({FATE_RECEIVED}));
    const auto end = fate::end_of(record, kernel.names());
    BOOST_TEST(end.cause == "rule");
    BOOST_TEST(end.hook == "input");
    BOOST_TEST(end.text == "by a rule or a policy of nftables, in hook input");
}

BOOST_AUTO_TEST_CASE(a_packet_that_was_answered_in_a_hook_was_rejected) {
    Kernel kernel;
    fate_record record =
        dropped(kernel, "NETFILTER_DROP", kForward, with_steps({FATE_RECEIVED, FATE_ANSWERED}));
    record.way[1].value = 3 << 8 | 3;
    const auto end = fate::end_of(record, kernel.names());
    BOOST_TEST(end.cause == "reject");
    BOOST_TEST(end.text.find("ICMP type 3, code 3") != std::string::npos, end.text);
}

BOOST_AUTO_TEST_CASE(a_time_to_live_is_told_by_its_answer) {
    Kernel kernel;
    fate_record record = dropped(kernel, "IP_INHDR", {"sk_skb_reason_drop", "ip_forward"},
                                 with_steps({FATE_RECEIVED, FATE_ANSWERED}));
    record.way[1].value = 11 << 8;
    BOOST_TEST(fate::end_of(record, kernel.names()).cause == "ttl");
    record.way[1].value = 12 << 8;
    BOOST_TEST(fate::end_of(record, kernel.names()).cause == "ip-header");
    // ICMPv6 has no tracepoint.
    record = dropped(kernel, "IP_INHDR", {"sk_skb_reason_drop", "ip6_forward"},
                     with_steps({FATE_RECEIVED}));
    BOOST_TEST(fate::end_of(record, kernel.names()).cause == "ttl");
}

BOOST_AUTO_TEST_CASE(a_route_that_swallows_is_told_by_its_place) {
    Kernel kernel;
    for (const char* place : {"ip_error", "ip6_pkt_drop", "dst_discard"}) {
        const fate_record record = dropped(kernel, "NOT_SPECIFIED", {"kfree_skb_reason", place},
                                           with_steps({FATE_RECEIVED}));
        BOOST_TEST(fate::end_of(record, kernel.names()).cause == "no-route", place);
    }
}

BOOST_AUTO_TEST_CASE(what_is_consumed_is_named_by_who_has_it) {
    struct Use {
        fate_place last;
        std::uint8_t end;
        const char* function;
        Ending ending;
        const char* text;
    };
    const Use kUses[] = {
        {FATE_READ, FATE_CONSUMED, "skb_free_datagram", Ending::kDelivered, "to a process that"},
        {FATE_RECEIVED, FATE_CONSUMED, "udp_recvmsg", Ending::kDelivered, "to a process that"},
        {FATE_TCP, FATE_RELEASED, "kfree_skbmem", Ending::kDelivered, "to a TCP socket"},
        {FATE_RECEIVED, FATE_RELEASED, "tcp_rcv_state_process", Ending::kDelivered,
         "to a TCP socket"},
        {FATE_RECEIVED, FATE_CONSUMED, "icmp_rcv", Ending::kDelivered, "to the kernel (ICMP)"},
        {FATE_RECEIVED, FATE_CONSUMED, "skb_defer_free_flush", Ending::kDelivered,
         "to a process that"},
        {FATE_SENT, FATE_CONSUMED, "free_old_xmit_skbs", Ending::kSent, "by the device d0"},
        {FATE_QUEUED, FATE_CONSUMED, "ip_do_fragment", Ending::kCut, "into fragments"},
        {FATE_QUEUED, FATE_CONSUMED, "validate_xmit_skb", Ending::kCut, "into segments"},
        {FATE_RECEIVED, FATE_CONSUMED, "inet_frag_reasm_finish", Ending::kReassembled,
         "into a whole packet"},
        {FATE_RECEIVED, FATE_CONSUMED, "something_else", Ending::kConsumed, "by something"},
        {FATE_RECEIVED, FATE_STILL_HELD, "", Ending::kHeld, "on a queue"},
        {FATE_QUEUED, FATE_STILL_HELD, "", Ending::kHeld, "in a queueing discipline"},
        {FATE_SENT, FATE_STILL_HELD, "", Ending::kSent, "by the device d0"},
        {FATE_RECEIVED, FATE_MERGED, "", Ending::kMerged, "into the packet before it"},
        {FATE_RECEIVED, FATE_LOST, "", Ending::kUnseen, "its end was not seen"},
        {FATE_TCP, FATE_LOST, "", Ending::kDelivered, "to a TCP socket"},
    };
    for (const Use& use : kUses) {
        Kernel kernel;
        fate_record record = with_steps({use.last});
        record.end = use.end;
        if (*use.function != 0) {
            record.stack[0] = kernel.address(use.function);
        }
        const auto end = fate::end_of(record, kernel.names());
        BOOST_TEST((end.ending == use.ending), use.function << " " << name(end.ending));
        BOOST_TEST(end.text.starts_with(use.text), end.text);
        BOOST_TEST(end.cause.empty());
    }
    Kernel kernel;
    fate_record queued = with_steps({FATE_RECEIVED});
    queued.in_socket = FATE_IN_SOCKET;
    BOOST_TEST((fate::end_of(queued, kernel.names()).ending == Ending::kDelivered));
    queued.in_socket = FATE_WAS_READ;
    BOOST_TEST((fate::end_of(queued, kernel.names()).ending == Ending::kDelivered));
    queued.in_socket = FATE_NOT_IN_SOCKET;
    BOOST_TEST((fate::end_of(queued, kernel.names()).ending == Ending::kHeld));
}

BOOST_AUTO_TEST_CASE(a_segment_that_tcp_throws_away_on_purpose_is_no_loss) {
    for (const char* reason : {"TCP_RESET", "TCP_OLD_DATA", "TCP_OFOMERGE"}) {
        Kernel kernel;
        const auto end =
            fate::end_of(dropped(kernel, reason, {"sk_skb_reason_drop"}, with_steps({FATE_TCP})),
                         kernel.names());
        BOOST_TEST((end.ending == Ending::kDelivered), reason);
        BOOST_TEST(end.cause.empty());
    }
}

// Raw sockets have their copies by then.
BOOST_AUTO_TEST_CASE(an_echo_reply_that_no_ping_socket_takes_is_no_loss) {
    for (const char* function : {"ping_rcv", "icmp_rcv", "icmpv6_rcv"}) {
        Kernel kernel;
        const auto end = fate::end_of(dropped(kernel, "NO_SOCKET", {"sk_skb_reason_drop", function},
                                              with_steps({FATE_RECEIVED})),
                                      kernel.names());
        BOOST_TEST((end.ending == Ending::kDelivered), function);
    }
    Kernel kernel;
    const auto end =
        fate::end_of(dropped(kernel, "NO_SOCKET", {"sk_skb_reason_drop", "__udp4_lib_rcv"},
                             with_steps({FATE_RECEIVED})),
                     kernel.names());
    BOOST_TEST((end.ending == Ending::kDropped));
}

// A socket gives a packet's memory back without a tracepoint, and a device that is made takes and frees it.
BOOST_AUTO_TEST_CASE(memory_that_is_freed_again_is_no_loss_of_its_last_packet) {
    Kernel kernel;
    const auto read =
        fate::end_of(dropped(kernel, "NOT_SPECIFIED", {"sk_skb_reason_drop", "napi_free_frags"},
                             with_steps({FATE_RECEIVED, FATE_READ})),
                     kernel.names());
    BOOST_TEST((read.ending == Ending::kDelivered));
    const auto trial = fate::end_of(
        dropped(kernel, "NOT_SPECIFIED", {"kfree_skb_reason", "netif_napi_add_weight_locked"},
                with_steps({FATE_RECEIVED})),
        kernel.names());
    BOOST_TEST((trial.ending == Ending::kUnseen), name(trial.ending));
}

BOOST_AUTO_TEST_CASE(a_free_without_a_reason_is_told_by_its_place) {
    Kernel kernel;
    fate_record record = dropped(kernel, "NOT_SPECIFIED", {"kfree_skb_reason", "veth_xmit"},
                                 with_steps({FATE_QUEUED, FATE_SENT}));
    record.location = kernel.address("veth_xmit");
    auto end = fate::end_of(record, kernel.names());
    BOOST_TEST(end.cause == "device");
    BOOST_TEST(end.text == "by the device d1 in veth_xmit, without a reason");
    record.steps = 1;
    end = fate::end_of(record, kernel.names());
    BOOST_TEST(end.cause == "no-reason");
    BOOST_TEST(end.text == "without a reason in veth_xmit");
}

BOOST_AUTO_TEST_CASE(the_way_is_told_step_by_step) {
    Kernel kernel;
    const fate_record record =
        with_steps({FATE_QUEUED, FATE_SENT, FATE_BACKLOG, FATE_RECEIVED, FATE_GRO});
    const std::vector<std::string> way = {"queued for ? of dut", "given to d1 of dut",
                                          "put into a backlog by d2 of dut",
                                          "taken in from d3 of dut", "given to GRO by d4 of dut"};
    BOOST_TEST(fate::way_of(record, kernel.names()) == way, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_record_that_is_cut_short_is_none) {
    fate_record record = with_steps({FATE_RECEIVED, FATE_QUEUED});
    const auto bytes = [&](std::size_t count) {
        return fate::read_record(std::as_bytes(std::span(&record, 1)).first(count));
    };
    const std::size_t whole = offsetof(fate_record, way) + 2 * sizeof(fate_step);
    BOOST_TEST(bytes(whole).has_value());
    BOOST_TEST(!bytes(whole - 1));
    BOOST_TEST(!bytes(0));
    record.way[1].place = FATE_PLACES;
    BOOST_TEST(!bytes(whole));
    record.way[1].place = FATE_QUEUED;
    record.end = FATE_ENDS;
    BOOST_TEST(!bytes(whole));
    // More steps than are kept.
    record.end = FATE_FREED;
    record.steps = FATE_MOST_STEPS + 5;
    BOOST_TEST(!bytes(whole));
}

BOOST_AUTO_TEST_SUITE_END()
