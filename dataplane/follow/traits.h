// The dimensions of a frame that a description of wrong frames may speak of.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/follow/packet.h"

namespace pathproof::follow {

enum class Trait : std::uint8_t {
    // Numbers. All are of the innermost packet but the first, which is of the whole frame.
    kFrameBytes,
    kPayloadBytes,
    kTcpOptionBytes,
    kHopLimit,
    kSourcePort,
    kDestinationPort,
    // Values.
    kFamily,
    kProtocol,  // without IP: 0x10000 and the EtherType
    kTunnel,
    kVlans,
    kVlan,
    kVlanPriority,
    kFragment,
    kOptions,  // IPv4 options, IPv6 extension headers
    kDontFragment,
    kTrafficClass,
    kTcpFlags,
    kNoUdpChecksum,
    kLeftToNic,  // its checksum was still to be finished
    kGroup,      // multicast and broadcast by the MAC address
    kSourceAddress,
    kDestinationAddress,
    kInterface,  // file and interface of the capture
};
inline constexpr std::size_t kTraits = 23;
inline constexpr std::size_t kNumbers = 6;  // the first ones

using Traits = std::array<std::uint32_t, kTraits>;  // 0 where a frame has no such thing
using TraitSet = std::bitset<kTraits>;
constexpr std::size_t bit(Trait trait) {
    return static_cast<std::size_t>(trait);
}

Traits traits_of(const Packet& packet);
// The addresses of a frame as their traits hold them. Only those of IPv4 can be read from a trait.
std::uint32_t address_trait(frame::Bytes address);

// "UDP", "with a VLAN tag", "to port 53": the value in words that follow "frames". `address`: of a
// frame that has it.
std::string trait_text(Trait trait, std::uint32_t value, const std::string& address);
// "of {} bytes", "with {} bytes of payload": a number in words, with a phrase in the place of it.
std::string number_text(Trait trait, const std::string& phrase);

}  // namespace pathproof::follow
