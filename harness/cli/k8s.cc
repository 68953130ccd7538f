// pathproof k8s: the manifests of deploy/kubernetes, and the DNS server and client of their Jobs.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>

#include "dataplane/base/contains.h"
#include "dataplane/frame/dns.h"
#include "harness/agent/dns_client.h"
#include "harness/agent/dns_load.h"
#include "harness/agent/dns_server.h"
#include "harness/agent/socket.h"
#include "harness/agent/transfer.h"
#include "harness/cli/commands.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/seconds.h"
#include "harness/kubernetes/answer_sizes.h"
#include "harness/kubernetes/cluster.h"
#include "harness/kubernetes/manifest.h"
#include "harness/kubernetes/pairs.h"
#include "harness/kubernetes/preflight.h"
#include "harness/process/json_text.h"

namespace pathproof::cli {
namespace {

using namespace std::chrono_literals;
using agent::DnsLoadOptions;
using inspect::Output;
using kubernetes::ManifestFile;
using kubernetes::ManifestOptions;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kLost = 1;

struct TypedManifest {
    std::optional<std::string> client_node, server_node, image, name_space;
    std::vector<std::string> allow, only;
};

Result<ManifestOptions> options_of(const TypedManifest& typed) {
    ManifestOptions options;
    for (const auto& [option, value] : {std::pair{"--client-node", &typed.client_node},
                                        {"--server-node", &typed.server_node},
                                        {"--image", &typed.image},
                                        {"--namespace", &typed.name_space}}) {
        if (*value) {
            options.values.emplace_back(option, **value);
        }
    }
    for (const std::string& what : typed.allow) {
        if (what != "drops") {
            return fail(ErrorCode::kBadInput, "--allow '{}': what can be allowed is drops", what);
        }
        options.allow_drops = true;
    }
    TRY(kubernetes::check(options));
    return options;
}

// Returns the wanted files: all, or those that --only names.
Result<std::vector<ManifestFile>> files_of(const TypedManifest& typed) {
    std::vector<ManifestFile> files;
    std::vector<std::string> left = typed.only;
    for (const ManifestFile& file : kubernetes::manifest_files()) {
        const bool together = typed.only.empty() && !file.only_by_name;
        if (together || std::erase(left, file.name) > 0) {
            files.push_back(file);
        }
    }
    if (!left.empty()) {
        return fail(ErrorCode::kBadInput,
                    "--only '{}': there are namespace, jobs, exporter, servicemonitor, alerts, "
                    "dashboard, preflight",
                    left[0]);
    }
    const bool jobs =
        typed.only.empty() || contains(typed.only, "jobs") || contains(typed.only, "preflight");
    if (jobs && (!typed.client_node || !typed.server_node)) {
        return fail(ErrorCode::kBadInput,
                    "the Jobs take --client-node and --server-node, names of `kubectl get nodes`; "
                    "--only the others takes none");
    }
    return files;
}

Result<int> run_manifest(const TypedManifest& typed) {
    const auto options = TRY(options_of(typed));
    const auto files = TRY(files_of(typed));
    Output output;
    for (const ManifestFile& file : files) {
        output.line() += kubernetes::fill_in(file.text, options);
    }
    output.flush();
    return kDone;
}

struct ServerOptions {
    std::string address;
    std::uint16_t port = 5300;
    std::uint32_t delay_ms = 0;
    std::optional<double> duration_s;
    bool preflight = false;
};

Result<int> run_server(const ServerOptions& options) {
    const auto address = TRY(frame::parse_ip(options.address));
    process::stop_on_signals();
    const auto server =
        TRY(agent::DnsServer::start({.listen = {.address = address, .port = options.port},
                                     .address = *frame::parse_ip("192.0.2.1"),
                                     .address6 = *frame::parse_ip("2001:db8::1"),
                                     .delay = std::chrono::milliseconds(options.delay_ms)},
                                    {.keep_log = true}));
    std::unique_ptr<kubernetes::EchoServer> echo;
    std::unique_ptr<agent::TransferServer> transfer;
    if (options.preflight) {
        const auto beside = [&](std::uint16_t offset) {
            return frame::Endpoint{address, static_cast<std::uint16_t>(options.port + offset)};
        };
        echo = TRY(kubernetes::EchoServer::start(beside(kubernetes::kEchoPort)));
        transfer = TRY(agent::TransferServer::start(beside(kubernetes::kTransferPort)));
    }
    fmt::print(stderr, "pathproof: answering DNS queries at {}\n",
               frame::to_string(server->endpoint()));
    std::size_t queries = 0;
    const auto deadline = inspect::Limits{.duration_s = options.duration_s, .count = {}}.deadline();
    for (bool over = false; !over; queries += server->take_log().size()) {
        process::sleep_until(std::min(Clock::now() + 100ms, deadline));
        over = process::stopping() || Clock::now() >= deadline;
    }
    Output output;
    output.put_line(fmt::format("{} queries answered", queries));
    output.flush();
    return queries > 0 ? kDone : kIncomplete;
}

struct ClientOptions {
    std::string server;
    std::uint16_t port = 53;
    std::string name = "pair.pathproof.test";
    std::uint32_t pairs = 3000;
    double rate = 500;
    double timeout_s = 2;
    double wait_s = 60;
    bool sizes = false;
    bool preflight = false;
    bool json = false;
};

std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::round<std::chrono::milliseconds>(nanoseconds_of(seconds));
}

// Until one query is answered.
Status wait_for_server(DnsLoadOptions options, double wait_s) {
    options.asks = DnsLoadOptions::Asks::kA;
    options.lookups = 1;
    const auto deadline = Clock::now() + nanoseconds_of(wait_s);
    options.timeout = std::min(options.timeout, milliseconds_of(std::max(wait_s, 0.001)));
    std::string last = "silence";
    do {
        const auto next = Clock::now() + 500ms;
        const auto asked = agent::dns_load(options);
        if (asked && asked->lookups[0].answered + asked->lookups[0].truncated > 0) {
            return {};
        }
        if (!asked) {
            last = asked.error().message;
        } else if (asked->lookups[0].error != 0) {
            last = agent::describe_errno(asked->lookups[0].error);
        }
        process::sleep_until(std::min(next, deadline));
    } while (Clock::now() < deadline && !process::stopping());
    return fail(ErrorCode::kUnavailable,
                "no answer from {} in {} s ({}): no server is there, or nothing gets there and "
                "back; no pair was sent",
                frame::to_string(options.server), wait_s, last);
}

json json_of(const kubernetes::PairFigures& figures, const frame::Endpoint& server) {
    json failed = json::array();
    for (const auto& lookup : figures.failed) {
        failed.push_back({{"port", lookup.port},
                          {"start_ns", lookup.start_ns},
                          {"answered", lookup.answered},
                          {"truncated", lookup.truncated},
                          {"rcode", lookup.rcode},
                          {"errno", lookup.error}});
    }
    return {{"server", frame::to_string(server)},
            {"asked_for", figures.asked_for},
            {"sent", figures.sent},
            {"both", figures.both},
            {"one", figures.one},
            {"none", figures.none},
            {"refused", figures.refused},
            {"errors", figures.errors},
            {"truncated", figures.truncated},
            {"over_tcp", figures.over_tcp},
            {"failed_share", {figures.failed_share.low, figures.failed_share.high}},
            {"median_ms", figures.median_ms},
            {"p99_ms", figures.p99_ms},
            {"slowest_ms", figures.slowest_ms},
            {"failed", failed}};
}

json json_of(const kubernetes::AnswerSizes& sizes) {
    json trials = json::array();
    for (const agent::SizeTrial& trial : sizes.trials) {
        trials.push_back({{"over", trial.tcp ? "tcp" : "udp"},
                          {"edns_size", trial.udp_size},
                          {"asked", trial.asked},
                          {"answered", trial.whole},
                          {"truncated", trial.truncated},
                          {"bytes", trial.bytes},
                          {"records", trial.records},
                          {"trouble", trial.trouble}});
    }
    return trials;
}

// Each truncated lookup once more over TCP, as resolvers do it. Where none of a wave is answered the rest is not
// asked again.
Status ask_again_over_tcp(const agent::DnsLoadReport& report, const DnsLoadOptions& options,
                          kubernetes::PairFigures& figures) {
    constexpr std::size_t kWave = 32;
    std::vector<const agent::DnsLoadReport::Lookup*> left;
    for (const auto& lookup : report.lookups) {
        if (kubernetes::is_truncated(lookup)) {
            left.push_back(&lookup);
        }
    }
    std::size_t begun = 0;
    std::string trouble;
    for (bool any = true; any && begun < left.size();) {
        std::vector<std::future<Result<agent::ProbeResult>>> wave;
        while (wave.size() < kWave && begun + wave.size() < left.size()) {
            wave.push_back(std::async(std::launch::async, [&options] {
                return agent::dns_lookup({.server = options.server,
                                          .name = options.name,
                                          .tcp = true,
                                          .timeout = options.timeout});
            }));
        }
        any = false;
        for (auto& asked : wave) {
            const auto looked = TRY(asked.get());
            any |= looked.ok;
            trouble = looked.ok ? trouble : looked.outcome;
            add_tcp(figures, *left[begun++], looked.ok ? "" : looked.outcome);
        }
    }
    for (; begun < left.size(); ++begun) {
        add_tcp(
            figures, *left[begun],
            fmt::format("not asked again after {} in a row were not answered: {}", kWave, trouble));
    }
    return {};
}

// One line, or one JSON object with it, as `pathproof k8s preflight` reads it.
Result<int> run_preflight_client(const ClientOptions& typed, const frame::IpAddress& server) {
    const auto figures = TRY(kubernetes::fly({.server = {.address = server, .port = typed.port},
                                              .wait = milliseconds_of(typed.wait_s)}));
    const auto verdict = kubernetes::judge(figures);
    Output output;
    output.put_line(typed.json ? process::to_text(json{{"preflight", verdict.line},
                                                       {"wrong", verdict.wrong},
                                                       {"exit_code", verdict.exit_code()},
                                                       {"mtu", figures.mtu},
                                                       {"largest", figures.largest}})
                               : verdict.line);
    output.flush();
    return verdict.exit_code();
}

Result<int> run_client(const ClientOptions& typed) {
    const auto server = TRY(frame::parse_ip(typed.server));
    TRY(frame::DnsName::from_text(typed.name));
    process::stop_on_signals();
    if (typed.preflight) {
        return run_preflight_client(typed, server);
    }
    const DnsLoadOptions options{.server = {.address = server, .port = typed.port},
                                 .name = typed.name,
                                 .asks = DnsLoadOptions::Asks::kPairTogether,
                                 .lookups = typed.pairs,
                                 .per_second = typed.rate,
                                 .timeout = milliseconds_of(typed.timeout_s)};
    TRY(wait_for_server(options, typed.wait_s));
    const auto report = TRY(agent::dns_load(options));
    auto figures = kubernetes::judge_pairs(report, typed.pairs);
    TRY(ask_again_over_tcp(report, options, figures));
    const auto sizes = TRY(kubernetes::try_sizes(
        {.server = options.server, .name = options.name, .timeout = options.timeout},
        typed.sizes ? kubernetes::kAllSizes : kubernetes::kUsualSizes));
    Output output;
    if (typed.json) {
        json result = json_of(figures, options.server);
        result["sizes"] = json_of(sizes);
        output.put_line(process::to_text(result));
    } else {
        // The part that decides stands last.
        const bool sizes_decide = kubernetes::fails(sizes);
        output.put_line(sizes_decide ? kubernetes::text_of(figures) : kubernetes::text_of(sizes));
        output.put_line(sizes_decide ? kubernetes::text_of(sizes) : kubernetes::text_of(figures));
    }
    output.flush();
    const int status = kubernetes::exit_code_of(figures);
    return status == kDone && kubernetes::fails(sizes) ? kLost : status;
}

void add_manifest(CLI::App& k8s, Command& chosen) {
    CLI::App* app = k8s.add_subcommand("manifest", "Print the manifests, for `kubectl apply -f -`");
    const auto typed = options_for<TypedManifest>(*app, chosen, run_manifest);
    app->add_option("--client-node", typed->client_node,
                    "node of the client, and of the inspector beside it");
    app->add_option("--server-node", typed->server_node, "node of the servers");
    app->add_option("--image", typed->image, "image with pathproof, nft, iptables and iproute2");
    app->add_option("--namespace", typed->name_space, "namespace of all of it (pathproof)");
    app->add_option("--allow", typed->allow,
                    "what may be changed on a node: drops (the exporter has a BPF program at a "
                    "tracepoint while it runs)")
        ->delimiter(',');
    app->add_option("--only", typed->only,
                    "some of namespace, jobs, exporter, servicemonitor, alerts, dashboard (all), "
                    "and preflight, the "
                    "Jobs of `pathproof k8s preflight`")
        ->delimiter(',');
    app->footer("Talks to no cluster. deploy/kubernetes/README.md says what runs and how it ends.");
}

void add_server(CLI::App& k8s, Command& chosen) {
    CLI::App* app = k8s.add_subcommand("server", "Answer DNS queries for any name, UDP and TCP");
    const auto options = options_for<ServerOptions>(*app, chosen, run_server);
    app->add_option("address", options->address, "own address: 10.244.1.7, 0.0.0.0 or ::")
        ->required();
    app->add_option("--port", options->port, "port")->capture_default_str()->check(kUdpPort);
    app->add_option("--delay-ms", options->delay_ms,
                    "answer so much later: a raced query's hidden entry lives for 1000 ms")
        ->capture_default_str()
        ->check(whole(0, 60'000));
    app->add_option("--duration", options->duration_s, "seconds; without it until interrupted")
        ->check(kAboveZero);
    app->add_flag("--preflight", options->preflight,
                  "also send datagrams back at the next port and take transfers at the one behind, "
                  "for a client with --preflight");
    app->footer("Exit status: 0 done, 2 wrong usage or an address in use, 3 no query came.");
}

void add_client(CLI::App& k8s, Command& chosen) {
    CLI::App* app = k8s.add_subcommand(
        "client", "Send A and AAAA queries from one socket at one moment, and count lost ones");
    const auto options = options_for<ClientOptions>(*app, chosen, run_client);
    app->add_option("server", options->server, "address of the server or of its Service")
        ->required();
    app->add_option("--port", options->port, "port")->capture_default_str()->check(kUdpPort);
    app->add_option("--name", options->name, "asked for; one that the server has")
        ->capture_default_str();
    app->add_option("--pairs", options->pairs, "lookups, each from a socket of its own")
        ->capture_default_str()
        ->check(whole(1, 10'000));
    app->add_option("--rate", options->rate, "lookups a second")
        ->capture_default_str()
        ->check(number_in(1, 100'000));
    app->add_option("--timeout", options->timeout_s, "seconds; a later answer counts as lost")
        ->capture_default_str()
        ->check(number_in(0.01, 60));
    app->add_option("--wait", options->wait_s, "seconds to wait for the server's first answer")
        ->capture_default_str()
        ->check(number_in(0, 86'400));
    app->add_flag("--sizes", options->sizes,
                  "try more EDNS sizes of the name's answer than the usual three");
    app->add_flag("--preflight", options->preflight,
                  "instead of the pairs alone: checksums, packets of the MTU with DF, fragments, a "
                  "transfer and 300 pairs, in one line, against a server with --preflight");
    app->add_flag("--json", options->json, "print the result as one JSON object");
    app->footer(
        "A truncated answer is none: it is asked for over TCP, as resolvers do. Behind the pairs "
        "the\n"
        "name is asked for without EDNS, with EDNS sizes of 1232 and 4096, and over TCP.\n"
        "Takes no privileges and no DPDK port.\n"
        "Exit status: 0 no lookup was lost, 1 some were, 2 wrong usage, 3 the server never "
        "answered "
        "or not all pairs were sent.");
}

struct TypedPreflight {
    std::string client_node, server_node, image, name_space = "pathproof", kubectl = "kubectl",
                                                 context;
    double wait_s = 90;
    bool keep = false;
};

Result<int> run_preflight(const TypedPreflight& typed) {
    process::stop_on_signals();
    kubernetes::ClusterOptions options{
        .client_node = typed.client_node,
        .server_node = typed.server_node,
        .image = typed.image,
        .name_space = typed.name_space,
        .kubectl = {typed.kubectl},
        .wait = std::chrono::seconds(static_cast<long>(typed.wait_s)),
        .keep = typed.keep};
    if (!typed.context.empty()) {
        options.kubectl.insert(options.kubectl.end(), {"--context", typed.context});
    }
    const auto result = TRY(kubernetes::preflight(options));
    Output output;
    output.put_line(result.line);
    output.flush();
    return result.exit_code();
}

void add_preflight(CLI::App& k8s, Command& chosen) {
    CLI::App* app = k8s.add_subcommand(
        "preflight", "Whether two nodes carry checksums, MTU and DNS pairs right: one line");
    const auto typed = options_for<TypedPreflight>(*app, chosen, run_preflight);
    app->add_option("client-node", typed->client_node, "node that asks")->required();
    app->add_option("server-node", typed->server_node, "node that answers")->required();
    app->add_option("--image", typed->image, "image with pathproof in its PATH");
    app->add_option("--namespace", typed->name_space, "namespace of the Jobs")
        ->capture_default_str();
    app->add_option("--kubectl", typed->kubectl, "the program that talks to the cluster")
        ->capture_default_str();
    app->add_option("--context", typed->context, "of kubectl's configuration");
    app->add_option("--wait", typed->wait_s, "seconds for images, pods and Jobs")
        ->capture_default_str()
        ->check(number_in(1, 3600));
    app->add_flag("--keep", typed->keep, "leave Service and Jobs there");
    app->footer(
        "Lays a Service and three Jobs (a server on the second node, clients on the first, one in "
        "a pod's "
        "network and one in the node's), reads their results and takes them away. No capability "
        "and no "
        "root is asked for. The measurement takes some 15 s, the rest are images and pods.\n"
        "Exit status: 0 all right, 1 something is carried wrongly, 2 wrong usage, 3 not measured.");
}

}  // namespace

void add_k8s(CLI::App& app, Command& chosen) {
    CLI::App* k8s = app.add_subcommand(
        "k8s", "Manifests for a cluster, and the DNS server and client that their Jobs run");
    k8s->require_subcommand(1);
    add_manifest(*k8s, chosen);
    add_server(*k8s, chosen);
    add_client(*k8s, chosen);
    add_preflight(*k8s, chosen);
}

}  // namespace pathproof::cli
