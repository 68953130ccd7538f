// The overlay lab with an agent on every host and the tester as the wire between the nodes: one cell of the
// vxlan-checksum matrix is one `observe`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/join/checksums.h"
#include "harness/lab/veth_lab.h"
#include "harness/scenario/scenario.h"
#include "harness/tester/client.h"

namespace pathproof::scenario {

// What is set for one cell.
struct OverlayPoint {
    bool vxlan_tx = true;      // tx-checksum-ip-generic of the vxlan device, both nodes
    bool udp_checksum = true;  // vxlan udpcsum
    bool masquerade = true;    // outer SNAT with --random-fully
    bool underlay_tx = false;  // "tx" of the underlay device
    softnic::WireMode wire = softnic::WireMode::kHealthyNic;

    std::string id() const;
    std::vector<std::pair<std::string, std::string>> toggles() const;
};

// What was seen.
struct OverlayObservation {
    agent::ProbeResult ping;
    agent::ProbeResult dns_udp;
    agent::ProbeResult dns_tcp;
    agent::ProbeResult transfer;
    softnic::WireReport wire;
    agent::CounterSet node_a, node_b, pod_a, pod_b;  // deltas
    std::vector<netfilter::Entry> nat_entries;       // of both nodes
    join::ChecksumFindings checksums;
    std::string capture;  // evidence path of the wrong frames, empty when there were none

    bool probes_ok() const { return ping.ok && dns_udp.ok && dns_tcp.ok && transfer.ok; }
    std::uint64_t bad_frames() const;
    std::uint64_t bad_at(judge::Layer layer) const;
    std::uint64_t good_at(judge::Layer layer) const;
    // Sums of the receivers' own counters over both nodes or both pods.
    std::uint64_t node_errors(const std::string& counter) const;
    std::uint64_t pod_errors(const std::string& counter) const;
};

class OverlayBench {
  public:
    static Result<std::unique_ptr<OverlayBench>> build(Context& context);

    // Makes the tunnel anew and sets the toggles of `point`.
    Status set(const OverlayPoint& point);
    // Sends the four probes between the pods at once, over a wire of this mode.
    Result<OverlayObservation> observe(softnic::WireMode mode, const std::string& evidence_name);
    // One feature of one device on both nodes.
    Status set_feature(const std::string& device, const std::string& feature, bool on);
    // Whether that feature is on, on both nodes alike.
    Result<bool> feature(const std::string& device, const std::string& feature);

    const lab::OverlayNames& names() const { return lab_->names(); }
    Status describe(std::vector<verdict::FactGroup>& environment);

  private:
    explicit OverlayBench(Context& context) : context_(context) {}
    Result<std::array<agent::CounterSet, 4>> read_counters();

    Context& context_;
    std::unique_ptr<lab::Overlay> lab_;
    std::unique_ptr<agent::Client> node_a_, node_b_, pod_a_, pod_b_;
    std::unique_ptr<tester::Client> tester_;
};

}  // namespace pathproof::scenario
