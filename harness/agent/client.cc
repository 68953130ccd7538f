#include "harness/agent/client.h"

#include <fmt/ranges.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "harness/agent/message.h"
#include "harness/agent/program_copy.h"
#include "harness/message/calls.h"
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

const process::ChildOptions kOverSsh{.netns = "", .at_our_death = SIGTERM, .keep_errors = true};

// Nothing for what is no agent of ours. One of another version may say less.
std::optional<Hello> hello_from_json(const json& said) {
    try {
        if (said.at("agent") != "pathproof") {
            return std::nullopt;
        }
        return Hello{.version = said.value("version", ""),
                     .build = said.value("build", ""),
                     .kernel = said.value("kernel", ""),
                     .cpus = said.value("cpus", 1u),
                     .copied = ""};
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

}  // namespace

struct Client::Impl {
    explicit Impl(process::Child child, std::string who) : rpc(std::move(child), std::move(who)) {}

    template <typename T, typename... Args>
    Result<T> ask(const char* operation, const Args&... args) {
        return message::ask<T>(rpc, operation, kAnswerTime, args...);
    }
    template <typename T, typename... Args>
    Result<T> ask_for(milliseconds timeout, const char* operation, const Args&... args) {
        return message::ask<T>(rpc, operation, timeout, args...);
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
    if (const Status met = client ? (*client)->greet(kStartTime) : Status(); !met) {
        return fail(met.error(), "start {}", (*client)->who());
    }
    return client;
}

Status Client::greet(milliseconds patience) {
    const auto hello = hello_from_json(TRY(impl_->rpc.call("hello", json::array(), patience)));
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
    if (const Status greeted = client->greet(kStartTime); !greeted) {
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
    const auto copy = TRY(doing(copy_of_program(), "{}, and this program cannot be copied to {}",
                                why, host.destination));
    auto client = TRY(start(process::ssh_command(host, {copy.command}), kOverSsh,
                            "agent on " + host.destination));
    process::RpcClient& rpc = client->impl_->rpc;
    const Status fed = rpc.feed(copy.archive, kCopyTime);
    // Asked in any case: one that ends without taking all of it says why.
    if (const Status met = client->greet(kStartTime); fed && met) {
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

Result<std::unique_ptr<Client>> Client::start_in_netns(const std::string& netns) {
    TRY(process::require_netns(netns));
    const std::string who = netns.empty() ? "agent" : "agent in namespace " + netns;
    return greeted(
        start({process::own_binary(), "agent"}, {.netns = netns, .at_our_death = SIGTERM}, who));
}

Result<std::unique_ptr<Client>> Client::start_command(const std::vector<std::string>& argv) {
    if (argv.empty()) {
        return fail(ErrorCode::kBadInput, "no command to start the agent with");
    }
    return greeted(start(argv, {.at_our_death = SIGTERM},
                         fmt::format("agent behind '{}'", fmt::join(argv, " "))));
}

Result<std::unique_ptr<Client>> Client::start_behind(const std::vector<std::string>& argv,
                                                     const std::string& netns,
                                                     const std::string& who,
                                                     milliseconds patience) {
    auto client = TRY(start(argv, {.netns = netns, .keep_errors = true}, who));
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
    return impl_->ask<std::vector<Feature>>("features", device);
}

Result<std::vector<FeatureChange>> Client::set_features(
    const std::string& device, const std::vector<std::pair<std::string, bool>>& wanted) {
    return impl_->ask<std::vector<FeatureChange>>("set_features", device, wanted);
}

Status Client::request_features(const std::string& device,
                                const std::vector<std::pair<std::string, bool>>& wanted,
                                KeptBy kept) {
    return impl_->ask<void>(kept == KeptBy::kItsHost ? "request_features_kept" : "request_features",
                            device, wanted);
}

Result<DeviceInfo> Client::device(const std::string& device) {
    return impl_->ask<DeviceInfo>("device", device);
}

Result<std::vector<verdict::Fact>> Client::nic_facts(const std::string& device) {
    return impl_->ask<std::vector<verdict::Fact>>("nic_facts", device);
}

Result<std::vector<verdict::FactGroup>> Client::host_facts() {
    return impl_->ask<std::vector<verdict::FactGroup>>("host_facts");
}

Result<std::vector<verdict::Fact>> Client::serials(const std::vector<std::string>& devices) {
    return impl_->ask<std::vector<verdict::Fact>>("serials", devices);
}

Result<FeatureTrial> Client::try_feature(const std::string& device, const std::string& name,
                                         bool on, KeptBy kept) {
    return impl_->ask<FeatureTrial>(kept == KeptBy::kItsHost ? "try_feature_kept" : "try_feature",
                                    device, name, on);
}

Result<std::string> Client::xdp_program(const std::string& device) {
    return impl_->ask<std::string>("xdp_program", device);
}

Result<SendReport> Client::send_frames(const std::string& device,
                                       const std::vector<OffloadFrame>& frames) {
    return impl_->ask_for<SendReport>(kBulkTime, "send_frames", device, frames);
}

Status Client::start_capture(const CaptureOptions& options) {
    return impl_->ask<void>("start_capture", options);
}

Result<Capture> Client::stop_capture() {
    return impl_->ask_for<Capture>(kBulkTime, "stop_capture");
}

Result<SendReport> Client::send_datagrams(const DatagramOptions& options) {
    return impl_->ask_for<SendReport>(kBulkTime, "send_datagrams", options);
}

Result<CounterSet> Client::counters() {
    return impl_->ask<CounterSet>("counters");
}

Result<std::string> Client::read_sysctl(const std::string& name) {
    return impl_->ask<std::string>("read_sysctl", name);
}

Status Client::write_sysctl(const std::string& name, const std::string& value) {
    return impl_->ask<void>("write_sysctl", name, value);
}

Result<std::string> Client::set_rps(const std::string& device, const std::string& cpu_mask) {
    return impl_->ask<std::string>("set_rps", device, cpu_mask);
}

Status Client::apply(const std::vector<HostChange>& changes) {
    return impl_->ask_for<void>(kStartTime, "apply", changes);
}

Result<std::vector<std::string>> Client::put_back() {
    return impl_->ask_for<std::vector<std::string>>(kStartTime, "put_back");
}

Status Client::beat() {
    return impl_->ask<void>("beat");
}

Result<std::int64_t> Client::clock() {
    return impl_->ask<std::int64_t>("clock");
}

Result<std::string> Client::rps(const std::string& device) {
    return impl_->ask<std::string>("rps", device);
}

Result<std::vector<netfilter::Entry>> Client::conntrack_dump(const ConntrackFilter& filter) {
    return impl_->ask_for<std::vector<netfilter::Entry>>(kBulkTime, "conntrack_dump", filter);
}

Result<std::int64_t> Client::conntrack_flush() {
    return impl_->ask_for<std::int64_t>(kBulkTime, "conntrack_flush");
}

Result<netfilter::TableSize> Client::conntrack_table() {
    return impl_->ask<netfilter::TableSize>("conntrack_table");
}

Status Client::conntrack_fill(const ConntrackFill& what) {
    return impl_->ask_for<void>(kBulkTime, "conntrack_fill", what);
}

Status Client::start_path_watch() {
    return impl_->ask<void>("start_path_watch");
}

Result<PathEvents> Client::stop_path_watch() {
    return impl_->ask_for<PathEvents>(kBulkTime, "stop_path_watch");
}

Result<std::vector<netfilter::CpuStats>> Client::conntrack_stats() {
    return impl_->ask<std::vector<netfilter::CpuStats>>("conntrack_stats");
}

Status Client::start_events(const ConntrackFilter& filter) {
    return impl_->ask<void>("start_events", filter);
}

Result<netfilter::EventLog> Client::stop_events() {
    return impl_->ask_for<netfilter::EventLog>(kBulkTime, "stop_events");
}

Status Client::start_dns_server(const DnsServerOptions& options) {
    return impl_->ask<void>("start_dns_server", options);
}

Status Client::start_transfer_server(const frame::Endpoint& listen) {
    return impl_->ask<void>("start_transfer_server", listen);
}

Status Client::start_closing_server(const ClosingServerOptions& options) {
    return impl_->ask<void>("start_closing_server", options);
}

Status Client::stop_servers() {
    return impl_->ask<void>("stop_servers");
}

Status Client::start_dnsmasq(const DnsmasqOptions& options) {
    return impl_->ask_for<void>(kStartTime, "start_dnsmasq", options);
}

Result<DnsmasqReport> Client::dnsmasq_report() {
    return impl_->ask<DnsmasqReport>("dnsmasq_report");
}

Status Client::stop_dnsmasq() {
    return impl_->ask<void>("stop_dnsmasq");
}

Status Client::start_forwarder(const ForwarderOptions& options) {
    return impl_->ask<void>("start_forwarder", options);
}

Result<ForwarderReport> Client::stop_forwarder() {
    return impl_->ask<ForwarderReport>("stop_forwarder");
}

Status Client::start_tcp_queue(const frame::Endpoint& listener) {
    return impl_->ask<void>("start_tcp_queue", listener);
}

Result<TcpQueue> Client::stop_tcp_queue() {
    return impl_->ask<TcpQueue>("stop_tcp_queue");
}

Result<DnsLoadReport> Client::dns_load(const DnsLoadOptions& options) {
    return impl_->ask_for<DnsLoadReport>(options.timeout + kBulkTime, "dns_load", options);
}

Result<ProbeResult> Client::ping(const PingOptions& options) {
    const milliseconds longest = options.interval * options.count + options.timeout;
    return impl_->ask_for<ProbeResult>(longest + kAnswerTime, "ping", options);
}

Result<ProbeResult> Client::dns_lookup(const DnsLookupOptions& options) {
    // An attempt over TCP waits for the connection and then for the answers; a truncated answer
    // goes there too.
    const milliseconds longest = options.timeout * options.attempts * 3;
    return impl_->ask_for<ProbeResult>(longest + kAnswerTime, "dns_lookup", options);
}

Result<ProbeResult> Client::tcp_transfer(const TransferOptions& options) {
    const milliseconds longest = options.timeout * 11;  // see TransferOptions::timeout
    return impl_->ask_for<ProbeResult>(longest + kAnswerTime, "tcp_transfer", options);
}

Result<ConnectsReport> Client::tcp_connects(const ConnectsOptions& options) {
    const milliseconds begun(
        static_cast<std::int64_t>(1000.0 * options.count / options.per_second));
    return impl_->ask_for<ConnectsReport>(begun * 2 + options.timeout + kBulkTime, "tcp_connects",
                                          options);
}

}  // namespace pathproof::agent
