// The operations of an agent. A source has all of one: what is done when it is asked for, its member of Client, and here
// the row that adds it; its types stand in client.h, with the fields that cross.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "harness/agent/client.h"
#include "harness/message/calls.h"
#include "harness/process/rpc.h"

namespace pathproof::agent {

// Beyond what the operation itself may take.
inline constexpr milliseconds kAnswerTime{10'000};
// A table of a million entries, or as many events, as JSON.
inline constexpr milliseconds kBulkTime{120'000};
inline constexpr milliseconds kStartTime{30'000};

// The controller's end.
struct Client::Impl {
    Impl(process::Child child, std::string who) : rpc(std::move(child), std::move(who)) {}

    template <typename T, typename... Args>
    Result<T> ask(const char* operation, const Args&... args) {
        return ask_for<T>(kAnswerTime, operation, args...);
    }
    template <typename T, typename... Args>
    Result<T> ask_for(milliseconds timeout, const char* operation, const Args&... args) {
        return message::ask<T>(rpc, operation, timeout, args...);
    }

    process::RpcClient rpc;
    Hello hello;
    // Starts another agent on its host; nothing: there cannot be one.
    std::function<Result<std::unique_ptr<Client>>(const std::string& netns)> beside;
};

// Holds one part of a kind at a time, from its start to its stop.
template <typename Part>
class One {
    template <typename T>
    static Result<T> as_result(T value) {
        return value;
    }
    template <typename T>
    static Result<T> as_result(Result<T> result) {
        return result;
    }

  public:
    explicit One(const char* what) : what_(what) {}

    template <typename... Options>
    Status start(const Options&... options) {
        const std::lock_guard lock(mutex_);
        if (part_) {
            return fail(ErrorCode::kUnavailable, "{} runs already; stop that first", what_);
        }
        part_ = TRY(Part::start(options...));
        return {};
    }

    template <typename Look>
    auto look(const Look& look) -> decltype(as_result(look(std::declval<Part&>()))) {
        const std::lock_guard lock(mutex_);
        if (!part_) {
            return fail(ErrorCode::kUnavailable, "{} does not run; start that first", what_);
        }
        return as_result(look(*part_));
    }

    // Gives what it saw.
    auto stop() {
        return look([this](Part& part) {
            auto seen = part.stop();
            part_.reset();
            return seen;
        });
    }

    void drop() {
        const std::lock_guard lock(mutex_);
        part_.reset();
    }

  private:
    const char* const what_;
    std::mutex mutex_;
    std::unique_ptr<Part> part_;
};

// The agent's end.
class Operations {
  public:
    explicit Operations(process::RpcServer& rpc);

    // Adds an operation that runs a function of the request's arguments (message/calls.h).
    template <typename Run>
    void add(const std::string& name, Run run) {
        rpc_.on(name, message::operation(std::move(run)));
    }

    // "start_NAME" and "stop_NAME" of a part; `what` it is, in sentences: "a forwarder".
    template <typename Part, typename... Options>
    void add_one(const std::string& name, const char* what) {
        const auto one = std::make_shared<One<Part>>(what);
        add("start_" + name, [one](const Options&... options) { return one->start(options...); });
        add("stop_" + name, [one] { return one->stop(); });
    }

    // "start_NAME" of a server, which runs until "stop_servers" or the end of the agent.
    template <typename Server, typename Options>
    void add_server(const std::string& name) {
        add("start_" + name, [running = running_](const Options& options) -> Status {
            std::unique_ptr<Server> started = TRY(Server::start(options));
            const std::lock_guard lock(running->mutex);
            running->servers.emplace_back(std::move(started));
            return {};
        });
    }

  private:
    struct Running {
        std::mutex mutex;
        std::vector<std::shared_ptr<void>> servers;
    };

    process::RpcServer& rpc_;
    const std::shared_ptr<Running> running_ = std::make_shared<Running>();
};

void add_connects(Operations& operations);
void add_conntrack(Operations& operations);
void add_counters(Operations& operations);
void add_cpu_use(Operations& operations);
void add_device_hooks(Operations& operations);
void add_dns_load(Operations& operations);
void add_dns_lookup(Operations& operations);
void add_dns_server(Operations& operations);
void add_dnsmasq(Operations& operations);
void add_facts(Operations& operations);
void add_fate(Operations& operations);
void add_features(Operations& operations);
void add_forwarder(Operations& operations);
void add_frame_listener(Operations& operations);
void add_frame_sender(Operations& operations);
void add_needs(Operations& operations);
void add_path_watch(Operations& operations);
void add_ping(Operations& operations);
void add_run_program(Operations& operations);
void add_sysctls(Operations& operations);
void add_tcp_queue(Operations& operations);
void add_transfer(Operations& operations);
void add_transfer_server(Operations& operations);
void add_xdp_program(Operations& operations);

inline constexpr std::array kOperations = {
    add_connects,       add_conntrack,    add_counters,    add_dns_load,        add_dns_lookup,
    add_dns_server,     add_dnsmasq,      add_facts,       add_features,        add_forwarder,
    add_frame_listener, add_frame_sender, add_needs,       add_path_watch,      add_ping,
    add_sysctls,        add_tcp_queue,    add_transfer,    add_transfer_server, add_xdp_program,
    add_fate,           add_device_hooks, add_run_program, add_cpu_use,
};

}  // namespace pathproof::agent
