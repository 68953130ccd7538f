// The fate of every frame, in counts that balance and findings that name and locate.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/follow/description.h"
#include "dataplane/follow/transformation.h"
#include "dataplane/frame/view.h"

namespace pathproof::follow {

enum class Side : std::uint8_t { kIn, kOut };
enum class Direction : std::uint8_t {
    kForward,   // from the captures of --in to those of --out
    kBackward,  // the other way: captures on a device's ports see both
};

// Each frame that was sent is in exactly one.
enum class Class : std::uint8_t {
    kAsSent,     // or changed only as is allowed
    kChanged,    // header fields, the payload is whole
    kDamaged,    // the payload is cut, shifted, padded, glued or has other bytes
    kDoubled,    // came out more often than it went in
    kReordered,  // behind a frame of its flow that was sent later (RFC 4737)
    kLate,
    kMissing,
    kRefused,  // answered by the device with an ICMP error that RFC 1812 asks for
    kLocal,    // of the link or for the device itself: a router does not forward it
    kOutside,  // the other capture had not begun or had ended
    kUntold,   // the captures do not tell: cut or dropped by them
};
inline constexpr std::size_t kClasses = 11;
const char* name(Class one);  // "as sent", "changed", ...
const char* word(Class one);  // "as_sent", ...: the keys of JSON
bool is_fault(Class one);

struct Totals {
    std::uint64_t sent = 0;
    std::array<std::uint64_t, kClasses> classes{};
    std::uint64_t received = 0;
    std::uint64_t arrived = 0;  // carry what was sent
    std::uint64_t copies = 0;   // carry what another one carried already
    std::uint64_t unknown = 0;  // came out and never went in
    std::uint64_t local = 0;    // made by the device itself, or of the link
    std::uint64_t outside = 0;  // came out before the capture of what went in began
    std::uint64_t untold = 0;

    std::uint64_t& of(Class one) { return classes[static_cast<std::size_t>(one)]; }
    std::uint64_t of(Class one) const { return classes[static_cast<std::size_t>(one)]; }
    // Sent is the sum of its classes, and received of its own.
    bool balance() const;
};

struct Specimen {
    FrameName in;
    FrameName out;
    std::string text;
    frame::ByteVector in_bytes;
    frame::ByteVector out_bytes;
    std::int64_t in_ns = 0;
    std::int64_t out_ns = 0;
};

// Frames with one fault.
struct Finding {
    Direction direction = Direction::kForward;
    Class fault = Class::kMissing;
    bool unknown = false;  // frames that never went in: `fault` does not count
    std::string key;
    std::string text;  // of the first of them
    bool one_text = true;
    std::uint64_t count = 0;
    std::vector<Specimen> specimens;  // the first few
    std::vector<std::string> flows;   // likewise
    bool more_flows = false;
    std::vector<std::string> kinds;  // "IPv4 UDP", "IPv6 TCP, VLAN", "ARP"
    std::uint32_t shortest = 0;
    std::uint32_t longest = 0;
    std::vector<std::uint64_t> places;  // in the order of what was sent
    std::string
        located;  // by what separates them from right frames, or their order; empty: nothing
    Description description;
    std::vector<std::string> confirmed;  // by frames that were made for it, a line each
};

// Frames that went in before the first or behind the last one that came out, while nothing says whether
// the other capture ran at that time. All of them are outside the time.
struct Stretch {
    std::uint64_t frames = 0;
    std::int64_t since_ns = 0;  // the first of them
    std::int64_t until_ns = 0;  // the last
};

struct Outcome {
    std::array<Totals, 2> totals;  // by direction
    std::array<Stretch, 2> heads;  // likewise
    std::array<Stretch, 2> tails;
    std::vector<Finding> findings;
    std::array<Description, 2> wrong;  // of all findings of a direction, where there are several
    Transformations used;
    std::array<std::uint64_t, kTransformations> used_by{};  // frames
    std::uint64_t partial_in = 0;  // checksums that were left to a NIC when they were captured
    std::uint64_t partial_out = 0;
    std::uint64_t wrong_already = 0;  // wrong checksums that were carried as they came
    std::uint64_t cut = 0;            // frames that a snap length cut; compared as far as they go
    std::uint64_t forced = 0;         // decided early, as the window was full
    std::uint64_t flows = 0;
    std::int64_t shortest_delay_ns = 0;
    std::int64_t longest_delay_ns = 0;
    bool any_pair = false;
};

}  // namespace pathproof::follow
