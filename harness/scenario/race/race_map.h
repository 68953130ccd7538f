// dns-race --map: the exposure map. How many pairs race, over the time between their queries and the
// offered load, in each way of racing; and how far apart the queries of real resolvers are. Plain
// values: NatBench measures the points, race_map_conclude.cc makes sentences and charts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dataplane/judge/pair_report.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/path_events.h"
#include "harness/scenario/race/race_experiments.h"

namespace pathproof::scenario {

struct Context;

// The time between the two queries of pairs, without its sign.
struct Skew {
    std::uint64_t pairs = 0;
    std::int64_t low_ns = 0, middle_ns = 0, high_ns = 0;  // a tenth, half, nine tenths are below
};
// Sums up the differences without their signs; all zero if there are none.
Skew skew_of(std::vector<std::int64_t> differences_ns);

struct MapPoint {
    double offered = 0;                   // pairs a second
    std::int64_t asked_ns = 0;            // of the sender
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::uint64_t pairs = 0;
    double sent_per_second = 0;  // pairs
    std::uint64_t clash_resolve = 0, insert_failed = 0;
    std::uint64_t lost = 0;          // queries without an answer
    std::uint64_t wrong = 0;         // answered wrong, late or from another address
    std::uint64_t two_backends = 0;  // pairs whose queries came to two: they raced for certain
    Skew sent;                       // as they left the sender
    Skew far;                        // as they came to the far port
    std::string untimed;             // why `far` is not known

    std::uint64_t raced() const { return std::min(clash_resolve + insert_failed, pairs); }
    // Returns the reason why the load was not carried whole; empty: it was.
    std::string not_carried() const;
};
// Takes the tester's account of its pairs into the point.
void take(const judge::PairReport& report, MapPoint& point);
// Takes the queries captured at the far port into the point.
void take(const agent::Capture& capture, std::uint64_t pairs, MapPoint& point);

struct MapWay {
    RaceCell what;
    std::vector<std::string> hindrances;
    std::vector<MapPoint> points;
    double highest = 0;  // load that was carried whole; 0: none above those of every way
    std::string limit;   // what became of the next one; empty: there was none
    std::map<std::string, std::uint64_t> dropped;  // UDP packets by the kernel, by reason
    std::string untraced;                          // why that is not known

    // `full_queue`: what the vxlan device dropped.
    void take_drops(const agent::PathEvents& watched, std::uint64_t full_queue);
};

// A real resolver's skew between the two queries of a lookup, by capture at the far end.
struct ResolverSkew {
    std::string who;      // "glibc"
    std::string lacking;  // why it was not measured; empty: it was
    std::uint64_t lookups = 0;
    std::uint64_t one_socket = 0;  // both queries from one port
    Skew skew;                     // of these; where there is none, of all
};

struct RaceMap {
    std::vector<MapWay> ways;
    std::vector<ResolverSkew> resolvers;
};

Result<verdict::ScenarioResult> run_race_map(Context& context);
// Verdict, reason and measures of one way.
verdict::Cell conclude(const MapWay& way);
// All but id, title, question and duration.
verdict::ScenarioResult conclude(const RaceMap& map);

}  // namespace pathproof::scenario
