#include "dataplane/follow/followed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include "dataplane/base/plural.h"

namespace pathproof::follow {
namespace {

constexpr std::size_t kLookedAtFirst = 8192;  // frames a side
constexpr std::size_t kBytesAtFirst = 16u << 20;
constexpr std::uint32_t kMostHeaders = 118;  // Ethernet, a tag, IPv6 or IPv4 with options, TCP

struct Place {
    std::string path;
    std::string interface;
};

Place place_of(const std::string& text) {
    std::error_code ignored;
    const std::size_t at = text.rfind('@');
    if (at == std::string::npos || std::filesystem::exists(text, ignored)) {
        return {text, ""};
    }
    return {text.substr(0, at), text.substr(at + 1)};
}

// The files of one side in the order of time.
class SideReader {
  public:
    static Result<SideReader> open(const std::vector<std::string>& files) {
        SideReader side;
        for (const std::string& file : files) {
            const Place place = place_of(file);
            auto reader = TRY(CaptureReader::open(place.path, place.interface));
            side.files_.push_back({.reader = std::move(reader), .facts = {.path = file}});
        }
        for (std::size_t i = 0; i < side.files_.size(); ++i) {
            TRY(side.read_head(i));
        }
        return side;
    }

    // The first frame that was not taken yet; null: there is none.
    const CapturedFrame* peek() {
        if (!first_.empty()) {
            return &first_.front();
        }
        const auto file = earliest();
        return file ? &*files_[*file].head : nullptr;
    }
    Result<CapturedFrame> take() {
        if (first_.empty()) {
            return take_from_files();
        }
        CapturedFrame frame = std::move(first_.front());
        first_.pop_front();
        return frame;
    }

    // Reads the first frames without taking them.
    Result<const std::deque<CapturedFrame>*> look() {
        std::size_t bytes = 0;
        while (first_.size() < kLookedAtFirst && bytes < kBytesAtFirst && earliest()) {
            auto frame = TRY(take_from_files());
            bytes += frame.bytes.size();
            first_.push_back(std::move(frame));
        }
        return &first_;
    }

    // 0: no capture says how long it ran.
    std::int64_t until_ns() const {
        std::int64_t until = 0;
        for (const File& file : files_) {
            until = std::max(until, file.reader.left_out_ns());
            for (const CaptureInterface& interface : file.reader.interfaces()) {
                until = std::max(until, interface.end_ns.value_or(0));
            }
        }
        return until;
    }
    // 0: no capture says since when it ran.
    std::int64_t since_ns() const {
        std::int64_t since = 0;
        for (const File& file : files_) {
            const std::int64_t one = file.reader.since_ns();
            since = one != 0 && (since == 0 || one < since) ? one : since;
        }
        return since;
    }
    std::vector<FileFacts> facts() const {
        std::vector<FileFacts> all;
        for (const File& file : files_) {
            FileFacts facts = file.facts;
            for (const CaptureInterface& interface : file.reader.interfaces()) {
                facts.dropped += interface.dropped.value_or(0);
                facts.counts_drops = facts.counts_drops || interface.dropped.has_value();
            }
            all.push_back(facts);
        }
        return all;
    }
    std::uint32_t snap_length() const {
        std::uint32_t least = kNowhere;
        for (const File& file : files_) {
            for (const CaptureInterface& interface : file.reader.interfaces()) {
                least =
                    std::min(least, interface.snap_length == 0 ? kNowhere : interface.snap_length);
            }
        }
        return least;
    }

  private:
    struct File {
        CaptureReader reader;
        FileFacts facts;
        std::optional<CapturedFrame> head = std::nullopt;
    };

    std::optional<std::size_t> earliest() const {
        std::optional<std::size_t> best;
        for (std::size_t i = 0; i < files_.size(); ++i) {
            if (files_[i].head &&
                (!best || files_[i].head->time_ns < files_[*best].head->time_ns)) {
                best = i;
            }
        }
        return best;
    }
    Status read_head(std::size_t i) {
        File& file = files_[i];
        CapturedFrame frame;
        const bool got = TRY(file.reader.next(frame));
        if (!got) {
            file.head.reset();
            return {};
        }
        frame.file = static_cast<std::uint16_t>(i);
        FileFacts& facts = file.facts;
        facts.first_ns =
            facts.frames == 0 ? frame.time_ns : std::min(facts.first_ns, frame.time_ns);
        facts.last_ns = facts.frames == 0 ? frame.time_ns : std::max(facts.last_ns, frame.time_ns);
        ++facts.frames;
        facts.bytes += frame.bytes.size();
        if (frame.bytes.size() < frame.length) {
            facts.snap_length =
                std::max(facts.snap_length, static_cast<std::uint32_t>(frame.bytes.size()));
        }
        file.head = std::move(frame);
        return {};
    }
    Result<CapturedFrame> take_from_files() {
        const std::size_t file = *earliest();
        CapturedFrame frame = std::move(*files_[file].head);
        TRY(read_head(file));
        return frame;
    }

    std::vector<File> files_;
    std::deque<CapturedFrame> first_;
};

// Payload bytes that are there in all frames of both sides.
std::uint32_t common_payload(const SideReader& in, const std::deque<CapturedFrame>& in_first,
                             const SideReader& out, const std::deque<CapturedFrame>& out_first) {
    constexpr std::uint32_t kWholeFrames = 65'535;
    std::uint32_t least = std::min(in.snap_length(), out.snap_length());
    least = least >= kWholeFrames ? kNowhere : least;
    for (const auto* const first : {&in_first, &out_first}) {
        for (const CapturedFrame& frame : *first) {
            if (frame.bytes.size() < frame.length) {
                least = std::min(least, static_cast<std::uint32_t>(frame.bytes.size()));
            }
        }
    }
    return least == kNowhere ? kNowhere : least - std::min(least, kMostHeaders);
}

struct Seen {
    std::int64_t time_ns = 0;
    unsigned hops = 0;
    unsigned count = 0;
};

std::unordered_map<std::uint64_t, Seen> contents(const std::deque<CapturedFrame>& first,
                                                 const ReadLimits& limits) {
    std::unordered_map<std::uint64_t, Seen> all;
    for (const CapturedFrame& frame : first) {
        const Packet packet = read_packet(frame, limits);
        if (packet.headless || packet.ip == frame::Network::kNone) {
            continue;
        }
        Seen& seen = all[packet.loose];
        seen.time_ns = frame.time_ns;
        seen.hops = packet.hop_limit();
        ++seen.count;
    }
    return all;
}

std::int64_t median(std::vector<std::int64_t>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

// Estimates how far the out side's clock is ahead, from the frames that each side has once. One
// clock (0) is the likelier if it explains them: frames come out after the time at which they went
// in, those whose hop limit was lowered above all.
std::int64_t offset_of_clocks(const std::deque<CapturedFrame>& in,
                              const std::deque<CapturedFrame>& out, const FollowOptions& options) {
    const auto went_in = contents(in, options.limits);
    const auto came_out = contents(out, options.limits);
    std::vector<std::int64_t> delays;    // of all
    std::vector<std::int64_t> forward;   // of those that were routed from in to out
    std::vector<std::int64_t> backward;  // ... the other way
    for (const auto& [key, seen] : went_in) {
        const auto found = came_out.find(key);
        if (seen.count != 1 || found == came_out.end() || found->second.count != 1) {
            continue;
        }
        const std::int64_t delay = found->second.time_ns - seen.time_ns;
        delays.push_back(delay);
        if (found->second.hops < seen.hops) {
            forward.push_back(delay);
        } else if (found->second.hops > seen.hops) {
            backward.push_back(delay);
        }
    }
    if (delays.empty()) {
        // A capture that was made up or kept, and replayed: both are taken as begun together.
        constexpr std::int64_t kDay = 86'400'000'000'000;
        const bool comparable =
            in.empty() || out.empty() || std::abs(out.front().time_ns - in.front().time_ns) < kDay;
        return comparable ? 0 : out.front().time_ns - in.front().time_ns;
    }
    const std::int64_t most = options.window_ns / 4;
    const auto is_wrong = [&](std::int64_t delay) { return delay < 0; };
    const auto wrong_forward = std::ranges::count_if(forward, is_wrong);
    const auto wrong_backward =
        std::ranges::count_if(backward, [](std::int64_t delay) { return delay > 0; });
    const bool hops_agree = static_cast<std::size_t>(wrong_forward + wrong_backward) * 2 <=
                            forward.size() + backward.size();
    const bool near = std::abs(median(delays)) <= most;
    const bool hops_tell = !forward.empty() || !backward.empty();
    const bool some_behind =
        std::ranges::any_of(delays, [](std::int64_t delay) { return delay >= 0; });
    if (near && hops_agree && (hops_tell || some_behind)) {
        return 0;
    }
    if (!forward.empty() && !backward.empty()) {
        return (median(forward) + median(backward)) / 2;
    }
    // One way: the quickest frame is taken for one that needed no time.
    const auto& one_way = forward.empty() ? delays : forward;
    return backward.empty() || !forward.empty() ? *std::ranges::min_element(one_way)
                                                : *std::ranges::max_element(backward);
}

Status check_names(const std::vector<std::string>& in, const std::vector<std::string>& out) {
    std::vector<std::string> all = in;
    all.insert(all.end(), out.begin(), out.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t other = 0; other < i; ++other) {
            const Place one = place_of(all[i]);
            const Place two = place_of(all[other]);
            std::error_code ignored;
            if (one.interface == two.interface &&
                std::filesystem::equivalent(one.path, two.path, ignored)) {
                return fail(ErrorCode::kBadInput,
                            "capture files {} and {} are one file; name what went in and what came "
                            "out, or FILE@INTERFACE for one interface of a file",
                            all[other], all[i]);
            }
        }
    }
    return {};
}

}  // namespace

Result<Followed> follow_files(const std::vector<std::string>& in,
                              const std::vector<std::string>& out, const FollowOptions& asked) {
    TRY(check_names(in, out));
    auto in_side = TRY(SideReader::open(in));
    auto out_side = TRY(SideReader::open(out));
    const auto* const in_first = TRY(in_side.look());
    const auto* const out_first = TRY(out_side.look());
    FollowOptions options = asked;
    options.limits.payload_bytes = common_payload(in_side, *in_first, out_side, *out_first);
    options.clock_offset_ns = offset_of_clocks(*in_first, *out_first, options);
    Follower follower(options);
    if (const std::int64_t since = in_side.since_ns(); since != 0) {
        follower.begin(Side::kIn, since);
    }
    if (const std::int64_t since = out_side.since_ns(); since != 0) {
        follower.begin(Side::kOut, since);
    }
    bool in_ended = false;
    bool out_ended = false;
    for (;;) {
        const CapturedFrame* const next_in = in_side.peek();
        const CapturedFrame* const next_out = out_side.peek();
        if (next_in == nullptr && !in_ended) {
            in_ended = true;
            follower.end(Side::kIn, in_side.until_ns());
        }
        if (next_out == nullptr && !out_ended) {
            out_ended = true;
            follower.end(Side::kOut, out_side.until_ns());
        }
        if (next_in == nullptr && next_out == nullptr) {
            break;
        }
        const bool take_in =
            next_out == nullptr ||
            (next_in != nullptr && next_in->time_ns <= next_out->time_ns - options.clock_offset_ns);
        if (take_in && next_out != nullptr) {
            follower.coming(Side::kOut, next_out->time_ns);
        } else if (!take_in && next_in != nullptr) {
            follower.coming(Side::kIn, next_in->time_ns);
        }
        const CapturedFrame frame = TRY((take_in ? in_side : out_side).take());
        follower.add(take_in ? Side::kIn : Side::kOut, frame);
    }
    Followed followed;
    followed.outcome = follower.finish();
    followed.in = in_side.facts();
    followed.out = out_side.facts();
    followed.clock_offset_ns = options.clock_offset_ns;
    return followed;
}

namespace {

std::uint64_t dropped(const std::vector<FileFacts>& files) {
    std::uint64_t all = 0;
    for (const FileFacts& file : files) {
        all += file.dropped;
    }
    return all;
}

void add_notes(const Followed& followed, Conclusion& conclusion) {
    const Outcome& outcome = followed.outcome;
    const auto note = [&](std::uint64_t count, const std::string& text) {
        if (count != 0) {
            conclusion.notes.push_back(text);
        }
    };
    note(outcome.partial_in,
         fmt::format(
             "{} had a checksum that was still to be finished when the capture saw them going "
             "in (CHECKSUM_PARTIAL), and came out right: no fault",
             plural(outcome.partial_in, "frame")));
    note(outcome.partial_out,
         fmt::format("{} came out with a checksum that is still to be finished (CHECKSUM_PARTIAL): "
                     "the capture is before the NIC's work or behind GRO; no fault",
                     plural(outcome.partial_out, "frame")));
    note(outcome.wrong_already,
         fmt::format("{} had a wrong checksum before they went in, and were carried as they came",
                     plural(outcome.wrong_already, "frame")));
    note(outcome.cut, fmt::format("{} were cut by a capture's snap length: compared as far as both "
                                  "captures have them",
                                  plural(outcome.cut, "frame")));
    note(outcome.forced,
         fmt::format("{} were decided before their time, as more frames were on their way than the "
                     "memory holds",
                     plural(outcome.forced, "frame")));
    if (followed.clock_offset_ns != 0) {
        conclusion.notes.push_back(
            fmt::format("the clock of the out side is {:.6f} s ahead of the in side's: delays are "
                        "against the quickest frame",
                        static_cast<double>(followed.clock_offset_ns) / 1e9));
    }
    std::uint64_t outside = 0, came_before = 0, local = 0, refused = 0;
    for (const Totals& totals : outcome.totals) {
        outside += totals.of(Class::kOutside);
        came_before += totals.outside;
        local += totals.of(Class::kLocal) + totals.local;
        refused += totals.of(Class::kRefused);
    }
    note(outside, fmt::format("{} went in while the other capture had not begun or had ended: "
                              "outside the window, not judged",
                              plural(outside, "frame")));
    note(came_before,
         fmt::format("{} came out that may have gone in before the other capture began: "
                     "outside the window, not judged",
                     plural(came_before, "frame")));
    note(local, fmt::format("{} of the link or of the device itself: not forwarded",
                            plural(local, "frame")));
    note(refused, fmt::format("{} refused by the device with the ICMP error that is due (hop limit "
                              "used up, too long for the next link)",
                              plural(refused, "frame")));
}

// Frames that went in when the capture of what came out ended, or behind its last frame; empty: none did.
// Whether they were lost or on their way, nothing in such captures says, so that each counts.
std::string tail_text(const Outcome& outcome) {
    std::uint64_t frames = 0;
    std::int64_t longest = 0;
    for (const Stretch& tail : outcome.tails) {
        frames += tail.frames;
        longest = std::max(longest, tail.until_ns - tail.since_ns);
    }
    if (frames == 0) {
        return "";
    }
    return fmt::format(
        "{} went in{} when the capture of what came out ended, and did not come out before: lost, "
        "on "
        "their way, or that capture was stopped first. Stop the capture of what comes out last, "
        "two "
        "seconds behind the other, or capture with dumpcap, whose files say when they ended",
        plural(frames, "frame"),
        frames == 1 ? "" : fmt::format(", within {:.3f} s,", static_cast<double>(longest) / 1e9));
}

// Frames that went in before the first one that came out; empty: nothing did. None of them can be on its
// way when captures begin together, so that each counts.
std::string head_text(const Outcome& outcome) {
    std::uint64_t frames = 0;
    std::int64_t longest = 0;
    for (const Stretch& head : outcome.heads) {
        frames += head.frames;
        longest = std::max(longest, head.until_ns - head.since_ns);
    }
    if (frames == 0) {
        return "";
    }
    return fmt::format(
        "{} went in before the first frame that came out{}: they were lost, or that capture was "
        "begun later. Begin the capture of what comes out first, or capture with dumpcap, whose "
        "files say when they began",
        plural(frames, "frame"),
        frames == 1 ? "" : fmt::format(", within {:.3f} s", static_cast<double>(longest) / 1e9));
}

// Returns whether one side's captures end before the other's begin.
bool are_apart(const Followed& followed) {
    const auto first = [](const std::vector<FileFacts>& files) {
        return std::ranges::min(files, {}, &FileFacts::first_ns).first_ns;
    };
    const auto last = [](const std::vector<FileFacts>& files) {
        return std::ranges::max(files, {}, &FileFacts::last_ns).last_ns;
    };
    const std::int64_t offset = followed.clock_offset_ns;
    return last(followed.in) < first(followed.out) - offset ||
           last(followed.out) - offset < first(followed.in);
}

}  // namespace

Conclusion conclude(const Followed& followed) {
    constexpr std::uint64_t kBorderShare = 10;  // percent of the frames
    Conclusion conclusion;
    const Outcome& outcome = followed.outcome;
    add_notes(followed, conclusion);
    std::uint64_t sent = 0, faults = 0, missing = 0, unknown = 0, untold = 0, outside = 0,
                  arrived = 0;
    for (const Totals& totals : outcome.totals) {
        sent += totals.sent;
        arrived += totals.arrived;
        unknown += totals.unknown;
        untold += totals.untold + totals.of(Class::kUntold);
        outside += totals.of(Class::kOutside);
        missing += totals.of(Class::kMissing);
        for (std::size_t i = 0; i < kClasses; ++i) {
            faults += is_fault(static_cast<Class>(i)) ? totals.classes[i] : 0;
        }
    }
    const std::uint64_t lost_by_captures = dropped(followed.in) + dropped(followed.out);
    const std::uint64_t others = faults - missing;
    // A frame whose headers were cut is missing on one side and unknown on the other.
    const bool explained = missing + unknown <= lost_by_captures + untold;
    if (lost_by_captures != 0) {
        conclusion.notes.push_back(fmt::format(
            "the captures dropped {} themselves ({} of what went in, {} of what came out)",
            plural(lost_by_captures, "frame"), dropped(followed.in), dropped(followed.out)));
    }
    if (others != 0 || (missing + unknown != 0 && !explained)) {
        conclusion.arrival = Arrival::kNot;
        return conclusion;
    }
    if (missing + unknown != 0 && lost_by_captures != 0) {
        conclusion.why.push_back(
            fmt::format("{} missing and {} unknown may be those that the captures dropped; capture "
                        "again with a larger buffer (tcpdump -B)",
                        missing, unknown));
    }
    const std::string head = head_text(outcome);
    const std::string tail = tail_text(outcome);
    if (sent == 0) {
        conclusion.why.push_back("there is no frame that went in");
    } else if (outside == sent && are_apart(followed)) {
        conclusion.why.push_back(
            "the captures have no moment in common: take both while the traffic runs");
    } else if (outside * 100 > sent * kBorderShare) {
        conclusion.why.push_back(fmt::format(
            "{} of {} went in while the other capture saw nothing: either it had not begun "
            "or had ended, or the path carried nothing; let it run longer than the traffic",
            outside, plural(sent, "frame")));
    } else if (arrived == 0) {
        conclusion.why.push_back("no frame of either capture is in the other one");
    } else {
        for (const std::string& text : {head, tail}) {
            if (!text.empty()) {
                conclusion.why.push_back(text);
            }
        }
    }
    if (untold != 0) {
        conclusion.why.push_back(
            fmt::format("{} cannot be followed, as the captures cut them; capture whole frames "
                        "(tcpdump -s 0)",
                        plural(untold, "frame")));
    }
    conclusion.arrival = conclusion.why.empty() ? Arrival::kAllArrived : Arrival::kCannotTell;
    return conclusion;
}

}  // namespace pathproof::follow
