// Frames of all kinds for the software NIC's tests, drawn from a seed: as handed over to a NIC, and
// as a perfect sender in software puts them on the wire.
#pragma once

#include <cstdint>
#include <random>

#include "dataplane/frame/frame_spec.h"
#include "dataplane/softnic/engine.h"

namespace pathproof::softnic {

class NicFrames {
  public:
    explicit NicFrames(std::uint64_t seed) : random_(seed) {}

    // Any encapsulation, families, tags, options, extension headers, transports, lengths, trailers;
    // each checksum made by software or left to the NIC.
    frame::FrameSpec any();
    // As any(), with UDP, TCP or SCTP whose checksum is left to the NIC, in a tunnel the outer
    // checksums as well, and a payload of at least 24 bytes.
    frame::FrameSpec offloaded();
    // A super-frame of TCP or UDP.
    frame::FrameSpec super();
    // Ends of buffers anywhere in a frame of that length, up to four.
    std::vector<std::uint32_t> buffers(std::size_t length);

    std::size_t below(std::size_t count) { return random_() % count; }
    bool one_in(std::size_t count) { return below(count) == 0; }

  private:
    frame::PacketSpec network(std::uint8_t bytes_of_options);
    std::vector<std::uint8_t> payload(std::size_t length);
    std::vector<std::uint8_t> trailer();
    void set_transport(frame::PacketSpec& packet);
    void set_tunnel(frame::FrameSpec& spec);
    std::uint16_t tunnel_port(frame::Tunnel kind);
    frame::Endpoint endpoint(frame::Family family);

    std::mt19937_64 random_;
};

// A NIC's frame with the request that the specification's offload modes make.
TxFrame handed_over(const frame::FrameSpec& spec);
// All checksums by software, whatever the specification says.
WireFrameBytes in_software(frame::FrameSpec spec);

}  // namespace pathproof::softnic
