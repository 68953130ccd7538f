// A conntrack entry, an event about one, and per-CPU statistics, as plain values in host order.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::netfilter {

// One direction of a flow. For ICMP the ports are zero and `icmp` holds type, code and id.
struct Tuple {
    frame::Endpoint source;
    frame::Endpoint destination;
    std::uint8_t protocol = 0;  // IPPROTO_*
    struct Icmp {
        std::uint8_t type = 0;
        std::uint8_t code = 0;
        std::uint16_t id = 0;
        auto operator<=>(const Icmp&) const = default;
    };
    std::optional<Icmp> icmp;
    auto operator<=>(const Tuple&) const = default;
};
PACKED_FIELDS(Tuple::Icmp, type, code, id)
PACKED_FIELDS(Tuple, source, destination, protocol, icmp)
// Returns the tuple with its ends exchanged; ICMP type, code and id stay.
Tuple turned(Tuple tuple);

// Status bits (enum ip_conntrack_status of linux/netfilter/nf_conntrack_common.h) by name. The
// kernel sets kConfirmed on everything it reports: a status of zero means that the message carried
// none.
namespace status {
inline constexpr std::uint32_t kSeenReply = 1u << 1;
inline constexpr std::uint32_t kAssured = 1u << 2;
inline constexpr std::uint32_t kConfirmed = 1u << 3;
inline constexpr std::uint32_t kSrcNat = 1u << 4;
inline constexpr std::uint32_t kDstNat = 1u << 5;
inline constexpr std::uint32_t kDying = 1u << 9;
inline constexpr std::uint32_t kFixedTimeout = 1u << 10;
inline constexpr std::uint32_t kNatClash = 1u << 12;  // the hidden entry of a resolved clash
inline constexpr std::uint32_t kOffload = 1u << 14;
}  // namespace status

struct Counters {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Counters&) const = default;
};
PACKED_FIELDS(Counters, packets, bytes)

// The directions that a zone holds for (nf_ct_zone.dir): "zone=", "zone-orig=" and "zone-reply=" in
// text.
enum class ZoneDirection : std::uint8_t { kBoth, kOriginal, kReply };
ENUM_VALUES(ZoneDirection, 3)
std::string_view name(ZoneDirection direction);  // "both", "original", "reply"

struct Entry {
    std::uint32_t id = 0;  // CTA_ID: the same entry in a later dump or event
    Tuple original;
    Tuple reply;
    std::uint32_t status = 0;
    std::optional<std::uint32_t> timeout_s;
    std::uint32_t mark = 0;
    // Dumps always carry the mark, events only when it is set or has changed.
    bool mark_reported = false;
    std::uint16_t zone = 0;
    ZoneDirection zone_direction = ZoneDirection::kBoth;
    std::string protocol_state;  // TCP, SCTP and DCCP: "ESTABLISHED"; empty otherwise
    std::string helper;
    std::vector<std::uint8_t> labels;
    std::optional<Counters> original_counters;  // nf_conntrack_acct
    std::optional<Counters> reply_counters;
    std::optional<std::uint64_t> started_ns;  // nf_conntrack_timestamp, since the epoch
    std::optional<std::uint64_t> stopped_ns;
    std::optional<std::uint32_t> use;
    std::string security_context;  // CTA_SECCTX; empty when no security module labels flows
    bool operator==(const Entry&) const = default;
};
PACKED_FIELDS(Entry, id, original, reply, status, timeout_s, mark, mark_reported, zone,
              zone_direction, protocol_state, helper, labels, original_counters, reply_counters,
              started_ns, stopped_ns, use, security_context)

// The hidden entry of a resolved clash: it is in no table and has no NEW event.
inline bool is_hidden(const Entry& entry) {
    return (entry.status & status::kNatClash) != 0;
}
inline bool seen_reply(const Entry& entry) {
    return (entry.status & status::kSeenReply) != 0;
}

enum class EventKind : std::uint8_t { kNew, kUpdate, kDestroy };
ENUM_VALUES(EventKind, 3)
const char* name(EventKind kind);  // "NEW", "UPDATE", "DESTROY"

struct Event {
    EventKind kind = EventKind::kNew;
    std::int64_t time_ns = 0;  // CLOCK_REALTIME when we read it
    Entry entry;
    // Netlink port whose request caused it; 0: a packet or a timer did.
    std::uint32_t cause_port = 0;
    // CTA_TIMESTAMP_EVENT (6.14, nf_conntrack_timestamp=1).
    std::optional<std::uint64_t> kernel_time_ns;
    // The kernel's message about it was lost; it was found by reading the table again (Watcher).
    // The entry has what was known of it, `time_ns` is when it was found.
    bool missed = false;
};
PACKED_FIELDS(Event, kind, time_ns, entry, cause_port, kernel_time_ns, missed)

// Everything that a listener saw between its start and its stop.
struct EventLog {
    std::vector<Event> events;
    // ENOBUFS: events were lost; counts taken from the log are then lower bounds.
    std::uint64_t overruns = 0;
    std::uint64_t unreadable = 0;  // messages that are no conntrack event of a form known to us
    // Entries of the table whose NEW was lost: each is among the events, marked as missed.
    std::uint64_t repaired = 0;
};
FIELDS(EventLog, events, overruns, unreadable, repaired)

// nf_conntrack's counters of one CPU in one namespace (CTA_STATS_*), by the kernel's names.
struct CpuStats {
    std::uint32_t cpu = 0;
    std::vector<std::pair<std::string, std::uint64_t>>
        counters;  // "found", "insert_failed", "clash_resolve"
    std::uint64_t value(std::string_view counter) const;  // 0 for a counter the kernel lacks
    bool has(std::string_view counter) const;
};

std::uint64_t total(const std::vector<CpuStats>& stats, std::string_view counter);
// Adds up the counters of all CPUs, of which there is at least one.
CpuStats summed(const std::vector<CpuStats>& stats);
// after - before, CPU by CPU.
std::vector<CpuStats> delta(const std::vector<CpuStats>& before,
                            const std::vector<CpuStats>& after);

// Converts to the JSON that commands print for scripts.
void to_json(nlohmann::json& out, const Entry& entry);
void to_json(nlohmann::json& out, const Event& event);
void to_json(nlohmann::json& out, const CpuStats& stats);
void from_json(const nlohmann::json& in, CpuStats& stats);

}  // namespace pathproof::netfilter
