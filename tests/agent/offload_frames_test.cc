#include "harness/agent/offload_frames.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "harness/agent/feature_trial.h"
#include "harness/message/archive.h"

BOOST_AUTO_TEST_SUITE(offload_messages)

using namespace pathproof;
using namespace pathproof::agent;
using nlohmann::json;

namespace {

const frame::VirtioRequest kRequest{.flags = 1,
                                    .gso_type = 0x81,
                                    .header_length = 54,
                                    .gso_size = 1448,
                                    .csum_start = 34,
                                    .csum_offset = 16};

// Sends a value through the text that goes from one process to the other.
template <typename T>
T through_text(const T& value) {
    const auto read = message::decode<T>(json::parse(message::encode(value).dump()));
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    return *read;
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_and_their_requests_arrive_as_they_were_sent) {
    const std::vector<OffloadFrame> frames{{{0, 1, 0xfe, 0xff}, kRequest}, {{}, {}}, {{9}, {}}};
    BOOST_TEST((through_text(frames) == frames));
}

BOOST_AUTO_TEST_CASE(a_capture_arrives_as_it_was_made) {
    Capture capture{.left_out = 3, .dropped = 4};
    capture.frames.push_back({{1, 2}, 2, ChecksumStatus::kPartial, kRequest, std::nullopt});
    capture.frames.push_back({{3}, 900, ChecksumStatus::kValid, {}, 0x2064});
    const auto read = through_text(capture);
    BOOST_TEST((read.frames == capture.frames));
    BOOST_TEST(read.left_out == 3u);
    BOOST_TEST(read.dropped == 4u);
}

BOOST_AUTO_TEST_CASE(datagrams_reports_and_trials_arrive_as_they_were) {
    const DatagramOptions options{.source = *frame::parse_endpoint("198.18.0.1:7"),
                                  .destination = *frame::parse_endpoint("198.18.0.2:9"),
                                  .payloads = {{1, 2, 3}, {}},
                                  .segment_bytes = 2,
                                  .checksum = UdpChecksum::kOff};
    const auto read = through_text(options);
    BOOST_TEST((read.payloads == options.payloads));
    BOOST_TEST((read.checksum == UdpChecksum::kOff));
    BOOST_TEST(read.segment_bytes == 2);
    const SendReport report{.sent = 5, .refusals = {{2, "Message too long (EMSGSIZE)"}}};
    const SendReport report_read = through_text(report);
    BOOST_TEST((report_read.refusals == report.refusals));
    const FeatureTrial trial{.name = "rx-gro",
                             .wanted = true,
                             .outcome = TrialOutcome::kRefused,
                             .reason = "no",
                             .along = {{"rx-lro", true, false, false}}};
    const auto trial_read = through_text(trial);
    BOOST_TEST((trial_read.outcome == TrialOutcome::kRefused));
    BOOST_REQUIRE(trial_read.along.size() == 1u);
    BOOST_TEST(trial_read.along[0].name == "rx-lro");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_none_are_refused) {
    using Bytes = std::vector<std::uint8_t>;
    BOOST_TEST((message::decode<Bytes>("00ff").value() == Bytes{0, 0xff}));
    BOOST_TEST(!message::decode<Bytes>("0"));
    BOOST_TEST(!message::decode<Bytes>("0g"));
    BOOST_TEST(!message::decode<Bytes>("FF"));
    BOOST_TEST(!message::decode<Bytes>(std::string(2 * message::kMostBytes + 2, '0')));
    const CaptureOptions greedy{.device = "e0", .most_frames = 2'000'000};
    BOOST_TEST(!message::decode<CaptureOptions>(message::encode(greedy)));
}

BOOST_AUTO_TEST_CASE(differences_name_what_is_not_as_it_was) {
    const std::vector<Feature> before{{.name = "a", .active = true}, {.name = "b"}};
    std::vector<Feature> after = before;
    BOOST_TEST(differences(before, after).empty());
    after[1].active = true;
    const auto changed = differences(before, after);
    BOOST_REQUIRE(changed.size() == 1u);
    BOOST_TEST(changed[0].name == "b");
    BOOST_TEST(changed[0].after);
}

BOOST_AUTO_TEST_SUITE_END()
