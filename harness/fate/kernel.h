// The members of the kernel's structures that fate.bpf.c reads. libbpf finds their places in the running
// kernel's type information (CO-RE), so that only names and types count here.
#pragma once

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0 };

// bpf_dynptr_from_skb() and bpf_dynptr_read() work with it; its contents are theirs.
struct bpf_dynptr {
    __u64 opaque[2];
} __attribute__((aligned(8)));
// Name of a packet in BPF's own types.
struct __sk_buff {
    __u32 len;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
    unsigned int inum;
};
struct ip_conntrack_stat {
    unsigned int invalid;
    unsigned int insert_failed;
    unsigned int clash_resolve;
    unsigned int drop;
    unsigned int chaintoolong;
};
struct netns_ct {
    struct ip_conntrack_stat* stat;  // of each CPU
};
struct net {
    struct ns_common ns;
    struct netns_ct ct;
};
typedef struct {
    struct net* net;
} possible_net_t;
struct net_device {
    char name[16];
    int ifindex;
    possible_net_t nd_net;
};
struct sock_common {
    possible_net_t skc_net;
};
struct sock {
    struct sock_common __sk_common;
};
struct dst_entry {
    struct net_device* dev;
};
struct bpf_map {
    __u32 max_entries;
};
struct bpf_array {
    struct bpf_map map;
    void* pptrs[0];
};
struct nf_conn {
    unsigned long status;
};
struct sk_buff {
    struct net_device* dev;
    struct sock* sk;
    unsigned long _skb_refdst;
    unsigned long _nfct;
    unsigned int len;
    unsigned int data_len;
    __u8 encapsulation : 1;  // the kernel has put another packet around it
    __be16 protocol;
    __u16 network_header;
    unsigned char* head;
    unsigned char* data;
};

#pragma clang attribute pop
