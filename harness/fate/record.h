// The record of one packet as the programs in the kernel make it: the same bytes in fate.bpf.c (C, clang
// -target bpf) and in C++. Numbers are in host order, addresses as in the packet.
#ifndef PATHPROOF_HARNESS_FATE_RECORD_H
#define PATHPROOF_HARNESS_FATE_RECORD_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define FATE_MOST_STEPS 48
#define FATE_MOST_FILTERS 16
#define FATE_MOST_FRAMES 12
#define FATE_DEVICE_BYTES 16

// An IPv4 address is the first four bytes. A port is 0 where the packet has none.
struct fate_tuple {
    __u8 source[16];
    __u8 destination[16];
    __u16 source_port;
    __u16 destination_port;
    __u8 family;  // 4 or 6; 0: no IP
    __u8 protocol;
    __u16 pad;
};

// A flow, of which both directions are followed. Ports, family and protocol are not compared where they
// are 0.
struct fate_filter {
    struct fate_tuple flow;
    __u8 has_source;
    __u8 has_destination;
    __u8 tcp_flags;  // of TCP packets only those with one of these; 0: all
    __u8 pad;
};

enum fate_place {
    FATE_RECEIVED = 1,  // netif_receive_skb: taken in from a device
    FATE_GRO,           // napi_gro_receive_entry: taken in before GRO
    FATE_BACKLOG,       // netif_rx: put into a CPU's backlog
    FATE_QUEUED,        // net_dev_queue: on its way to a device's qdisc
    FATE_SENT,          // net_dev_start_xmit: given to the device
    FATE_TCP,           // tcp_probe: an established TCP socket has it
    FATE_READ,          // skb_copy_datagram_iovec: a process has read it
    FATE_ANSWERED,      // icmp_send: an ICMP error was made for it; value: type << 8 | code
    FATE_RESET,         // tcp_send_reset: TCP answered it with a RST
    FATE_PLACES
};

enum fate_end {
    FATE_STILL_HELD = 0,
    FATE_FREED,     // kfree_skb, with a reason
    FATE_CONSUMED,  // consume_skb
    FATE_RELEASED,  // neither, but its memory was given back
    FATE_MERGED,    // GRO took it into another packet
    FATE_LOST,      // its sk_buff was another packet's when it was next seen
    FATE_ENDS
};

enum fate_flags {
    FATE_IS_REPLY = 1,        // against the filter's direction
    FATE_IS_ERROR = 2,        // an ICMP error that quotes the flow
    FATE_IS_TUNNELLED = 4,    // first seen inside of a VXLAN packet
    FATE_IS_FRAGMENT = 8,     // first seen as a fragment
    FATE_HAS_ENTRY = 16,      // a conntrack entry was with it at its end
    FATE_IS_CONFIRMED = 32,   // and that entry was in the table
    FATE_WAS_COUNTED = 64,    // conntrack's counters could be read around its end
    FATE_WAS_RESOLVED = 128,  // conntrack resolved a clash of it
};

// Growth of conntrack's counters of one CPU while this packet alone was worked on there.
struct fate_counters {
    __u32 drop;
    __u32 insert_failed;
    __u32 clash_resolve;
    __u32 chaintoolong;
    __u32 invalid;
};

struct fate_step {
    __u8 place;
    __u8 pad;
    __u16 value;
    __u32 device;  // its index; 0: none
    __u32 netns;   // inode; 0: unknown
};

enum fate_in_socket {
    FATE_NOT_IN_SOCKET = 0,
    FATE_IN_SOCKET = 1,  // on a socket's queue, or owned by one
    FATE_WAS_READ = 2,   // without device, route, socket and entry: read, and not given back yet
};

struct fate_record {
    __u64 id;
    __u64 begin_ns, end_ns;  // CLOCK_MONOTONIC
    struct fate_tuple first, last;
    __u64 location;                 // code address that ended it
    __u64 stack[FATE_MOST_FRAMES];  // of the kernel when it ended; 0: no more
    struct fate_counters before;    // when its last step was taken
    struct fate_counters grown;     // from there to its end
    __u32 cpu;                      // of its last step
    __u32 reason;                   // enum skb_drop_reason
    __u32 length;
    __u32 netns;  // where it ended
    __u32 sequence, acknowledgement;
    __u32 entry_status;
    __u16 ip_id;
    __u16 steps;  // all; those beyond FATE_MOST_STEPS overwrite the last
    __u16 filter;
    __u8 end;
    __u8 flags;
    __u8 tcp_flags;
    __u8 counted;    // `before` was read
    __u8 in_socket;  // a fate_in_socket
    __u8 pad;
    __u64 payload;  // the first eight bytes of UDP's, as they lie there
    char device[FATE_DEVICE_BYTES];
    struct fate_step way[FATE_MOST_STEPS];
};

struct fate_device {
    __u32 netns;
    __u32 index;
};

struct fate_losses {
    __u64 ring_full;   // records for which the ring had no room
    __u64 table_full;  // packets for which the table of followed ones had no room
    __u64 begun;
};

#endif
