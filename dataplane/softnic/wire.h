// A wire of two ports: what comes in at one goes out at the other, as a healthy NIC would send it
// (partial checksums completed) or byte for byte. Stands in for hardware; every output of it says
// so.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/judge/verifier.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"

namespace pathproof::softnic {

enum class WireMode : std::uint8_t {
    // Completes partial checksums like the NIC that the kernel trusted to: those of frames that
    // were handed to it as partial. Where the port cannot tell, those whose value is a
    // pseudo-header sum, counted apart.
    kHealthyNic,
    kPassThrough,  // passes bytes as they are: a NIC that leaves partial checksums
};
const char* name(WireMode mode);

struct WirePlan {
    WireMode mode = WireMode::kHealthyNic;
    std::vector<std::uint16_t> tunnel_ports = {4789};
    std::uint32_t keep_bad_frames = 256;
    bool operator==(const WirePlan&) const = default;
};

enum class Direction : std::uint8_t { kAToB, kBToA };

// Judged on what leaves the wire, after completion.
struct WireFrame {
    Direction direction = Direction::kAToB;
    std::int64_t time_ns = 0;  // since the wire started
    std::vector<std::uint8_t> bytes;
    std::vector<judge::ChecksumFinding> bad;
};

struct WireTally {
    std::uint64_t received = 0;
    std::uint64_t bytes = 0;  // of them, without FCS
    std::uint64_t forwarded = 0;
    // The far port would not take it: received = forwarded + not_forwarded.
    std::uint64_t not_forwarded = 0;
    std::uint64_t malformed = 0;  // of the forwarded ones
    // Super-frames of TSO or GSO among the not forwarded ones: a NIC would segment them, this wire
    // does not. Those counted here were longer than the receiving port's frame buffer, so that only
    // their beginning came.
    std::uint64_t truncated = 0;
    std::uint64_t too_long = 0;        // came whole, but longer than the far port's MTU allows
    std::uint64_t handed_partial = 0;  // of the received: the port said that a checksum was left
    // Partial checksums filled in (0 in kPassThrough), in such frames; and in frames of which the
    // port does not tell.
    std::uint64_t completed = 0;
    std::uint64_t completed_by_value = 0;
    std::uint64_t bad_frames = 0;  // frames with at least one bad checksum
    std::array<std::array<std::uint64_t, 4>, judge::kLayerCount>
        checksums{};  // by layer and ChecksumState
};

// Frames whose outer UDP checksum is wrong for their source port, and right for another one.
struct WrongSource {
    Direction direction = Direction::kAToB;
    std::uint16_t on_wire = 0;
    std::uint16_t right_for = 0;
    std::uint64_t frames = 0;
    bool operator==(const WrongSource&) const = default;
};

struct WireReport {
    WireMode mode = WireMode::kHealthyNic;
    std::array<WireTally, 2> directions{};     // by Direction
    std::vector<WireFrame> kept;               // the first keep_bad_frames bad ones
    std::vector<WrongSource> wrong_sources;    // of all frames with a wrong outer UDP checksum
    std::uint64_t wrong_sources_left_out = 0;  // frames of more pairs than are counted
    std::vector<port::PortCounters> ports;     // deltas
    // Frames that the wire's own ports dropped on receipt (missed, no mbuf).
    std::uint64_t tester_lost = 0;
    double seconds = 0;
    std::int64_t started_unix_ns = 0;
    // Not empty: why this is no faithful account ("port u0: its kernel interface u0 no longer
    // exists").
    std::vector<std::string> objections;
    bool partial = false;  // a link was down or gone for a part of the time
};

// The wire at work on one worker lcore. It sleeps up to 50 us at a time when no frame comes: the
// CPU is not its own.
class Wire {
  public:
    // `ports`: A and B, which must outlive it. Errors: more or fewer; a worker that is busy.
    static Result<std::unique_ptr<Wire>> start(port::Eal& eal, unsigned worker,
                                               std::span<port::Port> ports, const WirePlan& plan);
    virtual ~Wire() = default;  // ends the forwarding

    // True once a port's kernel interface has gone away: nothing more will pass.
    virtual bool broken() const = 0;
    // Ends the forwarding and reports; a frame that is on the wire is still forwarded. Once only.
    virtual WireReport stop() = 0;
};

// Writes the report's kept frames as a pcapng file, each on the port by which it left. Nothing
// kept, no file.
Status write_evidence(const std::string& path, const WireReport& report,
                      std::span<const port::Port> ports);

}  // namespace pathproof::softnic
