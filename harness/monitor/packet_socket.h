// A packet socket on all devices of a namespace, behind a filter.
#pragma once

#include <linux/filter.h>
#include <linux/if_packet.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"
#include "dataplane/frame/view.h"

namespace pathproof::monitor {

// A packet from a packet socket, from its IP header on.
struct TappedPacket {
    std::span<const std::byte> bytes;  // as much as the filter lets through and the buffer takes
    sockaddr_ll from{};
    std::int64_t time_ns = 0;  // CLOCK_REALTIME, when the kernel took it
    bool leaving() const { return from.sll_pkttype == PACKET_OUTGOING; }
};

// A packet that begins with its IP header; network is kNone where that is none.
frame::PacketView view_of(std::span<const std::byte> packet);

class PacketSocket {
  public:
    // Listens on every device of the namespace (empty: the caller's) from its return on. Needs
    // CAP_NET_RAW there (kNotPermitted). `purpose` is what cannot be done without it: "watch ICMP
    // errors and resets".
    static Result<PacketSocket> open(const std::string& netns, const sock_fprog& filter,
                                     const std::string& purpose);
    // Opens a socket behind a filter in the words of pcap-filter(7), which lets `bytes` of each
    // packet through.
    static Result<PacketSocket> open_for(const std::string& netns, const std::string& words,
                                         int bytes, const std::string& purpose);

    // The next packet that waits, in `buffer`; nothing when none does.
    std::optional<TappedPacket> next(std::span<std::byte> buffer);
    // Packets that found the socket's buffer full.
    std::uint64_t lost();

  private:
    Fd handle_;
    std::uint64_t lost_ = 0;
};

}  // namespace pathproof::monitor
