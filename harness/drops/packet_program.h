// A BPF program that looks at each dropped packet inside the kernel: the only place where its
// namespace, its IP protocol and its conntrack entry can still be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"
#include "harness/drops/event_format.h"
#include "harness/drops/kernel_layout.h"

namespace pathproof::drops {

// Facts about one dropped packet.
struct PacketFacts {
    std::uint64_t location = 0;
    std::uint32_t reason = 0;
    std::uint16_t ethertype = 0;
    std::optional<std::uint8_t> ip_protocol;
    // Inode of its namespace (stat(2) of the file below /proc/PID/ns). Nothing when the packet had
    // neither device nor socket nor route.
    std::optional<std::uint32_t> netns_inode;
    // The packet's conntrack entry was looked for; false where only the event is known.
    bool looked_at = false;
    // IPS_* bits (linux/netfilter/nf_conntrack_common.h); nothing when the packet had no entry.
    std::optional<std::uint32_t> conntrack_status;
    bool operator==(const PacketFacts&) const = default;
};

// Reads what the tracepoint recorded. Nothing for bytes that are too few.
std::optional<PacketFacts> read_tracepoint(std::span<const std::byte> raw, const DropEvent& event);

// Reads what the program handed over. Nothing for bytes that are too few.
std::optional<PacketFacts> read_program_output(std::span<const std::byte> raw);

class PacketProgram {
  public:
    // Loads the program. With an inode it hands over only packets of that namespace and those that
    // tell none. kNotPermitted without CAP_BPF and CAP_PERFMON.
    static Result<PacketProgram> load(const DropEvent& event, const KernelLayout& layout,
                                      std::optional<std::uint32_t> netns_inode);

    int fd() const { return program_.get(); }
    // Sends what the program finds on this CPU to a ring of kind kBpfOutput.
    Status send_to(int cpu, int ring_fd);

  private:
    explicit PacketProgram(Fd rings) : rings_(std::move(rings)) {}

    Fd program_;
    Fd rings_;  // the map from CPU to ring
};

}  // namespace pathproof::drops
