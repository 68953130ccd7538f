#include "dataplane/load/rendezvous.h"

#include <boost/test/unit_test.hpp>
#include <thread>

BOOST_AUTO_TEST_SUITE(rendezvous)

using namespace pathproof::load;
using pathproof::traffic::Tsc;
using pathproof::traffic::tsc_now;

BOOST_AUTO_TEST_CASE(the_last_named_unit_goes_even_when_it_is_called_off_at_once) {
    for (int round = 0; round < 3000; ++round) {
        Rendezvous rendezvous;
        bool went = false;
        bool went_again = true;
        std::thread follower([&] {
            went = rendezvous.follow(0).has_value();
            went_again = rendezvous.follow(1).has_value();
        });
        rendezvous.lead(0, 0, 0);
        rendezvous.call_off();
        follower.join();
        BOOST_REQUIRE(went);
        BOOST_REQUIRE(!went_again);
    }
}

BOOST_AUTO_TEST_CASE(both_sides_learn_the_same_instant_no_earlier_than_the_notice) {
    Rendezvous rendezvous;
    std::optional<Tsc> followed;
    std::thread follower([&] { followed = rendezvous.follow(0); });
    const Tsc before = tsc_now();
    const std::optional<Tsc> led = rendezvous.lead(0, before, 5000);
    follower.join();
    BOOST_TEST((followed == led));
    BOOST_REQUIRE(led);
    BOOST_TEST(*led >= before + 5000);
}

BOOST_AUTO_TEST_CASE(a_leader_whose_follower_went_is_sent_home) {
    Rendezvous rendezvous;
    std::optional<Tsc> led = 1;
    std::thread leader([&] {
        rendezvous.lead(0, 0, 0);
        led = rendezvous.lead(1, 0, 0);
    });
    BOOST_TEST(rendezvous.follow(0).has_value());
    rendezvous.call_off();
    leader.join();
    BOOST_TEST(!led.has_value());
}

BOOST_AUTO_TEST_CASE(after_a_reset_units_are_counted_from_0_again) {
    Rendezvous rendezvous;
    rendezvous.call_off();
    rendezvous.reset();
    std::optional<Tsc> followed;
    std::thread follower([&] { followed = rendezvous.follow(0); });
    const auto led = rendezvous.lead(0, 0, 0);
    follower.join();
    BOOST_TEST(led.has_value());
    BOOST_TEST((followed == led));
}

BOOST_AUTO_TEST_SUITE_END()
