// The flows of a conntrack table, kept small: 52 bytes for an IPv4 flow, 100 for an IPv6 flow, and
// an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

// Difference between the table and a flow's state that a comparison has found and no event has
// reported yet (Reconciler).
enum class Pending : std::uint8_t {
    kNothing,
    kNew,      // it is in the table
    kChanged,  // its status, mark, state, helper or labels differ
    kGone,     // it is not in the table
    kGoneNew,  // it ended, and one of the same id and tuples is in the table
    kNewGone,  // it was in the table once and is so no more
    kEnded,    // was kGoneNew, and one of the two ended: if the earlier one, the NEW event follows
};

// The part of a kept flow that has no addresses. Flows stand in chunks that never move, so that a
// pointer to one is good until it is erased.
struct Flow {
    std::uint32_t id = 0;
    std::uint32_t status = 0;
    std::uint32_t mark = 0;
    std::uint32_t started = 0;  // of the kernel's time stamp, in units of 2^20 ns; 0: not known
    std::uint16_t zone = 0;
    std::uint16_t labels = 0;  // number of an interned word, as `state` and `helper`
    std::uint8_t protocol = 0;
    std::uint8_t state = 0;
    std::uint8_t helper = 0;
    std::uint8_t zone_direction : 2 = 0;
    std::uint8_t icmp : 1 = 0;
    std::uint8_t wide : 1 = 0;     // IPv6
    std::uint8_t live : 1 = 0;     // not on the free list
    std::uint8_t seen : 1 = 0;     // by the comparison that is going on
    std::uint8_t earlier : 1 = 0;  // there before watching began
    Pending pending = Pending::kNothing;
};

// Words that occur again and again, by number. 0 is the empty word, and also what a word beyond the
// last number gets.
template <typename Number>
class Interner {
  public:
    Number number(const std::string& word);
    const std::string& word(Number number) const { return words_[number]; }

  private:
    std::vector<std::string> words_{std::string()};
    std::map<std::string, Number> numbers_;
};

// Equal pieces of memory by number; they never move.
class FlowPool {
  public:
    explicit FlowPool(std::size_t record_bytes) : record_bytes_(record_bytes) {}

    Flow& at(std::uint32_t number) const;
    std::uint32_t take();
    void give_back(std::uint32_t number);
    std::uint32_t used() const {
        return used_;
    }  // numbers below this have been taken at least once
    std::size_t memory_bytes() const;

  private:
    std::size_t record_bytes_;
    std::vector<std::unique_ptr<std::byte[]>> chunks_;
    std::vector<std::uint32_t> free_;
    std::uint32_t used_ = 0;
};

class FlowTable {
  public:
    FlowTable();

    // The flow of the same CTA_ID, zone and tuples. The id alone is a hash of 32 bits over the
    // entry's place in memory and its original tuple (nf_ct_get_id): a million flows share some,
    // and a later flow may have it again.
    Flow* find(const Entry& entry);
    // Keeps an entry that find() does not know.
    Flow& insert(const Entry& entry);
    void erase(Flow& flow);

    // Takes over what the entry says; what an event leaves out (protocol state, helper, labels)
    // stays.
    void update(Flow& flow, const Entry& entry);
    // Returns whether update() would change anything that the kernel sends events about.
    bool differs(const Flow& flow, const Entry& entry);
    // Returns whether the entry must be a later flow of the same id and tuples: it has another
    // start, or has not seen the reply that this flow had.
    bool is_other(const Flow& flow, const Entry& entry) const;

    Entry entry(const Flow& flow) const;
    std::size_t size() const { return size_; }
    std::size_t memory_bytes() const;

    // In no order; the visitor may erase the flow that it is given.
    void each(const std::function<void(Flow&)>& visit) const;

  private:
    Flow& at(std::uint32_t cell) const;
    std::size_t home(std::uint32_t id) const { return id & (index_.size() - 1); }
    void put_into_index(std::uint32_t cell);
    void grow();

    FlowPool narrow_;
    FlowPool wide_;
    // Open addressing by id with linear probing. A cell holds 0, or a number of a pool plus one;
    // the top bit says of which pool.
    std::vector<std::uint32_t> index_;
    std::size_t size_ = 0;
    Interner<std::uint8_t> words_;
    Interner<std::uint16_t> label_sets_;
};

}  // namespace pathproof::netfilter
