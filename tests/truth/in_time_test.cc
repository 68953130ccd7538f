#include "harness/truth/in_time.h"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace pathproof::truth;
using Kind = InTime::Kind;

BOOST_AUTO_TEST_SUITE(in_time_suite)

namespace {

Stretch every(std::size_t frames, std::size_t period, std::size_t phase) {
    Stretch stretch(frames);
    for (std::size_t i = phase; i < frames; i += period) {
        stretch[i] = true;
    }
    return stretch;
}

Stretch bursts(std::size_t frames, std::size_t apart, std::size_t length) {
    Stretch stretch(frames);
    for (std::size_t i = 0; i < frames; ++i) {
        stretch[i] = i % apart >= apart - length;
    }
    return stretch;
}

Stretch at_random(std::size_t frames, unsigned one_in, unsigned seed) {
    std::mt19937 random(seed);
    Stretch stretch(frames);
    for (std::size_t i = 0; i < frames; ++i) {
        stretch[i] = random() % one_in == 0;
    }
    return stretch;
}

}  // namespace

BOOST_AUTO_TEST_CASE(wrong_frames_on_a_beat_are_every_nth_whatever_lies_between_the_stretches) {
    struct Case {
        std::vector<Stretch> stretches;
        std::uint64_t period;
    };
    const std::vector<Case> cases = {
        {{every(600, 2, 1)}, 2},
        {{every(600, 3, 0)}, 3},
        {{every(600, 7, 4)}, 7},
        {{every(6000, 1000, 999)}, 1000},
        // Each stretch begins anew; one has too few to tell.
        {{every(200, 16, 3), every(200, 16, 11), every(20, 16, 5)}, 16},
    };
    for (const Case& each : cases) {
        const InTime seen = in_time(each.stretches);
        BOOST_TEST((seen.kind == Kind::kEvery), text(seen));
        BOOST_TEST(seen.every == each.period, text(seen));
    }
    // Some that were on the beat came out right all the same, and one was off it.
    Stretch rough = every(400, 4, 2);
    rough[2] = rough[102] = rough[202] = false;
    rough[77] = true;
    BOOST_TEST(in_time({{rough}}).every == 4u);
}

BOOST_AUTO_TEST_CASE(frames_that_chance_picks_have_no_period_and_no_bursts) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        for (const unsigned one_in : {2u, 3u, 10u, 100u}) {
            const InTime seen = in_time({{at_random(600, one_in, seed)}});
            BOOST_TEST((seen.kind == Kind::kNowAndThen || seen.kind == Kind::kNone),
                       seed << ", 1 in " << one_in << ": " << text(seen));
        }
    }
}

BOOST_AUTO_TEST_CASE(bursts_have_a_number_and_lengths) {
    const InTime seen = in_time({{bursts(600, 97, 10)}});
    BOOST_TEST((seen.kind == Kind::kBursts), text(seen));
    BOOST_TEST(text(seen) == "60 in 6 bursts of 10, of 600");
}

BOOST_AUTO_TEST_CASE(the_text_says_a_rate_with_its_interval_and_what_none_excludes) {
    BOOST_TEST(text(in_time({{Stretch(60'000)}})) == "none of 60000 (below 1 in 20000 at 95 %)");
    BOOST_TEST(text(in_time({{Stretch(24, true)}})) == "all 24");
    BOOST_TEST(text(in_time({{every(600, 2, 0)}})) == "every 2nd of 600");
    Stretch rare(10'000);
    rare[17] = rare[5222] = rare[9001] = true;
    BOOST_TEST(text(in_time({{rare}})) == "3 of 10000, 1 in 3333 (95 %: 1 in 9801 to 1 in 1134)");
    BOOST_TEST(ordinal(11) == "11th");
    BOOST_TEST(ordinal(23) == "23rd");
    BOOST_TEST(ordinal(101) == "101st");
}

BOOST_AUTO_TEST_SUITE_END()
