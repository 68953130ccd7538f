#include "dataplane/load/prepared_frame.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "dataplane/load/fill_run.h"
#include "dataplane/load/flow_walk.h"
#include "tests/how_many.h"
#include "tests/load/made_frames.h"
#include "tests/load/sources.h"

using namespace pathproof;
using namespace pathproof::load;
using frame::TrafficClass;

namespace {

RunShape shape_of(TrafficClass traffic) {
    switch (traffic) {
        case TrafficClass::kDnsA:
        case TrafficClass::kDnsAaaa: return RunShape::kQueries;
        case TrafficClass::kIcmpEcho: return RunShape::kEcho;
        default: return RunShape::kBinary;
    }
}

std::uint32_t carried(TrafficClass traffic, std::uint32_t sequence) {
    return traffic == TrafficClass::kTcpSyn ? sequence & 0x0fffffff : sequence;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> rows_and_ports(FlowWalk walk,
                                                                    std::size_t count) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> visited;
    while (visited.size() < count) {
        const auto most = std::min<std::uint64_t>(walk.left_in_row(), 3);
        for (std::uint32_t i = 0; i < most; ++i) {
            visited.emplace_back(walk.row(), walk.port() + i * walk.port_step());
        }
        walk.advance(most);
    }
    visited.resize(count);
    return visited;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prepared_frames)

BOOST_AUTO_TEST_CASE(sequences_of_all_32_bits_and_addresses_of_any_row_stay_right) {
    std::mt19937 random(4'711);
    for (const TrafficClass traffic : kMade) {
        for (const frame::Family family : kFamilies) {
            SourcePlan plan = plan_of(traffic, family, Envelope::kVxlan);
            plan.stream = 11;
            Result<PreparedFrame> prepared = PreparedFrame::make(plan, plan.mix[0], 0);
            BOOST_REQUIRE_MESSAGE(prepared, prepared.error().message);
            const frame::StampIds ids(plan.seed, plan.stream);
            Mbufs mbufs(1);
            for (unsigned turn = 0; turn < 2'000; ++turn) {
                const auto sequence = static_cast<std::uint32_t>(random());
                const std::uint32_t row = static_cast<std::uint32_t>(random()) % 1'000'000;
                mbufs.spoil();
                prepared->set_time(random());
                prepared->set_upper(sequence >> 8);
                prepared->set_row(row);
                fill_run_for(shape_of(traffic))(
                    *prepared, ids,
                    {.mbufs = mbufs.all(), .sequence = sequence, .port = 5'000, .port_step = 1});
                const Frame frame = bytes_of(*mbufs.all()[0]);
                BOOST_REQUIRE(is_right(frame));
                BOOST_REQUIRE_EQUAL(stamp_of(frame)->sequence, carried(traffic, sequence));
                BOOST_REQUIRE_EQUAL(stamp_of(frame)->stream, 11);
                BOOST_REQUIRE(parsed(frame).innermost().source ==
                              plan.spec.packet.source.address.plus(row));
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(flow_walks)

BOOST_AUTO_TEST_CASE(flows_are_gone_through_as_division_would_have_it) {
    std::mt19937 random(815);
    for (unsigned turn = 0; turn < test::how_many(3'000); ++turn) {
        const std::uint64_t flows = 1 + random() % 300;
        const auto ports = static_cast<std::uint16_t>(1 + random() % 40);
        const std::uint64_t step = 1 + random() % 50;
        const std::uint64_t first = random() % std::min(flows, step);
        const FlowWalk walk({.flows = flows, .first_port = 1'000, .ports = ports}, first, step);
        const auto visited = rows_and_ports(walk, 500);
        std::uint64_t flow = first;
        for (const auto& [row, port] : visited) {
            BOOST_REQUIRE_EQUAL(row, flow / ports);
            BOOST_REQUIRE_EQUAL(port, 1'000 + flow % ports);
            flow = flow + step < flows ? flow + step : first;
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
