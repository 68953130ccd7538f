// Plans and sources for tests.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "dataplane/load/frame_source.h"
#include "tests/contains.h"
#include "tests/load/made_frames.h"

namespace pathproof::load {

inline constexpr frame::TrafficClass kMade[] = {
    frame::TrafficClass::kDnsA, frame::TrafficClass::kDnsAaaa, frame::TrafficClass::kTcpSyn,
    frame::TrafficClass::kIcmpEcho, frame::TrafficClass::kUdp};
inline constexpr frame::Family kFamilies[] = {frame::Family::kIpv4, frame::Family::kIpv6};

inline SourcePlan plan_of(frame::TrafficClass traffic, frame::Family family = frame::Family::kIpv4,
                          Envelope envelope = Envelope::kNone) {
    SourcePlan plan;
    plan.spec = spec_of(family, envelope);
    plan.mix = {{.traffic = traffic}};
    return plan;
}

inline FrameSource source_of(const SourcePlan& plan) {
    Result<FrameSource> source = FrameSource::make(plan);
    BOOST_REQUIRE_MESSAGE(source, source.error().message);
    return std::move(*source);
}

inline std::string refusal(const SourcePlan& plan) {
    const Result<FrameSource> source = FrameSource::make(plan);
    BOOST_REQUIRE(!source);
    BOOST_TEST((source.error().code == ErrorCode::kBadInput));
    return source.error().message;
}

using pathproof::test::contains;

}  // namespace pathproof::load
