#include "dataplane/search/load_book.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::search;

namespace {

const Criteria kOneTrial{0, 0, std::chrono::seconds(1), std::chrono::seconds(1)};

TrialRecord trial(double loss) {
    return {.duration = std::chrono::seconds(1), .loss_ratio = loss};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_empty_book_has_no_bounds) {
    const RelevantBounds bounds = LoadBook().bounds(kOneTrial);
    BOOST_TEST(!bounds.lower);
    BOOST_TEST(!bounds.upper);
}

BOOST_AUTO_TEST_CASE(the_relevant_upper_bound_is_the_least_one_and_the_lower_lies_below_it) {
    LoadBook book;
    book.add(10, trial(0));
    book.add(20, trial(0));
    book.add(30, trial(0.1));
    book.add(40, trial(0));
    book.add(50, trial(0.1));
    const RelevantBounds bounds = book.bounds(kOneTrial);
    BOOST_TEST(bounds.lower.value() == 20);
    BOOST_TEST(bounds.upper.value() == 30);
    BOOST_TEST(book.inversion(kOneTrial).value() == 40);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_monotone_shows_no_inversion) {
    LoadBook book;
    book.add(10, trial(0));
    book.add(30, trial(0.1));
    BOOST_TEST(!book.inversion(kOneTrial));
}

BOOST_AUTO_TEST_CASE(a_bound_can_be_overruled_by_more_trials) {
    const Criteria half{0, 0.5, std::chrono::seconds(1), std::chrono::seconds(2)};
    LoadBook book;
    book.add(10, trial(0));
    BOOST_TEST(book.bounds(half).lower.value() == 10);
    book.add(10, trial(0.1));
    book.add(10, trial(0.1));
    BOOST_TEST(book.bounds(half).upper.value() == 10);
}

BOOST_AUTO_TEST_CASE(trials_of_one_goal_count_for_another) {
    const Criteria lenient{0.005, 0, std::chrono::seconds(1), std::chrono::seconds(1)};
    LoadBook book;
    book.add(10, trial(0.003));
    BOOST_TEST(book.bounds(kOneTrial).upper.value() == 10);
    BOOST_TEST(book.bounds(lenient).lower.value() == 10);
}
