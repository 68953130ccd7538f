#include "dataplane/softnic/packet_ring.h"

#include <linux/if_packet.h>
#include <rte_ethdev.h>
#include <sys/mman.h>

#include <atomic>
#include <utility>

#include "dataplane/port/device.h"
#include "dataplane/port/kernel_interface.h"

namespace pathproof::softnic {

PacketRing::PacketRing(PacketRing&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      bytes_(other.bytes_),
      slot_(other.slot_),
      slots_(other.slots_),
      next_(other.next_) {}

PacketRing::~PacketRing() {
    if (memory_ != nullptr) {
        munmap(memory_, bytes_);
    }
}

std::optional<PacketRing> PacketRing::of(const port::Port& port) {
    rte_eth_dev_info device{};
    rte_eth_stats stats{};
    if (port.info().driver != "net_af_packet" || port.config().rx_queues != 1 ||
        rte_eth_dev_info_get(port.id(), &device) != 0 ||
        rte_eth_stats_get(port.id(), &stats) != 0) {
        return std::nullopt;
    }
    const port::PacketSockets sockets(device.if_index);
    const port::PacketRingShape shape = port::packet_ring_shape(device);
    if (sockets.size() != 1 || shape.slot == 0 || shape.block < shape.slot) {
        return std::nullopt;
    }
    PacketRing ring;
    ring.slot_ = shape.slot;
    ring.slots_ = shape.slots;
    // packet_mmap() maps both rings or none: the receive ring first, the other of the same size.
    ring.bytes_ = std::size_t{shape.block} * (shape.slots / (shape.block / shape.slot)) * 2;
    void* memory = mmap(nullptr, ring.bytes_, PROT_READ, MAP_SHARED, sockets.first(), 0);
    if (memory == MAP_FAILED) {
        return std::nullopt;
    }
    ring.memory_ = static_cast<std::uint8_t*>(memory);
    // The driver goes round the slots in order and counts each frame that it takes.
    ring.next_ = stats.ipackets % ring.slots_;
    return ring;
}

std::uint16_t PacketRing::waiting(std::uint64_t& partial) const noexcept {
    partial = 0;
    std::uint16_t count = 0;
    for (; count < 64; ++count) {
        // The driver takes slot n at n * framesz.
        auto* header = reinterpret_cast<tpacket2_hdr*>(memory_ + (next_ + count) % slots_ * slot_);
        const std::uint32_t status =
            std::atomic_ref(header->tp_status).load(std::memory_order_acquire);
        if ((status & TP_STATUS_USER) == 0) {
            break;
        }
        partial |= static_cast<std::uint64_t>((status & TP_STATUS_CSUMNOTREADY) != 0) << count;
    }
    return count;
}

}  // namespace pathproof::softnic
