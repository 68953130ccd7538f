#include "harness/metrics/snapshot_text.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <sstream>

#include "harness/metrics/catalogue.h"
#include "tests/metrics/strict_parser.h"

using namespace pathproof;
using namespace pathproof::metrics;
using monitor::BackendHealth;
using monitor::BackendVerdict;
using monitor::ServiceHealth;
using monitor::Snapshot;

namespace {

BackendHealth backend(const char* address, std::uint64_t flows, BackendVerdict verdict) {
    return {.address = frame::parse_endpoint(address).value(),
            .flows = flows,
            .in_table = 4,
            .judged = 50,
            .unanswered = 20,
            .refused = 5,
            .unanswered_share = {.low = 0.25, .high = 0.5},
            .median_answer_ns = 2'500'000,
            .verdict = verdict};
}

Snapshot snapshot(const std::string& netns) {
    Snapshot snapshot{.netns = netns, .kernel = "6.18.44", .seconds = 12.5};
    snapshot.table = {.entries = 60, .maximum = 262144};
    snapshot.cpus = {{.cpu = 0, .counters = {{"insert_failed", 3}, {"drop", 4}}},
                     {.cpu = 1, .counters = {{"insert_failed", 5}, {"drop", 6}}}};
    snapshot.events = {{.created = 100, .updated = 70, .destroyed = 40}, 7, 2, 0};
    snapshot.clashes = {.hidden = 9,
                        .answered = 5,
                        .unanswered = 3,
                        .open = 1,
                        .late_answers = 4,
                        .late_after_a_clash = 3};
    snapshot.backends.refusals_watched = true;
    snapshot.backends.services = {
        ServiceHealth{.address = frame::parse_endpoint("198.18.9.10:53").value(),
                      .protocol = 17,
                      .backends = {backend("198.18.9.2:53", 30, BackendVerdict::kHealthy),
                                   backend("198.18.9.3:53", 20, BackendVerdict::kDead)}}};
    snapshot.known_pods =
        monitor::KnownPods{.addresses = {{frame::parse_ip("198.18.9.3").value(),
                                          {.pod_namespace = "kube-system", .name = "coredns-1"}}},
                           .unreadable = 2};
    snapshot.pods = {{{.pod_namespace = "kube-system", .name = "coredns-1"},
                      {.flows = 40, .unanswered = 7, .clashes = 2, .late_answers = 1}},
                     {{.pod_namespace = "shop", .name = "web-1"}, {.flows = 41}}};
    snapshot.drops = drops::DropSummary{
        .scope = drops::Scope::kNamespace,
        .drops = 33,
        .unspecified = 2,
        .nowhere = 1,
        .lost = 6,
        .counts = {
            {.reason = "NETFILTER_DROP", .location = "a", .protocol = "ip/udp", .packets = 20},
            {.reason = "NETFILTER_DROP", .location = "b", .protocol = "ip/tcp", .packets = 10},
            {.reason = "NO_SOCKET", .location = "c", .protocol = "ip/udp", .packets = 3}}};
    return snapshot;
}

// Returns the snapshots' text as a strict parser reads it.
std::string read_back(const std::vector<Snapshot>& snapshots, const metrics::TextOptions& options) {
    return test::parsed(to_text(snapshots, options), options.dialect);
}

bool has(const std::string& lines, const std::string& line) {
    return ("\n" + lines).find("\n" + line + "\n") != std::string::npos;
}

std::size_t count(const std::string& lines, const std::string& words) {
    std::size_t found = 0;
    for (auto at = lines.find(words); at != std::string::npos; at = lines.find(words, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_figure_of_a_snapshot_is_exported) {
    const std::string lines = read_back({snapshot("n")}, {});
    const std::string backend =
        "{netns=n,service=198.18.9.10:53,protocol=udp,backend=198.18.9.3:53,"
        "backend_namespace=kube-system,backend_pod=coredns-1";
    const std::string pod = "{netns=n,pod_namespace=kube-system,pod_name=coredns-1} ";
    for (
        const std::string& line : {
            std::string("pathproof_kernel info pathproof_kernel_info {release=6.18.44} 1"),
            std::string("pathproof_up gauge pathproof_up {netns=n} 1"),
            std::string("pathproof_uptime_seconds gauge pathproof_uptime_seconds {netns=n} 12.5"),
            std::string(
                "pathproof_conntrack_entries gauge pathproof_conntrack_entries {netns=n} 60"),
            std::string("pathproof_conntrack_entries_limit gauge pathproof_conntrack_entries_limit "
                        "{netns=n} 262144"),
            std::string("pathproof_conntrack_insert_failed counter "
                        "pathproof_conntrack_insert_failed_total {netns=n,cpu=1} 5"),
            std::string("pathproof_conntrack_drop counter pathproof_conntrack_drop_total "
                        "{netns=n,cpu=0} 4"),
            std::string("pathproof_conntrack_events counter pathproof_conntrack_events_total "
                        "{netns=n,kind=new} 100"),
            std::string("pathproof_conntrack_events counter pathproof_conntrack_events_total "
                        "{netns=n,kind=update} 70"),
            std::string("pathproof_conntrack_events counter pathproof_conntrack_events_total "
                        "{netns=n,kind=destroy} 40"),
            std::string("pathproof_conntrack_events_missed counter "
                        "pathproof_conntrack_events_missed_total {netns=n} 7"),
            std::string("pathproof_conntrack_event_overruns counter "
                        "pathproof_conntrack_event_overruns_total {netns=n} 2"),
            std::string("pathproof_conntrack_clashes counter pathproof_conntrack_clashes_total "
                        "{netns=n} 9"),
            std::string("pathproof_conntrack_clashes_settled counter "
                        "pathproof_conntrack_clashes_settled_total {netns=n,fate=answered} 5"),
            std::string("pathproof_conntrack_clashes_settled counter "
                        "pathproof_conntrack_clashes_settled_total {netns=n,fate=unanswered} 3"),
            std::string("pathproof_conntrack_clashes_open gauge pathproof_conntrack_clashes_open "
                        "{netns=n} 1"),
            std::string("pathproof_conntrack_late_answers counter "
                        "pathproof_conntrack_late_answers_total {netns=n,after_clash=yes} 3"),
            std::string("pathproof_conntrack_late_answers counter "
                        "pathproof_conntrack_late_answers_total {netns=n,after_clash=no} 1"),
            "pathproof_backend_flows counter pathproof_backend_flows_total " + backend + "} 20",
            "pathproof_backend_entries gauge pathproof_backend_entries " + backend + "} 4",
            "pathproof_pod_flows counter pathproof_pod_flows_total " + pod + "40",
            "pathproof_pod_unanswered_flows counter pathproof_pod_unanswered_flows_total " + pod +
                "7",
            "pathproof_pod_clashes counter pathproof_pod_clashes_total " + pod + "2",
            "pathproof_pod_late_answers counter pathproof_pod_late_answers_total " + pod + "1",
            std::string("pathproof_cni_cache_up gauge pathproof_cni_cache_up {netns=n} 1"),
            std::string("pathproof_cni_cache_unreadable_files gauge "
                        "pathproof_cni_cache_unreadable_files {netns=n} 2"),
            "pathproof_backend_refused_flows gauge pathproof_backend_refused_flows " + backend +
                "} 5",
            "pathproof_backend_unanswered_ratio gauge pathproof_backend_unanswered_ratio " +
                backend + "} 0.4",
            "pathproof_backend_unanswered_low_ratio gauge pathproof_backend_unanswered_low_ratio " +
                backend + "} 0.25",
            "pathproof_backend_answer_median_seconds gauge "
            "pathproof_backend_answer_median_seconds " +
                backend + "} 0.0025",
            "pathproof_backend_state stateset pathproof_backend_state " + backend +
                ",pathproof_backend_state=dead} 1",
            "pathproof_backend_state stateset pathproof_backend_state " + backend +
                ",pathproof_backend_state=healthy} 0",
            std::string("pathproof_drops counter pathproof_drops_total "
                        "{netns=n,reason=NETFILTER_DROP,scope=namespace} 30"),
            std::string("pathproof_drops counter pathproof_drops_total "
                        "{netns=n,reason=NO_SOCKET,scope=namespace} 3"),
            std::string("pathproof_drops_unspecified counter pathproof_drops_unspecified_total "
                        "{netns=n} 2"),
            std::string("pathproof_drop_events_lost counter pathproof_drop_events_lost_total "
                        "{netns=n} 6"),
        }) {
        BOOST_TEST(has(lines, line), line << " is not in\n" << lines);
    }
}

BOOST_AUTO_TEST_CASE(several_namespaces_share_each_family) {
    Snapshot other = snapshot("");
    other.failure = "the namespace is gone";
    other.drops.reset();
    const std::vector<Snapshot> both{snapshot("n"), other};
    for (const Dialect dialect : {Dialect::kOpenMetrics, Dialect::kPrometheus}) {
        const std::string text = to_text(both, {.dialect = dialect});
        // The parser refuses a family that comes twice, in OpenMetrics.
        const std::string lines = test::parsed(text, dialect);
        BOOST_TEST(has(lines, "pathproof_up gauge pathproof_up {netns=n} 1"), lines);
        BOOST_TEST(has(lines, "pathproof_up gauge pathproof_up {netns=} 0"), lines);
        BOOST_TEST(count(text, "# TYPE pathproof_conntrack_insert_failed") == 1U);
        BOOST_TEST(
            has(lines, "pathproof_drops_available gauge pathproof_drops_available {netns=} 0"));
        BOOST_TEST(count(lines, "pathproof_drops_total {netns=,") == 0U);
    }
}

BOOST_AUTO_TEST_CASE(the_number_of_backends_listed_is_bounded_and_the_rest_is_counted) {
    const std::string lines = read_back({snapshot("n")}, {.most_backends = 1});
    BOOST_TEST(count(lines, "pathproof_backend_flows_total") == 1U);
    BOOST_TEST(count(lines, "backend=198.18.9.2:53} 30\n") == 1U, lines);
    BOOST_TEST(
        has(lines, "pathproof_backends_left_out gauge pathproof_backends_left_out {netns=n} 1"));
}

BOOST_AUTO_TEST_CASE(only_a_backend_whose_pod_is_known_has_its_name) {
    const std::string lines = read_back({snapshot("n")}, {});
    BOOST_TEST(count(lines, "backend=198.18.9.2:53} 30\n") == 1U, lines);
    Snapshot untold = snapshot("n");
    untold.known_pods.reset();
    untold.pods.clear();
    const std::string without = read_back({untold}, {});
    BOOST_TEST(count(without, "backend_pod") == 0U, without);
    BOOST_TEST(count(without, "pathproof_pod") == 0U, without);
    BOOST_TEST(count(without, "pathproof_cni_cache") == 0U, without);
}

BOOST_AUTO_TEST_CASE(the_number_of_pods_listed_is_bounded_and_the_rest_is_counted) {
    const std::string lines = read_back({snapshot("n")}, {.most_pods = 1});
    BOOST_TEST(count(lines, "pathproof_pod_flows_total") == 1U);
    BOOST_TEST(count(lines, "pod_name=web-1} 41\n") == 1U, lines);
    BOOST_TEST(has(lines, "pathproof_pods_left_out gauge pathproof_pods_left_out {netns=n} 1"));
}

BOOST_AUTO_TEST_CASE(a_share_of_nothing_is_no_figure) {
    Snapshot empty = snapshot("n");
    empty.table.maximum = 0;
    for (BackendHealth& health : empty.backends.services[0].backends) {
        health.judged = 0;
        health.median_answer_ns.reset();
    }
    const std::string lines = read_back({empty}, {});
    BOOST_TEST(count(lines, "_ratio ") == 0U);
    BOOST_TEST(count(lines, "median") == 0U);
    BOOST_TEST(count(lines, "entries_limit") == 0U);
}

BOOST_AUTO_TEST_CASE(a_counter_says_what_it_means_here_or_that_this_is_not_known) {
    Snapshot unknown = snapshot("n");
    unknown.cpus[0].counters.emplace_back("brand_new", 1);
    const std::string text = to_text(std::vector{unknown}, {});
    BOOST_TEST(count(text, "counter brand_new: its meaning on this kernel is not known.\n") == 1U);
    BOOST_TEST(count(text,
                     "# HELP pathproof_conntrack_insert_failed nf_conntrack's counter "
                     "insert_failed: ") == 1U);
    BOOST_TEST(count(text, "insert_failed: its meaning on this kernel is not known") == 0U);
}

BOOST_AUTO_TEST_CASE(every_metric_that_is_exported_is_in_the_catalogue) {
    std::set<std::string> documented{"pathproof_conntrack_insert_failed",
                                     "pathproof_conntrack_drop"};
    for (const Family& family : catalogue()) {
        BOOST_TEST(documented.insert(family.name).second, family.name);
    }
    Snapshot whole = snapshot("n");
    whole.backends.services[0].backends[0].traffic = monitor::BackendTraffic{};
    whole.findings =
        monitor::Findings{.found = {{.kind = "severe", .cause = "stale-entry", .count = 1}}};
    std::istringstream lines(to_text(std::vector{whole}, {}));
    std::set<std::string> exported{"pathproof_conntrack_COUNTER"};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# TYPE ")) {
            const std::string name = line.substr(7, line.find(' ', 7) - 7);
            BOOST_TEST(documented.contains(name), name);
            exported.insert(name);
        }
    }
    BOOST_TEST(exported.size() == documented.size());
    BOOST_TEST(describe_catalogue().find("pathproof_drops_total{netns, reason, scope}  counter") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_doctors_conclusions_are_exported) {
    Snapshot found = snapshot("n");
    found.findings =
        monitor::Findings{.found = {{.kind = "old entry", .cause = "stale-entry", .count = 7},
                                    {.kind = "may happen", .cause = "dns-race"},
                                    {.kind = "may happen", .cause = "dns-race"}},
                          .time_ns = 1'500'000'000};
    const std::string lines = read_back({found, snapshot("quiet")}, {});
    for (const char* line :
         {"pathproof_findings gauge pathproof_findings {netns=n,kind=old_entry,cause=stale-entry} "
          "1",
          "pathproof_findings gauge pathproof_findings {netns=n,kind=may_happen,cause=dns-race} 2",
          "pathproof_stale_entries gauge pathproof_stale_entries {netns=n} 7",
          "pathproof_findings_timestamp_seconds gauge pathproof_findings_timestamp_seconds "
          "{netns=n} 1.5"}) {
        BOOST_TEST(has(lines, line), line << " is not in\n" << lines);
    }
    BOOST_TEST(lines.find("pathproof_stale_entries {netns=quiet}") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_backends_silence_is_exported_where_packets_are_counted) {
    Snapshot counted = snapshot("n");
    counted.backends.services[0].backends[1].traffic =
        monitor::BackendTraffic{.unanswered = 960, .silent_ns = 16'000'000'000};
    counted.backends.services[0].backends[1].verdict = BackendVerdict::kSilent;
    const std::string lines = read_back({counted}, {});
    BOOST_TEST(count(lines, "pathproof_backend_silence_seconds {") == 1U);
    BOOST_TEST(count(lines, "coredns-1} 960\n") == 1U);
    BOOST_TEST(count(lines, "pathproof_backend_state=silent} 1\n") == 1U);
}
