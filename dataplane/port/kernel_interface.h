// The kernel's side of a port whose frames enter a network interface (af_packet, af_xdp, tap):
// whether it is still there, and what it dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"
#include "dataplane/port/port_request.h"

namespace pathproof::port {

struct InterfaceState {
    std::string name;
    unsigned flags = 0;  // IFF_UP, IFF_RUNNING, ...
    std::uint32_t mtu = 0;
    std::string kind;  // "veth", "vxlan", "dummy" (IFLA_INFO_KIND); empty: hardware, as a rule
    std::uint64_t tx_packets = 0;
    std::uint64_t rx_dropped = 0;
    std::uint64_t tx_dropped = 0;
};

// Asks by index over a netlink socket opened in the caller's network namespace, so that the answers
// stay those of that namespace whichever thread asks later.
class KernelInterface {
  public:
    static Result<KernelInterface> watch(unsigned index);

    // kNotFound when the interface no longer exists.
    Result<InterfaceState> state() const;

  private:
    KernelInterface(unsigned index, Fd socket);
    unsigned index_;
    Fd socket_;
    std::unique_ptr<std::mutex> asking_;
};

// An interface takes every frame for as long as this lives (PACKET_MR_PROMISC). The kernel counts
// who asks for it, whereas the flag that drivers set (IFF_PROMISC) is one for all, and stays behind
// when its process is killed.
class Promiscuous {
  public:
    // Switches the mode on for an interface of the caller's network namespace.
    static Result<Promiscuous> on(unsigned index);

  private:
    explicit Promiscuous(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};

// The packet sockets that net_af_packet holds open on an interface. The driver shows neither their
// drop counts nor a way to leave out frames that the kernel itself sends on the interface; the
// sockets are of this process, so they can be asked directly.
class PacketSockets {
  public:
    explicit PacketSockets(unsigned interface_index);

    std::size_t size() const { return sockets_.size(); }
    int first() const { return sockets_.front(); }
    // Lets frames of one way into the ring. Those that the kernel's own stack sends on this interface
    // (neighbour discovery, ...) a wire would carry to the far side as if they had come in.
    Status hear(PortHears which) const;
    // Has the kernel send what waits in the transmit rings for room in the sockets' send buffers.
    // True: nothing waited.
    bool push_out() const noexcept;
    // Forgets the drops so far.
    void start_counting();
    // Frames dropped since because the ring was full. Reading PACKET_STATISTICS resets it: the sum
    // is kept here.
    std::uint64_t dropped();

  private:
    std::vector<int> sockets_;  // owned by the driver
    std::mutex mutex_;
    std::uint64_t dropped_ = 0;
};

// The AF_XDP sockets that net_af_xdp opens for a port. Its driver counts what they dropped for want
// of a buffer, not what they dropped because the receive ring was full.
class XdpSockets {
  public:
    XdpSockets() = default;
    // Returns the sockets of this process that are open now and were not when `before` was made.
    static XdpSockets opened_since(const XdpSockets& before);
    static XdpSockets all();

    std::uint64_t dropped_at_full_ring() const;
    // Room for frames that were sent and are still under way behind the interface; 0: as it is.
    Status set_send_buffer(std::uint32_t bytes) const;

  private:
    std::vector<int> sockets_;  // owned by the driver
};

// The bytes of a frame that fit one slot of `framesz` bytes of a TPACKET_V2 receive ring.
std::uint32_t packet_ring_room(std::uint32_t framesz);
// Returns the longest frame that a slot of `framesz` bytes of a transmit ring sends; the driver
// drops longer ones without a word.
std::uint32_t packet_ring_send_room(std::uint32_t framesz);

}  // namespace pathproof::port
