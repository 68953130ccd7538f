// Frames sent and received with their offload metadata, through packet sockets: the agent as the
// sender and the receiver of the offload truth table. Each function speaks of the network namespace
// of the calling thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "dataplane/frame/virtio_request.h"
#include "harness/message/fields.h"

namespace pathproof::frame {

PACKED_FIELDS(VirtioRequest, flags, gso_type, header_length, gso_size, csum_start, csum_offset)

}  // namespace pathproof::frame

namespace pathproof::agent {

// A frame and what the kernel shall ask of the device. On a device without Ethernet header (ipip,
// gre, tun) it starts with the IP header.
struct OffloadFrame {
    std::vector<std::uint8_t> bytes;
    frame::VirtioRequest request;
    bool operator==(const OffloadFrame&) const = default;
};
PACKED_FIELDS(OffloadFrame, bytes, request)

struct SendRefusal {
    std::uint32_t index = 0;  // of the frame in the request
    std::string reason;       // the kernel's, with its errno name
    bool operator==(const SendRefusal&) const = default;
};
FIELDS(SendRefusal, index, reason)
struct SendReport {
    std::uint64_t sent = 0;
    std::vector<SendRefusal> refusals;
};
FIELDS(SendReport, sent, refusals)

// Hands each frame to the device with PACKET_VNET_HDR. A frame that the kernel refuses is a value,
// and the others go on. Errors: no such device, no permission.
Result<SendReport> send_frames(const std::string& device, const std::vector<OffloadFrame>& frames);

// Verdict of the kernel on a received frame's transport checksum (PACKET_AUXDATA).
enum class ChecksumStatus : std::uint8_t {
    kUnknown,  // nothing was checked
    kValid,    // TP_STATUS_CSUM_VALID
    kPartial,  // TP_STATUS_CSUMNOTREADY: the field is not final, the data never left the machine
};
ENUM_VALUES(ChecksumStatus, 3)
const char* name(ChecksumStatus status);  // "unknown", "valid", "partial"

struct CapturedFrame {
    std::vector<std::uint8_t> bytes;
    std::uint32_t length = 0;  // of the frame, however many bytes of it were kept
    ChecksumStatus checksum = ChecksumStatus::kUnknown;
    frame::VirtioRequest request;  // of a super-frame that GRO made, or with a partial checksum
    std::optional<std::uint16_t> vlan_tci;  // a tag that the device took out
    std::int64_t time_ns = 0;               // CLOCK_REALTIME, when the kernel took it
    bool operator==(const CapturedFrame&) const = default;
};
PACKED_FIELDS(CapturedFrame, bytes, length, checksum, request, vlan_tci, time_ns)

struct CaptureOptions {
    std::string
        device;  // empty: every Ethernet device, with what is sent to this host's own addresses
    std::uint32_t most_frames = 16'384;  // more are counted, not kept
    std::uint32_t most_bytes = 65'550;   // of each frame
    // Not 0: TCP over IPv4 with one of these flags (netinet/tcp.h, TH_SYN ...), and nothing else.
    std::uint8_t tcp_flags = 0;
};
FIELDS(CaptureOptions, device, most_frames, most_bytes, tcp_flags)
Status check(const CaptureOptions& options);

struct Capture {
    std::vector<CapturedFrame> frames;
    std::uint64_t left_out = 0;  // beyond most_frames
    std::uint64_t dropped = 0;   // by the kernel, for want of room in the socket
    std::uint64_t missing() const { return left_out + dropped; }
};
FIELDS(Capture, frames, left_out, dropped)

// Listens on a device from start() to stop(), to what the device receives, not to what is sent
// through it.
class FrameListener {
  public:
    static Result<std::unique_ptr<FrameListener>> start(const CaptureOptions& options);
    virtual ~FrameListener() = default;
    virtual Capture stop() = 0;
};

enum class UdpChecksum : std::uint8_t { kOn, kOff };  // kOff: SO_NO_CHECK, IPv4 only
ENUM_VALUES(UdpChecksum, 2)

// Datagrams through an ordinary UDP socket: the kernel's own way to a device.
struct DatagramOptions {
    frame::Endpoint source;  // unspecified address or port 0: the kernel's choice
    frame::Endpoint destination;
    std::vector<std::vector<std::uint8_t>> payloads;
    std::uint16_t source_ports = 1;   // each payload from so many, the source's and those after it
    std::uint16_t segment_bytes = 0;  // not 0: UDP_SEGMENT, each payload is cut into datagrams
    UdpChecksum checksum = UdpChecksum::kOn;
    // Not 0: the payloads are sent again and again for so long, as fast as the kernel takes them, the
    // source ports in turn. What it refuses is then left out of the report. At most 60 s.
    std::chrono::milliseconds lasting{0};
};
FIELDS(DatagramOptions, source, destination, payloads, source_ports, segment_bytes, checksum,
       lasting)
Result<SendReport> send_datagrams(const DatagramOptions& options);

}  // namespace pathproof::agent
