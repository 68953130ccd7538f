#include "dataplane/load/mix_pattern.h"

#include <boost/test/unit_test.hpp>
#include <map>

using namespace pathproof;
using namespace pathproof::load;

namespace {

std::vector<MixRun> pattern(std::vector<MixShare> shares) {
    const auto made = mix_pattern(shares);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return *made;
}

std::map<int, std::uint64_t> frames_by_part(const std::vector<MixRun>& runs) {
    std::map<int, std::uint64_t> frames;
    for (const MixRun& run : runs) {
        frames[run.part] += run.frames;
    }
    return frames;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mix_patterns)

BOOST_AUTO_TEST_CASE(parts_take_turns_as_evenly_as_their_shares_allow) {
    BOOST_TEST((pattern({{6, 1}, {2, 1}}) == std::vector<MixRun>{{0, 2}, {1, 1}, {0, 1}}));
    // nginx's own example: 5, 1, 1 gives a a b a c a a.
    BOOST_TEST((pattern({{5, 1}, {1, 1}, {1, 1}}) ==
                std::vector<MixRun>{{0, 2}, {1, 1}, {0, 1}, {2, 1}, {0, 2}}));
}

BOOST_AUTO_TEST_CASE(a_share_counts_frames_and_pairs_make_two_at_once) {
    const std::vector<MixRun> runs = pattern({{3, 2}, {1, 1}});
    const auto frames = frames_by_part(runs);
    BOOST_TEST(frames.at(0) == 3 * frames.at(1));
    for (const MixRun& run : runs) {
        BOOST_TEST((run.part == 1 || run.frames % 2 == 0));
    }
}

BOOST_AUTO_TEST_CASE(odd_shares_are_exact_over_the_period) {
    const auto frames = frames_by_part(pattern({{47, 2}, {31, 1}, {17, 1}, {5, 1}}));
    BOOST_TEST(frames.at(0) * 31 == frames.at(1) * 47);
    BOOST_TEST(frames.at(1) * 17 == frames.at(2) * 31);
    BOOST_TEST(frames.at(2) * 5 == frames.at(3) * 17);
}

BOOST_AUTO_TEST_CASE(one_part_alone_has_no_turns) {
    BOOST_TEST(pattern({{7, 1}}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(mixes_that_cannot_be_worked_out_are_refused) {
    for (const std::vector<MixShare>& shares : {std::vector<MixShare>{},
                                                {{0, 1}},
                                                {{1, 1}, {0, 1}},
                                                {{1'000'003, 1}, {999'983, 1}},
                                                std::vector<MixShare>(256)}) {
        BOOST_TEST(!mix_pattern(shares));
    }
}

BOOST_AUTO_TEST_SUITE_END()
