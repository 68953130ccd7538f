// Each frame that is sent ends in exactly one class, whatever becomes of it on the way.
#include <boost/test/unit_test.hpp>
#include <random>

#include "dataplane/load/tracked_intake.h"
#include "tests/how_many.h"
#include "tests/load/taken_frames.h"

using namespace pathproof;
using namespace pathproof::load;
using frame::TrafficClass;

namespace damage_balance {

using Random = std::mt19937_64;

std::size_t up_to(Random& random, std::size_t most) {
    return random() % (most + 1);
}

// A fault on the way: makes another frame of a frame; empty: the frame was lost.
struct Damage {
    const char* name;
    Frame (*make)(const Frame& frame, const Frame& next, Random& random);
};

constexpr Damage kDamages[] = {
    {"lost", [](const Frame&, const Frame&, Random&) { return Frame(); }},
    // Cuts within the length that the IP header gives: behind it a frame may be padded.
    {"cut",
     [](const Frame& frame, const Frame&, Random& random) {
         return Frame(
             frame.begin(),
             frame.end() - 1 - static_cast<std::ptrdiff_t>(up_to(random, frame.size() / 3)));
     }},
    {"shifted back",
     [](const Frame& frame, const Frame&, Random& random) {
         Frame shifted = frame;
         shifted.insert(shifted.begin() + 14, 2 + 2 * up_to(random, 2), 0x5a);
         return shifted;
     }},
    {"shifted forward",
     [](const Frame& frame, const Frame&, Random& random) {
         Frame shifted = frame;
         shifted.erase(shifted.begin() + 14,
                       shifted.begin() + 16 + static_cast<std::ptrdiff_t>(2 * up_to(random, 2)));
         return shifted;
     }},
    {"glued",
     [](const Frame& frame, const Frame& next, Random& random) {
         Frame glued = frame;
         glued.insert(
             glued.end(), next.begin(),
             next.begin() + 1 + static_cast<std::ptrdiff_t>(up_to(random, next.size() - 1)));
         return glued;
     }},
    // One byte: two could leave the sum as it is.
    {"a byte turned behind a checksum",
     [](const Frame& frame, const Frame&, Random& random) {
         Frame turned = frame;
         turned[14 + up_to(random, frame.size() - 15)] ^=
             static_cast<std::uint8_t>(1 + up_to(random, 254));
         return turned;
     }},
};

struct Outcome {
    std::uint64_t damaged = 0;  // by us, lost ones not among them
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
};

void check(TrafficClass traffic, std::uint16_t bytes, std::size_t frames, Random& random) {
    SourcePlan plan = plan_of(traffic);
    plan.mix[0].frame_bytes = bytes;
    const std::vector<Frame> sent = made(plan, frames);
    std::vector<Frame> arrived;
    Outcome planted;
    for (std::size_t i = 0; i + 1 < sent.size(); ++i) {
        const std::size_t fate = up_to(random, 19);
        if (fate >= std::size(kDamages)) {
            arrived.push_back(sent[i]);
            if (fate == 19) {
                arrived.push_back(sent[i]);
                ++planted.doubled;
            }
            continue;
        }
        Frame damaged = kDamages[fate].make(sent[i], sent[i + 1], random);
        planted.lost += damaged.empty() ? 1 : 0;
        planted.damaged += damaged.empty() ? 0 : 1;
        if (!damaged.empty()) {
            arrived.push_back(std::move(damaged));
        }
    }
    arrived.push_back(sent.back());
    IntakePlan intake_plan = frames_expected();
    intake_plan.sent = plan;
    TrackedIntake intake = intake_of(intake_plan);
    take(intake, arrived);

    const ClassTotals all = all_classes(intake.totals());
    BOOST_TEST_CONTEXT(frame::name(traffic) << " of " << bytes << " bytes") {
        BOOST_TEST(intake.received().balances());
        BOOST_REQUIRE(all.arrived() <= sent.size());
        const std::uint64_t missing = sent.size() - all.arrived();
        BOOST_TEST(all.as_sent() == sent.size() - planted.damaged - planted.lost);
        BOOST_TEST(all.wrong + all.damaged + missing == planted.damaged + planted.lost);
        BOOST_TEST(all.duplicates == planted.doubled);
        BOOST_TEST(all.late == 0u);
        // A damaged frame is missing as well only where nothing in it tells which it was.
        BOOST_TEST(missing >= planted.lost);
        BOOST_TEST(missing - planted.lost <= planted.damaged / 20,
                   missing - planted.lost << " of " << planted.damaged
                                          << " damaged frames are missing as well");
        BOOST_TEST(intake.received().malformed > 0u);
        BOOST_TEST(!intake.take_damaged_frames().empty());
    }
}

BOOST_AUTO_TEST_SUITE(damage_balance)

BOOST_AUTO_TEST_CASE(each_frame_sent_is_in_one_class) {
    constexpr std::size_t kFrames = 2000;
    const std::size_t rounds = std::max<std::size_t>(1, test::how_many(100'000) / kFrames / 8);
    Random random(20261128);
    for (std::size_t round = 0; round < rounds; ++round) {
        for (const std::uint16_t bytes : {std::uint16_t{0}, std::uint16_t{512}}) {
            for (const TrafficClass traffic : {TrafficClass::kDnsA, TrafficClass::kDnsAaaa,
                                               TrafficClass::kUdp, TrafficClass::kIcmpEcho}) {
                check(traffic, bytes, kFrames, random);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace damage_balance
