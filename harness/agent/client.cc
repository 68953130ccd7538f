#include "harness/agent/client.h"

#include <csignal>
#include <nlohmann/json.hpp>

#include "dataplane/base/version.h"
#include "harness/agent/host_change.h"
#include "harness/agent/operations.h"
#include "harness/agent/program_copy.h"
#include "harness/process/foreign.h"
#include "harness/process/netns.h"
#include "harness/process/ssh.h"

namespace pathproof::agent {
namespace {

using nlohmann::json;

constexpr milliseconds kCopyTime{300'000};

const process::ChildOptions kOverSsh{.netns = "", .at_our_death = SIGTERM, .keep_errors = true};

// Reads an agent's greeting; nothing: it is no agent of ours. An agent of another version may give
// less.
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

Status Client::greet(milliseconds patience) {
    const auto hello = hello_from_json(TRY(impl_->rpc.call("hello", json::array(), patience)));
    if (!hello) {
        return fail(ErrorCode::kFailed, "{} answered, but it is no pathproof agent", who());
    }
    impl_->hello = *hello;
    return {};
}

Result<std::unique_ptr<Client>> Client::start_over_ssh(const process::SshHost& host,
                                                       const std::string& program,
                                                       const std::string& netns) {
    auto client = TRY(run_over_ssh(host, program, netns));
    client->impl_->beside = [host, program, netns](const std::string& other) {
        return start_over_ssh(host, program, other.empty() ? netns : other);
    };
    return client;
}

Result<std::unique_ptr<Client>> Client::start_beside(const std::string& netns) const {
    return impl_->beside ? impl_->beside(netns)
                         : Result<std::unique_ptr<Client>>(fail(
                               ErrorCode::kNotSupported, "{} has no second one beside it", who()));
}

Result<std::unique_ptr<Client>> Client::run_over_ssh(const process::SshHost& host,
                                                     const std::string& program,
                                                     const std::string& netns) {
    std::vector<std::string> words = agent_words(netns);
    words.insert(words.begin(), program);
    auto client =
        TRY(start(process::ssh_command(host, words), kOverSsh, "agent on " + host.destination));
    const process::RpcClient& rpc = client->impl_->rpc;
    if (const Status greeted = client->greet(kStartTime); !greeted) {
        const auto status = rpc.exit_status();
        if (!status) {
            return pass_on(greeted.error());
        }
        if (*status == process::kSshFailed) {
            return process::ssh_failure(host, rpc.said());
        }
        return copy_over_ssh(host, netns, fmt::format("'{}' does not run there", program));
    }
    const Hello& hello = client->hello();
    if (hello.version == version() && hello.build == build_id()) {
        return client;
    }
    const std::string why = fmt::format(
        "{} there is {}", program,
        hello.version == version() ? "another build of this version" : "version " + hello.version);
    client.reset();
    return copy_over_ssh(host, netns, why);
}

Result<std::unique_ptr<Client>> Client::copy_over_ssh(const process::SshHost& host,
                                                      const std::string& netns,
                                                      const std::string& why) {
    const auto copy =
        TRY(doing(copy_of_program(netns), "{}, and this program cannot be copied to {}", why,
                  host.destination));
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
    auto client = TRY(
        start({process::own_binary(), "agent"}, {.netns = netns, .at_our_death = SIGTERM}, who));
    TRY(doing(client->greet(kStartTime), "start {}", who));
    client->impl_->beside = [netns](const std::string& other) {
        return start_in_netns(other.empty() ? netns : other);
    };
    return client;
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

Status Client::apply(const std::vector<HostChange>& changes) {
    return impl_->ask_for<void>(kStartTime, "apply", changes);
}

Result<std::vector<std::string>> Client::put_back() {
    return impl_->ask_for<std::vector<std::string>>(kStartTime, "put_back");
}

Status Client::leave() {
    return impl_->ask<void>("leave");
}

Status Client::beat() {
    return impl_->ask<void>("beat");
}

Result<std::int64_t> Client::clock() {
    return impl_->ask<std::int64_t>("clock");
}

Status Client::stop_servers() {
    return impl_->ask<void>("stop_servers");
}

}  // namespace pathproof::agent
