// Before a run: asks for the MAC address of the next hop, makes the run's own addresses known to it,
// and lets it find the way on. All ports of the run answer meanwhile, as the next hop may ask back.
#pragma once

#include <atomic>
#include <span>

#include "dataplane/neighbour/desk.h"

namespace pathproof::neighbour {

struct NextHop {
    frame::IpAddress address;
    // The address in whose name ARP asks; solicitations come from the link-local one.
    frame::IpAddress from;
};

// Asks on the first of `places`, three times, a second apart (RFC 4861 section 10). Errors
// (kUnavailable): nobody answered, the port took no frame, or `stop` became true.
Result<frame::MacAddress> find_mac(std::span<const Place> places, const NextHop& hop,
                                   const std::atomic<bool>& stop);

// Asks once for the next hop in the name of each address of the first place's station, the first
// 1000 at most, so that its table has them before traffic comes (RFC 826: a request is learned from).
void introduce(std::span<const Place> places, const frame::IpAddress& hop,
               const std::atomic<bool>& stop);

// Sends `frame` once on the first place, and answers for up to 200 ms, or until the same payload came
// in at the last place: what lies on the way has then found its own neighbours (RFC 2544 section 23).
// True: it came in.
bool send_ahead(std::span<const Place> places, frame::Bytes frame, frame::Bytes payload,
                const std::atomic<bool>& stop);

}  // namespace pathproof::neighbour
