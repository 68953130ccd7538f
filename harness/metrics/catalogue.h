// The names of all metrics that pathproof exports, with what they mean: scripts and dashboards rely
// on them.
#pragma once

#include <string>
#include <vector>

#include "harness/metrics/exposition.h"

namespace pathproof::metrics {

// Each namespace's samples carry the label netns: its name, or "" for the exporter's own.
namespace family {
extern const Family kKernel, kUp, kSeconds, kEntries, kEntriesLimit, kEvents, kEventsMissed,
    kEventOverruns, kEventsUnreadable, kClashes, kClashesSettled, kClashesOpen, kLateAnswers,
    kBackendFlows, kBackendEntries, kBackendJudged, kBackendUnanswered, kBackendRefused,
    kBackendRatio, kBackendRatioLow, kBackendRatioHigh, kBackendAnswer, kBackendState,
    kBackendPacketsUnanswered, kBackendSilence, kBackendsLeftOut, kPodFlows, kPodUnanswered,
    kPodClashes, kPodLateAnswers, kPodsLeftOut, kCniCacheUp, kCniCacheUnreadable, kRefusalsWatched,
    kFindings, kStaleEntries, kFindingsTime, kDropsAvailable, kDrops, kDropsUnspecified,
    kDropsNowhere, kDropEventsLost;
}

// A counter of nf_conntrack, one sample for each CPU: pathproof_conntrack_insert_failed_total. The
// help says what it means on this kernel, or that this is not known.
Family conntrack_counter(const std::string& counter, const std::string& meaning);

// All that are exported.
std::vector<Family> catalogue();

// The catalogue as text for people.
std::string describe_catalogue();

}  // namespace pathproof::metrics
