#include "harness/drops/packet_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_ether.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/drops/bpf_code.h"
#include "harness/drops/raw_value.h"

namespace pathproof::drops {
namespace {

// Record that the program writes and we read.
struct Output {
    std::uint64_t location;
    std::uint32_t reason;
    std::uint32_t netns_inode;  // 0: not told
    std::uint32_t conntrack_status;
    std::uint16_t ethertype;
    std::uint8_t ip_protocol;
    std::uint8_t told;  // kTold* bits
};
static_assert(sizeof(Output) == 24, "no padding: the program has to write each byte");
constexpr std::uint8_t kToldProtocol = 1;
constexpr std::uint8_t kToldEntry = 2;
constexpr std::uint8_t kLookedForEntry = 4;

// The program's stack, below the frame pointer: the output, then eight bytes that are read into.
constexpr std::int16_t kOutputAt = -static_cast<std::int16_t>(sizeof(Output));
constexpr std::int16_t kScratchAt = kOutputAt - 8;

constexpr std::int16_t output_at(std::size_t member) {
    return static_cast<std::int16_t>(kOutputAt + static_cast<std::int16_t>(member));
}

// Namespaces have inode numbers from here on: the fixed ones of the first namespaces lie just below
// PROC_DYNAMIC_FIRST (include/linux/proc_ns.h, fs/proc/generic.c). Lower numbers mean that
// something else was in the place of a device: sockets and queues reuse sk_buff.dev.
constexpr std::uint32_t kLowestInode = 0xefffff00;

constexpr std::int32_t kRoutePointer = ~1;    // SKB_DST_PTRMASK
constexpr std::int32_t kEntryPointer = ~7;    // NFCT_PTRMASK
constexpr std::int32_t kIp4ProtocolAt = 9;    // RFC 791 3.1
constexpr std::int32_t kIp6NextHeaderAt = 6;  // RFC 8200 3

// Register use: the context, the packet, a pointer that is followed, and a number.
constexpr Register kContext = Register::r6;
constexpr Register kPacket = Register::r7;
constexpr Register kPointer = Register::r8;
constexpr Register kNumber = Register::r9;

class Writer {
  public:
    Writer(const DropEvent& event, const KernelLayout& layout) : event_(event), layout_(layout) {}

    std::vector<bpf_insn> write(std::optional<std::uint32_t> wanted_inode, int rings) {
        begin();
        find_inode();
        if (wanted_inode) {
            keep_only(*wanted_inode);
        }
        if (layout_.conntrack) {
            read_entry(*layout_.conntrack);
        }
        read_ip_protocol();
        hand_over(rings);
        code_.place(end_);
        // 1: others who listen to this tracepoint get the event as well (trace_call_bpf).
        code_.arithmetic(BPF_MOV, Register::r0, 1);
        code_.exit();
        return code_.finish();
    }

  private:
    void begin() {
        code_.arithmetic(BPF_MOV, kContext, Register::r1);
        load_from_event(Width::k8, kPacket, event_.packet_offset);
        copy_from_event(Width::k8, event_.location_offset, offsetof(Output, location));
        copy_from_event(Width::k4, event_.reason_offset, offsetof(Output, reason));
        copy_from_event(Width::k2, event_.protocol_offset, offsetof(Output, ethertype));
        code_.store(Width::k4, Register::frame, output_at(offsetof(Output, conntrack_status)), 0);
        code_.store(Width::k1, Register::frame, output_at(offsetof(Output, ip_protocol)), 0);
        code_.store(Width::k1, Register::frame, output_at(offsetof(Output, told)), 0);
    }

    void load_from_event(Width width, Register target, std::size_t offset) {
        code_.load(width, target, kContext, static_cast<std::int16_t>(offset));
    }

    void copy_from_event(Width width, std::size_t offset, std::size_t member) {
        load_from_event(width, Register::r0, offset);
        code_.store(width, Register::frame, output_at(member), Register::r0);
    }

    // target = *(base + offset) of kernel memory; zero where nothing can be read.
    void read(Width width, int bytes, Register target, Register base, std::int32_t offset) {
        code_.arithmetic(BPF_MOV, Register::r1, Register::frame);
        code_.arithmetic(BPF_ADD, Register::r1, kScratchAt);
        code_.arithmetic(BPF_MOV, Register::r2, bytes);
        code_.arithmetic(BPF_MOV, Register::r3, base);
        code_.arithmetic(BPF_ADD, Register::r3, offset);
        code_.call(BPF_FUNC_probe_read_kernel);
        code_.load(width, target, Register::frame, kScratchAt);
    }

    void follow(Register base, std::int32_t offset, BpfCode::Label if_null) {
        read(Width::k8, 8, kPointer, base, offset);
        code_.jump_if(kPointer, BPF_JEQ, 0, if_null);
    }

    // The pointer is a struct net: its inode goes to the number, and on to `found` when it is one.
    void read_inode(BpfCode::Label found) {
        read(Width::k4, 4, kNumber, kPointer, layout_.net_inode);
        code_.jump_if32(kNumber, BPF_JGE, kLowestInode, found);
    }

    // The device comes first: a packet that went to another namespace has that one's device, and
    // may still have the socket that sent it (skb_scrub_packet).
    void find_inode() {
        const auto found = code_.label();
        const auto by_socket = code_.label();
        const auto by_route = code_.label();
        const auto nowhere = code_.label();
        follow(kPacket, layout_.skb_device, by_socket);
        follow(kPointer, layout_.device_net, by_socket);
        read_inode(found);
        code_.place(by_socket);
        follow(kPacket, layout_.skb_socket, by_route);
        follow(kPointer, layout_.socket_net, by_route);
        read_inode(found);
        code_.place(by_route);
        read(Width::k8, 8, kPointer, kPacket, layout_.skb_route);
        code_.arithmetic(BPF_AND, kPointer, kRoutePointer);
        code_.jump_if(kPointer, BPF_JEQ, 0, nowhere);
        follow(kPointer, layout_.route_device, nowhere);
        follow(kPointer, layout_.device_net, nowhere);
        read_inode(found);
        code_.place(nowhere);
        code_.arithmetic(BPF_MOV, kNumber, 0);
        code_.place(found);
        code_.store(Width::k4, Register::frame, output_at(offsetof(Output, netns_inode)), kNumber);
    }

    void keep_only(std::uint32_t wanted) {
        const auto keep = code_.label();
        code_.jump_if32(kNumber, BPF_JEQ, 0, keep);
        code_.jump_if32(kNumber, BPF_JNE, wanted, end_);
        code_.place(keep);
    }

    void read_entry(const KernelLayout::Conntrack& conntrack) {
        const auto none = code_.label();
        code_.store(Width::k1, Register::frame, output_at(offsetof(Output, told)), kLookedForEntry);
        read(Width::k8, 8, kPointer, kPacket, conntrack.skb_entry);
        code_.arithmetic(BPF_AND, kPointer, kEntryPointer);
        code_.jump_if(kPointer, BPF_JEQ, 0, none);
        // An unsigned long whose bits all lie in its lower half.
        read(Width::k8, 8, kNumber, kPointer, conntrack.entry_status);
        code_.store(Width::k4, Register::frame, output_at(offsetof(Output, conntrack_status)),
                    kNumber);
        code_.store(Width::k1, Register::frame, output_at(offsetof(Output, told)),
                    kLookedForEntry | kToldEntry);
        code_.place(none);
    }

    void read_ip_protocol() {
        const auto ip6 = code_.label();
        const auto store = code_.label();
        const auto none = code_.label();
        follow(kPacket, layout_.skb_head, none);
        read(Width::k2, 2, kNumber, kPacket, layout_.skb_network_header);
        code_.arithmetic(BPF_ADD, kPointer, kNumber);
        code_.load(Width::k2, kNumber, Register::frame, output_at(offsetof(Output, ethertype)));
        code_.jump_if(kNumber, BPF_JEQ, ETH_P_IPV6, ip6);
        code_.jump_if(kNumber, BPF_JNE, ETH_P_IP, none);
        read(Width::k1, 1, kNumber, kPointer, kIp4ProtocolAt);
        code_.jump(store);
        code_.place(ip6);
        read(Width::k1, 1, kNumber, kPointer, kIp6NextHeaderAt);
        code_.place(store);
        code_.store(Width::k1, Register::frame, output_at(offsetof(Output, ip_protocol)), kNumber);
        code_.load(Width::k1, kNumber, Register::frame, output_at(offsetof(Output, told)));
        code_.arithmetic(BPF_ADD, kNumber, kToldProtocol);
        code_.store(Width::k1, Register::frame, output_at(offsetof(Output, told)), kNumber);
        code_.place(none);
    }

    void hand_over(int rings) {
        code_.arithmetic(BPF_MOV, Register::r1, kContext);
        code_.load_map(Register::r2, rings);
        code_.move32(Register::r3, UINT32_MAX);  // BPF_F_CURRENT_CPU
        code_.arithmetic(BPF_MOV, Register::r4, Register::frame);
        code_.arithmetic(BPF_ADD, Register::r4, kOutputAt);
        code_.arithmetic(BPF_MOV, Register::r5, sizeof(Output));
        code_.call(BPF_FUNC_perf_event_output);
    }

    const DropEvent& event_;
    const KernelLayout& layout_;
    BpfCode code_;
    const BpfCode::Label end_ = code_.label();
};

Failure not_loaded(const char* what, int problem) {
    const bool refused = problem == EPERM || problem == EACCES;
    return fail(refused ? ErrorCode::kNotPermitted : ErrorCode::kKernelLacks, "{}: {}{}", what,
                std::strerror(problem), problem == EPERM ? "; CAP_BPF or root is needed" : "");
}

}  // namespace

std::optional<PacketFacts> read_tracepoint(std::span<const std::byte> raw, const DropEvent& event) {
    if (raw.size() < event.end) {
        return std::nullopt;
    }
    PacketFacts facts;
    facts.location = load<std::uint64_t>(raw, event.location_offset);
    facts.reason = load<std::uint32_t>(raw, event.reason_offset);
    facts.ethertype = load<std::uint16_t>(raw, event.protocol_offset);
    return facts;
}

std::optional<PacketFacts> read_program_output(std::span<const std::byte> raw) {
    if (raw.size() < sizeof(Output)) {
        return std::nullopt;
    }
    const auto output = load<Output>(raw, 0);
    PacketFacts facts;
    facts.location = output.location;
    facts.reason = output.reason;
    facts.ethertype = output.ethertype;
    if (output.told & kToldProtocol) {
        facts.ip_protocol = output.ip_protocol;
    }
    if (output.netns_inode != 0) {
        facts.netns_inode = output.netns_inode;
    }
    facts.looked_at = (output.told & kLookedForEntry) != 0;
    if (output.told & kToldEntry) {
        facts.conntrack_status = output.conntrack_status;
    }
    return facts;
}

Result<PacketProgram> PacketProgram::load(const DropEvent& event, const KernelLayout& layout,
                                          std::optional<std::uint32_t> netns_inode) {
    libbpf_set_print(nullptr);
    // The map has an entry for each possible CPU.
    const int cpus = libbpf_num_possible_cpus();
    Fd rings(bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "pathproof_rings", sizeof(int),
                            sizeof(int), static_cast<std::uint32_t>(cpus > 0 ? cpus : 1), nullptr));
    if (!rings) {
        return not_loaded("create a BPF map", errno);
    }
    PacketProgram loaded(std::move(rings));
    const std::vector<bpf_insn> code =
        Writer(event, layout).write(netns_inode, loaded.rings_.get());
    // bpf_probe_read_kernel() and bpf_perf_event_output() are for programs under the GPL, as this
    // one is.
    loaded.program_ = Fd(bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "pathproof_drops", "GPL",
                                       code.data(), code.size(), nullptr));
    if (!loaded.program_) {
        return not_loaded("load a BPF program", errno);
    }
    return loaded;
}

Status PacketProgram::send_to(int cpu, int ring_fd) {
    if (bpf_map_update_elem(rings_.get(), &cpu, &ring_fd, BPF_ANY) != 0) {
        return not_loaded("give a BPF map its ring", errno);
    }
    return {};
}

}  // namespace pathproof::drops
