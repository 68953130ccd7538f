// Calls between processes (process/rpc.h) as functions: a request is the array of the arguments, an
// answer is what the function gives, and archive.h turns both into JSON and back.
#pragma once

#include <functional>
#include <tuple>

#include "harness/message/archive.h"
#include "harness/process/rpc.h"

namespace pathproof::message {

namespace detail {

template <typename T>
inline constexpr bool kIsResult = false;
template <typename T>
inline constexpr bool kIsResult<Result<T>> = true;

template <typename T>
Status take(const json& args, std::size_t index, T& value) {
    value = TRY(decode<T>(args.at(index)));
    return {};
}

template <typename R>
Result<json> answer(const R& given) {
    if constexpr (!kIsResult<R>) {
        return encode(given);
    } else if (!given) {
        return pass_on(given.error());
    } else if constexpr (std::is_same_v<R, Status>) {
        return json();
    } else {
        return encode(*given);
    }
}

}  // namespace detail

// Makes a handler that answers a request with this function. Arguments that are missing, of another
// type, or that check() refuses, are kBadInput.
template <typename R, typename... Args>
process::RpcServer::Handler operation(std::function<R(Args...)> run) {
    return [run = std::move(run)](const json& args) -> Result<json> {
        std::tuple<std::decay_t<Args>...> values;
        Status read;
        std::size_t index = 0;
        std::apply(
            [&](auto&... value) {
                static_cast<void>(((read = detail::take(args, index++, value)).has_value() && ...));
            },
            values);
        TRY(std::move(read));
        return detail::answer(std::apply(run, std::move(values)));
    };
}

template <typename Run>
process::RpcServer::Handler operation(Run run) {
    return operation(std::function(std::move(run)));
}

// Asks a process and waits. Errors: those of RpcClient::call and of the function there; kFailed for
// an answer that is no T.
template <typename T, typename... Args>
Result<T> ask(process::RpcClient& rpc, const char* name, std::chrono::milliseconds timeout,
              const Args&... args) {
    json request = json::array();
    (request.push_back(encode(args)), ...);
    const json answered = TRY(rpc.call(name, std::move(request), timeout));
    if constexpr (std::is_void_v<T>) {
        return {};
    } else {
        auto read = decode<T>(answered);
        if (!read) {
            return fail(ErrorCode::kFailed,
                        "{} answered what this version cannot read ({}); are both of one version?",
                        rpc.who(), read.error().message);
        }
        return read;
    }
}

}  // namespace pathproof::message
