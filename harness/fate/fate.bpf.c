// Follows packets of given flows through the kernel by their sk_buff. One record a packet lies in
// `followed` under the address of its sk_buff, each place that the packet comes by adds a step, and the
// record goes to user space when the packet ends. Only tracepoints are used: every kernel with BTF has
// them, kernels that refuse trampolines as well.
#include "harness/fate/kernel.h"
#include "harness/fate/record.h"
// Behind the types that libbpf's headers need.
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

extern int bpf_dynptr_from_skb(struct __sk_buff* skb, __u64 flags,
                               struct bpf_dynptr* pointer) __ksym __weak;

#define ETH_P_IP 0x0800
#define ETH_P_ARP 0x0806
#define ETH_P_IPV6 0x86dd
#define ETH_P_8021Q 0x8100
#define ICMP_PROTOCOL 1
#define TCP_PROTOCOL 6
#define UDP_PROTOCOL 17
#define ICMP6_PROTOCOL 58
#define SCTP_PROTOCOL 132
#define UDPLITE_PROTOCOL 136
#define VXLAN_PORT 4789
#define OLD_VXLAN_PORT 8472  // Linux's default and flannel's
#define CONFIRMED 8          // IPS_CONFIRMED
#define GRO_MERGED 0
#define GRO_MERGED_FREE 1
#define KERNEL_ADDRESS (1ull << 63)

const volatile __u32 filters = 0;
const volatile __u32 only_drops = 0;  // packets are looked at where they are dropped, and nowhere before
// bpf_dynptr_from_skb() is there for these programs (since Linux 6.12): what of a packet's headers lies in pages, as of
// frames that a packet socket sent from its ring, is read as well.
const volatile __u32 reads_pages = 0;
const volatile struct fate_filter filter[FATE_MOST_FILTERS] = {};
const volatile struct fate_record no_record = {};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, __u64);
    __type(value, struct fate_record);
} followed SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} ended SEC(".maps");

struct device_name {
    char name[FATE_DEVICE_BYTES];
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, struct fate_device);
    __type(value, struct device_name);
} devices SEC(".maps");

// IPv6 with a fragment header, UDP, VXLAN and Ethernet, and what is looked at inside.
#define HEAD_BYTES 192
#define HEAD_ROOM 256
#define HEADS 4  // programs that interrupt each other on one CPU

struct cpu_state {
    __u64 in_gro;   // the packet that GRO works on
    __u64 address;  // of this value itself
    __u64 map;      // and of the map that it is of
    __u64 heads;    // in use
    __u8 head[HEADS][HEAD_ROOM];
};
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cpu_state);
} cpus SEC(".maps");

// Later fragments have no ports: the first one stands for them.
struct fragment_key {
    __u8 source[16];
    __u8 destination[16];
    __u32 id;
    __u32 protocol;
};
struct fragment_owner {
    __u16 source_port, destination_port;
    __u8 flags;
    __u8 filter;
    __u8 pad[2];
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, struct fragment_key);
    __type(value, struct fragment_owner);
} fragments SEC(".maps");

struct fate_losses losses = {};
__u64 next_id = 0;

struct parsed {
    struct fate_tuple tuple;
    __u32 sequence, acknowledgement;
    __u32 fragment_id;
    __u16 ip_id;
    __u8 tcp_flags;
    __u8 flags;
    __u8 filter;
    __u8 is_fragment;        // one of several
    __u8 is_later_fragment;  // not the first
    __u8 is_around;          // the kernel has put it around another packet
    __u64 payload;
};

static __always_inline int read_bytes(void* to, __u32 bytes, const unsigned char* from,
                                      const unsigned char* end) {
    if (from + bytes > end) {
        return -1;
    }
    return bpf_probe_read_kernel(to, bytes, from);
}

// Reads addresses, protocol and fragment of an IP header. Gives the transport header's offset, or 0.
static __always_inline __u32 read_ip(const unsigned char* at, const unsigned char* end,
                                     struct parsed* packet) {
    __u8 first = 0;
    if (read_bytes(&first, 1, at, end) != 0) {
        return 0;
    }
    if (first >> 4 == 4) {
        __u8 header[20];
        if (read_bytes(header, sizeof header, at, end) != 0) {
            return 0;
        }
        packet->tuple.family = 4;
        packet->tuple.protocol = header[9];
        __builtin_memset(packet->tuple.source, 0, 16);
        __builtin_memset(packet->tuple.destination, 0, 16);
        __builtin_memcpy(packet->tuple.source, header + 12, 4);
        __builtin_memcpy(packet->tuple.destination, header + 16, 4);
        packet->ip_id = header[4] << 8 | header[5];
        packet->fragment_id = packet->ip_id;
        __u16 fragment = (header[6] & 0x1f) << 8 | header[7];
        packet->is_later_fragment = fragment != 0;
        packet->is_fragment = fragment != 0 || (header[6] & 0x20) != 0;
        return (header[0] & 0xf) * 4;
    }
    if (first >> 4 == 6) {
        __u8 header[40];
        if (read_bytes(header, sizeof header, at, end) != 0) {
            return 0;
        }
        packet->tuple.family = 6;
        __builtin_memcpy(packet->tuple.source, header + 8, 16);
        __builtin_memcpy(packet->tuple.destination, header + 24, 16);
        __u8 next = header[6];
        __u32 offset = 40;
        if (next == 0) {  // hop-by-hop options
            __u8 options[2];
            if (read_bytes(options, 2, at + offset, end) != 0) {
                return 0;
            }
            next = options[0];
            offset += 8 + (__u32)options[1] * 8;
        }
        if (next == 44) {  // fragment
            __u8 fragment[8];
            if (read_bytes(fragment, 8, at + offset, end) != 0) {
                return 0;
            }
            next = fragment[0];
            packet->is_fragment = 1;
            packet->is_later_fragment = (fragment[2] << 8 | (fragment[3] & 0xf8)) != 0;
            packet->fragment_id =
                (__u32)fragment[4] << 24 | fragment[5] << 16 | fragment[6] << 8 | fragment[7];
            offset += 8;
        }
        packet->tuple.protocol = next;
        return offset;
    }
    return 0;
}

static __always_inline void read_transport(const unsigned char* at, const unsigned char* end,
                                           struct parsed* packet) {
    packet->tuple.source_port = 0;
    packet->tuple.destination_port = 0;
    if (packet->is_later_fragment) {
        return;
    }
    if (packet->tuple.protocol != TCP_PROTOCOL && packet->tuple.protocol != UDP_PROTOCOL &&
        packet->tuple.protocol != SCTP_PROTOCOL && packet->tuple.protocol != UDPLITE_PROTOCOL) {
        return;
    }
    __u8 ports[8];
    if (read_bytes(ports, 8, at, end) != 0) {
        return;
    }
    packet->tuple.source_port = ports[0] << 8 | ports[1];
    packet->tuple.destination_port = ports[2] << 8 | ports[3];
    if (packet->tuple.protocol == UDP_PROTOCOL) {
        read_bytes(&packet->payload, 8, at + 8, end);
        return;
    }
    __u8 rest[10];
    if (packet->tuple.protocol != TCP_PROTOCOL || read_bytes(rest, 10, at + 4, end) != 0) {
        return;
    }
    packet->sequence = (__u32)rest[0] << 24 | rest[1] << 16 | rest[2] << 8 | rest[3];
    packet->acknowledgement = (__u32)rest[4] << 24 | rest[5] << 16 | rest[6] << 8 | rest[7];
    packet->tcp_flags = rest[9];
}

static __always_inline int same_address(const __u8* a, const volatile __u8* b) {
    const __u32* left = (const __u32*)a;
    const volatile __u32* right = (const volatile __u32*)b;
    return left[0] == right[0] && left[1] == right[1] && left[2] == right[2] && left[3] == right[3];
}

static __always_inline int matches(const struct fate_tuple* tuple,
                                   const volatile struct fate_filter* wanted, int reply) {
    const __u8* source = reply ? tuple->destination : tuple->source;
    const __u8* destination = reply ? tuple->source : tuple->destination;
    __u16 source_port = reply ? tuple->destination_port : tuple->source_port;
    __u16 destination_port = reply ? tuple->source_port : tuple->destination_port;
    if (wanted->flow.family != 0 && wanted->flow.family != tuple->family) {
        return 0;
    }
    if (wanted->flow.protocol != 0 && wanted->flow.protocol != tuple->protocol) {
        return 0;
    }
    if (wanted->flow.source_port != 0 && wanted->flow.source_port != source_port) {
        return 0;
    }
    if (wanted->flow.destination_port != 0 && wanted->flow.destination_port != destination_port) {
        return 0;
    }
    if (wanted->has_source && !same_address(source, wanted->flow.source)) {
        return 0;
    }
    return !wanted->has_destination || same_address(destination, wanted->flow.destination);
}

// 1: it is of a flow that is followed.
static __always_inline int find_filter(struct parsed* packet, const struct fate_tuple* tuple) {
    for (__u32 i = 0; i < FATE_MOST_FILTERS; ++i) {
        if (i >= filters) {
            break;
        }
        if (filter[i].tcp_flags != 0 && tuple->protocol == TCP_PROTOCOL &&
            (packet->tcp_flags & filter[i].tcp_flags) == 0) {
            continue;
        }
        if (matches(tuple, &filter[i], 0)) {
            packet->filter = i;
            return 1;
        }
        if (matches(tuple, &filter[i], 1)) {
            packet->filter = i;
            packet->flags |= FATE_IS_REPLY;
            return 1;
        }
    }
    return 0;
}

static __always_inline void fragment_key_of(const struct parsed* packet, struct fragment_key* key) {
    __builtin_memcpy(key->source, packet->tuple.source, 16);
    __builtin_memcpy(key->destination, packet->tuple.destination, 16);
    key->id = packet->fragment_id;
    key->protocol = packet->tuple.protocol;
}

// The functions that take addresses as numbers are not static: the kernel's verifier then looks at each of them once,
// and not once for each way that leads to it.
__noinline int is_wanted(struct parsed* packet, __u64 address, __u64 end_address) {
    if (!packet) {
        return 0;
    }
    const unsigned char* at = (const unsigned char*)address;
    const unsigned char* end = (const unsigned char*)end_address;
    __u32 offset = read_ip(at, end, packet);
    if (offset == 0) {
        return 0;
    }
    read_transport(at + offset, end, packet);
    if (packet->is_fragment) {
        struct fragment_key key = {};
        fragment_key_of(packet, &key);
        const struct fragment_owner* owner = bpf_map_lookup_elem(&fragments, &key);
        if (owner) {
            packet->flags |= owner->flags;
            packet->filter = owner->filter;
            packet->tuple.source_port = owner->source_port;
            packet->tuple.destination_port = owner->destination_port;
            return 1;
        }
    }
    if (find_filter(packet, &packet->tuple)) {
        if (packet->is_fragment && !packet->is_later_fragment) {
            struct fragment_key key = {};
            fragment_key_of(packet, &key);
            struct fragment_owner owner = {.source_port = packet->tuple.source_port,
                                           .destination_port = packet->tuple.destination_port,
                                           .flags = packet->flags,
                                           .filter = packet->filter};
            bpf_map_update_elem(&fragments, &key, &owner, BPF_ANY);
        }
        return 1;
    }
    return 0;
}

// An ICMP error quotes the packet that it is about.
__noinline int is_wanted_error(struct parsed* packet, __u64 address, __u64 end_address) {
    if (!packet) {
        return 0;
    }
    const unsigned char* at = (const unsigned char*)address;
    const unsigned char* end = (const unsigned char*)end_address;
    __u32 offset = read_ip(at, end, packet);
    if (offset == 0 || packet->is_later_fragment) {
        return 0;
    }
    __u8 type = 0;
    if (read_bytes(&type, 1, at + offset, end) != 0) {
        return 0;
    }
    if (packet->tuple.protocol == ICMP_PROTOCOL
            ? (type != 3 && type != 11 && type != 12 && type != 5)
            : type >= 128) {
        return 0;
    }
    struct parsed quoted = {};
    __u32 inner = read_ip(at + offset + 8, end, &quoted);
    if (inner == 0) {
        return 0;
    }
    read_transport(at + offset + 8 + inner, end, &quoted);
    if (!find_filter(packet, &quoted.tuple)) {
        return 0;
    }
    // It goes against the packet that it quotes.
    packet->flags ^= FATE_IS_REPLY;
    packet->flags |= FATE_IS_ERROR;
    return 1;
}

static __always_inline __u32 inode_of(struct net* net) {
    return net ? BPF_CORE_READ(net, ns.inum) : 0;
}

static __always_inline struct net* net_of(struct sk_buff* skb) {
    struct net_device* device = BPF_CORE_READ(skb, dev);
    // On a socket's queue these bytes are something else (dev_scratch).
    if ((__u64)device >= KERNEL_ADDRESS) {
        return BPF_CORE_READ(device, nd_net.net);
    }
    unsigned long route = BPF_CORE_READ(skb, _skb_refdst) & ~1ul;
    if (route) {
        device = BPF_CORE_READ((struct dst_entry*)route, dev);
        if (device) {
            return BPF_CORE_READ(device, nd_net.net);
        }
    }
    struct sock* sk = BPF_CORE_READ(skb, sk);
    return sk ? BPF_CORE_READ(sk, __sk_common.skc_net.net) : 0;
}

static __always_inline struct fate_record* find(const void* skb) {
    __u64 key = (__u64)skb;
    return bpf_map_lookup_elem(&followed, &key);
}

static __always_inline void remember_device(__u32 netns, const struct net_device* device) {
    struct fate_device key = {.netns = netns, .index = BPF_CORE_READ(device, ifindex)};
    if (bpf_map_lookup_elem(&devices, &key)) {
        return;
    }
    struct device_name name = {};
    BPF_CORE_READ_STR_INTO(&name.name, device, name);
    bpf_map_update_elem(&devices, &key, &name, BPF_ANY);
}

// Returns the offset of this CPU's copy of the kernel's per-CPU data, from the address of a map's value on
// this CPU and its address for all CPUs. 0: not known.
static __always_inline __u64 cpu_offset(void) {
    __u32 key = 0;
    volatile struct cpu_state* here = bpf_map_lookup_elem(&cpus, &key);
    if (!here) {
        return 0;
    }
    here->address = (__u64)here;
    here->map = (__u64)&cpus;
    struct bpf_array* map = (struct bpf_array*)here->map;
    return here->address - (__u64)BPF_CORE_READ(map, pptrs[0]);
}

// conntrack's counters on this CPU. 1: read.
static __always_inline int read_counters(struct net* net, struct fate_counters* counters) {
    if (!net) {
        return 0;
    }
    __u64 stat = (__u64)BPF_CORE_READ(net, ct.stat);
    __u64 offset = cpu_offset();
    if (!stat || !offset) {
        return 0;
    }
    struct ip_conntrack_stat* here = (struct ip_conntrack_stat*)(stat + offset);
    counters->drop = BPF_CORE_READ(here, drop);
    counters->insert_failed = BPF_CORE_READ(here, insert_failed);
    counters->clash_resolve = BPF_CORE_READ(here, clash_resolve);
    counters->chaintoolong = BPF_CORE_READ(here, chaintoolong);
    counters->invalid = BPF_CORE_READ(here, invalid);
    return 1;
}

static __always_inline void count(struct fate_record* record, struct net* net) {
    record->cpu = bpf_get_smp_processor_id();
    record->counted = read_counters(net, &record->before);
}

// Stores how far the counters grew since the last step. Returns 0 if they cannot be read or that
// step was on another CPU or in another namespace.
static __always_inline int count_growth(struct fate_record* record, struct net* net) {
    struct fate_counters now = {};
    if (!record->counted || record->cpu != bpf_get_smp_processor_id() ||
        record->netns != inode_of(net) || !read_counters(net, &now)) {
        return 0;
    }
    record->grown.drop = now.drop - record->before.drop;
    record->grown.insert_failed = now.insert_failed - record->before.insert_failed;
    record->grown.clash_resolve = now.clash_resolve - record->before.clash_resolve;
    record->grown.chaintoolong = now.chaintoolong - record->before.chaintoolong;
    record->grown.invalid = now.invalid - record->before.invalid;
    return 1;
}

static __always_inline void step(struct fate_record* record, __u8 place, __u16 value,
                                 const struct net_device* device, struct net* net) {
    __u32 at = record->steps;
    record->steps = at + 1;
    if (at >= FATE_MOST_STEPS) {
        at = FATE_MOST_STEPS - 1;
    }
    __u32 netns = net ? inode_of(net) : record->netns;
    struct fate_step* to = &record->way[at];
    to->place = place;
    to->value = value;
    to->device = 0;
    if (device) {
        to->device = BPF_CORE_READ(device, ifindex);
        remember_device(netns, device);
    }
    to->netns = netns;
    record->netns = netns;
}

static __always_inline const unsigned char* network_of(struct sk_buff* skb) {
    return BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, network_header);
}

// Reads the beginning of a packet, in pages or not, from that offset behind its data on. Gives how many bytes it read.
// In a frame of its own: nothing else may come to lie where the pointer into the packet is.
static __noinline __u32 read_head(struct sk_buff* skb, __u32 offset, __u8* head) {
    __u32 length = BPF_CORE_READ(skb, len);
    if (offset >= length) {
        return 0;
    }
    __u32 bytes = length - offset;
    if (bytes > HEAD_BYTES) {
        bytes = HEAD_BYTES;
    }
    barrier_var(bytes);  // or else the compiler takes out what shows the verifier the bound
    bytes &= HEAD_ROOM - 1;
    struct bpf_dynptr packet;
    if (bpf_dynptr_from_skb((struct __sk_buff*)skb, 0, &packet) != 0) {
        return 0;
    }
    return bpf_dynptr_read(head, bytes, &packet, offset, 0) == 0 ? bytes : 0;
}

// Bytes of a packet that can be read, from `at` to `end`: in the packet, or in a copy of its beginning.
struct head {
    const unsigned char* at;
    const unsigned char* end;
    volatile struct cpu_state* copied;  // null: it is no copy
};

static __always_inline void open_head(struct sk_buff* skb, const unsigned char* at,
                                      struct head* head) {
    const unsigned char* data = BPF_CORE_READ(skb, data);
    head->at = at;
    head->end = data + BPF_CORE_READ(skb, len) - BPF_CORE_READ(skb, data_len);
    head->copied = 0;
    if (!reads_pages || BPF_CORE_READ(skb, data_len) == 0 || at < data ||
        at + HEAD_BYTES <= head->end) {
        return;
    }
    __u32 key = 0;
    volatile struct cpu_state* here = bpf_map_lookup_elem(&cpus, &key);
    if (!here) {
        return;
    }
    here->address = (__u64)here;
    __u32 slot = __sync_fetch_and_add(&here->heads, 1) & (HEADS - 1);
    __u32 bytes = read_head(skb, (__u32)(at - data), (__u8*)here->head[slot]);
    // By its address, as what lies in the packet itself.
    head->at = (const unsigned char*)here->address + __builtin_offsetof(struct cpu_state, head) +
               slot * HEAD_ROOM;
    head->end = head->at + bytes;
    head->copied = here;
}

static __always_inline void close_head(const struct head* head) {
    if (head->copied) {
        __sync_fetch_and_add(&head->copied->heads, -1);
    }
}

__noinline int identify_at(struct parsed* packet, __u32 protocol, __u64 at, __u64 end) {
    if (!packet) {
        return 0;
    }
    if (protocol == ETH_P_8021Q) {
        at += 4;
    } else if (protocol != ETH_P_IP && protocol != ETH_P_IPV6) {
        return 0;
    }
    if (is_wanted(packet, at, end)) {
        return 1;
    }
    if (packet->tuple.protocol == ICMP_PROTOCOL || packet->tuple.protocol == ICMP6_PROTOCOL) {
        return is_wanted_error(packet, at, end);
    }
    if (packet->tuple.protocol != UDP_PROTOCOL || packet->is_later_fragment ||
        (packet->tuple.destination_port != VXLAN_PORT &&
         packet->tuple.destination_port != OLD_VXLAN_PORT)) {
        return 0;
    }
    // UDP, VXLAN, Ethernet.
    at += (packet->tuple.family == 4 ? 20 : 40) + 8 + 8 + 14;
    packet->is_fragment = 0;
    if (!is_wanted(packet, at, end)) {
        return 0;
    }
    packet->flags |= FATE_IS_TUNNELLED;
    return 1;
}

// Reads a packet whose network header is at `at`. 1: it is of a flow that is followed.
static __always_inline int identify(struct sk_buff* skb, const unsigned char* at,
                                    struct parsed* packet) {
    struct head head;
    open_head(skb, at, &head);
    int wanted = identify_at(packet, bpf_ntohs(BPF_CORE_READ(skb, protocol)), (__u64)head.at,
                             (__u64)head.end);
    close_head(&head);
    packet->is_around = BPF_CORE_READ_BITFIELD_PROBED(skb, encapsulation);
    return wanted;
}

// Returns whether it is the packet of the record, by what NAT and tunnels do not change.
static __always_inline int is_same(const struct fate_record* record, const struct parsed* packet) {
    if (packet->tuple.protocol != record->first.protocol ||
        packet->tuple.family != record->first.family) {
        // It may be inside of something that is not looked into: of UDP where the kernel has put that around
        // it, and never of these.
        if (packet->tuple.protocol == UDP_PROTOCOL) {
            return packet->is_around;
        }
        return packet->tuple.protocol != TCP_PROTOCOL && packet->tuple.protocol != SCTP_PROTOCOL &&
               packet->tuple.protocol != ICMP_PROTOCOL && packet->tuple.protocol != ICMP6_PROTOCOL;
    }
    if (packet->ip_id != record->ip_id) {
        return 0;
    }
    if (record->flags & FATE_IS_FRAGMENT) {
        return 1;  // the datagram that is joined lies in the memory of one of its fragments, whichever
    }
    if (record->first.protocol == TCP_PROTOCOL) {
        return packet->tcp_flags == record->tcp_flags;
    }
    return record->first.protocol != UDP_PROTOCOL || packet->payload == record->payload;
}

static __always_inline void finish(struct fate_record* record, const void* skb, __u8 end,
                                   __u64 location, __u32 reason) {
    record->end_ns = bpf_ktime_get_ns();
    record->end = end;
    record->location = location;
    record->reason = reason;
    __u32 steps = record->steps;
    if (steps > FATE_MOST_STEPS) {
        steps = FATE_MOST_STEPS;
    }
    __u32 bytes = __builtin_offsetof(struct fate_record, way) + steps * sizeof(struct fate_step);
    if (bytes > sizeof(struct fate_record)) {
        bytes = sizeof(struct fate_record);
    }
    if (bpf_ringbuf_output(&ended, record, bytes, 0) != 0) {
        __sync_fetch_and_add(&losses.ring_full, 1);
    }
    __u64 key = (__u64)skb;
    bpf_map_delete_elem(&followed, &key);
}

static __always_inline struct fate_record* begin(struct sk_buff* skb, const struct parsed* packet) {
    __u64 key = (__u64)skb;
    if (bpf_map_update_elem(&followed, &key, (void*)&no_record, BPF_ANY) != 0) {
        __sync_fetch_and_add(&losses.table_full, 1);
        return 0;
    }
    struct fate_record* record = bpf_map_lookup_elem(&followed, &key);
    if (!record) {
        return 0;
    }
    __sync_fetch_and_add(&losses.begun, 1);
    record->id = __sync_fetch_and_add(&next_id, 1) + 1;
    record->begin_ns = bpf_ktime_get_ns();
    record->flags = packet->flags;
    if (packet->is_fragment) {
        record->flags |= FATE_IS_FRAGMENT;
    }
    record->filter = packet->filter;
    record->first = packet->tuple;
    record->last = packet->tuple;
    record->sequence = packet->sequence;
    record->acknowledgement = packet->acknowledgement;
    record->tcp_flags = packet->tcp_flags;
    record->ip_id = packet->ip_id;
    record->payload = packet->payload;
    record->length = BPF_CORE_READ(skb, len);
    return record;
}

// The record of a packet that comes by a device: begun where it is of a flow that is followed.
static __always_inline struct fate_record* come_by(struct sk_buff* skb, const unsigned char* at) {
    if (only_drops) {
        return 0;
    }
    struct fate_record* record = find(skb);
    struct parsed packet = {};
    if (!record) {
        return identify(skb, at, &packet) ? begin(skb, &packet) : 0;
    }
    int wanted = identify(skb, at, &packet);
    __u32 last = record->steps - 1;
    int is_over = last < FATE_MOST_STEPS &&
                  (record->way[last].place == FATE_TCP || record->way[last].place == FATE_READ);
    if (is_over || (packet.tuple.family != 0 && !is_same(record, &packet))) {
        finish(record, skb, FATE_LOST, 0, 0);
        return wanted ? begin(skb, &packet) : 0;
    }
    if (packet.tuple.family != 0 && packet.tuple.protocol == record->first.protocol &&
        packet.tuple.family == record->first.family && !packet.is_later_fragment) {
        record->last = packet.tuple;
    }
    return record;
}

static __always_inline int pass(struct sk_buff* skb, const unsigned char* at, __u8 place) {
    struct fate_record* record = come_by(skb, at);
    if (!record) {
        return 0;
    }
    struct net_device* device = BPF_CORE_READ(skb, dev);
    struct net* net = device ? BPF_CORE_READ(device, nd_net.net) : 0;
    if (count_growth(record, net) && record->grown.clash_resolve != 0) {
        record->flags |= FATE_WAS_RESOLVED;
    }
    step(record, place, 0, device, net);
    count(record, net);
    return 1;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(received, struct sk_buff* skb) {
    pass(skb, BPF_CORE_READ(skb, data), FATE_RECEIVED);
    return 0;
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(gro, struct sk_buff* skb) {
    __u32 key = 0;
    struct cpu_state* state = bpf_map_lookup_elem(&cpus, &key);
    int followed_now = pass(skb, BPF_CORE_READ(skb, data), FATE_GRO);
    if (state) {
        state->in_gro = followed_now ? (__u64)skb : 0;
    }
    return 0;
}

SEC("tp_btf/napi_gro_receive_exit")
int BPF_PROG(gro_done, int result) {
    __u32 key = 0;
    struct cpu_state* state = bpf_map_lookup_elem(&cpus, &key);
    if (!state || state->in_gro == 0) {
        return 0;
    }
    void* skb = (void*)state->in_gro;
    state->in_gro = 0;
    if (result == GRO_MERGED || result == GRO_MERGED_FREE) {
        struct fate_record* record = find(skb);
        if (record) {
            finish(record, skb, FATE_MERGED, 0, 0);
        }
    }
    return 0;
}

SEC("tp_btf/netif_rx")
int BPF_PROG(backlog, struct sk_buff* skb) {
    pass(skb, BPF_CORE_READ(skb, data), FATE_BACKLOG);
    return 0;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(queued, struct sk_buff* skb) {
    pass(skb, network_of(skb), FATE_QUEUED);
    return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(sent, struct sk_buff* skb, struct net_device* device) {
    pass(skb, network_of(skb), FATE_SENT);
    return 0;
}

static __always_inline int note(const void* skb, __u8 place, __u16 value) {
    struct fate_record* record = find(skb);
    if (record) {
        step(record, place, value, 0, 0);
    }
    return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp, struct sock* sk, struct sk_buff* skb) {
    return note(skb, FATE_TCP, 0);
}

SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(copied, struct sk_buff* skb, int bytes) {
    return note(skb, FATE_READ, 0);
}

SEC("tp_btf/icmp_send")
int BPF_PROG(answered, struct sk_buff* skb, int type, int code) {
    return note(skb, FATE_ANSWERED, (type & 0xff) << 8 | (code & 0xff));
}

SEC("tp_btf/tcp_send_reset")
int BPF_PROG(reset, struct sock* sk, struct sk_buff* skb) {
    return skb ? note(skb, FATE_RESET, 0) : 0;
}

// Reads the packet's addresses and ports once more: NAT may have changed them by its end.
__noinline int read_last(struct fate_record* record, __u64 address, __u64 end_address) {
    const unsigned char* at = (const unsigned char*)address;
    const unsigned char* end = (const unsigned char*)end_address;
    struct parsed packet = {};
    if (!record || (record->flags & (FATE_IS_ERROR | FATE_IS_TUNNELLED))) {
        return 0;
    }
    __u32 offset = read_ip(at, end, &packet);
    if (offset == 0 || packet.is_later_fragment ||
        packet.tuple.protocol != record->first.protocol ||
        packet.tuple.family != record->first.family || packet.ip_id != record->ip_id) {
        return 0;
    }
    read_transport(at + offset, end, &packet);
    record->last = packet.tuple;
    return 0;
}

static __always_inline void look_again(struct fate_record* record, struct sk_buff* skb) {
    __u16 protocol = bpf_ntohs(BPF_CORE_READ(skb, protocol));
    if (protocol == ETH_P_IP || protocol == ETH_P_IPV6) {
        // The headers stay where they are when the data moves on behind them.
        struct head head;
        open_head(skb, network_of(skb), &head);
        read_last(record, (__u64)head.at, (__u64)head.end);
        close_head(&head);
    }
}

// Notes whether a socket has the packet on its queue: UDP keeps its own bytes in the place of the device,
// other protocols make the socket the packet's owner. A packet that was read lies bare on a list of its
// CPU (skb_attempt_defer_free()) until that CPU takes in the next packets. Only fragments look the same.
static __always_inline void note_queue(struct fate_record* record, struct sk_buff* skb) {
    __u64 device = (__u64)BPF_CORE_READ(skb, dev);
    if ((device != 0 && device < KERNEL_ADDRESS) || BPF_CORE_READ(skb, sk) != 0) {
        record->in_socket = FATE_IN_SOCKET;
    } else if (device == 0 && BPF_CORE_READ(skb, _skb_refdst) == 0 &&
               BPF_CORE_READ(skb, _nfct) == 0 && !(record->flags & FATE_IS_FRAGMENT)) {
        record->in_socket = FATE_WAS_READ;
    }
}

static __always_inline int end_packet(void* context, struct sk_buff* skb,
                                      struct fate_record* record, __u8 end, __u64 location,
                                      __u32 reason) {
    bpf_get_stack(context, record->stack, sizeof record->stack, 0);
    struct net* net = net_of(skb);
    if (count_growth(record, net)) {
        record->flags |= FATE_WAS_COUNTED;
    }
    struct net_device* device = BPF_CORE_READ(skb, dev);
    if ((__u64)device >= KERNEL_ADDRESS) {
        BPF_CORE_READ_STR_INTO(&record->device, device, name);
    }
    __u32 inode = inode_of(net);
    if (inode) {
        record->netns = inode;
    }
    note_queue(record, skb);
    look_again(record, skb);
    unsigned long entry = BPF_CORE_READ(skb, _nfct) & ~7ul;
    if (entry) {
        record->flags |= FATE_HAS_ENTRY;
        record->entry_status = BPF_CORE_READ((struct nf_conn*)entry, status);
        if (record->entry_status & CONFIRMED) {
            record->flags |= FATE_IS_CONFIRMED;
        }
    }
    finish(record, skb, end, location, reason);
    return 0;
}

// The record of a packet that ends here. Memory is given back without a tracepoint, too (skb_attempt_defer_free()), and
// the next packet at its address has nothing to do with the record: the end of that one was not seen. `begins`: one that
// came by no device yet, as this host's own, gets its record here.
static __always_inline struct fate_record* ending(struct sk_buff* skb, int begins) {
    struct fate_record* record = find(skb);
    if (!record && !begins) {
        return 0;
    }
    struct parsed packet = {};
    int wanted = identify(skb, network_of(skb), &packet);
    int is_arp = BPF_CORE_READ(skb, protocol) == bpf_htons(ETH_P_ARP);
    if (record && (is_arp || (packet.tuple.family != 0 && !is_same(record, &packet)))) {
        finish(record, skb, FATE_LOST, 0, 0);
        record = 0;
    }
    return record || !begins || !wanted ? record : begin(skb, &packet);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(freed, struct sk_buff* skb, void* location, int reason) {
    struct fate_record* record = ending(skb, 1);
    return record ? end_packet(ctx, skb, record, FATE_FREED, (__u64)location, reason) : 0;
}

// Since Linux 6.4 the tracepoint says where, before that it does not: the loader takes one of the two.
SEC("tp_btf/consume_skb")
int BPF_PROG(consumed_at, struct sk_buff* skb, void* location) {
    struct fate_record* record = ending(skb, 0);
    return record ? end_packet(ctx, skb, record, FATE_CONSUMED, (__u64)location, 0) : 0;
}
SEC("tp_btf/consume_skb")
int BPF_PROG(consumed, struct sk_buff* skb) {
    struct fate_record* record = ending(skb, 0);
    return record ? end_packet(ctx, skb, record, FATE_CONSUMED, 0, 0) : 0;
}

// TCP gives packets back without either of these tracepoints.
static __always_inline int release(void* context, const void* skb) {
    struct fate_record* record = find(skb);
    if (record) {
        bpf_get_stack(context, record->stack, sizeof record->stack, 0);
        finish(record, skb, FATE_RELEASED, 0, 0);
    }
    return 0;
}
// Before Linux 6.13 the verifier refuses to typed programs what is a const void* of the tracepoint's.
SEC("raw_tp/kmem_cache_free")
int BPF_PROG(released, unsigned long site, const void* memory) {
    release(ctx, memory);
    // A clone lies behind the packet that it was made of (struct sk_buff_fclones).
    release(ctx, (const char*)memory + bpf_core_type_size(struct sk_buff));
    return 0;
}

// Run when the watch ends, for the packets that are in no end.
static long note_held(void* map, __u64* skb, struct fate_record* record, void* context) {
    note_queue(record, (struct sk_buff*)*skb);
    return 0;
}
SEC("syscall")
int look_at_held(void* context) {
    bpf_for_each_map_elem(&followed, note_held, 0, 0);
    return 0;
}
