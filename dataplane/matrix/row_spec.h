// A row of the matrix as the specification of one frame.
#pragma once

#include <span>

#include "dataplane/matrix/probe.h"

namespace pathproof::matrix {

// The frame as a perfect sender makes it, everything in software; of a segmented row the
// super-frame, of a fragmented one the whole datagram. `mtu`: bytes of the outermost IP packet.
frame::FrameSpec spec_of(const Row& row, const Label& label, const Addresses& addresses,
                         std::uint64_t seed, std::uint32_t mtu);

frame::Tunnel tunnel_of(Encap encap);

// Fills a payload of any length. Random bytes from label and seed, or the constant bytes of the
// class. kSumsToZero is random but for the word that spec_of() tunes; kTunnelLike is random, for
// spec_of() to overwrite.
void write_payload(std::span<std::uint8_t> payload, PayloadValues values, const Label& label,
                   std::uint64_t seed);

// Payload bytes of one segment, or 0.
std::uint16_t segment_bytes_of(const Row& row, const frame::FrameSpec& spec, std::uint32_t mtu);

// Changes checksum modes from software to what the row leaves to the device.
void hand_over(frame::FrameSpec& spec, const Row& row, const DutLimits& limits);

// Changes checksum modes to the row's mistakes.
void make_mistakes(frame::FrameSpec& spec, const Row& row);

// The control information of the tag that the NIC inserts.
inline constexpr std::uint16_t kInsertedTag = 100;

}  // namespace pathproof::matrix
