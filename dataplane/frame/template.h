// Frame templates: all of a frame is made once; per frame only what differs is written and its
// checksums are brought up to date (RFC 1624), right or wrong as the specification says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/frame/dns.h"
#include "dataplane/frame/frame_spec.h"
#include "dataplane/frame/offload.h"

namespace pathproof::frame {

// Fields that differ from frame to frame; a field that is not given stays as in the template.
struct FramePatch {
    std::optional<IpAddress> source;  // of the template's family
    // ICMP echo: the identifier. Ignored without a transport header.
    std::optional<std::uint16_t> source_port;
    std::optional<std::uint16_t> outer_source_port;  // without a tunnel over UDP: ignored
    struct Dns {
        std::uint16_t id = 0;
        std::uint32_t sequence = 0;  // in the name: qNNNNNNNN
    };
    std::optional<Dns> dns;  // templates made by make_dns only: ignored otherwise
};

class FrameTemplate {
  public:
    // Errors: what check() says.
    static Result<FrameTemplate> make(const FrameSpec& spec);
    // A query for `type` of qNNNNNNNN.`suffix` (see sequence_name) in the payload, which must be
    // empty in `spec`. Errors: also a suffix that is no name or too long; a transport other than
    // UDP.
    static Result<FrameTemplate> make_dns(const FrameSpec& spec, std::string_view suffix,
                                          std::uint16_t type);

    std::size_t size() const { return bytes_.size(); }
    const FrameSpec& spec() const { return spec_; }
    const FrameLayout& layout() const { return layout_; }
    const OffloadRequest& offload() const { return offload_; }

    // Writes size() bytes at `out`. The same patch gives the same bytes.
    void render(std::uint8_t* out, const FramePatch& patch) const noexcept;
    std::vector<std::uint8_t> render(const FramePatch& patch = {}) const {
        std::vector<std::uint8_t> frame(size());
        render(frame.data(), patch);
        return frame;
    }

  private:
    // Sums over what a checksum covers, its own field and the checksum fields within taken as 0.
    struct Sums {
        PartialSum header = 0;     // IPv4
        PartialSum pseudo = 0;     // 0 for ICMP
        PartialSum preset = 0;     // the pseudo-header as a NIC wants it: without length if it cuts
        PartialSum transport = 0;  // without the pseudo-header
    };
    // Change that a patch makes to the sums of its packet.
    struct Change {
        PartialSum address = 0;
        PartialSum transport = 0;
        std::uint16_t source_port = 0;  // the one that is sent now
    };

    FrameTemplate() = default;
    Sums sums_of(const PacketSpec& packet, const PacketLayout& layout) const;
    Change apply(std::uint8_t* out, const FramePatch& patch) const noexcept;
    // Returns the sum of the packet's checksum fields, as they will be on the wire.
    PartialSum fill(std::uint8_t* out, const PacketSpec& packet, const PacketLayout& layout,
                    const Sums& sums, const Change& change) const noexcept;
    static PartialSum fill_sctp(std::uint8_t* out, const PacketSpec& packet,
                                const PacketLayout& layout) noexcept;

    FrameSpec spec_;
    FrameLayout layout_;
    OffloadRequest offload_;
    std::vector<std::uint8_t> bytes_;
    Sums packet_sums_;
    Sums outer_sums_;
    bool dns_ = false;
};

// Values that a checksum field may hold, depending on its mode.
struct FieldValues {
    std::uint16_t right = 0;
    std::uint16_t offload = 0;  // what a NIC wants: the pseudo-header's sum, or 0 in an IPv4 header
    std::uint16_t stale = 0;    // right for the stale source port
    std::uint64_t seed = 0;
};
std::uint16_t field_value(ChecksumMode mode, const FieldValues& values) noexcept;

}  // namespace pathproof::frame
