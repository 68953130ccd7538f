#include "harness/metrics/catalogue.h"

#include <fmt/format.h>

#include <cctype>

namespace pathproof::metrics {
namespace family {
namespace {

constexpr const char* kOfBackend = "service, protocol, backend";
constexpr const char* kOfPod = "pod_namespace, pod_name";

}  // namespace

const Family kKernel{"pathproof_kernel", Type::kInfo, "", "Release of the running kernel.",
                     "release"};
const Family kUp{"pathproof_up", Type::kGauge, "",
                 "1 while the namespace can be read; 0: the other figures are the last ones read."};
const Family kSeconds{
    "pathproof_uptime_seconds", Type::kGauge, "seconds",
    "Time since the exporter began to count; all counters but those of nf_conntrack began at zero "
    "then."};
const Family kEntries{"pathproof_conntrack_entries", Type::kGauge, "",
                      "Entries of the conntrack table, hidden ones of resolved clashes included."};
const Family kEntriesLimit{"pathproof_conntrack_entries_limit", Type::kGauge, "",
                           "How many entries the table may hold (nf_conntrack_max)."};
const Family kEvents{"pathproof_conntrack_events", Type::kCounter, "",
                     "Conntrack events by kind: new, update, destroy; those found missing after "
                     "an overrun included.",
                     "kind"};
const Family kEventsMissed{
    "pathproof_conntrack_events_missed", Type::kCounter, "",
    "Events lost in an overrun and found afterwards by comparing with the table."};
const Family kEventOverruns{"pathproof_conntrack_event_overruns", Type::kCounter, "",
                            "Gaps in the stream of events: the receive buffer overran (ENOBUFS)."};
const Family kEventsUnreadable{"pathproof_conntrack_events_unreadable", Type::kCounter, "",
                               "Messages of the kernel that no event could be read from."};
const Family kClashes{"pathproof_conntrack_clashes", Type::kCounter, "",
                      "Hidden entries of resolved clashes (NAT_CLASH); a lower bound when there "
                      "were overruns."};
const Family kClashesSettled{
    "pathproof_conntrack_clashes_settled", Type::kCounter, "",
    "Hidden entries whose fate is known: answered in time, or gone unanswered.", "fate"};
const Family kClashesOpen{"pathproof_conntrack_clashes_open", Type::kGauge, "",
                          "Hidden entries whose fate is not known yet."};
const Family kLateAnswers{
    "pathproof_conntrack_late_answers", Type::kCounter, "",
    "Answers that came after the entry that would have translated them: seen as new flows from a "
    "backend. after_clash: whether that entry was a hidden one that was found.",
    "after_clash"};
const Family kBackendFlows{"pathproof_backend_flows", Type::kCounter, "",
                           "Flows of a service to one of its backends. With --cni-cache the "
                           "backends that are pods of this node have the labels "
                           "backend_namespace and backend_pod as well.",
                           kOfBackend};
const Family kBackendEntries{"pathproof_backend_entries", Type::kGauge, "",
                             "Flows of a backend that are in the table now.", kOfBackend};
const Family kBackendJudged{"pathproof_backend_judged_flows", Type::kGauge, "",
                            "Flows of the last minute or so that were answered, or waited long "
                            "enough to say they were not.",
                            kOfBackend};
const Family kBackendUnanswered{"pathproof_backend_unanswered_flows", Type::kGauge, "",
                                "Of the flows judged: without any answer (UNREPLIED, SYN_SENT).",
                                kOfBackend};
const Family kBackendRefused{"pathproof_backend_refused_flows", Type::kGauge, "",
                             "Of the unanswered: ICMP errors or TCP resets came instead.",
                             kOfBackend};
const Family kBackendRatio{"pathproof_backend_unanswered_ratio", Type::kGauge, "ratio",
                           "Share of unanswered flows among those judged, 0 to 1.", kOfBackend};
const Family kBackendRatioLow{"pathproof_backend_unanswered_low_ratio", Type::kGauge, "ratio",
                              "Lower end of the share's 95 % interval.", kOfBackend};
const Family kBackendRatioHigh{"pathproof_backend_unanswered_high_ratio", Type::kGauge, "ratio",
                               "Upper end of the share's 95 % interval.", kOfBackend};
const Family kBackendAnswer{"pathproof_backend_answer_median_seconds", Type::kGauge, "seconds",
                            "Middle time to the first answer of the last flows timed.", kOfBackend};
const Family kBackendState{"pathproof_backend_state", Type::kStateSet, "",
                           "What the backend's flows say of it.",
                           "service, protocol, backend, pathproof_backend_state"};
const Family kBackendPacketsUnanswered{
    "pathproof_backend_unanswered_packets", Type::kGauge, "",
    "Packets to the backend since its last answer, where conntrack counts packets "
    "(nf_conntrack_acct).",
    kOfBackend};
const Family kBackendSilence{"pathproof_backend_silence_seconds", Type::kGauge, "seconds",
                             "Time since the first of these packets; 0: the last one was answered.",
                             kOfBackend};
const Family kBackendsLeftOut{
    "pathproof_backends_left_out", Type::kGauge, "",
    "Backends with fewer flows than those listed: the number of listed ones is bounded."};
const Family kPodFlows{"pathproof_pod_flows", Type::kCounter, "",
                       "Flows that the pod began, since it is known (--cni-cache).", kOfPod};
const Family kPodUnanswered{"pathproof_pod_unanswered_flows", Type::kCounter, "",
                            "Flows of the pod that ended without any answer.", kOfPod};
const Family kPodClashes{"pathproof_pod_clashes", Type::kCounter, "",
                         "Hidden entries of resolved clashes (NAT_CLASH) of the pod's flows.",
                         kOfPod};
const Family kPodLateAnswers{
    "pathproof_pod_late_answers", Type::kCounter, "",
    "Answers to the pod that came after the entry that would have translated them.", kOfPod};
const Family kPodsLeftOut{
    "pathproof_pods_left_out", Type::kGauge, "",
    "Pods with fewer flows than those listed: the number of listed ones is bounded."};
const Family kCniCacheUp{"pathproof_cni_cache_up", Type::kGauge, "",
                         "1 while the cache of CNI results can be read; 0: no pod is known."};
const Family kCniCacheUnreadable{"pathproof_cni_cache_unreadable_files", Type::kGauge, "",
                                 "Files of the cache of CNI results that no pod was read from."};
const Family kRefusalsWatched{
    "pathproof_refusals_watched", Type::kGauge, "",
    "1: refusals are told from silence; 0: a backend named dead may be one that refuses."};
const Family kFindings{"pathproof_findings", Type::kGauge, "",
                       "Conclusions of `inspect doctor` at its last look, by kind (happening, "
                       "old_entry, dropped, severe, "
                       "may_happen) and cause.",
                       "kind, cause"};
const Family kStaleEntries{
    "pathproof_stale_entries", Type::kGauge, "",
    "Entries of conntrack that the rules of now would make otherwise, at the "
    "last look of `inspect stale`."};
const Family kFindingsTime{"pathproof_findings_timestamp_seconds", Type::kGauge, "seconds",
                           "When the last look came to its end, since the epoch."};
const Family kDropsAvailable{"pathproof_drops_available", Type::kGauge, "",
                             "1 while the kernel's drops are counted."};
const Family kDrops{"pathproof_drops", Type::kCounter, "",
                    "Packets that the kernel dropped, by its reason. scope: namespace, or machine "
                    "where a packet's namespace cannot be told.",
                    "reason, scope"};
const Family kDropsUnspecified{
    "pathproof_drops_unspecified", Type::kCounter, "",
    "Packets freed without a reason (NOT_SPECIFIED); many of them are no loss."};
const Family kDropsNowhere{"pathproof_drops_nowhere", Type::kCounter, "",
                           "Drops on this machine of packets that told no namespace."};
const Family kDropEventsLost{
    "pathproof_drop_events_lost", Type::kCounter, "",
    "Drops that could not be handed over in time: the counts by reason are lower bounds."};

}  // namespace family

Family conntrack_counter(const std::string& counter, const std::string& meaning) {
    std::string name = "pathproof_conntrack_";
    for (const char letter : counter) {
        name += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
    }
    return {
        .name = name,
        .type = Type::kCounter,
        .unit = {},
        .help = fmt::format("nf_conntrack's counter {}: {}", counter,
                            meaning.empty() ? "its meaning on this kernel is not known." : meaning),
        .labels = "cpu"};
}

std::vector<Family> catalogue() {
    using namespace family;
    const Family counter = conntrack_counter("COUNTER",
                                             "one metric for each counter of this kernel, "
                                             "such as insert_failed, drop, clash_resolve.");
    return {kKernel,
            kUp,
            kSeconds,
            kEntries,
            kEntriesLimit,
            counter,
            kEvents,
            kEventsMissed,
            kEventOverruns,
            kEventsUnreadable,
            kClashes,
            kClashesSettled,
            kClashesOpen,
            kLateAnswers,
            kBackendFlows,
            kBackendEntries,
            kBackendJudged,
            kBackendUnanswered,
            kBackendRefused,
            kBackendRatio,
            kBackendRatioLow,
            kBackendRatioHigh,
            kBackendAnswer,
            kBackendState,
            kBackendPacketsUnanswered,
            kBackendSilence,
            kBackendsLeftOut,
            kPodFlows,
            kPodUnanswered,
            kPodClashes,
            kPodLateAnswers,
            kPodsLeftOut,
            kCniCacheUp,
            kCniCacheUnreadable,
            kRefusalsWatched,
            kFindings,
            kStaleEntries,
            kFindingsTime,
            kDropsAvailable,
            kDrops,
            kDropsUnspecified,
            kDropsNowhere,
            kDropEventsLost};
}

std::string describe_catalogue() {
    std::string text;
    for (const Family& family : catalogue()) {
        std::string all = family.type == Type::kInfo ? "" : "netns";
        all += (all.empty() || family.labels.empty() ? "" : ", ") + family.labels;
        text += fmt::format("{}{{{}}}  {}\n    {}\n", sample_name(family), all, name(family.type),
                            family.help);
    }
    return text;
}

}  // namespace pathproof::metrics
