// Bounded memory of recent flows, found by their original tuple or by the client's end that a
// backend sees.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

// The parts of an entry that tell whose it is; no strings, so that a flow costs about 160 bytes.
struct RecentFlow {
    Tuple original;
    Tuple reply;
    std::uint32_t id = 0;
    std::uint32_t status = 0;
    std::uint16_t zone = 0;
    ZoneDirection zone_direction = ZoneDirection::kBoth;
    std::int64_t time_ns = 0;
};
RecentFlow flow_of(const Entry& entry, std::int64_t time_ns);
// Rebuilds an entry from the fields that were kept; the others have their defaults.
Entry entry_of(const RecentFlow& flow);

// CTA_ID is a hash over the entry's address and tuples, and may come again: the tuples tell entries
// apart.
bool same_entry(const RecentFlow& flow, const Entry& entry);

// Hashes tuples with a seed drawn at its making: they come from the network, and nobody outside may
// know which ones meet in a table.
class TupleHash {
  public:
    TupleHash();
    std::uint64_t operator()(const Tuple& tuple) const;
    std::uint64_t operator()(const frame::Endpoint& endpoint, std::uint8_t protocol) const;
    // Hashes all fields that same_entry() compares.
    std::uint64_t operator()(const Entry& entry) const;

  private:
    std::uint64_t seed_;
};

// `Note`: what the caller keeps with each flow.
template <typename Note>
class FlowMemory {
  public:
    using Slot = std::uint32_t;
    struct Kept : RecentFlow {
        Note note;
    };
    static constexpr Slot kNone = UINT32_MAX;
    // Flows of one key that a search looks at: traffic that piles them up must not slow us down.
    static constexpr std::size_t kDeepest = 64;

    // Room for `limit` flows, at least one.
    explicit FlowMemory(std::size_t limit)
        : limit_(std::clamp<std::size_t>(limit, 1, kNone - 1)), mask_(std::bit_ceil(limit_) - 1) {
        for (std::vector<Slot>& heads : heads_) {
            heads.assign(mask_ + 1, kNone);
        }
    }

    std::size_t size() const { return size_; }
    bool full() const { return size_ == limit_; }

    // Makes room by forgetting the oldest when full; look at oldest() before if that matters.
    Slot add(const RecentFlow& flow, const Note& note) {
        const Slot slot = take_slot();
        records_[slot].flow = {flow, note};
        link_front(kOriginal, hash_(flow.original), slot);
        link_front(kClient, hash_(flow.reply.destination, flow.reply.protocol), slot);
        append_youngest(slot);
        ++size_;
        return slot;
    }
    void erase(Slot slot) {
        const RecentFlow& flow = records_[slot].flow;
        unlink(kOriginal, hash_(flow.original), slot);
        unlink(kClient, hash_(flow.reply.destination, flow.reply.protocol), slot);
        remove_from_ages(slot);
        free_.push_back(slot);
        --size_;
    }
    Kept& at(Slot slot) { return records_[slot].flow; }
    const Kept& at(Slot slot) const { return records_[slot].flow; }

    // In the order they were added; kNone at the end.
    Slot oldest() const { return oldest_; }
    Slot younger_than(Slot slot) const { return records_[slot].links[kAge].next; }

    // The youngest flow that `wanted(flow)` is true for, of those with this original tuple; kNone
    // when there is none among the kDeepest youngest.
    template <typename Wanted>
    Slot find_by_original(const Tuple& original, const Wanted& wanted) const {
        return find(kOriginal, hash_(original), [&](const RecentFlow& flow) {
            return flow.original == original && wanted(flow);
        });
    }
    // As find_by_original(), among the flows whose replies go to this end of a client.
    template <typename Wanted>
    Slot find_by_client(const frame::Endpoint& client, std::uint8_t protocol,
                        const Wanted& wanted) const {
        return find(kClient, hash_(client, protocol), [&](const RecentFlow& flow) {
            return flow.reply.destination == client && flow.reply.protocol == protocol &&
                   wanted(flow);
        });
    }

  private:
    enum List : std::size_t { kOriginal, kClient, kAge, kLists };
    struct Links {
        Slot before = kNone;
        Slot next = kNone;
    };
    struct Record {
        Kept flow;
        Links links[kLists];
    };

    Slot take_slot() {
        if (full()) {
            erase(oldest_);
        }
        if (!free_.empty()) {
            const Slot slot = free_.back();
            free_.pop_back();
            return slot;
        }
        records_.emplace_back();
        return static_cast<Slot>(records_.size() - 1);
    }

    Slot& head(List list, std::uint64_t hash) { return heads_[list][hash & mask_]; }

    void link_front(List list, std::uint64_t hash, Slot slot) {
        Slot& first = head(list, hash);
        records_[slot].links[list] = {.before = kNone, .next = first};
        if (first != kNone) {
            records_[first].links[list].before = slot;
        }
        first = slot;
    }

    void unlink(List list, std::uint64_t hash, Slot slot) {
        const Links links = records_[slot].links[list];
        (links.before == kNone ? head(list, hash) : records_[links.before].links[list].next) =
            links.next;
        if (links.next != kNone) {
            records_[links.next].links[list].before = links.before;
        }
    }

    void append_youngest(Slot slot) {
        records_[slot].links[kAge] = {.before = youngest_, .next = kNone};
        (youngest_ == kNone ? oldest_ : records_[youngest_].links[kAge].next) = slot;
        youngest_ = slot;
    }

    void remove_from_ages(Slot slot) {
        const Links links = records_[slot].links[kAge];
        (links.before == kNone ? oldest_ : records_[links.before].links[kAge].next) = links.next;
        (links.next == kNone ? youngest_ : records_[links.next].links[kAge].before) = links.before;
    }

    template <typename Wanted>
    Slot find(List list, std::uint64_t hash, const Wanted& wanted) const {
        Slot slot = heads_[list][hash & mask_];
        for (std::size_t steps = 0; slot != kNone && steps < kDeepest; ++steps) {
            if (wanted(records_[slot].flow)) {
                return slot;
            }
            slot = records_[slot].links[list].next;
        }
        return kNone;
    }

    std::size_t limit_;
    std::uint64_t mask_;
    TupleHash hash_;
    std::vector<Slot> heads_[2];  // of kOriginal and kClient
    std::vector<Record> records_;
    std::vector<Slot> free_;
    Slot oldest_ = kNone;
    Slot youngest_ = kNone;
    std::size_t size_ = 0;
};

}  // namespace pathproof::netfilter
