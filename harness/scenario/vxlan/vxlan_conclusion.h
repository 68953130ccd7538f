// Values that vxlan-checksum measured, and the conclusions from them: needs no lab and no root.
// Every sentence names a mechanism, a place or a counter only if its value here is not zero.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/agent/probes.h"
#include "harness/join/checksums.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

// Settings of one cell.
struct OverlayPoint {
    bool vxlan_tx = true;      // tx-checksum-ip-generic of the vxlan device, both nodes
    bool udp_checksum = true;  // vxlan udpcsum
    bool masquerade = true;    // outer SNAT, which draws the port
    bool underlay_tx = false;  // "tx" of the underlay device
    softnic::WireMode wire = softnic::WireMode::kHealthyNic;

    std::string id() const;
    std::vector<std::pair<std::string, std::string>> toggles() const;
    bool operator==(const OverlayPoint&) const = default;
};

// The point at which the kernel's own arithmetic goes wrong; every control differs from it in one
// toggle.
inline constexpr OverlayPoint kSuspect{};

// The steps of the cure, at the point that fails.
inline constexpr const char* kFlagOff = "cure.flag-off";
inline constexpr const char* kFlagBack = "cure.flag-back-on";

// One cell: counts of the time that its probes took, of both directions and of both nodes or pods.
struct OverlayFacts {
    std::string id;
    OverlayPoint point;
    std::string objection;  // why the wire's account is none; empty: it is one
    agent::ProbeResult ping, dns_udp, dns_tcp, transfer;

    std::uint64_t frames = 0;       // came to the wire
    std::uint64_t not_carried = 0;  // lost by the wire's ports, or not taken by the far one
    std::uint64_t too_long = 0;     // of those: longer than the far port's MTU
    // Frames that came with a checksum that the sender left to its NIC.
    std::uint64_t handed_partial = 0;
    std::uint64_t completed = 0;  // checksums that the wire completed in such frames
    // Checksums that the wire completed in frames whose port could not tell their kind.
    std::uint64_t completed_by_value = 0;

    std::uint64_t bad_frames = 0;  // left the wire with a wrong checksum
    std::uint64_t bad_outer_udp = 0, bad_inner_udp = 0, bad_inner_tcp = 0, bad_inner_icmp = 0;
    std::uint64_t good_inner_icmp = 0;
    join::ChecksumFindings checksums;  // of the frames that were kept

    std::uint64_t tunnel_flows = 0;  // flows that the nodes' conntrack saw leave through the tunnel
    std::uint64_t translated = 0;    // of them: with another source port after NAT
    std::uint64_t deleted = 0;       // of their entries: deleted by somebody while the probes ran
    std::uint64_t table_full = 0;    // packets that conntrack dropped for want of an entry
    std::uint64_t links_down = 0;    // times that the link of an underlay device went down
    // Packets that a node could not send for their length (Ip.FragFails).
    std::uint64_t too_big = 0;
    std::uint32_t underlay_mtu = 0;
    // Bytes of the longest outer IP packet that the vxlan device makes.
    std::uint32_t tunnel_packet = 0;
    std::uint64_t node_udp_errors = 0;  // Udp.InCsumErrors
    std::uint64_t pod_tcp_errors = 0, pod_udp_errors = 0;
    std::map<std::string, std::uint64_t> drops;  // packets by the kernel's reason, nodes and pods
    std::string drops_unknown;                   // why the kernel did not tell them; empty: it did
    std::vector<verdict::EvidenceFile> evidence;

    bool probes_ok() const { return ping.ok && dns_udp.ok && dns_tcp.ok && transfer.ok; }
};

// The cell's verdict, cause and reason by itself; its role is that of its id and point.
verdict::Cell judge_overlay(const OverlayFacts& facts);

struct OverlayNaming {
    std::string vxlan = "vx", underlay = "eth0";  // devices
    bool flag_restored = true;                    // after the cure, read back
};

// Verdict, sentences, cells, controls and proofs of the scenario from the cells that were measured.
void conclude_vxlan_checksum(const std::vector<OverlayFacts>& measured, const OverlayNaming& naming,
                             verdict::ScenarioResult& result);

// Returns whether to try the cure: the kernel's own arithmetic is seen to fail at this point.
bool shows_stale_port(const OverlayFacts& facts);

struct Scenario;
Scenario vxlan_checksum_scenario();

}  // namespace pathproof::scenario
