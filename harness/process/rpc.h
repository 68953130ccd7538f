// JSON lines between the controller and its processes (agent, tester).
//
//   request   {"id": 7, "op": "features", "args": ["vx"]}
//   answer    {"id": 7, "ok": {...}}   or   {"id": 7, "error": {"code": "not_found", "message": "..."}}
//
// One line each, UTF-8, in any order of answers. The end of the input ends the process. The same
// lines work over a socket pair and through ssh's standard input and output.
//
// Who answers may be another host's, and is not trusted: lines that are no answers (a login banner)
// are passed over, up to 1 MiB in all, an answer has at most 256 MiB, and no text of it holds
// control characters other than tabs and line ends.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "dataplane/base/result.h"
#include "harness/process/child.h"

namespace pathproof::process {

// The answering side. Each request runs on a thread of its own, so that a probe that waits five
// seconds does not hold up the next request.
class RpcServer {
  public:
    using Handler = std::function<Result<nlohmann::json>(const nlohmann::json& args)>;

    void on(const std::string& op, Handler handler);

    // Reads requests until the input ends; then waits for the running handlers.
    // A line that is no request is answered with an error, never ignored.
    void serve(int input, int output);

  private:
    std::map<std::string, Handler> handlers_;
};

// The asking side; safe to call from several threads at once.
class RpcClient {
  public:
    // `who` names the process in error sentences: "agent in namespace pp-1a2b-dut".
    RpcClient(Child child, std::string who);
    RpcClient(const RpcClient&) = delete;
    RpcClient& operator=(const RpcClient&) = delete;
    ~RpcClient();

    // Asks and waits. If the process dies, or does not take the request and answer it within
    // `timeout`, the error is kUnavailable.
    Result<nlohmann::json> call(const std::string& op, nlohmann::json args,
                                std::chrono::milliseconds timeout = std::chrono::seconds(30));

    // Sends what the process reads before its first request.
    Status feed(std::string_view bytes, std::chrono::milliseconds timeout);

    pid_t pid() const { return pid_; }
    bool alive() const { return !ended_; }
    // Exit status of a child that ended by itself; 128 + signal number when a signal ended it.
    std::optional<int> exit_status() const;
    // The end of what it said beside its answers: lines that are none, and its standard error where
    // that is kept.
    std::string said() const;
    const std::string& who() const { return who_; }

  private:
    struct Pending;
    using Deadline = std::chrono::steady_clock::time_point;

    bool send_until(Deadline deadline, std::string_view bytes);
    void read_answers();
    std::string hear();
    void hear_errors(std::chrono::milliseconds patience);
    bool take_answer(const std::string& line);
    void keep_said(std::string_view text);
    std::string also_said() const;

    Child child_;
    const pid_t pid_;
    const int socket_;
    const std::string who_;
    std::timed_mutex writing_;
    std::atomic<bool> leaving_ = false;
    int errors_;                // of the reader; -1: none, or ended
    mutable std::mutex mutex_;  // of all below
    std::string said_;
    std::string fate_;  // how it ended, or why it is not listened to any more
    std::optional<int> exit_status_;
    std::condition_variable answered_;
    std::map<std::uint64_t, std::shared_ptr<Pending>> pending_;
    std::uint64_t next_id_ = 1;
    std::atomic<bool> ended_ = false;
    std::thread reader_;
};

}  // namespace pathproof::process
