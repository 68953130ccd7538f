#include "harness/process/rpc.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/process/stop.h"

namespace pathproof::process {
namespace {

using nlohmann::json;

// Splits a byte stream into lines; feeds each complete one to `take`. Returns when the stream ends.
template <typename Take>
void read_lines(int input, const Take& take) {
    std::string pending;
    std::vector<char> chunk(1 << 16);
    for (;;) {
        const ssize_t got = read(input, chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return;
        }
        std::size_t searched = pending.size();
        pending.append(chunk.data(), static_cast<std::size_t>(got));
        std::size_t begin = 0;
        for (;;) {
            const std::size_t end = pending.find('\n', std::max(begin, searched));
            if (end == std::string::npos) {
                break;
            }
            take(pending.substr(begin, end - begin));
            begin = end + 1;
        }
        pending.erase(0, begin);
    }
}

bool write_all(int output, const std::string& text) {
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t put = write(output, text.data() + written, text.size() - written);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        written += static_cast<std::size_t>(put);
    }
    return true;
}

std::string to_line(const json& message) {
    return message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json error_answer(const json& id, const Error& error) {
    return {{"id", id},
            {"error", {{"code", error_code_name(error.code)}, {"message", error.message}}}};
}

// Of a child whose stream has ended, without taking its exit status from the one who waits for it;
// the end of the process comes a moment after that of its stream.
std::string how_it_ended(pid_t pid) {
    siginfo_t how{};
    for (int waited_ms = 0; waited_ms < 500; ++waited_ms) {
        if (waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            how.si_pid == pid) {
            return how.si_code == CLD_EXITED
                       ? fmt::format("ended with exit status {}", how.si_status)
                       : fmt::format("was ended by signal {} ({})", how.si_status,
                                     strsignal(how.si_status));
        }
        usleep(1000);
    }
    return "ended";
}

}  // namespace

void RpcServer::on(const std::string& op, Handler handler) {
    handlers_[op] = std::move(handler);
}

void RpcServer::serve(int input, int output) {
    ignore_closed_pipes();
    std::mutex writing;
    std::mutex counting;
    std::condition_variable idle;
    std::size_t running = 0;
    const auto answer = [&](const json& message) {
        const std::string line = to_line(message);
        const std::lock_guard lock(writing);
        write_all(output, line);
    };
    read_lines(input, [&](const std::string& line) {
        json request = json::parse(line, nullptr, false);
        if (!request.is_object() || !request.contains("id") || !request.contains("op") ||
            !request["op"].is_string()) {
            answer(error_answer(nullptr,
                                {ErrorCode::kBadInput, "not a request: " + line.substr(0, 200)}));
            return;
        }
        const std::string op = request["op"].get<std::string>();
        const auto handler = handlers_.find(op);
        if (handler == handlers_.end()) {
            answer(error_answer(request["id"], {ErrorCode::kBadInput, "unknown operation " + op}));
            return;
        }
        {
            const std::lock_guard lock(counting);
            ++running;
        }
        std::thread([&, request = std::move(request), handle = &handler->second] {
            const json args = request.value("args", json::object());
            Result<json> outcome = fail(ErrorCode::kFailed, "no outcome");
            try {
                outcome = (*handle)(args);
            } catch (const json::exception& wrong) {
                outcome = fail(ErrorCode::kBadInput, "arguments of {}: {}",
                               request["op"].get<std::string>(), wrong.what());
            }
            answer(outcome ? json{{"id", request["id"]}, {"ok", *outcome}}
                           : error_answer(request["id"], outcome.error()));
            const std::lock_guard lock(counting);
            --running;
            idle.notify_all();
        }).detach();
    });
    std::unique_lock lock(counting);
    idle.wait(lock, [&] { return running == 0; });
}

struct RpcClient::Pending {
    std::optional<Result<json>> outcome;
};

RpcClient::RpcClient(Child child, std::string who)
    : child_(std::move(child)), pid_(child_.pid()), socket_(child_.socket()), who_(std::move(who)) {
    ignore_closed_pipes();
    reader_ = std::thread([this] { read_answers(); });
}

RpcClient::~RpcClient() {
    shutdown(socket_, SHUT_RDWR);
    reader_.join();
    child_.stop();
}

void RpcClient::read_answers() {
    read_lines(socket_, [this](const std::string& line) { take_answer(line); });
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (auto& [id, waiting] : pending_) {
        waiting->outcome = fail(ErrorCode::kUnavailable, "{} (pid {}) {} before it answered", who_,
                                pid_, how_it_ended(pid_));
    }
    pending_.clear();
    answered_.notify_all();
}

void RpcClient::take_answer(const std::string& line) {
    json answer = json::parse(line, nullptr, false);
    const std::lock_guard lock(mutex_);
    if (!answer.is_object() || !answer.value("id", json()).is_number_unsigned()) {
        return;  // a line of a log, for example from ssh's remote shell
    }
    const auto waiting = pending_.find(answer["id"].get<std::uint64_t>());
    if (waiting == pending_.end()) {
        return;  // its caller gave up waiting
    }
    if (answer.contains("ok")) {
        waiting->second->outcome = std::move(answer["ok"]);
    } else {
        const json error = answer.value("error", json::object());
        waiting->second->outcome = fail(error_code_from_name(error.value("code", "failed")),
                                        "{}: {}", who_, error.value("message", "no message"));
    }
    pending_.erase(waiting);
    answered_.notify_all();
}

Result<json> RpcClient::call(const std::string& op, const json& args,
                             std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    auto waiting = std::make_shared<Pending>();
    std::uint64_t id = 0;
    {
        const std::lock_guard lock(mutex_);
        id = next_id_++;
        pending_[id] = waiting;
    }
    // Not under the lock that the answers' reader takes: a long request fills the socket's buffer.
    const bool sent = send_until(deadline, to_line({{"id", id}, {"op", op}, {"args", args}}));
    std::unique_lock lock(mutex_);
    answered_.wait_until(lock, deadline, [&] { return waiting->outcome.has_value() || ended_; });
    pending_.erase(id);
    if (waiting->outcome) {
        return std::move(*waiting->outcome);
    }
    if (ended_) {
        return fail(ErrorCode::kUnavailable, "{} (pid {}) is no longer running: it {}", who_, pid_,
                    how_it_ended(pid_));
    }
    return fail(ErrorCode::kUnavailable, "{} (pid {}) did not {} '{}' within {} ms", who_, pid_,
                sent ? "answer" : "take", op, timeout.count());
}

bool RpcClient::send_until(Deadline deadline, const std::string& line) {
    const std::unique_lock lock(writing_, deadline);
    if (!lock.owns_lock()) {
        return false;
    }
    for (std::size_t sent = 0; sent < line.size();) {
        const ssize_t put = send(socket_, line.data() + sent, line.size() - sent, MSG_DONTWAIT);
        if (put > 0) {
            sent += static_cast<std::size_t>(put);
            continue;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd room{.fd = socket_, .events = POLLOUT, .revents = 0};
        const bool full = errno == EAGAIN && left.count() > 0;
        if (errno != EINTR && (!full || poll(&room, 1, static_cast<int>(left.count())) == 0)) {
            if (sent != 0) {
                shutdown(socket_, SHUT_RDWR);  // nobody could read what comes after half a line
            }
            return false;
        }
    }
    return true;
}

}  // namespace pathproof::process
