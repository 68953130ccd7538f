// A packet socket that sees the packets of one flow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "harness/monitor/flow_story.h"
#include "harness/monitor/packet_socket.h"

namespace pathproof::monitor {

class FlowTap {
  public:
    // Listens on every device of the namespace (empty: the caller's) from its return on, at the
    // cost of a socket filter for each packet. Needs CAP_NET_RAW there (kNotPermitted).
    static Result<FlowTap> start(const std::string& netns, const netfilter::Tuple& tuple);

    // Gives all that waits in the socket, without waiting for more.
    void drain(const std::function<void(const FlowPacket&)>& visit);

  private:
    FlowTap(const netfilter::Tuple& tuple, PacketSocket socket)
        : tuple_(tuple), socket_(std::move(socket)) {}

    netfilter::Tuple tuple_;
    PacketSocket socket_;
};

// Answers that come from the asked address to the asking end, but from another port than was asked
// (TFTP answers so): without a helper they belong to no entry.
struct Strays {
    std::uint64_t in = 0, out = 0;  // that came in, and that left this namespace
};

class StrayTap {
  public:
    // `reply`: the answers as conntrack expects them, of UDP.
    static Result<StrayTap> start(const std::string& netns, const netfilter::Tuple& reply);

    // Counts those that have passed since, by the port that they came from.
    void drain(std::map<std::uint16_t, Strays>& by_port);

  private:
    explicit StrayTap(PacketSocket socket) : socket_(std::move(socket)) {}

    PacketSocket socket_;
};

// The first packet that arrives or leaves and has what of the tuple is given: `any_source` and
// `any_port` say that its source's address and port do not count. Nothing: `stop` came first.
Result<std::optional<netfilter::Tuple>> next_flow(const std::string& netns,
                                                  const netfilter::Tuple& like, bool any_source,
                                                  bool any_port, const std::function<bool()>& stop);

// The namespace's devices that lie on each other.
Result<DeviceStack> device_stack(const std::string& netns);

}  // namespace pathproof::monitor
