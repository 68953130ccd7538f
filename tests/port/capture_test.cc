#include "dataplane/port/capture.h"

#include <stdlib.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dataplane/port/port.h"
#include "tests/port/ring_ports.h"

using namespace pathproof;
using namespace pathproof::port;

namespace {

struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "pp-capture-XXXXXX").string();
        BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
};

std::string output_of(const std::string& command) {
    std::string text;
    FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
    BOOST_REQUIRE(pipe != nullptr);
    std::array<char, 4096> chunk{};
    while (fgets(chunk.data(), chunk.size(), pipe) != nullptr) {
        text += chunk.data();
    }
    BOOST_TEST(pclose(pipe) == 0);
    return text;
}

// An ARP request as Ethernet pads it.
std::vector<std::uint8_t> arp_request(std::uint8_t target) {
    std::vector<std::uint8_t> frame = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0,   0,  0, 0, 1, 8, 6, 0, 1, 8, 0,   6,  4, 0,
        1,    2,    0,    0,    0,    0,    1, 198, 18, 0, 1, 0, 0, 0, 0, 0, 0, 198, 18, 0, target};
    frame.resize(60);
    return frame;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_capture_is_read_by_tshark_frame_by_frame) {
    const Folder folder;
    RingPort from = RingPort::make("cap0");
    RingPort to = RingPort::make("cap1");
    const auto first = arp_request(7);
    const auto second = arp_request(9);
    // 2026-11-18, and earlier than the first use of the library.
    constexpr std::int64_t kTime = 1'795'000'000'123'456'789;
    const std::array<CapturedFrame, 2> frames = {{
        {.port_id = from.port.id(),
         .direction = CaptureDirection::kIn,
         .unix_ns = kTime,
         .bytes = first},
        {.port_id = to.port.id(),
         .direction = CaptureDirection::kOut,
         .unix_ns = kTime - 500'000'000,
         .bytes = second},
    }};
    const std::string path = (folder.path / "two.pcapng").string();
    const Status written = write_capture(path, "two frames of a test", frames);
    BOOST_REQUIRE_MESSAGE(written, written.error().message);

    std::istringstream lines(output_of("tshark -r " + path +
                                       " -T fields -e frame.interface_name -e frame.len -e "
                                       "arp.dst.proto_ipv4 -e frame.time_epoch"));
    std::string interface;
    std::string target;
    std::size_t length = 0;
    std::string time;
    BOOST_REQUIRE(lines >> interface >> length >> target >> time);
    BOOST_TEST(interface == "dpdk:" + std::to_string(from.port.id()));
    BOOST_TEST(length == 60u);
    BOOST_TEST(target == "198.18.0.7");
    BOOST_TEST(time == "1795000000.123456789");
    BOOST_REQUIRE(lines >> interface >> length >> target >> time);
    BOOST_TEST(interface == "dpdk:" + std::to_string(to.port.id()));
    BOOST_TEST(target == "198.18.0.9");
    BOOST_TEST(time == "1794999999.623456789");
    BOOST_TEST(output_of("capinfos " + path).find("two frames of a test") != std::string::npos);

    // A super-frame is kept whole.
    auto super_frame = first;
    super_frame.resize(64'000, 0x5a);
    const std::array<CapturedFrame, 1> large = {{{.port_id = to.port.id(), .bytes = super_frame}}};
    const std::string other = (folder.path / "super.pcapng").string();
    const Status kept = write_capture(other, "", large);
    BOOST_REQUIRE_MESSAGE(kept, (kept ? "" : kept.error().message));
    BOOST_TEST(output_of("tshark -r " + other + " -T fields -e frame.len -e frame.cap_len") ==
               "64000\t64000\n");
}

BOOST_AUTO_TEST_CASE(a_capture_that_cannot_be_written_leaves_a_sentence_and_no_file) {
    const Folder folder;
    const Status nowhere = write_capture((folder.path / "no" / "where.pcapng").string(), "", {});
    BOOST_REQUIRE(!nowhere);
    BOOST_TEST(nowhere.error().message.find("where.pcapng") != std::string::npos);
    const std::vector<std::uint8_t> frame(60, 0);
    const std::array<CapturedFrame, 1> frames = {{{.port_id = 31, .bytes = frame}}};
    const std::string path = (folder.path / "bad.pcapng").string();
    BOOST_TEST(!write_capture(path, "", frames));
    BOOST_TEST(!std::filesystem::exists(path));
}
