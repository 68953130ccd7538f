// Makes the frames of one sending lcore: unique queries with valid checksums at a few cycles each.
// What is the same for a burst (the time, the upper digits of the sequence, the source address) is
// written once into a prepared frame; per frame it is copied, and the fields that differ and their
// checksums are put in by RFC 1624 arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/fill_run.h"
#include "dataplane/load/flow_walk.h"
#include "dataplane/load/load_plan.h"
#include "dataplane/load/mix_pattern.h"
#include "dataplane/load/prepared_frame.h"
#include "dataplane/load/source.h"

struct rte_mbuf;

namespace pathproof::load {

// Frames that follow each other and differ in nothing but number, time, id, the sums, and what is
// said here.
struct FlowRun {
    std::uint64_t first = 0;  // number of the first
    std::uint32_t frames = 0;
    std::uint32_t part = 0;  // of the mix
    std::uint32_t port = 0;  // source port of the first flow; of the next: port_step further
    std::uint32_t port_step = 0;
    std::uint32_t address = 0;  // the last four bytes of the source address, as they lie in memory
    bool pairs = false;         // two frames of each flow, A and AAAA
    std::uint8_t member = 0;    // of a pair that the first frame is
    // As they lie in memory, one a frame; null: all one.
    const std::uint16_t* outer_ports = nullptr;

    // Returns the source port of the run's frame `index`, as it lies in memory.
    std::uint16_t port_word(std::uint32_t index) const noexcept {
        const std::uint32_t flow = pairs ? (index + member) >> 1 : index;
        return __builtin_bswap16(static_cast<std::uint16_t>(port + flow * port_step));
    }
    bool is_second(std::uint32_t index) const noexcept { return ((index + member) & 1) != 0; }
};

class FrameSource : public Source {
  public:
    // Errors (kBadInput): what cannot be made, named: a frame size too small for its class or above
    // what the specification allows, more flows than addresses and ports give, a suffix too long.
    static Result<FrameSource> make(const SourcePlan& plan);

    // Always makes as many as asked for. Sequence numbers are 0, 1, 2 ... without a gap, over all
    // classes of the stream together. What take_back() and restamp() must know of a frame is kept
    // in the mbuf's hash.usr, which no driver reads on the way out.
    std::size_t fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override;
    void restamp(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override;
    std::optional<std::uint64_t> next_due_ns() const noexcept override { return std::nullopt; }

    const ClassCounts& made() const noexcept override { return made_; }
    void take_back(std::span<rte_mbuf* const> burst) noexcept override;

    std::uint16_t longest_frame() const noexcept override;
    double mean_frame_bytes() const noexcept override;
    std::uint64_t port_offloads() const noexcept override;

    // Moves to frame `number` (of the stream, from 0), from which fill() goes on. For receivers
    // that know the plan: ahead() then describes that frame and those behind it.
    void seek(std::uint64_t number) noexcept;
    // Describes the frames that fill() would make next; skip() passes them over.
    FlowRun ahead() const noexcept;
    void skip(std::uint32_t frames) noexcept;
    std::size_t parts() const noexcept { return parts_.size(); }
    const PreparedFrame& part(std::size_t index) const noexcept { return parts_[index].prepared; }

  private:
    // One part of the mix: its prepared frame, and where it is in its flows.
    struct Part {
        PreparedFrame prepared;
        FlowWalk walk;
        FillRun fill;
        frame::TrafficClass traffic;
        bool pairs;
        bool second_next = false;  // of a pair

        // Frames from here on that can be one run, were there no end to sequences.
        std::uint64_t frames_in_row() const noexcept {
            if (!pairs) {
                return walk.left_in_row();
            }
            return 2 * walk.left_in_row() - (second_next ? 1 : 0);
        }
        void advance(std::size_t frames) noexcept {
            if (!pairs) {
                walk.advance(frames);
                return;
            }
            const std::size_t members = frames + (second_next ? 1 : 0);
            second_next = members % 2 != 0;
            if (members >= 2) {
                walk.advance(members / 2);
            }
        }
        void seek(std::uint64_t frames) noexcept {
            second_next = pairs && frames % 2 != 0;
            walk.seek(pairs ? frames / 2 : frames);
        }
        // Returns how many of the next `frames` frames are the second of a pair.
        std::size_t seconds_among(std::size_t frames) const noexcept {
            if (!pairs) {
                return 0;
            }
            return (frames + (second_next ? 1 : 0)) / 2;
        }
    };

    FrameSource(std::vector<Part> parts, std::vector<MixRun> pattern, const SourcePlan& plan);
    std::size_t make_run(std::span<rte_mbuf*> mbufs, std::uint64_t sent_ns) noexcept;
    frame::TrafficClass class_of(const rte_mbuf& mbuf) const noexcept;

    std::vector<Part> parts_;
    std::vector<MixRun> pattern_;
    std::vector<std::uint16_t> outer_ports_;
    std::vector<std::uint64_t> frames_before_;  // by part: in one period of the pattern
    std::vector<std::uint64_t> frames_met_;     // scratch of seek()
    std::uint64_t period_ = 0;
    frame::StampIds ids_;
    std::size_t turn_ = 0;
    std::uint32_t left_in_turn_ = 0;
    std::uint32_t sequence_ = 0;
    std::size_t outer_port_ = 0;
    ClassCounts made_{};
};

}  // namespace pathproof::load
