// The overlay lab with an agent on every host and the tester as the wire between the nodes: one
// cell of the vxlan-checksum matrix is one `observe`.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/drops/tracer.h"
#include "harness/lab/overlay.h"
#include "harness/scenario/scenario.h"
#include "harness/scenario/vxlan/overlay_load.h"
#include "harness/scenario/vxlan/vxlan_conclusion.h"
#include "harness/tester/client.h"

namespace pathproof::scenario {

// Observations at one point: the values that are judged, and their sources as evidence.
struct OverlayObservation {
    OverlayFacts facts;
    agent::CounterSet node_a, node_b, pod_a, pod_b;  // deltas
    std::vector<netfilter::Entry> nat_entries;  // of both nodes, those deleted meanwhile included
    std::string capture;  // evidence path of the wrong frames, empty when there were none
};

class OverlayBench {
  public:
    // The wire's ports: packet sockets tell which checksums were left to the NIC, AF_XDP
    // carries several times as much.
    enum class Carrier { kTelling, kFast };
    static Result<std::unique_ptr<OverlayBench>> build(Context& context,
                                                       Carrier carrier = Carrier::kTelling);

    // Makes the tunnel anew and sets the toggles of `point`.
    // `super_frames`: whether pods hand such (TSO, GSO) to their device; nothing: as their device has it.
    Status set(const OverlayPoint& point, std::optional<bool> super_frames = std::nullopt);
    // Sets what differs from the point that is set, with the same tunnel.
    Status change(const OverlayPoint& point);
    // Sends the four probes between the pods at once, over the wire of a point that is set. `id`:
    // of the cell.
    Result<OverlayObservation> observe(const OverlayPoint& point, const std::string& id);
    // Sends from pod A to pod B as fast as it goes over the wire of a point that is set: datagrams with
    // so many bytes from 16 ports, for `lasting`; nothing: four TCP streams of `lasting` times 50 MB/s.
    Result<LoadPhase> load(const LoadPoint& what, std::optional<std::uint16_t> datagram_bytes,
                           std::chrono::milliseconds lasting,
                           std::vector<verdict::EvidenceFile>& evidence);
    // The speed of the port on node A's cable; 0: its driver does not say.
    std::uint32_t link_mbps() const { return tester_->ports().front().link_mbps; }
    // Returns whether that feature is on. An error: the two nodes differ.
    Result<bool> feature(const std::string& device, const std::string& feature);

    const lab::OverlayNames& names() const { return lab_->names(); }
    Status describe();

  private:
    explicit OverlayBench(Context& context) : context_(context) {}
    setting::Settings settings_of(const OverlayPoint& point) const;
    struct Reading {
        std::array<agent::CounterSet, 4> counters;                  // node A, node B, pod A, pod B
        std::array<std::vector<netfilter::CpuStats>, 2> conntrack;  // of the nodes
    };
    Result<Reading> read();
    std::array<agent::Client*, 4> hosts() const {
        return {node_a_.get(), node_b_.get(), pod_a_.get(), pod_b_.get()};
    }
    Status open_wire(Carrier carrier);
    Status send_load(std::optional<std::uint16_t> datagram_bytes, std::chrono::milliseconds lasting,
                     bool gso, LoadPhase& phase);
    Status take_drops(OverlayFacts& facts);
    Status take_flows(OverlayObservation& seen);

    Context& context_;
    std::unique_ptr<lab::Overlay> lab_;
    std::shared_ptr<agent::Client> node_a_, node_b_, pod_a_, pod_b_;
    std::unique_ptr<tester::Client> tester_;
};

}  // namespace pathproof::scenario
