// Endpoints of a service in each state that an endpoint can be in: addresses of the server's network, and
// what makes them so.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/lab/nat_path.h"
#include "harness/setting/setting.h"

namespace pathproof::scenario {

// State of an endpoint's address.
enum class EndpointState : std::uint8_t {
    kServes,    // the address is the server's; who listens there is the caller's
    kNobody,    // nobody holds it
    kClosed,    // the server's, and nobody listens
    kSilent,    // the server's, which drops what comes for it
    kStranger,  // the server's; who listens there is the caller's
    kRejected,  // the DUT's FORWARD chain rejects what goes there
};
inline constexpr unsigned kEndpointsOfState = 8;
// 203.0.113.16 + 16 * state; 2001:db8:113::10 + 16 * state.
std::vector<frame::IpAddress> endpoints_that(EndpointState state,
                                             frame::Family family = frame::Family::kIpv4);

// Rules that make the silent and the rejected ones of a family.
setting::Settings endpoint_rules(frame::Family family);

// Has each endpoint in its state from now on, of each family that there is.
Status add_endpoints(lab::NatPath& path);

}  // namespace pathproof::scenario
