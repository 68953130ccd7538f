// Every frame that was sent through a device, in its order and over all settings: what shows in
// time, and not in a kind of frame, shows here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/matrix/probe.h"
#include "harness/truth/finish.h"
#include "harness/truth/in_time.h"

namespace pathproof::truth {

enum class Fate : std::uint8_t { kRight, kChanged, kMissing };

struct TrailFrame {
    std::uint32_t row = 0;
    std::uint32_t probe = 0;  // of the row
    std::uint32_t part = 0;   // of the probe: its segments are several
    bool checksum = false;    // its checksum was left to the device
    bool segment = false;     // it was to be cut from a super-frame by the device
    bool unfinished = false;  // it came as it was handed over, and is right behind a healthy NIC
    Fate fate = Fate::kRight;
    bool operator==(const TrailFrame&) const = default;
};

// A wrong checksum as it stood on the wire.
struct WrongSum {
    std::string place;  // "plain.tcp"
    std::uint32_t wire = 0;
    std::uint32_t right = 0;
    std::optional<std::uint32_t> before;  // the right one that the device had made last before it
    matrix::FrameBytes frame;
    frame::TunnelPorts tunnels{frame::IpTunnels::kIgnored};
};

struct Trail {
    std::vector<std::vector<TrailFrame>> stretches;  // one an exchange of all rows
    std::vector<WrongSum> sums;                      // the first of each place

    // Frames of one probe as they came, and as they are behind a healthy NIC, by which their fate is
    // told; the last of the stretches is continued. `before`: the checksum that was left to the device
    // last.
    void add(const matrix::Probe& probe, const std::vector<matrix::FrameBytes>& wire,
             const std::vector<matrix::FrameBytes>& finished, LeftToWire left,
             std::optional<std::uint32_t>& before);
    // Counts unfinished frames as changed: on a cable nobody finishes them after the device.
    void hold_unfinished();
    void append(const Trail& more);
};

// The frames among which the wrong ones lie, and how they lie in time.
struct TimeFinding {
    Fate fate = Fate::kChanged;
    std::string among;  // "frames whose checksum is left to it"
    InTime seen;
    std::uint64_t others = 0;  // frames that are not among them
    std::uint64_t others_wrong = 0;
    // One frame of a row came right at one time and wrong at another.
    bool varies = false;

    // "frames whose checksum is left to it: every 2nd of 2461 wrong; 2999 others: none (below 1 in
    // 1000 at 95 %)".
    std::string text() const;
};

// Wrong frames of that fate over all settings; nothing where there are none.
std::optional<TimeFinding> find_in_time(const Trail& trail, Fate fate);

// The one simple relation that holds between all wrong values of a place and the right ones: its name
// ("OFFSET(+0x0200)", "FRAME_BEFORE") and its meaning in words. It takes three different frames at least.
struct Relation {
    std::string name;
    std::string meaning;
};
std::optional<Relation> relation_of(std::span<const WrongSum> sums);
// Returns the relations by place.
std::map<std::string, Relation> relations_of(const Trail& trail);

}  // namespace pathproof::truth
