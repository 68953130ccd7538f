// Conclusions of ipvs-reuse, as data (model/README.md).
#include "harness/scenario/service_path/ipvs_reuse.h"

namespace pathproof::scenario {

const ReuseConclusions& ipvs_reuse_conclusions() {
    static const ReuseConclusions conclusions(
        {
            {"connects", "connects", "made", &ReuseValues::connects},
            {"failed", "connects", "failed", &ReuseValues::failed},
            {"reused", "connects", "from a port that was used before", &ReuseValues::reused},
            {"time_wait", "", "connections of IPVS in TIME_WAIT at the end",
             &ReuseValues::time_wait},
            {"slow", "connects", "took 1 s or more", &ReuseValues::slow},
            {"swallowed", "connects",
             "of them from such a port, their first SYN not leaving the DUT",
             &ReuseValues::swallowed},
            {"worst", "ms", "the longest connect", &ReuseValues::worst_ms},
            {verdict::kUnexplained, "connects", "slow for another reason",
             [](const ReuseValues& seen) { return seen.slow - seen.swallowed; }},
            {"mode", &ReuseCell::mode},
            {"other_ports", &ReuseCell::other_ports},
        },
        {
            .toggles = {{"conn_reuse_mode", "{mode}"},
                        {"client's ports", "[other_ports?each once|100]"}},
            .phrases = {{.name = "slow_ones",
                         .clauses = {{.text = "{slow of connects} connects took 1 s or more, the "
                                              "longest {worst:.2f s}",
                                      .when = "slow != 0"}}}},
            .rules =
                {
                    {.when = "connects == 0", .text = "no connect was made"},
                    {.when = "not other_ports and reused == 0", .text = "no port was used twice"},
                    {.when = "not other_ports and time_wait == 0",
                     .text = "IPVS had no connection in TIME_WAIT"},
                    {.when = "failed != 0",
                     .is = model::CellVerdict::kFail,
                     .cause = "failed",
                     .text = "{failed of connects} connects failed"},
                    {.when = "slow != 0 and swallowed == slow",
                     .is = model::CellVerdict::kFail,
                     .cause = "ipvs-reuse",
                     .text = "{slow_ones}; the DUT swallowed the first SYN of each"},
                    {.when = "slow != 0",
                     .is = model::CellVerdict::kFail,
                     .cause = "slow",
                     .text = "{slow_ones}; the first SYN of {swallowed of slow} came to the DUT "
                             "from a port used before and did not leave it"},
                },
            .own = "fails and cause == 'ipvs-reuse'",
            .chart = {.title = "Connects of 1 s or more", .hits = "slow", .trials = "connects"},
            .totals = {{.name = "all_reused", .figure = "reused"},
                       {.name = "all_connects", .figure = "connects"}},
            .findings =
                {{.headline = "{id}: {slow_ones}",
                  .why = "The port of such a connect was used before, and IPVS has {time_wait} "
                         "connections in TIME_WAIT. With conn_reuse_mode={mode} it ends the old "
                         "connection and swallows the SYN that came for it: the first SYN of "
                         "{swallowed} connects came to the DUT and did not leave it, and TCP sent "
                         "another after 1 s.",
                  .cures = {{.cure = "reuse-mode-0",
                             .outcome = "then none of {cure.connects} connects was slow, without "
                                        "it again {again.slow of again.connects}",
                             .text = "{command} on the DUT ({outcome})"}}}},
            .otherwise = "{all_reused of all_connects} connects came from a port that IPVS had "
                         "seen before, and none took 1 s or more.",
        });
    return conclusions;
}

}  // namespace pathproof::scenario
