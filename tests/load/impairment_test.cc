#include "dataplane/load/impairment.h"

#include <rte_mbuf.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "dataplane/judge/verifier.h"
#include "dataplane/load/covered_bytes.h"
#include "dataplane/load/frame_source.h"
#include "tests/load/made_frames.h"

using namespace pathproof;
using namespace pathproof::load;
using frame::TrafficClass;

namespace {

constexpr std::size_t kBurst = 48;

rte_mempool* pool() {
    static rte_mempool* const the_pool =
        rte_pktmbuf_pool_create("impairment", 8'191, 0, 0, 2'048, SOCKET_ID_ANY);
    BOOST_REQUIRE(the_pool != nullptr);
    return the_pool;
}

Impairment impairment_of(const ImpairmentPlan& plan) {
    Result<Impairment> made = Impairment::make(plan);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return std::move(*made);
}

// A frame that came out, by its sequence number.
struct Arrived {
    std::uint64_t number = 0;
    bool whole = false;
};

// Sends frames that carry nothing but their number through an impairment; bytes are not looked at.
std::vector<Arrived> numbered(Impairment& impairment, std::uint64_t frames) {
    std::vector<Arrived> arrived;
    std::array<rte_mbuf*, kBurst> in;
    std::array<rte_mbuf*, 2 * kBurst> out;
    const auto collect = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t number = 0;
            std::memcpy(&number, rte_pktmbuf_mtod(out[i], const void*), sizeof number);
            arrived.push_back({number, true});
            rte_pktmbuf_free(out[i]);
        }
    };
    for (std::uint64_t sent = 0; sent < frames;) {
        const std::size_t burst = std::min<std::uint64_t>(kBurst - sent % 7, frames - sent);
        BOOST_REQUIRE(rte_pktmbuf_alloc_bulk(pool(), in.data(), static_cast<unsigned>(burst)) == 0);
        for (std::size_t i = 0; i < burst; ++i, ++sent) {
            std::memcpy(rte_pktmbuf_append(in[i], 60), &sent, sizeof sent);
        }
        collect(impairment.pass(std::span(in).first(burst), out));
    }
    while (const std::size_t count = impairment.flush(out)) {
        collect(count);
    }
    return arrived;
}

// RFC 4737 section 3.3 and section 4.2.2 (late offset in frames), from the definitions.
struct Seen {
    std::uint64_t unique = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;
    std::uint64_t furthest = 0;
    std::array<std::uint64_t, 22> distance{};
};
Seen seen_in(const std::vector<Arrived>& arrived) {
    Seen seen;
    std::set<std::uint64_t> numbers;
    std::uint64_t next_expected = 0;
    for (const Arrived& one : arrived) {
        if (!numbers.insert(one.number).second) {
            ++seen.duplicates;
            continue;
        }
        ++seen.unique;
        if (one.number >= next_expected) {
            next_expected = one.number + 1;
            continue;
        }
        const std::uint64_t distance = next_expected - 1 - one.number;
        ++seen.reordered;
        seen.furthest = std::max(seen.furthest, distance);
        std::size_t bin = 0;
        while (distance >> (bin + 1) != 0) {
            ++bin;
        }
        ++seen.distance[bin];
    }
    return seen;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(impairment)

BOOST_AUTO_TEST_CASE(without_impairment_every_frame_goes_on_in_order) {
    Impairment none = impairment_of({});
    const auto arrived = numbered(none, 10'000);
    BOOST_REQUIRE(arrived.size() == 10'000u);
    for (std::size_t i = 0; i < arrived.size(); ++i) {
        BOOST_REQUIRE(arrived[i].number == i);
    }
    BOOST_TEST(none.counts().frames == 10'000u);
    BOOST_TEST(none.counts().lost + none.counts().duplicates + none.counts().reordered == 0u);
}

BOOST_AUTO_TEST_CASE(its_own_counts_are_what_came_out) {
    for (const std::uint32_t distance : {1u, 3u, 200u, 20'000u}) {
        for (const double share : {0.001, 0.03, 0.25}) {
            BOOST_TEST_CONTEXT("distance " << distance << " share " << share) {
                Impairment path = impairment_of({.loss = share,
                                                 .duplication = share,
                                                 .reordering = share,
                                                 .most_distance = distance,
                                                 .most_held = 4'000,
                                                 .seed = distance});
                const Seen seen = seen_in(numbered(path, 100'000));
                const ImpairmentCounts& counts = path.counts();
                BOOST_TEST(counts.frames == 100'000u);
                BOOST_TEST(seen.unique == 100'000u - counts.lost);
                BOOST_TEST(seen.duplicates == counts.duplicates);
                BOOST_TEST(seen.reordered == counts.reordered);
                BOOST_TEST(seen.furthest == counts.furthest);
                BOOST_TEST(seen.distance == counts.distance, boost::test_tools::per_element());
                BOOST_TEST(counts.lost > 0u);
                BOOST_TEST(counts.duplicates > 0u);
                BOOST_TEST(counts.reordered > 0u);
            }
        }
    }
    BOOST_TEST(rte_mempool_avail_count(pool()) == 8'191u);
}

BOOST_AUTO_TEST_CASE(shares_are_those_of_the_plan) {
    Impairment path = impairment_of(
        {.loss = 0.02, .duplication = 0.01, .reordering = 0.04, .most_distance = 50, .seed = 9});
    numbered(path, 400'000);
    // Five standard deviations of a binomial count.
    const auto near = [](std::uint64_t count, double expected) {
        return std::abs(static_cast<double>(count) - expected) < 5 * std::sqrt(expected);
    };
    BOOST_TEST(near(path.counts().lost, 8'000));
    BOOST_TEST(near(path.counts().duplicates, 4'000));
    // A held frame whose followers were lost or held as well comes in order.
    BOOST_TEST(path.counts().reordered > 15'000u);
    BOOST_TEST(path.counts().reordered < 16'700u);
    BOOST_TEST(path.counts().spared == 0u);
}

BOOST_AUTO_TEST_CASE(one_seed_does_one_thing_and_another_another) {
    const auto run = [](std::uint64_t seed) {
        Impairment path =
            impairment_of({.loss = 0.1, .reordering = 0.1, .most_distance = 20, .seed = seed});
        std::vector<std::uint64_t> numbers;
        for (const Arrived& one : numbered(path, 3'000)) {
            numbers.push_back(one.number);
        }
        return numbers;
    };
    BOOST_TEST((run(5) == run(5)));
    BOOST_TEST((run(5) != run(6)));
}

BOOST_AUTO_TEST_CASE(no_more_are_held_than_allowed_and_what_was_spared_is_counted) {
    Impairment path =
        impairment_of({.reordering = 0.5, .most_distance = 1'000, .most_held = 3, .seed = 4});
    const Seen seen = seen_in(numbered(path, 20'000));
    BOOST_TEST(seen.unique == 20'000u);
    BOOST_TEST(seen.reordered == path.counts().reordered);
    BOOST_TEST(path.counts().spared > 9'000u);
    BOOST_TEST(path.counts().reordered < 200u);
}

BOOST_AUTO_TEST_CASE(what_is_still_held_is_freed_at_the_end) {
    {
        Impairment path = impairment_of({.reordering = 1, .most_distance = 100'000});
        std::array<rte_mbuf*, kBurst> in;
        std::array<rte_mbuf*, 2 * kBurst> out;
        BOOST_REQUIRE(rte_pktmbuf_alloc_bulk(pool(), in.data(), kBurst) == 0);
        BOOST_TEST(path.pass(in, out) == 0u);
        Impairment moved = std::move(path);
        BOOST_TEST(rte_mempool_avail_count(pool()) == 8'191u - kBurst);
    }
    BOOST_TEST(rte_mempool_avail_count(pool()) == 8'191u);
}

BOOST_AUTO_TEST_CASE(every_damaged_frame_is_shown_by_its_checksums) {
    constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();
    constexpr TrafficClass kMade[] = {TrafficClass::kDnsA, TrafficClass::kTcpSyn,
                                      TrafficClass::kIcmpEcho, TrafficClass::kUdp};
    int seed = 0;
    for (const TrafficClass traffic : kMade) {
        for (const frame::Family family : {frame::Family::kIpv4, frame::Family::kIpv6}) {
            for (const Envelope envelope : {Envelope::kNone, Envelope::kVlan, Envelope::kVxlan}) {
                for (const auto outer :
                     {frame::ChecksumMode::kSoftware, frame::ChecksumMode::kZero}) {
                    SourcePlan plan;
                    plan.spec = spec_of(family, envelope);
                    plan.mix = {{.traffic = traffic}};
                    if (plan.spec.tunnel) {
                        plan.spec.tunnel->outer.transport_checksum = outer;
                    }
                    Result<FrameSource> source = FrameSource::make(plan);
                    BOOST_REQUIRE(source);
                    Impairment path = impairment_of(
                        {.corruption = 1, .seed = static_cast<std::uint64_t>(++seed)});
                    Mbufs mbufs(500, 2'048);
                    std::vector<rte_mbuf*> out(1'000);
                    source->fill(mbufs.all(), 5'000);
                    BOOST_REQUIRE(path.pass(mbufs.all(), out) == 500u);
                    BOOST_TEST(path.counts().corrupted == 500u);
                    for (const rte_mbuf* const mbuf : mbufs.all()) {
                        const judge::FrameVerdict verdict =
                            judge::verify(bytes_of(*mbuf), kTunnels);
                        BOOST_REQUIRE(verdict.any_bad() ||
                                      verdict.malformed != judge::Malformed::kNone);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_covered_byte_changed_to_any_other_value_is_shown) {
    constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();
    for (const Envelope envelope : {Envelope::kNone, Envelope::kVxlan}) {
        SourcePlan plan;
        plan.spec = spec_of(frame::Family::kIpv4, envelope);
        Result<FrameSource> source = FrameSource::make(plan);
        BOOST_REQUIRE(source);
        Frame frame = next_frames(*source, 1)[0];
        const CoveredBytes covered(frame, frame::parse_frame(frame, kTunnels));
        BOOST_TEST(covered.count() > 70u);
        for (std::size_t n = 0; n < covered.count(); ++n) {
            std::uint8_t& byte = frame[covered.at(n)];
            const std::uint8_t right = byte;
            for (unsigned change = 1; change < 256; ++change) {
                byte = static_cast<std::uint8_t>(right ^ change);
                const judge::FrameVerdict verdict = judge::verify(frame, kTunnels);
                BOOST_REQUIRE_MESSAGE(
                    verdict.any_bad() || verdict.malformed != judge::Malformed::kNone,
                    "byte " << covered.at(n) << " as " << unsigned{byte});
            }
            byte = right;
        }
    }
}

BOOST_AUTO_TEST_CASE(what_no_checksum_covers_is_not_damaged) {
    Impairment path = impairment_of({.corruption = 1});
    numbered(path, 100);  // no frames at all: 60 bytes of a number
    BOOST_TEST(path.counts().corrupted == 0u);
    BOOST_TEST(path.counts().spared == 100u);
}

BOOST_AUTO_TEST_CASE(plans_out_of_range_are_refused_in_a_sentence) {
    const auto refusal = [](const ImpairmentPlan& plan) {
        const auto made = Impairment::make(plan);
        BOOST_REQUIRE(!made);
        return made.error().message;
    };
    BOOST_TEST(refusal({.loss = -0.1}).find("loss") != std::string::npos);
    BOOST_TEST(refusal({.corruption = 1.5}).find("corruption") != std::string::npos);
    BOOST_TEST(refusal({.loss = 0.6, .reordering = 0.6}).find("add up") != std::string::npos);
    BOOST_TEST(refusal({.most_distance = 0}).find("0 later") != std::string::npos);
    BOOST_TEST(refusal({.most_distance = 1'048'577}).find("1048577") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
