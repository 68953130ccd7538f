// A receiver's knowledge of the frames that were sent. The plan of the sources and a frame's stamp
// determine every byte of it but the time in the stamp. So each frame that comes in is compared
// with the one that left, from the first byte to the last, and the differences are named.
//
// There are two ways. `as_sent` finds in a few cycles that nothing differs but what may. For any
// other frame `identify` finds the frame that it was, also if its number was changed on the way,
// and the fields that differ.
//
// Two changes cannot be found: a number changed to that of another frame of the same flow, alike in
// all else (UDP in one flow has no id that would contradict it), and a time changed by less than it
// takes to lie before the run's start or ahead of the clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/judge/expectation.h"
#include "dataplane/judge/field_map.h"
#include "dataplane/load/class_frame.h"
#include "dataplane/load/frame_source.h"
#include "dataplane/load/stamp_reader.h"

namespace pathproof::load {

// A frame that was found to be one of those sent.
struct Identified {
    std::uint8_t stream = 0;
    std::uint32_t sequence = 0;
    frame::TrafficClass traffic{};
    std::uint64_t fields = 0;   // that differ and must not, by bit: see name(); 0: none
    std::uint32_t part = 0;     // of the mix
    unsigned bytes = 0;         // that differ, without checksums
    unsigned header_bytes = 0;  // likewise, in front of the payload
};

// Places in a frame of the fields that follow from its flow; 0: the frame has none.
struct FlowPlaces {
    std::uint32_t port = 0;
    std::uint32_t address = 0;  // its last four bytes
    std::uint32_t outer_port = 0;
    std::uint64_t parts = 0;  // of the mix, a bit each: those whose frames look like this one
};

class SentFrames {
  public:
    // `plan.sent` is what all streams send. Errors: what FrameSource::make says.
    static Result<SentFrames> make(const IntakePlan& plan);

    // Returns whether a frame is, but for what may change, number `sequence` of `stream`. Its
    // checksums are right, and its stamp reads so.
    bool as_sent(frame::Bytes frame, const Tracked& claimed) noexcept;
    // Finds the frame that a changed frame was; nothing: no frame of the run. `claimed` null: its
    // stamp cannot be read. Where sums are wrong a number far off is not believed while a frame
    // near the highest number seen differs in a few bytes: the number itself may be what was
    // damaged.
    enum class Sums : std::uint8_t { kRight, kWrong };
    std::optional<Identified> identify(frame::Bytes frame, const Tracked* claimed,
                                       Sums sums) noexcept;
    // Returns what is wrong with an answer to `claimed`, whose checksums are right; 0: nothing.
    std::uint64_t wrong_in_answer(frame::Bytes frame, const Innermost& packet,
                                  const Tracked& claimed) noexcept;

    // The class of the frame that an answer to `claimed` is to: of DNS its answer may repeat another
    // question.
    frame::TrafficClass class_sent(const Tracked& claimed) noexcept;

    // The quickest way, of frames whose bytes outside of `at` are known to be right.
    [[gnu::always_inline]] bool flow_fits(const std::uint8_t* frame, unsigned stream,
                                          std::uint32_t sequence, bool aaaa,
                                          const FlowPlaces& at) noexcept;
    // The bytes of a frame of that number which are the same in all of its part, as a mask; empty
    // for answers. FlowPlaces where it has the rest.
    std::span<const std::uint8_t> common_bytes(const Tracked& claimed) noexcept;
    FlowPlaces flow_places(const Tracked& claimed, const Innermost& packet) noexcept;

    // A frame of that number left in the present trial: those behind it did, too.
    bool left_before(const Tracked& claimed) const noexcept;
    void note(std::uint8_t stream, std::uint32_t sequence, frame::TrafficClass traffic) noexcept;
    void begin_trial() noexcept;

    std::uint64_t time_field() noexcept { return bit("stamp.time"); }
    // Returns whether the frame goes where the run's frames are sent: one that cannot be read there
    // may be one of them.
    bool goes_there(frame::Bytes frame, const Innermost& packet) const noexcept {
        const std::size_t last_four = packet.network == frame::Network::kIpv4 ? 16 : 36;
        return judge::load<std::uint32_t>(frame.data() + packet.ip + last_four) == last_four_;
    }
    // Returns whether some frame that is sent has this length.
    bool has_length(std::size_t bytes) const noexcept {
        return expects_ == IntakePlan::Expects::kFrames &&
               std::ranges::any_of(parts_,
                                   [&](const Part& part) { return part.common.size() == bytes; });
    }
    bool judges_records() const noexcept { return !rules_.empty(); }
    bool sources_fixed() const noexcept { return !allowance_.has(Allowance::kSource); }
    std::span<const std::string> names() const noexcept { return names_; }
    // The frame as it left, with no time in its stamp; valid until the next call.
    frame::Bytes sent_bytes(const Identified& found) noexcept {
        Stream& stream = streams_[found.stream];
        return rebuild(stream, number_of(stream, found.sequence, found.traffic));
    }
    // A line each: "ip.tos at 15 is 0x20 instead of 0x00".
    std::string described(frame::Bytes frame, const Identified& found);

  private:
    enum class AnswerField : std::uint8_t {
        kSource,
        kSourcePort,
        kDestination,
        kDestinationPort,
        kId,
        kRcode,
        kName,
        kType,
        kPayload,
        kRecords
    };

    struct Part {
        frame::TrafficClass traffic{};
        FieldPlaces places;
        StampForm form{};
        std::uint32_t payload = 0;
        std::uint32_t ttl = 0;
        bool udp = false;
        bool has_checksum = true;  // of the transport: false if it is sent as 0
        bool has_outer_checksum = false;
        std::uint32_t mixed_end = 0;         // behind it each bit is compared
        std::vector<std::uint8_t> common;    // bits that all frames of the part have
        std::vector<std::uint8_t> compared;  // of these, those that no path may change
        std::vector<std::uint8_t> may;       // bits that the path may change
        std::vector<judge::Field> fields;
        std::vector<std::uint8_t> field_of;  // by byte
        std::vector<std::uint8_t> name_of;   // by field: in names_
    };
    struct Stream {
        FrameSource source;
        FlowRun run;                                   // frames around the last one looked at
        std::uint64_t position = 0;                    // of the source
        std::uint64_t next = 0;                        // 1 + the highest number seen
        std::uint64_t first_seen = ~std::uint64_t{0};  // of this trial
    };

    SentFrames() = default;
    Part part_of(const PreparedFrame& prepared, bool pairs, bool ports_in_turn);
    std::uint8_t name_index(const std::string& name);
    std::uint64_t bit(const char* name) noexcept;
    static std::uint64_t number_of(const Stream& stream, std::uint32_t sequence,
                                   frame::TrafficClass traffic) noexcept;
    const FlowRun& run_with(Stream& stream, std::uint64_t number) noexcept {
        if (number - stream.run.first >= stream.run.frames) [[unlikely]] {
            find_run(stream, number);
        }
        return stream.run;
    }
    void find_run(Stream& stream, std::uint64_t number) noexcept;
    std::uint64_t parts_like(const Part& part) const noexcept;
    frame::TrafficClass class_of(const FlowRun& run, std::uint64_t number) const noexcept;
    frame::Bytes rebuild(Stream& stream, std::uint64_t number) noexcept;
    bool ttl_fits(const Part& part, const std::uint8_t* seen,
                  const std::uint8_t* sent) const noexcept;
    Identified compare(frame::Bytes seen, unsigned stream, std::uint64_t number) noexcept;
    // Near the highest number seen.
    static bool is_near(const Stream& stream, std::uint64_t number) noexcept;
    // Finds a frame by its payload where bytes before it were put in or lost, so that no header can be
    // compared in place: a frame near the highest number seen whose payload is there, shifted and whole.
    std::optional<Identified> identify_shifted(frame::Bytes frame) noexcept;
    std::optional<Identified> compare_payload(frame::Bytes seen, unsigned stream,
                                              std::uint64_t number, int shift) noexcept;
    void compare_bytes(const std::uint8_t* seen, const std::uint8_t* sent, std::size_t from,
                       std::size_t to, const Part& part, Identified& found) const noexcept;
    bool payload_as_sent(frame::Bytes seen, const Part& part, const std::uint8_t* sent) noexcept;

    bool records_fit(frame::Bytes message) const noexcept;

    std::vector<Stream> streams_;
    std::vector<Part> parts_;
    std::vector<std::string> names_;
    std::vector<frame::StampIds> ids_;
    std::vector<judge::Expectation> rules_;
    std::vector<std::uint16_t> tunnel_ports_;
    IntakePlan::Expects expects_{};
    Allowance allowance_;
    bool flow_checked_ = true;  // source address and port
    frame::Endpoint service_;
    std::uint16_t echo_port_ = 0;
    std::uint32_t last_four_ = 0;      // of the destination's address
    std::vector<std::uint8_t> room_;   // of a rebuilt frame
    std::vector<std::uint8_t> moved_;  // and of one whose payload was found elsewhere
};

inline bool SentFrames::flow_fits(const std::uint8_t* frame, unsigned stream,
                                  std::uint32_t sequence, bool aaaa,
                                  const FlowPlaces& at) noexcept {
    using judge::load;
    Stream& of = streams_[stream];
    // Numbers as they are in the stamp: the run's own is as near.
    auto index = sequence - static_cast<std::uint32_t>(of.run.first);
    if (index >= of.run.frames) [[unlikely]] {
        find_run(of, number_of(of, sequence, frame::TrafficClass::kDnsA));
        index = sequence - static_cast<std::uint32_t>(of.run.first);
    }
    const FlowRun& run = of.run;
    const Part& part = parts_[run.part];
    const bool second =
        run.pairs ? run.is_second(index) : part.traffic == frame::TrafficClass::kDnsAaaa;
    const bool own =
        !flow_checked_ || (load<std::uint16_t>(frame + at.port) == run.port_word(index) &&
                           load<std::uint32_t>(frame + at.address) == run.address);
    const bool outer =
        at.outer_port == 0 || load<std::uint16_t>(frame + at.outer_port) == run.outer_ports[index];
    const bool fits = run.part < 64 && (at.parts >> run.part & 1) != 0;
    if (second != aaaa || !own || !outer || !fits) [[unlikely]] {
        return false;
    }
    of.next = std::max(of.next, run.first + index + 1);
    return true;
}

}  // namespace pathproof::load
