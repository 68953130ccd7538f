#include "dataplane/calibration/look_alikes.h"

#include <array>
#include <boost/test/unit_test.hpp>

#include "dataplane/judge/verifier.h"

using namespace pathproof;
using namespace pathproof::calibration;

BOOST_AUTO_TEST_SUITE(look_alikes_of_healthy_frames)

BOOST_AUTO_TEST_CASE(each_kind_can_be_made_differs_and_raises_no_alarm) {
    const auto material = make_material({.strength = matrix::Strength::kPairs, .probes = 2});
    BOOST_REQUIRE_MESSAGE(material, material.error().message);
    std::array<std::size_t, kLookAlikes> made{};
    for (const SendRow& row : material->send) {
        for (const SentProbe& probe : row.probes) {
            const FrameBytes& healthy = probe.healthy.front().front();
            for (std::size_t i = 0; i < kLookAlikes; ++i) {
                const auto frame =
                    look_alike(static_cast<LookAlike>(i), healthy, probe.probe.tunnels);
                if (!frame) {
                    continue;
                }
                ++made[i];
                const bool quiet = !judge::verify_slowly(*frame, probe.probe.tunnels).any_bad() &&
                                   !judge::verify(*frame, probe.probe.tunnels).any_bad();
                BOOST_REQUIRE_MESSAGE(*frame != healthy || i >= 6, name(static_cast<LookAlike>(i))
                                                                       << " changes nothing");
                BOOST_REQUIRE_MESSAGE(quiet, name(static_cast<LookAlike>(i))
                                                 << " in " << matrix::describe(row.row));
            }
        }
    }
    for (std::size_t i = 0; i < kLookAlikes; ++i) {
        BOOST_TEST(made[i] > 0u, name(static_cast<LookAlike>(i)));
    }
}

BOOST_AUTO_TEST_SUITE_END()
