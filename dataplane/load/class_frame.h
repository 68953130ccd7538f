// The frame that one part of a mix sends: whole, without checksums, and with the places of the
// fields that differ from frame to frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/frame_spec.h"
#include "dataplane/load/load_plan.h"

namespace pathproof::load {

// Form in which sequence and time are written (see frame/stamp.h).
enum class StampForm : std::uint8_t { kDigits, kBinary, kSyn };

constexpr std::size_t number_bytes(StampForm form) noexcept {
    return form == StampForm::kDigits ? 8 : 4;
}
constexpr std::size_t time_bytes(StampForm form) noexcept {
    switch (form) {
        case StampForm::kDigits: return 12;
        case StampForm::kBinary: return 8;
        case StampForm::kSyn: break;
    }
    return 4;
}

// Offsets from the start of the frame; all even.
struct FieldPlaces {
    std::uint16_t number = 0;  // 8 digits, or 4 bytes
    std::uint16_t time = 0;    // 12 digits, 8 bytes, or 4
    std::uint16_t port = 0;    // source port, or the identifier of ICMP echo
    // DNS id or sequence number of ICMP echo; 0: there is none.
    std::uint16_t id = 0;
    std::uint16_t query_type = 0;   // DNS only
    std::uint16_t address = 0;      // the last four bytes of the source address
    std::uint16_t ip_checksum = 0;  // IPv4 only
    std::uint16_t checksum = 0;     // of the transport
    std::uint16_t outer_port = 0;   // in an envelope over UDP only, as the next
    std::uint16_t outer_checksum = 0;
};

struct ClassFrame {
    frame::TrafficClass traffic{};
    StampForm form{};
    frame::FrameSpec spec;  // as it is sent: transport and payload are the class's
    frame::FrameLayout layout;
    FieldPlaces places;
    std::vector<std::uint8_t> bytes;  // stamp, ids and checksums are 0
};

// Errors (kBadInput): a size that the class cannot have, with those that it can; what
// frame::check() says of the specification; a suffix that is no name or leaves the stamp no room.
Result<ClassFrame> class_frame(const SourcePlan& plan, const MixPart& part);

}  // namespace pathproof::load
