#include "harness/agent/client.h"

#include <csignal>
#include <nlohmann/json.hpp>

#include "harness/agent/message.h"
#include "harness/agent/offload_message.h"
#include "harness/agent/program_copy.h"
#include "harness/process/foreign.h"
#include "harness/process/netns.h"
#include "harness/process/rpc.h"

namespace pathproof::agent {
namespace {

using nlohmann::json;

// Beyond what the operation itself may take.
constexpr milliseconds kAnswerTime{10'000};
// A table of a million entries, or as many events, as JSON.
constexpr milliseconds kBulkTime{120'000};
constexpr milliseconds kStartTime{30'000};
constexpr milliseconds kCopyTime{300'000};

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

const process::ChildOptions kOverSsh{
    .netns = "", .cpus = {}, .at_our_death = SIGTERM, .keep_errors = true};

// Nothing for what is no agent of ours.
std::optional<Hello> hello_from_json(const json& said) {
    if (!said.is_object() || said.value("agent", json()) != "pathproof") {
        return std::nullopt;
    }
    return Hello{.version = said.value("version", ""),
                 .build = said.value("build", ""),
                 .kernel = said.value("kernel", ""),
                 .cpus = said.value("cpus", 1u),
                 .copied = ""};
}

// Turns an answer into a value; one that does not fit is an error, never an exception.
template <typename Read>
auto decode(const Result<json>& answered, const std::string& who, const Read& read)
    -> Result<std::decay_t<decltype(read(json()))>> {
    if (!answered) {
        return pass_on(answered.error());
    }
    try {
        return read(*answered);
    } catch (const json::exception& wrong) {
        return fail(ErrorCode::kFailed,
                    "{} answered what this version cannot read ({}); are both of one version?", who,
                    wrong.what());
    }
}

}  // namespace

struct Client::Impl {
    explicit Impl(process::Child child, std::string who) : rpc(std::move(child), std::move(who)) {}

    template <typename T>
    Result<T> ask(const char* operation, const json& args, milliseconds timeout = kAnswerTime) {
        return decode(rpc.call(operation, args, timeout), rpc.who(),
                      [](const json& answer) { return answer.get<T>(); });
    }

    Status tell(const char* operation, const json& args, milliseconds timeout = kAnswerTime) {
        const Result<json> answered = rpc.call(operation, args, timeout);
        return answered ? Status() : pass_on(answered.error());
    }

    process::RpcClient rpc;
    Hello hello;
};

Client::Client() = default;
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::start(const std::vector<std::string>& argv,
                                              const process::ChildOptions& options,
                                              const std::string& who) {
    process::Child child = TRY(process::Child::start(argv, options));
    std::unique_ptr<Client> client(new Client());
    client->impl_ = std::make_unique<Impl>(std::move(child), who);
    return client;
}

Result<std::unique_ptr<Client>> Client::greeted(Result<std::unique_ptr<Client>> client) {
    if (const Status met = client ? (*client)->greet() : Status(); !met) {
        return fail(met.error(), "start {}", (*client)->who());
    }
    return client;
}

Status Client::greet() {
    return greet(kStartTime);
}

Status Client::greet(milliseconds patience) {
    const auto hello =
        TRY(decode(impl_->rpc.call("hello", json::object(), patience), who(), hello_from_json));
    if (!hello) {
        return fail(ErrorCode::kFailed, "{} answered, but it is no pathproof agent", who());
    }
    impl_->hello = *hello;
    return {};
}

Result<std::unique_ptr<Client>> Client::start_over_ssh(const process::SshHost& host,
                                                       const std::string& program) {
    auto client = TRY(start(process::ssh_command(host, {program, "agent"}), kOverSsh,
                            "agent on " + host.destination));
    const process::RpcClient& rpc = client->impl_->rpc;
    if (const Status greeted = client->greet(); !greeted) {
        const auto status = rpc.exit_status();
        if (!status) {
            return pass_on(greeted.error());
        }
        if (*status == process::kSshFailed) {
            return process::ssh_failure(host, rpc.said());
        }
        return copy_over_ssh(host, fmt::format("'{}' does not run there", program));
    }
    const Hello& hello = client->hello();
    if (hello.version == PATHPROOF_VERSION && hello.build == build_id()) {
        return client;
    }
    const std::string why =
        fmt::format("{} there is {}", program,
                    hello.version == PATHPROOF_VERSION ? "another build of this version"
                                                       : "version " + hello.version);
    client.reset();
    return copy_over_ssh(host, why);
}

Result<std::unique_ptr<Client>> Client::copy_over_ssh(const process::SshHost& host,
                                                      const std::string& why) {
    const auto copy = copy_of_program();
    if (!copy) {
        return fail(copy.error(), "{}, and this program cannot be copied to {}", why,
                    host.destination);
    }
    auto client = TRY(start(process::ssh_command(host, {copy->command}), kOverSsh,
                            "agent on " + host.destination));
    process::RpcClient& rpc = client->impl_->rpc;
    const Status fed = rpc.feed(copy->archive, kCopyTime);
    // Asked in any case: one that ends without taking all of it says why.
    if (const Status met = client->greet(); fed && met) {
        client->impl_->hello.copied = why;
        return client;
    }
    if (rpc.exit_status() == process::kSshFailed) {
        return process::ssh_failure(host, rpc.said());
    }
    return fail(ErrorCode::kNotSupported, "{}, and a copy of this program does not run on {}: {}",
                why, host.destination, process::last_words(rpc.said()));
}

const Hello& Client::hello() const {
    return impl_->hello;
}

Result<std::unique_ptr<Client>> Client::start_in_netns(const std::string& netns,
                                                       const std::vector<int>& cpus) {
    if (!netns.empty() && !process::netns_exists(netns)) {
        return fail(ErrorCode::kNotFound,
                    "network namespace '{}' does not exist; 'ip netns' lists them", netns);
    }
    const std::string who = netns.empty() ? "agent" : "agent in namespace " + netns;
    return greeted(start({process::own_binary(), "agent"},
                         {.netns = netns, .cpus = cpus, .at_our_death = SIGTERM}, who));
}

Result<std::unique_ptr<Client>> Client::start_command(const std::vector<std::string>& argv) {
    if (argv.empty()) {
        return fail(ErrorCode::kBadInput, "no command to start the agent with");
    }
    return greeted(start(argv, {.at_our_death = SIGTERM}, "agent behind '" + join(argv) + "'"));
}

Result<std::unique_ptr<Client>> Client::start_behind(const std::vector<std::string>& argv,
                                                     const std::string& netns,
                                                     const std::string& who,
                                                     milliseconds patience) {
    auto client = TRY(start(argv, {.netns = netns, .cpus = {}, .keep_errors = true}, who));
    TRY(client->greet(patience));
    return client;
}

const std::string& Client::who() const {
    return impl_->rpc.who();
}
pid_t Client::pid() const {
    return impl_->rpc.pid();
}
bool Client::alive() const {
    return impl_->rpc.alive();
}

Result<std::vector<Feature>> Client::features(const std::string& device) {
    return impl_->ask<std::vector<Feature>>("features", {{"device", device}});
}

Result<std::vector<FeatureChange>> Client::set_features(
    const std::string& device, const std::vector<std::pair<std::string, bool>>& wanted) {
    return impl_->ask<std::vector<FeatureChange>>("set_features",
                                                  {{"device", device}, {"features", wanted}});
}

Status Client::request_features(const std::string& device,
                                const std::vector<std::pair<std::string, bool>>& wanted,
                                KeptBy kept) {
    return impl_->tell(kept == KeptBy::kItsHost ? "request_features_kept" : "request_features",
                       {{"device", device}, {"features", wanted}});
}

Result<DeviceInfo> Client::device(const std::string& device) {
    const auto info = decode(impl_->rpc.call("device", {{"device", device}}, kAnswerTime), who(),
                             device_from_json);
    return info ? *info : Result<DeviceInfo>(pass_on(info.error()));
}

Result<std::vector<verdict::Fact>> Client::nic_facts(const std::string& device) {
    return decode(impl_->rpc.call("nic_facts", {{"device", device}}, kAnswerTime), who(),
                  facts_from_json);
}

Result<std::vector<verdict::FactGroup>> Client::host_facts() {
    return decode(impl_->rpc.call("host_facts", json::object(), kAnswerTime), who(),
                  fact_groups_from_json);
}

Result<FeatureTrial> Client::try_feature(const std::string& device, const std::string& name,
                                         bool on, KeptBy kept) {
    return impl_->ask<FeatureTrial>(kept == KeptBy::kItsHost ? "try_feature_kept" : "try_feature",
                                    {{"device", device}, {"name", name}, {"on", on}});
}

Result<std::string> Client::xdp_program(const std::string& device) {
    return impl_->ask<std::string>("xdp_program", {{"device", device}});
}

Result<SendReport> Client::send_frames(const std::string& device,
                                       const std::vector<OffloadFrame>& frames) {
    return decode(
        impl_->rpc.call("send_frames", {{"device", device}, {"frames", frames_to_json(frames)}},
                        kBulkTime),
        who(), send_report_from_json);
}

Status Client::start_capture(const CaptureOptions& options) {
    return impl_->tell("start_capture", capture_options_to_json(options));
}

Result<Capture> Client::stop_capture() {
    const auto capture = decode(impl_->rpc.call("stop_capture", json::object(), kBulkTime), who(),
                                capture_from_json);
    return capture ? *capture : Result<Capture>(pass_on(capture.error()));
}

Result<SendReport> Client::send_datagrams(const DatagramOptions& options) {
    return decode(impl_->rpc.call("send_datagrams", datagrams_to_json(options), kBulkTime), who(),
                  send_report_from_json);
}

Result<CounterSet> Client::counters() {
    return impl_->ask<CounterSet>("counters", json::object());
}

Result<std::string> Client::read_sysctl(const std::string& name) {
    return impl_->ask<std::string>("read_sysctl", {{"name", name}});
}

Status Client::write_sysctl(const std::string& name, const std::string& value) {
    return impl_->tell("write_sysctl", {{"name", name}, {"value", value}});
}

Result<std::string> Client::set_rps(const std::string& device, const std::string& cpu_mask) {
    return impl_->ask<std::string>("set_rps", {{"device", device}, {"cpu_mask", cpu_mask}});
}

Status Client::apply(const std::vector<HostChange>& changes) {
    return impl_->tell("apply", changes, kStartTime);
}

Result<std::vector<std::string>> Client::put_back() {
    return impl_->ask<std::vector<std::string>>("put_back", json::object(), kStartTime);
}

Status Client::beat() {
    return impl_->tell("beat", json::object());
}

Result<std::int64_t> Client::clock() {
    return impl_->ask<std::int64_t>("clock", json::object());
}

Result<std::string> Client::rps(const std::string& device) {
    return impl_->ask<std::string>("rps", {{"device", device}});
}

Result<std::vector<netfilter::Entry>> Client::conntrack_dump(const ConntrackFilter& filter) {
    return impl_->ask<std::vector<netfilter::Entry>>("conntrack_dump", filter_to_json(filter),
                                                     kBulkTime);
}

Result<std::int64_t> Client::conntrack_flush() {
    return impl_->ask<std::int64_t>("conntrack_flush", json::object(), kBulkTime);
}

Result<netfilter::TableSize> Client::conntrack_table() {
    const auto table =
        TRY(impl_->ask<std::pair<std::uint64_t, std::uint64_t>>("conntrack_table", json::object()));
    return netfilter::TableSize{.entries = table.first, .maximum = table.second};
}

Status Client::conntrack_fill(const ConntrackFill& what) {
    return impl_->tell("conntrack_fill", fill_to_json(what), kBulkTime);
}

Status Client::start_path_watch() {
    return impl_->tell("start_path_watch", json::object());
}

Result<PathEvents> Client::stop_path_watch() {
    return decode(impl_->rpc.call("stop_path_watch", json::object(), kBulkTime), who(),
                  path_events_from_json);
}

Result<std::vector<netfilter::CpuStats>> Client::conntrack_stats() {
    return impl_->ask<std::vector<netfilter::CpuStats>>("conntrack_stats", json::object());
}

Status Client::start_events(const ConntrackFilter& filter) {
    return impl_->tell("start_events", filter_to_json(filter));
}

Result<netfilter::EventLog> Client::stop_events() {
    return decode(impl_->rpc.call("stop_events", json::object(), kBulkTime), who(),
                  event_log_from_json);
}

Status Client::start_dns_server(const DnsServerOptions& options) {
    return impl_->tell("start_dns_server", dns_server_to_json(options));
}

Status Client::start_transfer_server(const frame::Endpoint& listen) {
    return impl_->tell("start_transfer_server", {{"listen", frame::to_string(listen)}});
}

Status Client::start_closing_server(const ClosingServerOptions& options) {
    return impl_->tell("start_closing_server", closing_server_to_json(options));
}

Status Client::stop_servers() {
    return impl_->tell("stop_servers", json::object());
}

Status Client::start_dnsmasq(const DnsmasqOptions& options) {
    return impl_->tell("start_dnsmasq", dnsmasq_to_json(options), kStartTime);
}

Result<DnsmasqReport> Client::dnsmasq_report() {
    return decode(impl_->rpc.call("dnsmasq_report", json::object(), kAnswerTime), who(),
                  dnsmasq_report_from_json);
}

Status Client::stop_dnsmasq() {
    return impl_->tell("stop_dnsmasq", json::object());
}

Status Client::start_forwarder(const ForwarderOptions& options) {
    return impl_->tell("start_forwarder", forwarder_to_json(options));
}

Result<ForwarderReport> Client::stop_forwarder() {
    return decode(impl_->rpc.call("stop_forwarder", json::object(), kAnswerTime), who(),
                  forwarder_report_from_json);
}

Status Client::start_tcp_queue(const frame::Endpoint& listener) {
    return impl_->tell("start_tcp_queue", {{"listener", frame::to_string(listener)}});
}

Result<TcpQueue> Client::stop_tcp_queue() {
    return TRY(decode(impl_->rpc.call("stop_tcp_queue", json::object(), kAnswerTime), who(),
                      tcp_queue_from_json));
}

Result<DnsLoadReport> Client::dns_load(const DnsLoadOptions& options) {
    return decode(impl_->rpc.call("dns_load", load_to_json(options), options.timeout + kBulkTime),
                  who(), load_report_from_json);
}

Result<ProbeResult> Client::ping(const PingOptions& options) {
    const milliseconds longest = options.interval * options.count + options.timeout;
    return impl_->ask<ProbeResult>("ping", ping_to_json(options), longest + kAnswerTime);
}

Result<ProbeResult> Client::dns_lookup(const DnsLookupOptions& options) {
    // An attempt over TCP waits for the connection and then for the answers; a truncated answer
    // goes there too.
    const milliseconds longest = options.timeout * options.attempts * 3;
    return impl_->ask<ProbeResult>("dns_lookup", lookup_to_json(options), longest + kAnswerTime);
}

Result<ProbeResult> Client::tcp_transfer(const TransferOptions& options) {
    const milliseconds longest = options.timeout * 11;  // see TransferOptions::timeout
    return impl_->ask<ProbeResult>("tcp_transfer", transfer_to_json(options),
                                   longest + kAnswerTime);
}

Result<ConnectsReport> Client::tcp_connects(const ConnectsOptions& options) {
    const milliseconds begun(
        static_cast<std::int64_t>(1000.0 * options.count / options.per_second));
    return decode(impl_->rpc.call("tcp_connects", connects_to_json(options),
                                  begun * 2 + options.timeout + kBulkTime),
                  who(), connects_report_from_json);
}

}  // namespace pathproof::agent
