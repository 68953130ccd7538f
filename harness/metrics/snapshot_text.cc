#include "harness/metrics/snapshot_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "harness/metrics/catalogue.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/stats.h"

namespace pathproof::metrics {
namespace {

using monitor::BackendHealth;
using monitor::BackendVerdict;
using monitor::ServiceHealth;
using monitor::Snapshot;

struct ListedBackend {
    Labels labels;  // netns, service, protocol, backend; of a known pod its namespace and name too
    const BackendHealth* health = nullptr;
};

struct ListedPod {
    Labels labels;  // netns, pod_namespace, pod_name
    monitor::PodCounts counts;
};

// Keeps the entries with most flows, and returns how many others it left out.
template <typename Listed, typename Flows>
std::size_t leave_out(std::vector<Listed>& all, std::size_t most, Flows flows) {
    std::ranges::stable_sort(all, std::greater(), flows);
    const std::size_t left_out = all.size() > most ? all.size() - most : 0;
    all.resize(all.size() - left_out);
    return left_out;
}

const std::vector<std::string_view> kStates = {"healthy",  "slow",   "lossy", "one_way",
                                               "refusing", "silent", "dead",  "too_few"};

// A label's value holds no blank.
std::string_view state_of(BackendVerdict verdict) {
    switch (verdict) {
        case BackendVerdict::kTooFew: return "too_few";
        case BackendVerdict::kOneWay: return "one_way";
        default: return name(verdict);
    }
}

Label netns_of(const Snapshot& snapshot) {
    return {.name = "netns", .value = snapshot.netns};
}

double seconds(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1e9;
}

class Writer {
  public:
    Writer(std::span<const Snapshot> snapshots, const TextOptions& options)
        : snapshots_(snapshots), text_(options.dialect) {
        for (const Snapshot& snapshot : snapshots) {
            list_backends(snapshot, options.most_backends);
            list_pods(snapshot, options.most_pods);
        }
    }

    std::string write() {
        write_machine();
        write_table();
        write_counters();
        write_events();
        write_clashes();
        write_backends();
        write_pods();
        write_drops();
        write_findings();
        return text_.finish();
    }

  private:
    // One sample for each namespace, of what `value` gives for it; none where that is nothing.
    template <typename Value>
    void each(const Family& family, Value value) {
        text_.begin(family);
        for (const Snapshot& snapshot : snapshots_) {
            sample({netns_of(snapshot)}, std::invoke(value, snapshot));
        }
    }

    template <typename Value>
    void sample(const Labels& labels, const Value& value) {
        text_.sample(labels, value);
    }
    template <typename Value>
    void sample(const Labels& labels, const std::optional<Value>& value) {
        if (value) {
            text_.sample(labels, *value);
        }
    }

    // One sample for each namespace of a figure of all of its `part`.
    template <typename Part, typename Number>
    void each(const Family& family, Part Snapshot::*part, Number Part::*number) {
        each(family, [&](const Snapshot& snapshot) { return snapshot.*part.*number; });
    }

    using Counts = std::vector<std::pair<const char*, std::uint64_t>>;

    // One sample for each namespace and value of the label, of what `counts` gives for it.
    template <typename Give>
    void each_kind(const Family& family, const char* label, Give counts) {
        text_.begin(family);
        for (const Snapshot& snapshot : snapshots_) {
            for (const auto& [word, count] : counts(snapshot)) {
                text_.sample({netns_of(snapshot), {.name = label, .value = word}}, count);
            }
        }
    }

    void write_machine() {
        text_.begin(family::kKernel);
        if (!snapshots_.empty()) {
            text_.sample({{.name = "release", .value = snapshots_[0].kernel}}, std::uint64_t{1});
        }
        each(family::kUp,
             [](const Snapshot& snapshot) { return std::uint64_t{snapshot.failure.empty()}; });
        each(family::kSeconds, &Snapshot::seconds);
    }

    void write_table() {
        each(family::kEntries, &Snapshot::table, &netfilter::TableSize::entries);
        each(family::kEntriesLimit, [](const Snapshot& snapshot) {
            const std::uint64_t most = snapshot.table.maximum;
            return most > 0 ? std::optional(most) : std::nullopt;
        });
    }

    // Kernels differ in the counters they have, and all namespaces' samples of one stand together.
    void write_counters() {
        struct Sample {
            Labels labels;
            std::uint64_t value;
        };
        std::map<std::string, std::vector<Sample>> samples;
        for (const Snapshot& snapshot : snapshots_) {
            for (const netfilter::CpuStats& cpu : snapshot.cpus) {
                const Labels labels{netns_of(snapshot),
                                    {.name = "cpu", .value = std::to_string(cpu.cpu)}};
                for (const auto& [counter, value] : cpu.counters) {
                    samples[counter].push_back({.labels = labels, .value = value});
                }
            }
        }
        for (const auto& [counter, of_counter] : samples) {
            text_.begin(conntrack_counter(counter, meaning(counter)));
            for (const Sample& sample : of_counter) {
                text_.sample(sample.labels, sample.value);
            }
        }
    }

    std::string meaning(const std::string& counter) const {
        const auto kernel = netfilter::parse_kernel_release(snapshots_[0].kernel);
        return kernel ? netfilter::counter_meaning(counter, *kernel) : std::string();
    }

    void write_events() {
        each_kind(family::kEvents, "kind", [](const Snapshot& snapshot) {
            return Counts{{"new", snapshot.events.created},
                          {"update", snapshot.events.updated},
                          {"destroy", snapshot.events.destroyed}};
        });
        each(family::kEventsMissed, &Snapshot::events, &monitor::EventTotals::missed);
        each(family::kEventOverruns, &Snapshot::events, &monitor::EventTotals::overruns);
        each(family::kEventsUnreadable, &Snapshot::events, &monitor::EventTotals::unreadable);
    }

    void write_clashes() {
        each(family::kClashes, &Snapshot::clashes, &netfilter::ClashCounts::hidden);
        each_kind(family::kClashesSettled, "fate", [](const Snapshot& snapshot) {
            return Counts{{"answered", snapshot.clashes.answered},
                          {"unanswered", snapshot.clashes.unanswered}};
        });
        each(family::kClashesOpen, &Snapshot::clashes, &netfilter::ClashCounts::open);
        each_kind(family::kLateAnswers, "after_clash", [](const Snapshot& snapshot) {
            const std::uint64_t joined = snapshot.clashes.late_after_a_clash;
            return Counts{{"yes", joined}, {"no", snapshot.clashes.late_answers - joined}};
        });
    }

    void list_backends(const Snapshot& snapshot, std::size_t most) {
        std::vector<ListedBackend> all;
        for (const ServiceHealth& service : snapshot.backends.services) {
            for (const BackendHealth& backend : service.backends) {
                const std::string protocol(netfilter::protocol_name(service.protocol));
                Labels labels{netns_of(snapshot),
                              {.name = "service", .value = frame::to_string(service.address)},
                              {.name = "protocol", .value = protocol},
                              {.name = "backend", .value = frame::to_string(backend.address)}};
                if (const monitor::Pod* const pod = pod_of(snapshot, backend.address.address)) {
                    labels.push_back({.name = "backend_namespace", .value = pod->pod_namespace});
                    labels.push_back({.name = "backend_pod", .value = pod->name});
                }
                all.push_back({.labels = std::move(labels), .health = &backend});
            }
        }
        left_out_.push_back(
            leave_out(all, most, [](const ListedBackend& one) { return one.health->flows; }));
        std::move(all.begin(), all.end(), std::back_inserter(backends_));
    }

    static const monitor::Pod* pod_of(const Snapshot& snapshot, const frame::IpAddress& address) {
        if (!snapshot.known_pods) {
            return nullptr;
        }
        const auto& known = snapshot.known_pods->addresses;
        const auto pod = known.find(address);
        return pod == known.end() ? nullptr : &pod->second;
    }

    void list_pods(const Snapshot& snapshot, std::size_t most) {
        std::vector<ListedPod> all;
        for (const auto& [pod, counts] : snapshot.pods) {
            all.push_back({.labels = {netns_of(snapshot),
                                      {.name = "pod_namespace", .value = pod.pod_namespace},
                                      {.name = "pod_name", .value = pod.name}},
                           .counts = counts});
        }
        pods_left_out_.push_back(
            leave_out(all, most, [](const ListedPod& one) { return one.counts.flows; }));
        std::move(all.begin(), all.end(), std::back_inserter(pods_));
    }

    // One sample for each backend listed, as each().
    template <typename Value>
    void each_backend(const Family& family, Value value) {
        text_.begin(family);
        for (const ListedBackend& backend : backends_) {
            sample(backend.labels, std::invoke(value, *backend.health));
        }
    }

    // Adds one sample for each backend with flows to judge: a share of nothing is no figure.
    template <typename Value>
    void each_judged_backend(const Family& family, Value value) {
        each_backend(family, [&](const BackendHealth& backend) {
            return backend.judged > 0 ? std::optional(value(backend)) : std::nullopt;
        });
    }

    // Adds one sample for each backend whose packets are counted.
    template <typename Value>
    void each_followed_backend(const Family& family, Value value) {
        each_backend(family, [&](const BackendHealth& backend) {
            return backend.traffic ? std::optional(std::invoke(value, *backend.traffic))
                                   : std::nullopt;
        });
    }

    void write_backends() {
        each_backend(family::kBackendFlows, &BackendHealth::flows);
        each_backend(family::kBackendEntries,
                     [](const auto& backend) { return static_cast<double>(backend.in_table); });
        each_backend(family::kBackendJudged, &BackendHealth::judged);
        each_backend(family::kBackendUnanswered, &BackendHealth::unanswered);
        each_backend(family::kBackendRefused, &BackendHealth::refused);
        each_judged_backend(family::kBackendRatio,
                            [](const auto& backend) { return backend.unanswered_fraction(); });
        each_judged_backend(family::kBackendRatioLow,
                            [](const auto& backend) { return backend.unanswered_share.low; });
        each_judged_backend(family::kBackendRatioHigh,
                            [](const auto& backend) { return backend.unanswered_share.high; });
        each_backend(family::kBackendAnswer, [](const auto& backend) {
            const auto& median_ns = backend.median_answer_ns;
            return median_ns ? std::optional(seconds(*median_ns)) : std::nullopt;
        });
        text_.begin(family::kBackendState);
        for (const ListedBackend& backend : backends_) {
            text_.states(backend.labels, kStates, state_of(backend.health->verdict));
        }
        each_followed_backend(family::kBackendPacketsUnanswered,
                              &monitor::BackendTraffic::unanswered);
        each_followed_backend(family::kBackendSilence, [](const monitor::BackendTraffic& traffic) {
            return seconds(traffic.silent_ns);
        });
        text_.begin(family::kBackendsLeftOut);
        for (std::size_t i = 0; i < snapshots_.size(); ++i) {
            text_.sample({netns_of(snapshots_[i])}, std::uint64_t{left_out_[i]});
        }
        each(family::kRefusalsWatched, [](const Snapshot& snapshot) {
            return std::uint64_t{snapshot.backends.refusals_watched};
        });
    }

    void each_pod(const Family& family, std::uint64_t monitor::PodCounts::*count) {
        text_.begin(family);
        for (const ListedPod& pod : pods_) {
            text_.sample(pod.labels, pod.counts.*count);
        }
    }

    // One sample for each namespace whose pods somebody told of.
    template <typename Value>
    void each_with_pods(const Family& family, Value value) {
        text_.begin(family);
        for (std::size_t i = 0; i < snapshots_.size(); ++i) {
            if (snapshots_[i].known_pods) {
                text_.sample({netns_of(snapshots_[i])}, std::uint64_t{value(i)});
            }
        }
    }

    void write_pods() {
        each_pod(family::kPodFlows, &monitor::PodCounts::flows);
        each_pod(family::kPodUnanswered, &monitor::PodCounts::unanswered);
        each_pod(family::kPodClashes, &monitor::PodCounts::clashes);
        each_pod(family::kPodLateAnswers, &monitor::PodCounts::late_answers);
        each_with_pods(family::kPodsLeftOut, [this](std::size_t i) { return pods_left_out_[i]; });
        each_with_pods(family::kCniCacheUp, [this](std::size_t i) {
            return std::size_t{snapshots_[i].known_pods->readable};
        });
        each_with_pods(family::kCniCacheUnreadable,
                       [this](std::size_t i) { return snapshots_[i].known_pods->unreadable; });
    }

    void write_findings() {
        text_.begin(family::kFindings);
        for (const Snapshot& snapshot : snapshots_) {
            std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
            for (const monitor::Finding& finding : found_in(snapshot)) {
                ++counts[{with_underscores(finding.kind), finding.cause}];
            }
            for (const auto& [words, count] : counts) {
                text_.sample({netns_of(snapshot),
                              {.name = "kind", .value = words.first},
                              {.name = "cause", .value = words.second}},
                             count);
            }
        }
        each(family::kStaleEntries, [](const Snapshot& snapshot) {
            std::uint64_t stale = 0;
            for (const monitor::Finding& finding : found_in(snapshot)) {
                stale += finding.cause == "stale-entry" ? finding.count : 0;
            }
            return snapshot.findings ? std::optional(stale) : std::nullopt;
        });
        each(family::kFindingsTime, [](const Snapshot& snapshot) {
            return snapshot.findings ? std::optional(seconds(snapshot.findings->time_ns))
                                     : std::nullopt;
        });
    }

    static std::vector<monitor::Finding> found_in(const Snapshot& snapshot) {
        return snapshot.findings ? snapshot.findings->found : std::vector<monitor::Finding>();
    }

    static std::string with_underscores(std::string text) {
        std::ranges::replace(text, ' ', '_');
        return text;
    }

    // One sample for each namespace whose drops are counted, of what `value` gives for them.
    template <typename Value>
    void each_traced(const Family& family, Value value) {
        each(family, [&](const Snapshot& snapshot) {
            return snapshot.drops ? std::optional(std::invoke(value, *snapshot.drops))
                                  : std::nullopt;
        });
    }

    static Label scope_of(const drops::DropSummary& drops) {
        const bool one = drops.scope == drops::Scope::kNamespace;
        return {.name = "scope", .value = one ? "namespace" : "machine"};
    }

    void write_drops() {
        each(family::kDropsAvailable,
             [](const Snapshot& snapshot) { return std::uint64_t{snapshot.drops.has_value()}; });
        text_.begin(family::kDrops);
        for (const Snapshot& snapshot : snapshots_) {
            if (!snapshot.drops) {
                continue;
            }
            for (const drops::DropCount& count : by_reason(snapshot.drops->counts)) {
                text_.sample({netns_of(snapshot),
                              {.name = "reason", .value = count.reason},
                              scope_of(*snapshot.drops)},
                             count.packets);
            }
        }
        each_traced(family::kDropsUnspecified, &drops::DropSummary::unspecified);
        each_traced(family::kDropsNowhere, &drops::DropSummary::nowhere);
        each_traced(family::kDropEventsLost, &drops::DropSummary::lost);
    }

    const std::span<const Snapshot> snapshots_;
    Exposition text_;
    std::vector<ListedBackend> backends_;
    std::vector<std::size_t> left_out_;  // of each snapshot
    std::vector<ListedPod> pods_;
    std::vector<std::size_t> pods_left_out_;  // of each snapshot
};

}  // namespace

std::string to_text(std::span<const monitor::Snapshot> snapshots, const TextOptions& options) {
    return Writer(snapshots, options).write();
}

}  // namespace pathproof::metrics
