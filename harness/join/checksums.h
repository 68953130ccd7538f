// Joins wrong checksums seen on the wire to their cause, packet by packet. Two causes are told
// apart: a partial checksum that nobody completed, and an outer checksum that is right for the
// source port before NAT (proven by conntrack's original tuple of the very flow).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/judge/checksum_names.h"
#include "dataplane/softnic/wire.h"
#include "harness/netfilter/entry.h"

namespace pathproof::join {

enum class ChecksumCause : std::uint8_t {
    kStalePort,    // right for the packet before NAT
    kLeftPartial,  // the pseudo-header sum that the sender left to its NIC
    kUnexplained,
};

// One wrong checksum beside what explains it.
struct ChecksumProof {
    ChecksumCause cause = ChecksumCause::kUnexplained;
    judge::Layer layer;
    std::string on_wire;  // "198.51.100.1:7103 > 198.51.100.2:4789"
    // Name of that flow before NAT, from conntrack; empty when there is no such entry.
    std::string original;
    std::string carries;  // "inner TCP"
    std::uint32_t wire = 0;
    std::uint32_t right = 0;
    std::uint32_t predicted = 0;  // by the named cause; meaningful unless kUnexplained
};

struct ChecksumFindings {
    std::uint64_t frames = 0;      // bad frames looked at
    std::uint64_t stale_port = 0;  // wrong checksums by cause
    std::uint64_t left_partial = 0;
    std::uint64_t unexplained = 0;
    std::vector<ChecksumProof> proofs;  // one each, in order
    // The name that one cause alone gives over at least three different values, for both causes.
    bool stale_port_named = false;
    bool left_partial_named = false;
};

// Frames of a wire that are right for the source port before NAT, by the conntrack entries of the hosts
// that sent them: every frame counts, kept or not.
std::uint64_t stale_port_frames(std::span<const softnic::WrongSource> wrong,
                                const std::vector<netfilter::Entry>& nat_entries);

// `nat_entries`: conntrack's entries of the hosts that sent the frames.
ChecksumFindings join_checksums(std::span<const softnic::WireFrame> bad_frames,
                                const std::vector<netfilter::Entry>& nat_entries,
                                std::span<const std::uint16_t> tunnel_ports);

}  // namespace pathproof::join
