// Frames made of a frame: one trait is another, all else is as it was, and checksums are right.
#include "dataplane/follow/variant.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/judge/verifier.h"
#include "tests/follow/path.h"

namespace pathproof::follow {
namespace {

using frame::Family;
using frame::Transport;
using frame::Tunnel;

bool is_right(const Octets& bytes) {
    const auto verdict = judge::verify(bytes, frame::TunnelPorts::well_known());
    return std::ranges::all_of(verdict.all(), [](const judge::ChecksumFinding& finding) {
        return finding.state != judge::ChecksumState::kBad;
    });
}

std::vector<Octets> samples() {
    std::vector<Octets> all;
    for (const Transport transport : {Transport::kUdp, Transport::kTcp}) {
        for (const Family family : {Family::kIpv4, Family::kIpv6}) {
            frame::FrameSpec spec = spec_of(transport, 101, 3, family);
            all.push_back(render(spec));
            tag(spec);
            all.push_back(render(spec));
        }
    }
    frame::FrameSpec inside = spec_of(Transport::kUdp, 200, 4);
    wrap(Tunnel::kVxlan)(inside);
    all.push_back(render(inside));
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_variant_differs_in_one_trait_and_has_right_checksums) {
    struct Case {
        Trait trait;
        std::uint32_t value;
        std::vector<Trait> follow;  // that may be others, too
    };
    const std::vector<Case> cases = {
        {Trait::kFrameBytes, 1399, {Trait::kPayloadBytes}},
        {Trait::kFrameBytes, 120, {Trait::kPayloadBytes}},
        {Trait::kPayloadBytes, 1000, {Trait::kFrameBytes}},
        {Trait::kVlans, 1, {Trait::kFrameBytes, Trait::kVlan, Trait::kVlanPriority}},
        {Trait::kVlans, 0, {Trait::kFrameBytes, Trait::kVlan, Trait::kVlanPriority}},
        {Trait::kVlan, 9, {}},
        {Trait::kVlanPriority, 5, {}},
        {Trait::kSourcePort, 41'000, {}},
        {Trait::kDestinationPort, 54, {}},
        {Trait::kHopLimit, 9, {}},
        {Trait::kTrafficClass, 0xb8, {}},
        {Trait::kDontFragment, 0, {}},
        {Trait::kNoUdpChecksum, 1, {}},
    };
    for (const Case& each : cases) {
        unsigned made = 0;
        for (const Octets& sample : samples()) {
            const auto variant = with_trait(sample, each.trait, each.value);
            if (!variant) {
                continue;
            }
            ++made;
            const Traits before = traits_of(frame::Bytes(sample));
            const Traits after = traits_of(frame::Bytes(*variant));
            BOOST_TEST_CONTEXT("trait " << bit(each.trait) << " of " << sample.size() << " bytes") {
                BOOST_TEST(after[bit(each.trait)] == each.value);
                BOOST_TEST(is_right(*variant));
                for (std::size_t i = 0; i < kTraits; ++i) {
                    const bool may = i == bit(each.trait) ||
                                     std::ranges::any_of(
                                         each.follow, [&](Trait trait) { return bit(trait) == i; });
                    BOOST_TEST((may || before[i] == after[i]), "trait " << i);
                }
            }
        }
        BOOST_TEST(made >= 2U, "trait " << bit(each.trait));
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_made_is_not) {
    const Octets sample = samples().front();
    BOOST_TEST(!with_trait(sample, Trait::kFrameBytes, 20));
    BOOST_TEST(!with_trait(sample, Trait::kFrameBytes, 70'000));
    BOOST_TEST(!with_trait(sample, Trait::kFamily, 2));
    BOOST_TEST(!with_trait(sample, Trait::kDestinationPort, 0));
    BOOST_TEST(!with_trait(plain(60, 60, 1), Trait::kFrameBytes, 100));
    BOOST_TEST(!with_trait(Octets{1, 2, 3}, Trait::kVlans, 1));
}

BOOST_AUTO_TEST_CASE(numbered_frames_differ_and_are_right) {
    for (const Octets& sample : samples()) {
        const auto one = with_number(sample, 1);
        const auto two = with_number(sample, 2);
        BOOST_TEST((one != two));
        BOOST_TEST(one.size() == sample.size());
        BOOST_TEST(is_right(one));
        BOOST_TEST((traits_of(frame::Bytes(one)) == traits_of(frame::Bytes(two))));
    }
}

}  // namespace pathproof::follow
