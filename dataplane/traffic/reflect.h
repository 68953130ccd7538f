// The far side of tracked traffic that is no DNS: what a server's stack would send back to a SYN,
// an echo request or a datagram to the echo service, with the stamp in it (frame/stamp.h), so that
// a generator gets all its classes answered without a host behind the DUT.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/frame/view.h"

namespace pathproof::traffic {

// Turns a stamped frame round where it lies: a TCP SYN becomes the SYN-ACK to it (acknowledgement =
// sequence number + 1, TSecr = TSval), an ICMP or ICMPv6 echo request its reply, a UDP datagram
// goes back as it came (RFC 862). Payload, length, TTL and VXLAN envelope stay; checksums are
// updated (RFC 1624). False, and nothing changed, for a frame without a stamp and for fragments.
bool reflect(std::span<std::uint8_t> frame, const frame::FrameView& view) noexcept;

}  // namespace pathproof::traffic
