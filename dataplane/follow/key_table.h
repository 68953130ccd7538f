// Records by a 64-bit key, several a key, in the order in which they were put in.
#pragma once

#include <cstdint>
#include <vector>

namespace pathproof::follow {

template <typename Record>
class KeyTable {
  public:
    static constexpr std::uint32_t kNone = 0xffffffff;

    // The node by which it is erased.
    std::uint32_t insert(std::uint64_t key, Record* record) {
        if (count_ >= buckets_.size()) {
            grow();
        }
        std::uint32_t node = free_;
        if (node == kNone) {
            node = static_cast<std::uint32_t>(nodes_.size());
            nodes_.push_back({});
        } else {
            free_ = nodes_[node].next;
        }
        nodes_[node] = {.key = key, .record = record, .next = kNone, .previous = kNone};
        append(node);
        ++count_;
        return node;
    }

    void erase(std::uint32_t node) {
        const Node gone = nodes_[node];
        Bucket& bucket = bucket_of(gone.key);
        (gone.previous == kNone ? bucket.first : nodes_[gone.previous].next) = gone.next;
        (gone.next == kNone ? bucket.last : nodes_[gone.next].previous) = gone.previous;
        nodes_[node].next = free_;
        free_ = node;
        --count_;
    }

    // Calls visit(Record&) for records of the key, oldest first, until it gives false. Nothing is
    // put in or erased meanwhile.
    template <typename Visit>
    void visit(std::uint64_t key, Visit visit) const {
        if (buckets_.empty()) {
            return;
        }
        for (std::uint32_t at = buckets_[key & (buckets_.size() - 1)].first; at != kNone;
             at = nodes_[at].next) {
            if (nodes_[at].key == key && !visit(*nodes_[at].record)) {
                return;
            }
        }
    }

  private:
    struct Node {
        std::uint64_t key = 0;
        Record* record = nullptr;
        std::uint32_t next = kNone;
        std::uint32_t previous = kNone;
    };
    struct Bucket {
        std::uint32_t first = kNone;
        std::uint32_t last = kNone;
    };

    Bucket& bucket_of(std::uint64_t key) { return buckets_[key & (buckets_.size() - 1)]; }

    void append(std::uint32_t node) {
        Bucket& bucket = bucket_of(nodes_[node].key);
        nodes_[node].previous = bucket.last;
        nodes_[node].next = kNone;
        (bucket.last == kNone ? bucket.first : nodes_[bucket.last].next) = node;
        bucket.last = node;
    }

    void grow() {
        constexpr std::size_t kFirst = 1024;
        std::vector<Bucket> before(buckets_.empty() ? kFirst : buckets_.size() * 2);
        buckets_.swap(before);
        for (const Bucket& bucket : before) {
            for (std::uint32_t at = bucket.first; at != kNone;) {
                const std::uint32_t next = nodes_[at].next;
                append(at);
                at = next;
            }
        }
    }

    std::vector<Node> nodes_;
    std::vector<Bucket> buckets_;
    std::uint32_t free_ = kNone;
    std::size_t count_ = 0;
};

}  // namespace pathproof::follow
