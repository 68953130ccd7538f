// The frame that one part of a mix copies: everything that a run of frames has in common is in it,
// sums included. A run has one time, one source address, and one sequence but for the last two
// digits; what is left per frame is done by fill_run.h.
#pragma once

#include <emmintrin.h>

#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/frame/stamp.h"
#include "dataplane/load/class_frame.h"
#include "dataplane/load/load_plan.h"

struct rte_mbuf;

namespace pathproof::load {

// Work that a checksum field needs in each frame.
enum class FieldWork : std::uint8_t {
    kNone,    // the value in the prepared frame holds for the whole run
    kSummed,  // the sum of the run, and the words of the frame
    kSealed,  // the mode is none of the common ones: the whole frame is summed (seal.h)
};

// Sums are over words as they lie in memory, folded to 16 bits where they are kept, so that some
// thousands of them can be added up in 32 bits.
class PreparedFrame {
  public:
    // `mark` comes back in the hash.usr of each mbuf.
    static Result<PreparedFrame> make(const SourcePlan& plan, const MixPart& part,
                                      std::uint32_t mark);

    // Sets a value that all frames of a run have in common. Setting the value that it has costs
    // nothing.
    void set_time(std::uint64_t sent_ns) noexcept {
        if (sent_ns != sent_ns_) {
            change_time(sent_ns);
        }
    }
    // All of a sequence but its lowest 8 bits.
    void set_upper(std::uint32_t upper) noexcept {
        if (upper != upper_) {
            change_upper(upper);
        }
    }
    // Sets the source address by its distance from the first one.
    void set_row(std::uint32_t row) noexcept {
        if (row != row_) {
            change_row(row);
        }
    }

    // The last four bytes of the source address of a row, as they lie in memory.
    std::uint32_t address_word(std::uint32_t row) const noexcept {
        return __builtin_bswap32(first_address_ + row);
    }
    // Another time in a frame that was made of this one.
    void restamp(std::uint8_t* frame, std::uint64_t sent_ns) const noexcept;
    void seal(std::uint8_t* frame) const noexcept;

    const ClassFrame& frame() const noexcept { return frame_; }
    const std::uint8_t* bytes() const noexcept { return frame_.bytes.data(); }
    std::uint16_t size() const noexcept { return frame_.layout.end; }
    FieldWork work() const noexcept { return work_; }
    FieldWork outer_work() const noexcept { return outer_work_; }
    // Returns the sum of all that a run has in common, for the transport's and the outer UDP
    // checksum.
    std::uint32_t run_sum() const noexcept {
        return fixed_sum_ + time_sum_ + upper_sum_ + row_sum_;
    }
    std::uint32_t outer_run_sum() const noexcept { return outer_fixed_sum_ + outer_row_sum_; }
    // The word with the sequence's lowest 8 bits is this with kHexPairs of them, or with them in
    // its later byte.
    std::uint16_t low_word_base() const noexcept { return low_word_base_; }
    std::uint16_t low_word_place() const noexcept { return low_word_place_; }
    // Returns the value sent in place of a computed 0: 0xffff under UDP (RFC 768).
    std::uint16_t zero_as() const noexcept { return zero_as_; }

    // 16 bytes of mbuf each: from rearm_data (data_off, refcnt, nb_segs, port, ol_flags), and from
    // packet_type (lengths and hash).
    __m128i rearm() const noexcept { return rearm_; }
    __m128i description() const noexcept { return description_; }
    // rte_mbuf's tx_offload; counts only if offloaded().
    std::uint64_t tx_offload() const noexcept { return tx_offload_; }
    bool offloaded() const noexcept { return offloaded_; }
    std::uint64_t port_offloads() const noexcept { return port_offloads_; }

  private:
    explicit PreparedFrame(ClassFrame frame) : frame_(std::move(frame)) {}
    void clear_own_fields(const SourcePlan& plan) noexcept;
    void choose_work(const SourcePlan& plan) noexcept;
    void sum_up() noexcept;
    void sum_up_outer(bool ports_in_turn) noexcept;
    void write_constant_checksums() noexcept;
    void describe(std::uint32_t mark) noexcept;
    void change_time(std::uint64_t sent_ns) noexcept;
    void change_upper(std::uint32_t upper) noexcept;
    void change_row(std::uint32_t row) noexcept;
    std::uint32_t write_time(std::uint8_t* frame, std::uint64_t sent_ns) const noexcept;
    std::uint32_t time_words(const std::uint8_t* frame) const noexcept;

    ClassFrame frame_;
    FieldWork work_ = FieldWork::kSummed;
    FieldWork outer_work_ = FieldWork::kNone;
    bool offloaded_ = false;
    bool presets_ = false;         // the transport's field holds the pseudo-header's sum
    bool outer_in_frame_ = false;  // one outer port: its checksum is written once a row
    bool outer_follows_row_ = false;
    std::uint8_t stream_ = 0;
    std::uint16_t zero_as_ = 0;
    std::uint16_t low_word_base_ = 0;
    std::uint16_t low_word_place_ = 0;
    std::uint32_t first_address_ = 0;  // its last four bytes
    std::uint32_t fixed_sum_ = 0;
    std::uint32_t time_sum_ = 0;
    std::uint32_t upper_sum_ = 0;
    std::uint32_t row_sum_ = 0;
    std::uint32_t pseudo_sum_ = 0;     // without the row
    std::uint32_t ip_header_sum_ = 0;  // likewise
    std::uint32_t outer_fixed_sum_ = 0;
    std::uint32_t outer_row_sum_ = 0;
    std::uint64_t sent_ns_ = ~std::uint64_t{0};
    std::uint32_t upper_ = ~std::uint32_t{0};
    std::uint32_t row_ = ~std::uint32_t{0};
    __m128i rearm_{};
    __m128i description_{};
    std::uint64_t tx_offload_ = 0;
    std::uint64_t port_offloads_ = 0;
};

// The complement of a 32-bit sum of words, its carries added in: what goes into a checksum field,
// as it lies in memory.
constexpr std::uint16_t checksum_word(std::uint32_t sum) noexcept {
    sum += sum << 16 | sum >> 16;
    return static_cast<std::uint16_t>(~sum >> 16);
}
// Like checksum_word(), with a computed 0 sent as `zero_as`.
constexpr std::uint16_t checksum_for(std::uint32_t sum, std::uint16_t zero_as) noexcept {
    const std::uint16_t word = checksum_word(sum);
    return word == 0 ? zero_as : word;
}

// The last four bytes of an address as a number; the rest of it is common to all of a range.
std::uint32_t host_part(const frame::IpAddress& address) noexcept;

}  // namespace pathproof::load
