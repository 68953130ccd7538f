// A DPDK port behind one narrow interface: bursts, capabilities and counters. A PCI device and a
// virtual device are the same thing to everything above.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "dataplane/port/port_request.h"

struct rte_eth_dev_info;
struct rte_mbuf;
struct rte_mempool;

namespace pathproof::port {

// Kind of device behind a port; a report says it wherever the port's results appear.
enum class Evidence {
    kPhysical,   // a NIC on a bus
    kVirtual,    // frames enter a real kernel or hypervisor (af_packet, af_xdp, tap, virtio)
    kSimulated,  // frames never leave this process (ring, null)
};

struct PortConfig {
    std::string name;  // what the report calls it: "client0"
    // EAL device name: "net_af_packet0" (a vdev given to Eal) or "0000:3b:00.0".
    std::string device;
    std::uint16_t rx_queues = 1;
    std::uint16_t tx_queues = 1;
    std::uint16_t rx_descriptors = 1024;
    std::uint16_t tx_descriptors = 1024;
    std::uint16_t mtu = 0;  // 0: as the driver has it
    std::uint32_t pool_mbufs = 8192;
    // Data room, headroom included; an af_packet port with longer slots (framesz=) gets more, an
    // af_xdp port the rest of a page.
    std::uint16_t mbuf_bytes = 2432;
    // RTE_ETH_TX_OFFLOAD_*: refused with a sentence if the port lacks one.
    std::uint64_t tx_offloads = 0;
    std::uint64_t rx_offloads = 0;  // RTE_ETH_RX_OFFLOAD_*: likewise
    // Bytes that an af_xdp port may have under way behind its interface, for each queue. 0: the
    // system's (net.core.wmem_default, some 280 short frames): a kernel device behind it that is
    // slower than the sender then holds it up, where a cable would make the device lose frames.
    std::uint32_t send_buffer_bytes = 0;
    PortHears hears = PortHears::kReceived;  // of an af_packet port
    // A port on a bus whose link is not up by then is refused; 0: it is not waited for.
    std::chrono::milliseconds link_wait{0};

    bool operator==(const PortConfig&) const = default;
};

struct PortInfo {
    std::string name;
    std::string device;
    std::string driver;  // "net_af_packet"
    Evidence evidence = Evidence::kSimulated;
    frame::MacAddress mac;
    std::uint32_t link_mbps = 0;  // 0: the driver does not say
    int numa_node = -1;           // of the device; -1: it has none, or does not say
    // Rte_eth_dev_tx_offload_name() of each that the port can do.
    std::vector<std::string> tx_offloads;
    std::vector<std::string> rx_offloads;

    bool operator==(const PortInfo&) const = default;
};

// The port's own account (rte_eth_stats).
//
// An af_packet port's driver counts none of its losses. Its counters here are the kernel's:
// rx_missed is what the full ring of its sockets dropped (PACKET_STATISTICS tp_drops) plus what the
// interface's receive backlog dropped before that (rx_dropped); tx_errors adds what the interface
// would not carry (tx_dropped). An af_xdp port's driver counts what its sockets dropped for want of
// a buffer: rx_missed adds what they dropped at a full ring, or is the interface's rx_dropped,
// which has both and the queue before, where that is more.
struct PortCounters {
    std::uint64_t rx_packets = 0;
    std::uint64_t tx_packets = 0;
    // Dropped for want of a descriptor or ring slot: the tester's own loss.
    std::uint64_t rx_missed = 0;
    std::uint64_t rx_no_mbuf = 0;  // dropped for want of a buffer: the tester's own loss
    std::uint64_t rx_errors = 0;
    std::uint64_t tx_errors = 0;
    // Frames that the port's interface counts as sent, the kernel's own frames included, and those
    // that the far end had no room for: af_packet and af_xdp ports on a veth. Else tx_packets.
    std::uint64_t tx_by_interface = 0;

    bool operator==(const PortCounters&) const = default;
};

enum class Link : std::uint8_t {
    kUp,
    kDown,
    kGone,  // the kernel interface behind the port no longer exists: it will not come back
};

class Port {
  public:
    // Configures and starts the queues of an EAL device, its buffers on the device's NUMA node.
    // Errors: no such device; an offload it lacks (named); more queues than it has, or than it can
    // share frames out to; MTU out of its range; a link that does not come up.
    static Result<Port> open(const PortConfig& config);

    Port(Port&& other) noexcept;
    Port& operator=(Port&& other) noexcept;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    ~Port();  // stops and closes the device

    // Data path: no allocation, no exception, no lock of ours. A queue belongs to one lcore at a
    // time.
    std::uint16_t rx_burst(std::uint16_t queue, rte_mbuf** frames, std::uint16_t room) noexcept;
    // Receives from the first of all receive queues that has frames, each in its turn; 0: none has.
    std::uint16_t rx_any(rte_mbuf** frames, std::uint16_t room) noexcept;
    // Frees what waits in a receive queue, or in all, so that a run sees no frame from before it.
    // Says how many.
    std::uint64_t empty(std::uint16_t queue) noexcept;
    std::uint64_t empty() noexcept;
    // Sends up to `count` frames; the first `returned` of them now belong to the driver.
    std::uint16_t tx_burst(std::uint16_t queue, rte_mbuf** frames, std::uint16_t count) noexcept;
    // Frames may stay with net_af_packet until the next are sent, if the kernel had no room for
    // them: asks it again. True: there are none. A system call for each queue of such a port.
    bool push_out() noexcept;

    // The longest frame received whole: an af_packet port cuts longer ones without a word. 0: not
    // cut.
    std::uint32_t receive_limit() const { return receive_limit_; }
    // The longest frame that the port sends: its MTU and an Ethernet header; a VLAN tag comes on
    // top. 0: no limit.
    std::uint32_t transmit_limit() const { return transmit_limit_; }
    // The longest frame that its buffers hold.
    std::uint32_t transmit_room() const { return transmit_room_; }

    rte_mempool* pool() const { return pool_; }
    std::uint16_t id() const { return id_; }
    const PortInfo& info() const { return info_; }
    const PortConfig& config() const { return config_; }
    PortCounters counters() const;
    Link link() const;                 // asks the driver and the kernel
    std::string link_trouble() const;  // why link() is not kUp, as a sentence; empty when it is

  private:
    struct Kernel;

    Port();
    Status set_up();
    Status watch_interface(const rte_eth_dev_info& device);
    Status set_mtu();
    Status make_pool(const rte_eth_dev_info& device);
    Status set_up_queues();
    Status receive_queue_done(int outcome, std::size_t log_from) const;
    Status start();
    Status await_link(const rte_eth_dev_info& device);
    void describe(const rte_eth_dev_info& device);
    void close() noexcept;

    std::uint16_t id_ = 0xffff;  // 0xffff: moved from
    std::uint16_t turn_ = 0;     // the queue that rx_any() looks at first
    rte_mempool* pool_ = nullptr;
    PortConfig config_;
    PortInfo info_;
    std::uint32_t receive_limit_ = 0;
    std::uint32_t transmit_limit_ = 0;
    std::uint32_t transmit_room_ = 0;
    std::unique_ptr<Kernel> kernel_;  // what the kernel knows of the interface behind; null: none
};

const char* evidence_name(Evidence evidence);

}  // namespace pathproof::port
