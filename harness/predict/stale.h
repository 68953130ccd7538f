// Entries of conntrack held against the rules of now: where a flow is sent by its entry, and where it
// would be sent were it new.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/netfilter/entry.h"
#include "harness/predict/simulator.h"

namespace pathproof::predict {

enum class Staleness : std::uint8_t {
    kCurrent,           // the rules of now would do the same
    kOtherDestination,  // they would send it elsewhere
    kOtherSource,       // they would give it another source
    kAddressGone,       // likewise, and its translated source is no address of this host any more
    kUntracked,         // they would not track it
    kOtherZone,         // its packets no longer meet the entry
    kAnswersElsewhere,  // its answers meet another zone than the entry's
    kOtherUser,  // a rule asks who owns the socket, and the entry was made by another than asks now
    kNotDecided,
};
const char* name(Staleness staleness);  // "current", "other destination", ...

struct StaleVerdict {
    Staleness staleness = Staleness::kCurrent;
    // The rule that the entry is at odds with; null: the lack of one.
    const hazards::Rule* rule = nullptr;
    // The ways of a stale entry, then and now: "to 192.0.2.10:514", "to 10.79.0.5:514".
    std::string goes = "", would_go = "";
    std::string why = "";  // of kNotDecided
    bool stale() const {
        return staleness != Staleness::kCurrent && staleness != Staleness::kNotDecided;
    }
};

inline constexpr std::uint32_t kExpected = 1U
                                           << 0;  // IPS_EXPECTED: a helper made it, not the rules

class StaleFinder {
  public:
    // Both must outlive it.
    StaleFinder(const Simulator& simulator, Router& router)
        : simulator_(simulator), router_(router) {}

    // `user`: who owns the socket that sends now, where that is known. Answers for like entries are
    // kept, so that a table of a million costs some thousand simulations.
    StaleVerdict check(const netfilter::Entry& entry,
                       std::optional<std::uint32_t> user = std::nullopt);

    // The device by which packets from that address come, as the routes lead back to it; empty: the
    // address is this host's own. Nothing: there is no way back.
    std::optional<std::string> device_towards(const frame::IpAddress& source);

    std::uint64_t simulations() const { return simulations_; }

  private:
    struct Known {
        Region region;
        std::vector<Outcome> outcomes;
    };
    struct Key {
        frame::Endpoint destination;
        std::uint16_t device = 0;  // in devices_
        std::uint16_t icmp = 0;
        std::uint8_t protocol = 0;
        bool any_device = false;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const;
    };
    // Sources that are reached alike.
    struct Way {
        frame::IpAddress first, last;
        std::optional<std::uint16_t> device;  // in devices_; nothing: there is no way back
    };
    // Entries with the same values here have the same verdict if their sources are in one region.
    struct Likeness {
        frame::Endpoint destination, goes;
        frame::IpAddress source_now;  // none where NAT keeps it
        std::uint16_t device = 0, zone = 0, icmp = 0;
        std::uint8_t protocol = 0;
        bool keeps_source = false;
        netfilter::ZoneDirection zone_direction = netfilter::ZoneDirection::kBoth;
        bool operator==(const Likeness&) const = default;
    };
    struct LikenessHash {
        std::size_t operator()(const Likeness& likeness) const;
    };
    // Holds regions whose entries are current; a new one takes the place of the oldest.
    struct Current {
        std::array<Region, 4> regions;
        std::uint8_t count = 0, next = 0;
    };
    // An outcome that does with the flow what its entry does not.
    struct Difference {
        Staleness how = Staleness::kCurrent;
        Outcome outcome;
    };

    Way way_towards(const frame::IpAddress& source);
    std::uint16_t number_of(const std::string& device);
    const Known& known_of(const netfilter::Tuple& tuple, std::uint16_t device, bool any_device);
    // Returns how the rules now differ from the entry. Nothing: an outcome agrees with the entry,
    // or `why` says why that is not decided. `region` becomes the sources for which the answer is
    // the same; nothing: it depends on more than the source's region.
    std::optional<Difference> difference(const netfilter::Entry& entry, std::uint16_t device,
                                         std::string& why, std::optional<Region>& region);
    static Likeness likeness_of(const netfilter::Entry& entry, std::uint16_t device);
    bool is_known_as_current(const Likeness& likeness, const frame::Endpoint& source) const;
    void keep_as_current(const Likeness& likeness, const Region& region);
    std::optional<Difference> difference_for(const netfilter::Entry& entry, std::uint32_t user);
    bool answers_elsewhere(const netfilter::Entry& entry);
    // Returns whether this host sent the flow from another address than the routes choose. Its
    // socket then names the source, and maybe the device (SO_BINDTODEVICE, IP_MULTICAST_IF), so
    // that the routes do not decide it.
    bool is_bound(const netfilter::Entry& entry);
    StaleVerdict verdict_of_answers(const netfilter::Entry& entry);
    StaleVerdict verdict_of(const netfilter::Entry& entry, const Difference& difference) const;

    const Simulator& simulator_;
    Router& router_;
    std::unordered_map<Key, std::vector<Known>, KeyHash> known_;
    Known last_;  // an answer that is not kept
    std::unordered_map<Likeness, Current, LikenessHash> current_;
    std::vector<std::string> devices_ = {""};  // the first: sent by this host
    std::vector<Way> ways_;
    std::uint64_t simulations_ = 0;
};

// The `conntrack -D` that removes this entry and no other.
std::string delete_command(const netfilter::Entry& entry);
// Seconds since the entry was made, where the kernel notes it (nf_conntrack_timestamp).
std::optional<double> age_s(const netfilter::Entry& entry, std::int64_t now_ns);
// "this entry is older than ...: it goes to A, a new flow would go to B".
std::string sentence_of(const netfilter::Entry& entry, const StaleVerdict& verdict,
                        std::int64_t now_ns);

}  // namespace pathproof::predict
