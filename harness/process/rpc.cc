#include "harness/process/rpc.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/process/children.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/stop.h"
#include "harness/process/streams.h"

namespace pathproof::process {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{256} << 20;
constexpr std::size_t kMostNoise = std::size_t{1} << 20;  // bytes that are no answers
constexpr std::size_t kSaidKept = 4000;
constexpr std::size_t kLongestSentence = 4000;
constexpr std::chrono::milliseconds kLastErrors{2000};
constexpr std::chrono::milliseconds kLastMoment{500};

// The lines of a byte stream.
class Lines {
  public:
    // Feeds each line that is complete to `take`.
    template <typename Take>
    void add(std::string_view bytes, const Take& take) {
        const std::size_t searched = rest_.size();
        rest_.append(bytes);
        std::size_t begin = 0;
        for (;;) {
            const std::size_t end = rest_.find('\n', std::max(begin, searched));
            if (end == std::string::npos) {
                break;
            }
            take(rest_.substr(begin, end - begin));
            begin = end + 1;
        }
        rest_.erase(0, begin);
    }
    const std::string& rest() const { return rest_; }

  private:
    std::string rest_;
};

// 0: the stream ended.
std::size_t read_some(int input, std::vector<char>& chunk) {
    for (;;) {
        const ssize_t got = read(input, chunk.data(), chunk.size());
        if (got >= 0 || errno != EINTR) {
            return got > 0 ? static_cast<std::size_t>(got) : 0;
        }
    }
}

// Null for a line that is no answer.
json answer_in(const std::string& line) {
    json answer = line.starts_with('{') ? parse_foreign(line) : json();
    if (!answer.is_object() || !answer.value("id", json()).is_number_unsigned()) {
        return {};
    }
    return answer;
}

std::string to_line(const json& message) {
    return to_text(message) + "\n";
}

// Adds a member by moving its value: nlohmann/json's initializer lists copy each value, some of
// them large.
json with(json message, const char* name, json value) {
    message[name] = std::move(value);
    return message;
}

json error_answer(const json& id, const Error& error) {
    return {{"id", id},
            {"error", {{"code", error_code_name(error.code)}, {"message", error.message}}}};
}

// Ending of a child whose stream has ended. Its exit status is left for the one who waits for it.
// The process ends a moment after its stream.
struct Ending {
    std::optional<int> status;
    std::string words = "ended";
};
Ending how_it_ended(pid_t pid) {
    siginfo_t how{};
    if (!wait_for_end(pid, kLastMoment) ||
        waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | WNOWAIT) != 0) {
        return {};
    }
    return how.si_code == CLD_EXITED
               ? Ending{how.si_status, fmt::format("ended with exit status {}", how.si_status)}
               : Ending{128 + how.si_status, fmt::format("was ended by signal {} ({})",
                                                         how.si_status, strsignal(how.si_status))};
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
        write_whole(output, line);
    };
    const auto take = [&](const std::string& line) {
        json request = json_or_null(line);
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
            const json args =
                request.contains("args") ? std::move(request["args"]) : json::object();
            Result<json> outcome = fail(ErrorCode::kFailed, "no outcome");
            try {
                outcome = (*handle)(args);
            } catch (const json::exception& wrong) {
                outcome = fail(ErrorCode::kBadInput, "arguments of {}: {}",
                               request["op"].get<std::string>(), wrong.what());
            }
            answer(outcome ? with({{"id", request["id"]}}, "ok", std::move(*outcome))
                           : error_answer(request["id"], outcome.error()));
            const std::lock_guard lock(counting);
            --running;
            idle.notify_all();
        }).detach();
    };
    Lines lines;
    std::vector<char> chunk(1 << 16);
    while (const std::size_t got = read_some(input, chunk)) {
        lines.add({chunk.data(), got}, take);
        if (lines.rest().size() > kLongestLine) {
            break;
        }
    }
    std::unique_lock lock(counting);
    idle.wait(lock, [&] { return running == 0; });
}

struct RpcClient::Pending {
    std::optional<Result<json>> outcome;
};

RpcClient::RpcClient(Child child, std::string who)
    : child_(std::move(child)),
      pid_(child_.pid()),
      socket_(child_.socket()),
      who_(std::move(who)),
      errors_(child_.errors()) {
    ignore_closed_pipes();
    reader_ = std::thread([this] { read_answers(); });
}

RpcClient::~RpcClient() {
    leaving_ = true;
    shutdown(socket_, SHUT_RDWR);
    reader_.join();
    child_.stop();
}

void RpcClient::read_answers() {
    const std::string wrong = hear();
    if (!wrong.empty()) {
        shutdown(socket_, SHUT_RDWR);
    } else if (!leaving_) {
        hear_errors(kLastErrors);
    }
    const Ending ending =
        leaving_ || !wrong.empty() ? Ending{std::nullopt, wrong} : how_it_ended(pid_);
    const std::lock_guard lock(mutex_);
    fate_ = ending.words;
    exit_status_ = ending.status;
    ended_ = true;
    for (auto& [id, waiting] : pending_) {
        waiting->outcome = fail(ErrorCode::kUnavailable, "{} (pid {}) {} before it answered{}",
                                who_, pid_, fate_, also_said());
    }
    pending_.clear();
    answered_.notify_all();
}

// Until the stream ends, or (said) what comes is no use.
std::string RpcClient::hear() {
    Lines lines;
    std::vector<char> chunk(1 << 16);
    std::size_t noise = 0;
    const auto take = [&](const std::string& line) {
        if (!take_answer(line)) {
            noise += line.size() + 1;
            keep_said(line + "\n");
        }
    };
    for (;;) {
        if (errors_ >= 0) {
            std::array<pollfd, 2> ends{{{socket_, POLLIN, 0}, {errors_, POLLIN, 0}}};
            poll(ends.data(), ends.size(), -1);
            if (ends[1].revents != 0) {
                hear_errors({});
            }
            if (ends[0].revents == 0) {
                continue;
            }
        }
        const std::size_t got = read_some(socket_, chunk);
        if (got == 0) {
            return "";
        }
        lines.add({chunk.data(), got}, take);
        const std::string& rest = lines.rest();
        if (noise + (rest.starts_with('{') ? 0 : rest.size()) > kMostNoise) {
            return fmt::format("said more than {} bytes that are no answers", kMostNoise);
        }
        if (rest.size() > kLongestLine) {
            return fmt::format("gave an answer of more than {} bytes", kLongestLine);
        }
    }
}

// Reads the errors that are there, or (patience) all that come until the end.
void RpcClient::hear_errors(std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    std::vector<char> chunk(1 << 12);
    pollfd end{errors_, POLLIN, 0};
    while (errors_ >= 0) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        if (poll(&end, 1, std::max(0, static_cast<int>(left.count()))) <= 0) {
            return;
        }
        const std::size_t got = read_some(errors_, chunk);
        errors_ = got == 0 ? -1 : errors_;
        keep_said({chunk.data(), got});
        if (patience.count() == 0) {
            return;
        }
    }
}

void RpcClient::keep_said(std::string_view text) {
    const std::lock_guard lock(mutex_);
    said_.append(text);
    said_.erase(0, said_.size() - std::min(said_.size(), kSaidKept));
}

std::string RpcClient::said() const {
    const std::lock_guard lock(mutex_);
    return said_;
}

// For the end of a sentence; the lock is held.
std::string RpcClient::also_said() const {
    return said_.empty() ? "" : "; it said:\n" + last_words(said_);
}

std::optional<int> RpcClient::exit_status() const {
    const std::lock_guard lock(mutex_);
    return exit_status_;
}

Status RpcClient::feed(std::string_view bytes, std::chrono::milliseconds timeout) {
    return send_until(std::chrono::steady_clock::now() + timeout, bytes)
               ? Status()
               : fail(ErrorCode::kUnavailable, "{} (pid {}) did not take {} bytes within {} ms",
                      who_, pid_, bytes.size(), timeout.count());
}

bool RpcClient::take_answer(const std::string& line) {
    json answer = answer_in(line);
    if (answer.is_null()) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    const auto waiting = pending_.find(answer["id"].get<std::uint64_t>());
    if (waiting == pending_.end()) {
        return true;  // its caller gave up waiting
    }
    if (answer.contains("ok")) {
        waiting->second->outcome = std::move(answer["ok"]);
    } else {
        const json& error = answer["error"];
        waiting->second->outcome =
            fail(error_code_from_name(text_in(error, "code", "failed")), "{}: {}", who_,
                 text_in(error, "message", "no message").substr(0, kLongestSentence));
    }
    pending_.erase(waiting);
    answered_.notify_all();
    return true;
}

Result<json> RpcClient::call(const std::string& op, json args, std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    auto waiting = std::make_shared<Pending>();
    std::uint64_t id = 0;
    {
        const std::lock_guard lock(mutex_);
        id = next_id_++;
        pending_[id] = waiting;
    }
    // Not under the lock that the answers' reader takes: a long request fills the socket's buffer.
    const bool sent =
        send_until(deadline, to_line(with({{"id", id}, {"op", op}}, "args", std::move(args))));
    std::unique_lock lock(mutex_);
    answered_.wait_until(lock, deadline, [&] { return waiting->outcome.has_value() || ended_; });
    pending_.erase(id);
    if (waiting->outcome) {
        return std::move(*waiting->outcome);
    }
    if (ended_) {
        return fail(ErrorCode::kUnavailable, "{} (pid {}) is no longer running: it {}{}", who_,
                    pid_, fate_, also_said());
    }
    return fail(ErrorCode::kUnavailable, "{} (pid {}) did not {} '{}' within {} ms{}", who_, pid_,
                sent ? "answer" : "take", op, timeout.count(), also_said());
}

bool RpcClient::send_until(Deadline deadline, std::string_view bytes) {
    const std::unique_lock lock(writing_, deadline);
    if (!lock.owns_lock()) {
        return false;
    }
    for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t put = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT);
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
