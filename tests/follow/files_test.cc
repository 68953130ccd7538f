// Capture files: what is read, refused, and concluded from them.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "dataplane/follow/evidence_file.h"
#include "dataplane/follow/followed_files.h"
#include "tests/follow/path.h"
#include "tests/load/capture_bytes.h"

namespace pathproof::follow {
namespace {

namespace bytes = pathproof::load;

class File {
  public:
    explicit File(const Octets& content) {
        static int number = 0;
        path_ = std::filesystem::temp_directory_path() /
                fmt::format("pp-follow-{}-{}.pcap", getpid(), number++);
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(content.data()),
                   static_cast<std::streamsize>(content.size()));
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { std::filesystem::remove(path_); }
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

Octets pcap_of(const Frames& frames) {
    Octets file = bytes::pcap_file(bytes::kNanoseconds);
    for (const TimedFrame& frame : frames) {
        bytes::add_frame(file, static_cast<std::uint32_t>(frame.time_ns / 1'000'000'000),
                         static_cast<std::uint32_t>(frame.time_ns % 1'000'000'000), frame.bytes);
    }
    return file;
}

// Interface statistics: when the capture began (option 2) or ended (option 3) (draft-ietf-opsawg-pcapng
// section 4.6).
Octets border_of_capture(std::uint16_t option, std::int64_t time_ns) {
    const auto microseconds = static_cast<std::uint64_t>(time_ns / 1000);
    Octets block;
    for (const std::uint32_t word : {5u, 40u, 0u, 0u, 1u}) {
        bytes::put32(block, word);
    }
    bytes::put16(block, option);
    bytes::put16(block, 8);
    bytes::put32(block, static_cast<std::uint32_t>(microseconds >> 32));
    bytes::put32(block, static_cast<std::uint32_t>(microseconds));
    bytes::put32(block, 0);
    bytes::put32(block, 40);
    return block;
}

Octets begin_of_capture(std::int64_t time_ns) {
    return border_of_capture(2, time_ns);
}
Octets end_of_capture(std::int64_t time_ns) {
    return border_of_capture(3, time_ns);
}

// Makes a statistics block with this number of drops.
Octets statistics(std::uint64_t dropped) {
    Octets block;
    bytes::put32(block, 5);
    bytes::put32(block, 40);
    bytes::put32(block, 0);
    bytes::put32(block, 0);
    bytes::put32(block, 1);
    bytes::put16(block, 5);
    bytes::put16(block, 8);
    bytes::put32(block, static_cast<std::uint32_t>(dropped));
    bytes::put32(block, 0);
    bytes::put32(block, 0);
    bytes::put32(block, 40);
    return block;
}

Octets pcapng_of(const Frames& frames, std::uint64_t dropped) {
    Octets file = bytes::pcapng_file();
    for (const TimedFrame& frame : frames) {
        bytes::add_block(file, static_cast<std::uint64_t>(frame.time_ns / 1000), frame.bytes);
    }
    bytes::put(file, statistics(dropped));
    return file;
}

Conclusion concluded(const Octets& in, const Octets& out,
                     const std::vector<std::string>& allow = {}) {
    const File a(in), b(out);
    FollowOptions options;
    for (const std::string& word : allow) {
        options.allowed.set(bit(transformation(word).value()));
    }
    const auto followed = follow_files({a.path()}, {b.path()}, options);
    BOOST_REQUIRE_MESSAGE(followed, (followed ? "" : followed.error().message));
    return conclude(*followed);
}

std::string refusal(const Octets& in, const std::string& interface = "") {
    const File a(in), b(bytes::pcap_file());
    const auto followed = follow_files({a.path() + interface}, {b.path()}, {});
    BOOST_REQUIRE(!followed);
    BOOST_TEST(static_cast<int>(followed.error().code) == static_cast<int>(ErrorCode::kBadInput));
    return followed.error().message;
}

Way healthy() {
    return way(frame::Transport::kUdp, 100, 200, route, {"router"});
}

}  // namespace

BOOST_AUTO_TEST_CASE(files_of_a_healthy_path_are_all_arrived) {
    const Way made = healthy();
    const Conclusion conclusion = concluded(pcap_of(made.in), pcapng_of(made.out, 0), {"router"});
    BOOST_TEST((conclusion.arrival == Arrival::kAllArrived));
    BOOST_TEST(conclusion.why.empty());
    // Microseconds in one, nanoseconds in the other.
    BOOST_TEST((concluded(pcap_of(made.in), pcap_of(made.out)).arrival == Arrival::kNot));
}

BOOST_AUTO_TEST_CASE(drops_of_the_capture_explain_as_many_as_they_are) {
    Way made = healthy();
    made.out.erase(made.out.begin() + 50, made.out.begin() + 60);
    const auto arrival = [&](std::uint64_t dropped) {
        return concluded(pcap_of(made.in), pcapng_of(made.out, dropped), {"router"}).arrival;
    };
    BOOST_TEST((arrival(0) == Arrival::kNot));
    BOOST_TEST((arrival(9) == Arrival::kNot));
    BOOST_TEST((arrival(10) == Arrival::kCannotTell));
}

BOOST_AUTO_TEST_CASE(half_a_capture_is_no_verdict) {
    const Way made = healthy();
    const Frames half(made.out.begin(), made.out.begin() + 100);
    BOOST_TEST(
        (concluded(pcap_of(made.in), pcap_of(half), {"router"}).arrival == Arrival::kCannotTell));
    BOOST_TEST((concluded(pcap_of({}), pcap_of({}), {}).arrival == Arrival::kCannotTell));
}

// The first of 200 frames: whether they are lost depends on when the capture of what came out began.
BOOST_AUTO_TEST_CASE(a_lost_head_is_missing_where_the_capture_ran_and_else_cannot_be_told) {
    for (const std::size_t lost : {1U, 10U, 19U}) {
        Way made = healthy();
        const Octets in = pcap_of(made.in);
        const std::int64_t first_out_ns = made.out[lost].time_ns;
        made.out.erase(made.out.begin(), made.out.begin() + static_cast<std::ptrdiff_t>(lost));
        const auto with_begin = [&](std::int64_t time_ns) {
            Octets file = pcapng_of(made.out, 0);
            bytes::put(file, begin_of_capture(time_ns));
            bytes::put(file, end_of_capture(made.out.back().time_ns));
            return concluded(in, file, {"router"});
        };
        BOOST_TEST_CONTEXT(lost << " frames") {
            const Conclusion open = concluded(in, pcap_of(made.out), {"router"});
            BOOST_TEST((open.arrival == Arrival::kCannotTell));
            BOOST_TEST_REQUIRE(open.why.size() == 1U);
            BOOST_TEST(open.why[0].find("went in before the first frame that came out") !=
                           std::string::npos,
                       open.why[0]);
            BOOST_TEST(open.why[0].find("Begin the capture of what comes out first") !=
                       std::string::npos);
            BOOST_TEST((with_begin(made.in.front().time_ns - 1'000'000).arrival == Arrival::kNot));
            // The capture began behind the frames.
            BOOST_TEST((with_begin(first_out_ns - 1000).arrival == Arrival::kAllArrived));
        }
    }
}

// A frame of its own that the device sent before shows that the capture ran.
BOOST_AUTO_TEST_CASE(an_earlier_frame_shows_that_the_capture_ran_when_the_head_was_lost) {
    Way made = healthy();
    made.out.erase(made.out.begin(), made.out.begin() + 5);
    made.out.insert(made.out.begin(), {made.in.front().time_ns - 1'000'000, plain(0x0806, 60, 1)});
    BOOST_TEST(
        (concluded(pcap_of(made.in), pcap_of(made.out), {"router"}).arrival == Arrival::kNot));
}

BOOST_AUTO_TEST_CASE(another_interface_of_the_file_tells_that_its_capture_had_begun) {
    Way made = healthy();
    made.out.erase(made.out.begin(), made.out.begin() + 5);
    Octets file = bytes::pcapng_file();
    bytes::put(file, Octets(file.begin() + 28, file.end()));  // a second interface
    const auto add = [&](const TimedFrame& frame, std::uint8_t interface) {
        const std::size_t at = file.size();
        bytes::add_block(file, static_cast<std::uint64_t>(frame.time_ns / 1000), frame.bytes);
        file[at + 8] = interface;
    };
    for (std::size_t i = 0; i < made.in.size(); ++i) {
        add(made.in[i], 0);
        if (i >= 5) {
            add(made.out[i - 5], 1);
        }
    }
    const File both(file);
    FollowOptions options;
    options.allowed.set(bit(Transformation::kRouter));
    const auto followed = follow_files({both.path() + "@0"}, {both.path() + "@1"}, options);
    BOOST_TEST_REQUIRE(followed.has_value());
    BOOST_TEST((conclude(*followed).arrival == Arrival::kNot));
    BOOST_TEST(followed->outcome.totals[0].of(Class::kMissing) == 5U);
}

// The last of 200 frames: whether they are lost depends on how long the capture of what came out ran.
BOOST_AUTO_TEST_CASE(a_lost_tail_is_missing_where_the_capture_went_on_and_else_cannot_be_told) {
    for (const std::size_t lost : {1U, 2U, 9U, 15U}) {
        Way made = healthy();
        const Octets in = pcap_of(made.in);
        made.out.resize(made.out.size() - lost);
        const auto with_end = [&](std::int64_t time_ns) {
            Octets file = pcapng_of(made.out, 0);
            bytes::put(file, end_of_capture(time_ns));
            return concluded(in, file, {"router"});
        };
        BOOST_TEST_CONTEXT(lost << " frames") {
            const Conclusion open = concluded(in, pcap_of(made.out), {"router"});
            BOOST_TEST((open.arrival == Arrival::kCannotTell));
            BOOST_TEST_REQUIRE(open.why.size() == 1U);
            BOOST_TEST(
                open.why[0].find("when the capture of what came out ended") != std::string::npos,
                open.why[0]);
            BOOST_TEST(open.why[0].find("Stop the capture of what comes out last") !=
                       std::string::npos);
            BOOST_TEST((with_end(made.in.back().time_ns + 1'000'000'000).arrival == Arrival::kNot));
            // The capture ended before the frames went in.
            BOOST_TEST((with_end(made.out.back().time_ns + 1000).arrival == Arrival::kAllArrived));
        }
    }
}

// Segments of a stream that went in back to back, a few microseconds before both captures were stopped.
BOOST_AUTO_TEST_CASE(the_lost_end_of_a_stream_is_no_arrival) {
    Way made = stream(300'000, {1448}, {1448}, route, {"router"});
    made.out.resize(made.out.size() - 4);
    const Conclusion open = concluded(pcap_of(made.in), pcap_of(made.out), {"router"});
    BOOST_TEST((open.arrival == Arrival::kCannotTell));
    BOOST_TEST_REQUIRE(open.why.size() == 1U);
}

BOOST_AUTO_TEST_CASE(another_interface_of_the_file_tells_that_its_capture_went_on) {
    Way made = healthy();
    made.out.resize(made.out.size() - 15);
    Octets file = bytes::pcapng_file();
    bytes::put(file, Octets(file.begin() + 28, file.end()));  // a second interface
    const auto add = [&](const Frames& frames, std::uint8_t interface) {
        for (const TimedFrame& frame : frames) {
            const std::size_t at = file.size();
            bytes::add_block(file, static_cast<std::uint64_t>(frame.time_ns / 1000), frame.bytes);
            file[at + 8] = interface;
        }
    };
    add(made.in, 0);
    add(made.out, 1);
    const File both(file);
    FollowOptions options;
    options.allowed.set(bit(Transformation::kRouter));
    const auto followed = follow_files({both.path() + "@0"}, {both.path() + "@1"}, options);
    BOOST_TEST_REQUIRE(followed.has_value());
    BOOST_TEST((conclude(*followed).arrival == Arrival::kNot));
    // The last few may be on their way when it ends.
    BOOST_TEST(followed->outcome.totals[0].of(Class::kMissing) >= 12U);
}

BOOST_AUTO_TEST_CASE(clocks_of_two_machines_are_brought_together) {
    Way made = healthy();
    for (TimedFrame& frame : made.out) {
        frame.time_ns -= 3'600'000'000'000;
    }
    const File a(pcap_of(made.in)), b(pcap_of(made.out));
    FollowOptions options;
    options.allowed.set(bit(Transformation::kRouter));
    const auto followed = follow_files({a.path()}, {b.path()}, options);
    BOOST_TEST_REQUIRE(followed.has_value());
    BOOST_TEST((conclude(*followed).arrival == Arrival::kAllArrived));
    BOOST_TEST(followed->clock_offset_ns == -3'600'000'000'000 + 50'000);
}

// A capture that was kept, and replayed: what goes in has times of long ago.
BOOST_AUTO_TEST_CASE(a_replayed_capture_of_which_nothing_comes_out_is_lost) {
    const Way made = healthy();
    // The other side hears the device's own ARP, for longer than the replay takes.
    Frames own;
    for (unsigned i = 0; i < 5; ++i) {
        Octets arp(60, 0);
        std::fill_n(arp.begin(), 6, std::uint8_t{0xff});
        arp[12] = 0x08;
        arp[13] = 0x06;
        arp[15] = 1;
        own.push_back(
            {.time_ns = made.in.front().time_ns + 40 * 86'400'000'000'000 + i * 1'000'000'000,
             .bytes = arp});
    }
    const Conclusion lost = concluded(pcap_of(made.in), pcap_of(own), {"router"});
    BOOST_TEST((lost.arrival == Arrival::kNot));
    // An hour apart they are of one clock, and of two moments.
    for (TimedFrame& frame : own) {
        frame.time_ns -= 40 * 86'400'000'000'000 - 3'600'000'000'000;
    }
    const Conclusion apart = concluded(pcap_of(made.in), pcap_of(own), {"router"});
    BOOST_TEST((apart.arrival == Arrival::kCannotTell));
    BOOST_REQUIRE(apart.why.size() == 1U);
    BOOST_TEST(apart.why[0].find("have no moment in common") != std::string::npos, apart.why[0]);
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_refused_with_their_byte) {
    const Octets file = pcap_of(healthy().in);
    const auto has = [](const std::string& text, const std::string& part) {
        BOOST_TEST_CONTEXT(text) {
            BOOST_TEST(text.find(part) != std::string::npos);
        }
    };
    has(refusal({}), "is empty");
    has(refusal({1, 2, 3, 4, 5, 6}), "must be a pcap or pcapng file");
    has(refusal({0x1f, 0x8b, 8, 0, 0, 0}), "it is compressed");
    Octets cut = file;
    cut.resize(cut.size() - 7);
    has(refusal(cut), "behind frame 199: the file ends within a frame of 142 bytes");
    cut.resize(30);
    has(refusal(cut), "at byte 24, behind frame 0: the file ends within a frame's header");
    Octets huge = file;
    huge[24 + 11] = 0x7f;
    has(refusal(huge), "cannot be");
    Octets other = bytes::pcap_file(bytes::kMicroseconds, 101);
    bytes::add_frame(other, 1, 0, Octets(60, 2));
    has(refusal(other), "frame 1 is of link type 101; only Ethernet");
    Octets ng = pcapng_of(healthy().in, 0);
    Octets short_ng = ng;
    short_ng.resize(short_ng.size() - 3);
    has(refusal(short_ng), "the file ends within a block of 40 bytes");
    has(refusal(ng, "@eth7"), "has no interface 'eth7'");
    Octets wrong = ng;
    wrong[wrong.size() - 4] = 0;
    has(refusal(wrong), "a block whose two lengths differ");
}

BOOST_AUTO_TEST_CASE(evidence_can_be_read_again) {
    const File file({});
    Finding finding;
    const Octets frame = render(spec_of(frame::Transport::kUdp, 33, 1));
    finding.specimens.push_back({.in = {0, 7},
                                 .out = {0, 8},
                                 .text = "changed",
                                 .in_bytes = frame,
                                 .out_bytes = frame,
                                 .in_ns = 1'700'000'000'123'456'789,
                                 .out_ns = 1'700'000'000'123'500'000});
    BOOST_TEST_REQUIRE(write_evidence(file.path(), finding, "about").has_value());
    auto reader = CaptureReader::open(file.path());
    BOOST_TEST_REQUIRE(reader.has_value());
    CapturedFrame read;
    BOOST_TEST_REQUIRE(reader->next(read).value());
    BOOST_TEST(read.time_ns == 1'700'000'000'123'456'789);
    BOOST_TEST(Octets(read.bytes.begin(), read.bytes.end()) == frame,
               boost::test_tools::per_element());
    BOOST_TEST_REQUIRE(reader->next(read).value());
    BOOST_TEST(read.interface == 1U);
    BOOST_TEST(!reader->next(read).value());
    BOOST_TEST(reader->interfaces()[1].name == "out");
}

}  // namespace pathproof::follow
