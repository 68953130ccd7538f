// Does to a stream of frames what a bad path does: loses some, doubles some, lets some come later
// than those sent after them, damages some. Seeded, and with a count of its own of what it did.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/random.h"
#include "dataplane/base/result.h"

struct rte_mbuf;

namespace pathproof::load {

// Shares are of all frames, 0 to 1, and add up to 1 at most: one frame suffers one thing.
struct ImpairmentPlan {
    double loss = 0;
    double duplication = 0;
    double reordering = 0;
    double corruption = 0;
    // Largest distance, in frames, by which a held frame or the copy of a doubled one comes later.
    std::uint32_t most_distance = 1;
    std::uint32_t most_held = 4'096;  // at one time; each keeps an mbuf of its pool
    std::vector<std::uint16_t> tunnel_ports = {4789};  // to know what checksums cover
    std::uint64_t seed = 1;
};

// `reordered` and `distance` in the words of RFC 4737: of the frames that were passed on whole and
// for the first time, those that came after a later one, and how far they were behind the latest.
struct ImpairmentCounts {
    std::uint64_t frames = 0;  // that came in
    std::uint64_t lost = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t duplicates = 0;  // copies passed on
    std::uint64_t reordered = 0;
    std::uint32_t furthest = 0;
    std::array<std::uint64_t, 22> distance{};  // 1, 2-3, 4-7, ... 2^20 and more
    // Drawn but not done: too many were held, the pool had no mbuf for a copy, no checksum covers a
    // byte of the frame. Such frames were passed on as they were.
    std::uint64_t spared = 0;
};

class Impairment {
  public:
    static constexpr std::uint32_t kMostDistance = 1u << 20;

    // Errors (kBadInput): shares out of their range, a distance that is not in 1..2^20.
    static Result<Impairment> make(const ImpairmentPlan& plan);
    // Takes all of `in` over and gives, in `out`, the frames that go on. `out` has room for two
    // frames for each that comes in; held ones that are due and find no room come with the next
    // burst. Frames are expected to be their owner's alone: damage is done in place.
    std::size_t pass(std::span<rte_mbuf* const> in, std::span<rte_mbuf*> out) noexcept;
    // Gives up, at the end, the frames still held, as many as there is room for; 0 when that was
    // all.
    std::size_t flush(std::span<rte_mbuf*> out) noexcept;

    const ImpairmentCounts& counts() const noexcept { return counts_; }

  private:
    enum class Fate : std::uint8_t { kLost, kDoubled, kHeld, kCorrupted };
    enum class Is : std::uint8_t { kOriginal, kCopy };
    struct FreeMbuf {
        void operator()(rte_mbuf* frame) const noexcept;
    };
    struct Held {
        std::uint64_t due = 0;     // before the frame of this number
        std::uint64_t number = 0;  // its own
        std::unique_ptr<rte_mbuf, FreeMbuf> frame;
        Is is = Is::kOriginal;
    };

    explicit Impairment(const ImpairmentPlan& plan);
    static bool later(const Held& a, const Held& b) noexcept;
    void draw_next() noexcept;
    Fate draw_fate() noexcept;
    double draw() noexcept;
    std::uint64_t next_stop() const noexcept;

    // Each gives how many frames it wrote.
    std::size_t suffer(rte_mbuf* frame, rte_mbuf** out) noexcept;
    std::size_t release(std::span<rte_mbuf*> out) noexcept;
    std::size_t pass_on(rte_mbuf* frame, std::uint64_t number, rte_mbuf** out) noexcept;
    bool hold(rte_mbuf* frame, Is is) noexcept;
    void hold_copy(const rte_mbuf& frame) noexcept;
    bool corrupt(rte_mbuf& frame) noexcept;
    void count_arrival(std::uint64_t number) noexcept;

    ImpairmentPlan plan_;
    Random random_;
    double any_ = 0;            // share of frames that suffer anything
    std::uint64_t number_ = 0;  // of the next frame
    std::uint64_t next_ = 0;    // the next one to suffer
    std::uint64_t latest_ = 0;  // 1 + the highest number passed on whole
    std::vector<Held> held_;    // a heap by `due`
    ImpairmentCounts counts_;
};

}  // namespace pathproof::load
