// The kernel's account of a netlink listener, whatever program it belongs to: the referee between
// two event readers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::bench {

// The netfilter sockets of a namespace that have joined conntrack's event groups, together
// (/proc/net/netlink).
struct Listeners {
    std::uint64_t sockets = 0;
    std::uint64_t queued_bytes = 0;  // waiting in receive buffers
    std::uint64_t drops = 0;         // messages that found no room (sk_drops, netlink_overrun)
};

// The text of /proc/net/netlink; rows of other protocols or groups are passed over.
Listeners parse_netlink_table(std::string_view text);

Result<Listeners> read_listeners(const std::string& netns);

// Waits until a socket listens in the namespace; kUnavailable when `limit` passes before.
Status wait_for_listener(const std::string& netns, std::chrono::milliseconds limit);

// Waits until the listeners have taken all that waits for them, or `limit` has passed; returns
// their state then.
Result<Listeners> wait_until_drained(const std::string& netns, std::chrono::milliseconds limit);

// Packets that a device was given to send: those that left and those that it dropped, so all that
// passed POSTROUTING and have a confirmed entry.
Result<std::uint64_t> packets_sent(const std::string& netns, const std::string& device);
// The text of /proc/net/dev; kNotFound without the device.
Result<std::uint64_t> parse_packets_sent(std::string_view text, const std::string& device);

}  // namespace pathproof::bench
