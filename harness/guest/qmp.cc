#include "harness/guest/qmp.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/process/json_text.h"
#include "harness/process/netns.h"

namespace pathproof::guest {

using nlohmann::json;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kLongest = std::size_t{1} << 20;  // of what is not a line yet

}  // namespace

std::optional<Result<json>> qmp_answer(const std::string& line) {
    const json said = process::json_or_null(line);
    if (!said.is_object()) {
        return std::nullopt;
    }
    if (said.contains("return")) {
        return Result<json>(said["return"]);
    }
    if (said.contains("error")) {
        return Result<json>(fail(ErrorCode::kFailed, "QEMU: {}",
                                 process::text_in(said["error"], "desc", "no reason given")));
    }
    return std::nullopt;
}

Result<Qmp> Qmp::connect(const std::string& netns, const std::string& name) {
    constexpr std::size_t kLongestName = sizeof sockaddr_un::sun_path - 1;  // behind a zero byte
    if (name.size() > kLongestName) {
        return fail(ErrorCode::kBadInput,
                    "QEMU's monitor: the name of its socket may have {} bytes, and '{}' has {}",
                    kLongestName, name, name.size());
    }
    Fd made = TRY(process::in_netns(netns, [&]() -> Result<Fd> {
        Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        name.copy(address.sun_path + 1, kLongestName);
        const auto length =
            static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        if (!socket ||
            ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
            return fail(ErrorCode::kUnavailable, "QEMU's monitor: {}", std::strerror(errno));
        }
        return socket;
    }));
    Qmp monitor(std::move(made));
    TRY(monitor.execute("qmp_capabilities"));
    return monitor;
}

Result<json> Qmp::execute(const std::string& command, std::chrono::milliseconds patience) {
    const auto until = steady_clock::now() + patience;
    const std::string line =
        process::to_text(json{{"execute", command}, {"arguments", json::object()}}) + "\n";
    if (send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size())) {
        return fail(ErrorCode::kUnavailable, "QEMU's monitor: {}", std::strerror(errno));
    }
    for (;;) {
        for (std::size_t end = read_.find('\n'); end != std::string::npos; end = read_.find('\n')) {
            auto answer = qmp_answer(read_.substr(0, end));
            read_.erase(0, end + 1);
            if (answer) {
                return std::move(*answer);
            }
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now());
        pollfd wait{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        char part[4096];
        if (left.count() <= 0 || read_.size() > kLongest ||
            poll(&wait, 1, static_cast<int>(left.count())) <= 0) {
            return fail(ErrorCode::kUnavailable, "QEMU's monitor does not answer to {}", command);
        }
        const ssize_t got = read(socket_.get(), part, sizeof part);
        if (got <= 0) {
            return fail(ErrorCode::kUnavailable, "QEMU ended");
        }
        read_.append(part, static_cast<std::size_t>(got));
    }
}

}  // namespace pathproof::guest
