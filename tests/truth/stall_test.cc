#include "harness/truth/stall.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "harness/truth/kernel_exchange.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(stall_suite)

using namespace pathproof;
using namespace pathproof::truth;
using namespace std::chrono_literals;
using pathproof::test::contains;

namespace {

matrix::Probe probe_of(std::uint32_t number, std::uint16_t segment_bytes = 0) {
    const matrix::FrameBytes frame(100, static_cast<std::uint8_t>(number));
    return {.label = {number, 0},
            .handed = {{.bytes = frame}},
            .intended = {frame},
            .segment_bytes = segment_bytes};
}

// Carries nothing for so many exchanges, and what it is given from then on.
class Silent final : public Exchange {
  public:
    explicit Silent(int exchanges) : exchanges_(exchanges) {}
    Result<Exchanged> send(Way, std::span<const matrix::Probe> probes) override {
        Exchanged exchanged;
        if (exchanges_-- <= 0) {
            for (const matrix::Probe& probe : probes) {
                exchanged.report.arrived.push_back({.bytes = probe.intended.front()});
            }
        }
        return exchanged;
    }

  private:
    int exchanges_;
};

std::vector<matrix::Probe> batch_of(std::size_t count, std::uint16_t segment_bytes = 0) {
    std::vector<matrix::Probe> batch;
    for (std::size_t i = 0; i < count; ++i) {
        batch.push_back(probe_of(static_cast<std::uint32_t>(i + 1), segment_bytes));
    }
    return batch;
}

std::vector<bool> came(std::size_t count, std::size_t right) {
    std::vector<bool> all(count);
    std::fill_n(all.begin(), right, true);
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_silent_tail_behind_which_plain_frames_do_not_come_is_a_stall) {
    Silent silent(2);
    const Path path{{}, {}, silent};
    StallWatch watch(probe_of(0));
    watch.begin("as found");
    const auto batch = batch_of(40, 1000);
    const auto done = watch.look(path, batch, came(40, 30), std::chrono::steady_clock::now());
    BOOST_REQUIRE(done);
    BOOST_TEST(*done == 30u);
    BOOST_REQUIRE(watch.stalls().size() == 1u);
    const Stall& stall = watch.stalls().front();
    BOOST_TEST(stall.setting == "as found");
    BOOST_TEST(stall.ended);
    BOOST_TEST(stall.at_super_frame);
    BOOST_TEST(stall.super_frames == 31u);
    // The frame that began it is lost if it does so again.
    Silent again(1);
    const Path same{{}, {}, again};
    const auto then = watch.look(same, std::span(batch).subspan(30), came(10, 0),
                                 std::chrono::steady_clock::now());
    BOOST_REQUIRE(then);
    BOOST_TEST(*then == 1u);
    BOOST_TEST(watch.stalls().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_few_frames_that_are_lost_beside_plain_ones_that_come_are_no_stall) {
    Silent carries(0);
    const Path path{{}, {}, carries};
    StallWatch watch(probe_of(0));
    const auto batch = batch_of(40);
    const auto done = watch.look(path, batch, came(40, 36), std::chrono::steady_clock::now());
    BOOST_REQUIRE(done);
    BOOST_TEST(*done == 40u);
    BOOST_TEST(watch.stalls().empty());
}

BOOST_AUTO_TEST_CASE(a_stall_that_does_not_end_is_waited_for_once) {
    Silent dead(1'000'000'000);
    const Path path{{}, {}, dead};
    StallWatch watch(probe_of(0), {.longest = 1ms, .most = 1000ms});
    const auto batch = batch_of(20);
    for (int i = 0; i < 3; ++i) {
        const auto done = watch.look(path, batch, came(20, 0), std::chrono::steady_clock::now());
        BOOST_REQUIRE(done);
        BOOST_TEST(*done == 20u);
    }
    BOOST_REQUIRE(watch.stalls().size() == 1u);
    BOOST_TEST(!watch.stalls().front().ended);
}

BOOST_AUTO_TEST_CASE(what_stalls_have_in_common_is_said) {
    const Stall stall{.setting = "as found",
                      .seconds = 2.0,
                      .at_super_frame = true,
                      .frames = 410,
                      .super_frames = 200};
    std::vector<Stall> stalls = {stall, stall, stall};
    stalls[0].super_frames = 150;
    BOOST_TEST(super_frames_apart(stalls) == 200u);
    BOOST_TEST(contains(stalls_text(stalls),
                        "3 times it carried frames, and then nothing for 2.0 s: "
                        "each began with a super-frame, the 200th since the "
                        "one before"),
               stalls_text(stalls));
    stalls[2].super_frames = 117;
    BOOST_TEST(super_frames_apart(stalls) == 0u);
    stalls[1].at_super_frame = false;
    BOOST_TEST(contains(stalls_text(stalls), "after 410, 410, 410 frames"), stalls_text(stalls));
    BOOST_TEST(stalls_text({}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
