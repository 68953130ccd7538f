#include "harness/agent/dns_sizes.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <vector>

#include "dataplane/frame/dns.h"
#include "harness/agent/dns_load.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {
namespace {

using Message = std::vector<std::uint8_t>;

Result<Message> query_of(const SizeQuestion& question, std::uint16_t udp_size) {
    const auto name =
        TRY(doing(frame::DnsName::from_text(question.name), "ask for '{}'", question.name));
    std::random_device random;
    Message message(512);
    message.resize(frame::write_query(message, {.id = static_cast<std::uint16_t>(random()),
                                                .name = name,
                                                .type = question.type,
                                                .udp_size = udp_size}));
    return message;
}

// Returns whether that message answers the query, and counts what came.
bool take(const Message& query, std::span<const std::uint8_t> message, SizeTrial& trial) {
    const frame::DnsHeader header = frame::DnsReader(message).header();
    if (message.size() < frame::kDnsHeaderBytes || !header.response ||
        header.id != frame::DnsReader(query).header().id) {
        return false;
    }
    if (header.truncated) {
        ++trial.truncated;
        trial.trouble.clear();
        return true;
    }
    if (!is_whole_dns(message)) {
        trial.trouble = "an answer that breaks off";
        return true;
    }
    ++trial.whole;
    trial.trouble.clear();
    trial.bytes = std::max(trial.bytes, static_cast<std::uint32_t>(message.size()));
    trial.records = std::max(trial.records, header.answers);
    return true;
}

std::string no_answer(std::chrono::milliseconds timeout) {
    return fmt::format("no answer within {} ms", timeout.count());
}

}  // namespace

Result<SizeTrial> ask_with_size(const SizeQuestion& question, std::uint16_t udp_size) {
    const Message query = TRY(query_of(question, udp_size));
    SizeTrial trial{.udp_size = udp_size};
    Message answer(65'535);
    while (trial.asked < question.tries && trial.whole + trial.truncated == 0) {
        ++trial.asked;
        const Fd socket = TRY(open_socket(socket_family(question.server.address), SOCK_DGRAM, 0));
        const Deadline deadline(question.timeout);
        if (const int refused = connect_before(socket.get(), question.server, deadline)) {
            trial.trouble = describe_errno(refused);
            continue;
        }
        (void)!send(socket.get(), query.data(), query.size(), MSG_NOSIGNAL);
        trial.trouble = no_answer(question.timeout);
        while (wait_for(socket.get(), POLLIN, deadline)) {
            const ssize_t got = recv(socket.get(), answer.data(), answer.size(), 0);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
                continue;
            }
            if (got < 0) {
                trial.trouble = describe_errno(errno);
                break;
            }
            if (take(query, {answer.data(), static_cast<std::size_t>(got)}, trial)) {
                break;
            }
        }
    }
    return trial;
}

Result<SizeTrial> ask_over_tcp(const SizeQuestion& question) {
    const Message query = TRY(query_of(question, 0));
    SizeTrial trial{.tcp = true, .asked = 1};
    const Fd socket = TRY(open_socket(socket_family(question.server.address), SOCK_STREAM, 0));
    const Deadline deadline(question.timeout);
    if (const int refused = connect_before(socket.get(), question.server, deadline)) {
        trial.trouble = refused == ETIMEDOUT
                            ? fmt::format("no connection within {} ms", question.timeout.count())
                            : describe_errno(refused);
        return trial;
    }
    Message stream;
    put_message(stream, query);
    (void)!send(socket.get(), stream.data(), stream.size(), MSG_NOSIGNAL);
    stream.clear();
    trial.trouble = no_answer(question.timeout);
    Message chunk(16'384);
    while (wait_for(socket.get(), POLLIN, deadline)) {
        const ssize_t got = recv(socket.get(), chunk.data(), chunk.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            continue;
        }
        if (got <= 0) {
            trial.trouble = got == 0 ? "the server closed the connection" : describe_errno(errno);
            break;
        }
        stream.insert(stream.end(), chunk.begin(), chunk.begin() + got);
        if (const auto message = take_message(stream); message && take(query, *message, trial)) {
            break;
        }
    }
    return trial;
}

}  // namespace pathproof::agent
