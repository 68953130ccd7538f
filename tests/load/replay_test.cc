#include "dataplane/load/replay.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "tests/contains.h"
#include "tests/load/capture_bytes.h"
#include "tests/load/made_frames.h"

BOOST_AUTO_TEST_SUITE(recordings_replayed)

using namespace pathproof;
using namespace pathproof::load;

namespace {

// A file that is gone with the test.
class CaptureFile {
  public:
    explicit CaptureFile(const Octets& bytes) {
        const int handle = ::mkstemp(path_);
        BOOST_REQUIRE(handle >= 0);
        ::close(handle);
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    ~CaptureFile() { ::unlink(path_); }
    std::string path() const { return path_; }

  private:
    char path_[32] = "/tmp/pathproof-replay-XXXXXX";
};

Result<Recording> read(const Octets& bytes, CutShort cut_short = CutShort::kRefused,
                       const RecordingLimits& limits = {}) {
    return Recording::read(CaptureFile(bytes).path(), cut_short, limits);
}

std::string refusal(const Octets& bytes, const RecordingLimits& limits = {}) {
    const Result<Recording> recording = read(bytes, CutShort::kRefused, limits);
    BOOST_REQUIRE(!recording);
    BOOST_TEST((recording.error().code == ErrorCode::kBadInput));
    return recording.error().message;
}

using pathproof::test::contains;

// Makes a frame of `size` bytes, all of them `fill`.
Octets frame_of(std::size_t size, std::uint8_t fill) {
    return Octets(size, fill);
}

// Frames of 60, 61, 62 ... bytes, 1, 2, 3 ... ms apart.
Octets counted(unsigned frames) {
    Octets file = pcap_file();
    std::uint32_t at = 0;
    for (unsigned i = 0; i < frames; ++i) {
        at += i * 1'000;
        add_frame(file, 100, at, frame_of(60 + i, static_cast<std::uint8_t>(i)));
    }
    return file;
}

std::shared_ptr<const Recording> recording_of(const Octets& file) {
    Result<Recording> recording = read(file);
    BOOST_REQUIRE_MESSAGE(recording, recording.error().message);
    return std::make_shared<const Recording>(std::move(*recording));
}

ReplaySource source_of(const Octets& file, const ReplayPlan& plan) {
    Result<ReplaySource> source = ReplaySource::make(recording_of(file), plan);
    BOOST_REQUIRE_MESSAGE(source, source.error().message);
    return std::move(*source);
}

std::vector<std::size_t> sizes_of(const std::vector<Frame>& frames) {
    std::vector<std::size_t> sizes;
    for (const Frame& frame : frames) {
        sizes.push_back(frame.size());
    }
    return sizes;
}

// Returns the times when the frames are due, taken one by one.
std::vector<std::uint64_t> times_of(ReplaySource& source) {
    std::vector<std::uint64_t> times;
    Mbufs mbufs(1);
    while (const auto due = source.next_due_ns()) {
        times.push_back(*due);
        BOOST_REQUIRE_EQUAL(source.fill(mbufs.all(), 0), 1u);
    }
    return times;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recordings)

BOOST_AUTO_TEST_CASE(frames_and_times_of_a_pcap_file_are_read) {
    Octets file = pcap_file();
    add_frame(file, 10, 999'999, frame_of(60, 1));
    add_frame(file, 11, 1, frame_of(1'514, 2));
    const auto recording = recording_of(file);
    BOOST_REQUIRE_EQUAL(recording->frames(), 2u);
    BOOST_TEST(
        (Octets(recording->bytes(1).begin(), recording->bytes(1).end()) == frame_of(1'514, 2)));
    BOOST_TEST(recording->at_ns(0) == 0u);
    BOOST_TEST(recording->at_ns(1) == 2'000u);
    BOOST_TEST(recording->longest_frame() == 1'514);
    BOOST_TEST(recording->mean_frame_bytes() == 787.0);
    BOOST_TEST(recording->cut() == "");
}

BOOST_AUTO_TEST_CASE(times_in_nanoseconds_stay_nanoseconds) {
    Octets file = pcap_file(kNanoseconds);
    add_frame(file, 10, 5, frame_of(60, 1));
    add_frame(file, 10, 12, frame_of(60, 1));
    BOOST_TEST(recording_of(file)->at_ns(1) == 7u);
}

BOOST_AUTO_TEST_CASE(a_pcapng_file_is_read_as_well) {
    Octets file = pcapng_file();
    add_block(file, 1'000'000, frame_of(61, 1));
    add_block(file, 1'000'050, frame_of(62, 2));
    const auto recording = recording_of(file);
    BOOST_REQUIRE_EQUAL(recording->frames(), 2u);
    BOOST_TEST(recording->bytes(1).size() == 62u);
    BOOST_TEST(recording->at_ns(1) == 50'000u);
}

BOOST_AUTO_TEST_CASE(time_never_runs_backwards) {
    Octets file = pcap_file();
    add_frame(file, 10, 500, frame_of(60, 1));
    add_frame(file, 10, 900, frame_of(60, 1));
    add_frame(file, 9, 0, frame_of(60, 1));
    add_frame(file, 10, 901, frame_of(60, 1));
    const auto recording = recording_of(file);
    BOOST_TEST(recording->at_ns(2) == 400'000u);
    BOOST_TEST(recording->at_ns(3) == 401'000u);
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_is_refused_by_frame_and_byte) {
    const Octets whole = counted(3);  // 24, 76, 77, 78 bytes
    for (const std::size_t left : {24u + 76 + 77 + 5, 24u + 76 + 77 + 16 + 61}) {
        const Octets cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(left));
        BOOST_TEST(contains(refusal(cut), "frame 3, at byte 177"));
        const Result<Recording> used = read(cut, CutShort::kUsedUpToTheCut);
        BOOST_REQUIRE(used);
        BOOST_TEST(used->frames() == 2u);
        BOOST_TEST(contains(used->cut(), "frame 3, at byte 177"));
    }
}

BOOST_AUTO_TEST_CASE(a_pcapng_file_cut_short_is_refused_by_frame_and_byte) {
    Octets file = pcapng_file();
    add_block(file, 1, frame_of(60, 1));
    const std::size_t second = file.size();
    add_block(file, 2, frame_of(60, 1));
    file.resize(file.size() - 10);
    BOOST_TEST(contains(refusal(file), "frame 2, at byte " + std::to_string(second)));
    const Result<Recording> used = read(file, CutShort::kUsedUpToTheCut);
    BOOST_REQUIRE(used);
    BOOST_TEST(used->frames() == 1u);
}

BOOST_AUTO_TEST_CASE(a_file_cut_within_its_first_frame_holds_nothing_to_use) {
    Octets file = counted(1);
    file.resize(24 + 20);
    const Result<Recording> used = read(file, CutShort::kUsedUpToTheCut);
    BOOST_REQUIRE(!used);
    BOOST_TEST(contains(used.error().message, "frame 1, at byte 24"));
    file.resize(10);
    BOOST_TEST(!read(file, CutShort::kUsedUpToTheCut));
}

BOOST_AUTO_TEST_CASE(frames_that_cannot_be_sent_are_named) {
    Octets file = counted(2);
    add_frame(file, 200, 0, frame_of(1'515, 1));
    BOOST_TEST(contains(refusal(file, {.longest_frame = 1'514}),
                        "frame 3 has 1515 bytes, and the port sends at most 1514"));
    BOOST_TEST(read(file, CutShort::kRefused, {.longest_frame = 1'515}).has_value());
    Octets runt = counted(1);
    add_frame(runt, 200, 0, frame_of(13, 1));
    BOOST_TEST(contains(refusal(runt), "frame 2 has 13 bytes"));
    Octets snapped = counted(1);
    add_frame(snapped, 200, 0, frame_of(96, 1), 1'418);
    BOOST_TEST(contains(refusal(snapped), "of frame 2 only 96 of 1514 bytes"));
}

BOOST_AUTO_TEST_CASE(what_is_no_capture_of_ethernet_is_refused) {
    BOOST_TEST(contains(refusal({1, 2, 3}), "capture file"));
    BOOST_TEST(contains(refusal(frame_of(100, 'x')), "pcap or pcapng"));
    BOOST_TEST(contains(refusal(pcap_file(kMicroseconds, 101)), "RAW"));
    BOOST_TEST(contains(refusal(pcap_file()), "no frame"));
    BOOST_TEST(!Recording::read("/nonexistent/file.pcap", CutShort::kRefused, {}));
}

BOOST_AUTO_TEST_CASE(a_recording_larger_than_memory_may_hold_is_refused) {
    BOOST_TEST(contains(refusal(counted(3), {.most_bytes = 121}), "number 3"));
    BOOST_TEST(contains(refusal(counted(3), {.most_bytes = 120}), "number 2"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(replay)

BOOST_AUTO_TEST_CASE(frames_go_out_in_order_as_often_as_asked_and_then_end) {
    ReplaySource source = source_of(counted(3), {.times = 2});
    const std::vector<std::size_t> expected = {60, 61, 62, 60, 61, 62};
    BOOST_TEST(sizes_of(next_frames(source, 100, 4)) == expected, boost::test_tools::per_element());
    Mbufs mbufs(4);
    BOOST_TEST(source.fill(mbufs.all(), 0) == 0u);
    BOOST_TEST(source.made()[std::size_t(frame::TrafficClass::kReplay)] == 6u);
    source.take_back(mbufs.all().first(2));
    BOOST_TEST(source.made()[std::size_t(frame::TrafficClass::kReplay)] == 4u);
}

BOOST_AUTO_TEST_CASE(frames_are_sent_byte_for_byte_and_ask_the_nic_for_nothing) {
    ReplaySource source = source_of(counted(2), {});
    Mbufs mbufs(2);
    BOOST_REQUIRE_EQUAL(source.fill(mbufs.all(), 12'345), 2u);
    source.restamp(mbufs.all(), 54'321);
    BOOST_TEST((bytes_of(*mbufs.all()[1]) == frame_of(61, 1)));
    BOOST_TEST(mbufs.all()[1]->ol_flags == 0u);
    BOOST_TEST(source.port_offloads() == 0u);
}

BOOST_AUTO_TEST_CASE(over_and_over_has_no_end) {
    ReplaySource source = source_of(counted(3), {.times = 0});
    BOOST_TEST(next_frames(source, 10'000).size() == 10'000u);
}

BOOST_AUTO_TEST_CASE(gaps_are_the_file_s_and_between_passes_their_mean) {
    ReplaySource source = source_of(counted(3), {.times = 2, .gaps = ReplayPlan::Gaps::kOfTheFile});
    // 1 and 2 ms apart; the mean is 1.5 ms.
    const std::vector<std::uint64_t> expected = {0,         1'000'000, 3'000'000,
                                                 4'500'000, 5'500'000, 7'500'000};
    BOOST_TEST(times_of(source) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gaps_are_scaled) {
    ReplaySource source =
        source_of(counted(3), {.gaps = ReplayPlan::Gaps::kOfTheFile, .gap_scale = 0.5});
    const std::vector<std::uint64_t> expected = {0, 500'000, 1'500'000};
    BOOST_TEST(times_of(source) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(at_the_run_s_rate_frames_have_no_times_of_their_own) {
    BOOST_TEST(!source_of(counted(3), {}).next_due_ns());
}

BOOST_AUTO_TEST_CASE(senders_share_the_frames_out) {
    const Octets file = counted(5);
    std::vector<std::size_t> sizes;
    for (std::uint64_t sender = 0; sender < 2; ++sender) {
        ReplaySource source = source_of(file, {.times = 1, .first = sender, .step = 2});
        const std::vector<std::size_t> own = sizes_of(next_frames(source, 100));
        sizes.insert(sizes.end(), own.begin(), own.end());
    }
    const std::vector<std::size_t> expected = {60, 62, 64, 61, 63};
    BOOST_TEST(sizes == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(plans_that_cannot_be_carried_out_are_refused) {
    const auto recording = recording_of(counted(2));
    const double endless = std::numeric_limits<double>::infinity();
    for (const ReplayPlan& plan :
         {ReplayPlan{.gap_scale = 0}, ReplayPlan{.gap_scale = -1}, ReplayPlan{.gap_scale = endless},
          ReplayPlan{.first = 2}, ReplayPlan{.step = 0},
          ReplayPlan{.times = 1'000'000'000'000'000, .gap_scale = 10}}) {
        const auto source = ReplaySource::make(recording, plan);
        BOOST_REQUIRE(!source);
        BOOST_TEST((source.error().code == ErrorCode::kBadInput));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
