// The story of one flow through the NAT path: its packets on the wires of both sides and the life of
// its conntrack entry, in one order of time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/agent/offload_frames.h"
#include "harness/lab/nat_path.h"
#include "harness/netfilter/entry.h"
#include "harness/scenario/nat_path_hosts.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

// Frames, entries and events seen while a record was taken. Frames are as the other end of their
// wire received them.
struct FlowRecord {
    std::vector<agent::CapturedFrame> client_wire;  // between the client and the DUT: before NAT
    std::vector<agent::CapturedFrame> server_wire;  // between the DUT and the server: after NAT
    std::vector<netfilter::Entry> before, after;    // of the DUT's conntrack, at start and end
    std::vector<netfilter::Event> events;           // between them
    std::int64_t began_ns = 0, ended_ns = 0;        // CLOCK_REALTIME
    std::uint64_t missing = 0;                      // frames and events that the listeners lost
};

// Takes a record with agents of its own, beside whatever else is watched on these hosts.
class FlowRecorder {
  public:
    // `entries`: those of the DUT that may be of the flow. Nothing is recorded unless `wanted`, nor of a guest.
    static Result<FlowRecorder> start(bool wanted, const NatPathHosts& hosts,
                                      const agent::ConntrackFilter& entries);
    // Returns nothing if no record was wanted.
    Result<std::optional<FlowRecord>> stop();

  private:
    // A listener on one device.
    using Listener = std::unique_ptr<agent::Client>;
    static Status listen(agent::Client& agent, const std::string& device);
    Listener client_, dut_client_side_, dut_server_side_, server_;
    agent::ConntrackFilter entries_;
    FlowRecord record_;
};

// A flow, by the client's side of it before NAT.
struct FlowOfClient {
    std::uint8_t protocol = 0;  // IPPROTO_TCP, IPPROTO_UDP
    frame::Endpoint client;
    std::int64_t from_ns = 0, until_ns = INT64_MAX;
    // Not 0: the flow is in a tunnel, goes to this port there, and the client's port outside is that
    // of its first packet.
    std::uint16_t port_in_tunnel = 0;
};

// A row for each packet and for each event of the entry; of many the first and the last. Nothing
// without a record, or where it has nothing of the flow.
std::optional<verdict::Proof> flow_timeline(const std::string& title,
                                            const std::optional<FlowRecord>& record,
                                            const FlowOfClient& flow);

}  // namespace pathproof::scenario
