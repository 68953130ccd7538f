// Compares a frame that went in with the one that it became: which fields differ, and whether each
// difference is one that routing, translation, tagging or a tunnel makes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/follow/packet.h"
#include "dataplane/follow/transformation.h"

namespace pathproof::follow {

struct Change {
    const char* field = "";            // "ipv4.tos", "checksum", "payload"
    std::string text;                  // "ipv4.tos 0x00 became 0x10"
    std::optional<Transformation> by;  // none: no transformation explains it
    bool damage = false;               // bytes of the payload
};

// The next hop and tunnel that the path gave a frame: one for each flow, unless the path changes its
// mind. What it left as it was is not of it: a flow's frames may go in by several ways.
struct Egress {
    static constexpr std::uint8_t kTagsAsTheyWere = 0xff;

    std::uint64_t flow = 0;
    std::uint32_t vni = 0;
    std::uint16_t vlan[2] = {0, 0};
    std::uint8_t vlans = 0;
    std::uint8_t tunnel = 0;
    std::int16_t hops = 0;  // by which the hop limit was lowered
    std::uint8_t macs[12] = {};
    std::uint8_t has_macs = 0;
    bool operator==(const Egress&) const = default;
};

enum class Extent : std::uint8_t {
    kWhole,    // the frames carry the same
    kSegment,  // they share a part of a stream: lengths, identification and checksums differ
};

struct Comparison {
    std::vector<Change> changes;  // but those that are allowed
    Transformations used;
    Egress egress;
    bool partial_in = false;     // its checksum was left to a NIC when it was captured
    bool partial_out = false;    // and that of the frame that came out
    bool wrong_already = false;  // a checksum was wrong before the path had it, and still is
    bool cut = false;            // a capture's snap length hid a part
};

Comparison compare(const Packet& in, const Packet& out, Extent extent, Transformations allowed);

// Describes how a payload differs from the one that was sent: "cut by 20 bytes at the end", "1 byte
// changed at payload offset 20: 0x00 became 0x01". Empty: it does not.
std::string payload_difference(frame::Bytes in, frame::Bytes out);

// Places where an Egress differs from the usual one of its flow, in words. `usual` and `other` are
// frames that came out by each.
std::string egress_difference(const Egress& usual, const Egress& other,
                              const std::string& usual_flow, const std::string& other_flow);

}  // namespace pathproof::follow
