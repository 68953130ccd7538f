// A NAT above the NIC that rewrites the outermost source as it should: what the NAT fault models
// then spoil.
#pragma once

#include "dataplane/frame/address.h"
#include "dataplane/softnic/engine.h"

namespace pathproof::softnic {

// Rewrites source address and port (UDP and TCP) of the outermost packet, brings the checksums that
// software has made up to date (RFC 1624; a UDP checksum of 0 stays), and notes what the source
// was. Nothing happens to a frame of another family, a fragment or one without IP.
void translate_source(TxFrame& frame, const frame::Endpoint& to, const NicLimits& limits) noexcept;

}  // namespace pathproof::softnic
