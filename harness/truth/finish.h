// The work that a healthy NIC would still do on a frame that a virtual device handed over
// unfinished.
#pragma once

#include <vector>

#include "dataplane/matrix/probe.h"

namespace pathproof::truth {

// Medium that carries the device's frames.
enum class WireKind {
    kCable,   // they leave the machine: an unfinished checksum is a wrong one
    kMemory,  // a virtual device hands them over in memory, by design with work left to do
};

// The frames of one probe behind a healthy NIC.
struct Finished {
    std::vector<matrix::FrameBytes> frames;
    std::uint64_t unfinished = 0;  // frames that were handed over as they came, their request open
    std::uint64_t super_frames = 0;  // of them, not cut
};

// Passes one frame with its request through a healthy NIC.
std::vector<matrix::FrameBytes> through_healthy_nic(const matrix::FrameBytes& frame,
                                                    const frame::OffloadRequest& request);

// The work that the device was set to leave to whoever comes after it.
struct LeftToWire {
    bool checksums = false;
    bool segmentation = false;
};

// Only a frame that is byte for byte the one handed over, and asks for something that the device
// may leave, is worked on: a frame that anybody touched must be right by itself. Checksums are
// filled in as the frame's virtio_net_hdr asks (virtio 1.2 section 5.1.6.2); super-frames are cut
// by the software NIC. A segment that the kernel cut has no such header: its checksum is filled in
// if it is its pseudo-header's sum.
Finished finish(const matrix::Probe& probe, const std::vector<matrix::FrameBytes>& wire,
                LeftToWire left);

}  // namespace pathproof::truth
