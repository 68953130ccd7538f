// What a predicate may ask of a frame: numbers, known from its bytes and its request alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dataplane/softnic/engine.h"
#include "dataplane/softnic/places.h"

namespace pathproof::softnic {

enum class Fact : std::uint8_t {
    kEncap,
    kPlain,
    kVxlan,
    kGpe,
    kGeneve,
    kGre,
    kIpip,
    kNat,
    kNatPort,
    kNatAddress,
    kOuterV4,
    kOuterV6,
    kInnerV4,
    kInnerV6,
    kMixed,
    kOuterCsum,
    kVlan,
    kVlanInserted,
    kInnerVlan,
    kFragment,
    kLaterFragment,
    kExtension,
    kIpOptions,
    kUdp,
    kTcp,
    kSctp,
    kIcmp,
    kUdpZero,
    kSegmented,
    kTso,
    kUso,
    kFirstSegment,
    kLastSegment,
    kFrame,
    kUsed,
    kTrailer,
    kInnerTrailer,
    kPayload,
    kOdd,
    kOptions,
    kBuffers,
    kMss,
    kSourcePort,
    kDestinationPort,
    kInnerSourcePort,
    kInnerDestinationPort,
    kVni,
    kTtl,
    kQueue,
    kFlow,
    kAskedIp,
    kAskedL4,
    kAskedOuterIp,
    kAskedOuterUdp,
    kCount,
};
inline constexpr std::size_t kFacts = static_cast<std::size_t>(Fact::kCount);

std::string_view name(Fact fact);     // "nat:port", "dport"
std::string_view meaning(Fact fact);  // a clause for people
std::optional<Fact> fact_named(std::string_view name);
std::string fact_names();  // all, separated by commas

struct Facts {
    std::array<std::int64_t, kFacts> values{};

    std::int64_t operator[](Fact fact) const { return values[static_cast<std::size_t>(fact)]; }
    std::int64_t& operator[](Fact fact) { return values[static_cast<std::size_t>(fact)]; }
};

// Where a frame on the wire comes from.
struct Origin {
    const TxFrame* given = nullptr;  // null: only the bytes are known (the receiving side)
    std::uint32_t segment = 0;       // of `segments` cut from one super-frame
    std::uint32_t segments = 1;
    std::uint16_t queue = 0;
};

// Of one frame on the wire.
Facts facts_of(Bytes wire, const Places& places, const Origin& origin) noexcept;

}  // namespace pathproof::softnic
