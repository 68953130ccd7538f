// vxlan-checksum --load: pods send as fast as they can, and the wire judges every checksum of every
// frame. What a load cell measured as plain values, and what follows: needs no lab and no root.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/vxlan/vxlan_conclusion.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

// The settings of a load cell: a point of the overlay, and whether the pods hand super-frames on.
struct LoadPoint {
    std::string id;
    OverlayPoint point;
    bool gso = true;
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
};
// Returns these points, each with and without super-frames: no NAT, the suspect, the suspect with
// its cure; and no NAT with the cure, for its cost where nothing is broken.
std::vector<LoadPoint> load_points();

// One kind of traffic for some seconds, and the wire's account of it.
struct LoadPhase {
    std::string name;  // "udp-64": datagrams with so many bytes of data; "tcp"
    double seconds = 0;
    std::uint64_t frames = 0;  // judged, of both directions
    std::uint64_t bytes = 0;   // of them, without FCS
    std::uint64_t lost = 0;    // by the tester's own ports, and so not judged
    std::uint64_t not_carried = 0;
    std::uint64_t bad_frames = 0;
    std::uint64_t bad_outer_udp = 0;
    std::uint64_t stale_port = 0;  // of them, right for the port before NAT by conntrack's entries
    std::uint64_t translated = 0;  // flows of the tunnel that got another port
    std::uint64_t flows = 0;       // of the tunnel
    std::uint64_t datagrams_arrived = 0;
    unsigned streams = 0;           // of TCP
    unsigned streams_complete = 0;  // of them: all bytes came, with the right digest
    std::uint64_t stream_bytes = 0;
    double stream_seconds = 0;  // of the slowest
    std::string trouble;        // why the wire's account is none; empty: it is one

    double frames_per_second() const {
        return seconds > 0 ? static_cast<double>(frames) / seconds : 0;
    }
    // Returns the rate on a link, with preamble, FCS and gap (IEEE 802.3).
    double gbit_per_second() const;
    double goodput_gbit() const;  // of the streams
    std::uint64_t unexplained() const { return bad_frames - std::min(bad_frames, stale_port); }
};

struct LoadFacts {
    LoadPoint what;
    std::vector<LoadPhase> phases;
    std::uint32_t link_mbps = 0;  // 0: not known
    std::vector<verdict::EvidenceFile> evidence;
};

verdict::Cell judge_load(const LoadFacts& facts);

// Verdict, sentences, cells and chart from the cells that were measured.
void conclude_load(const std::vector<LoadFacts>& measured, const OverlayNaming& naming,
                   verdict::ScenarioResult& result);

struct Context;
Result<verdict::ScenarioResult> run_overlay_load(Context& context, unsigned seconds);

}  // namespace pathproof::scenario
