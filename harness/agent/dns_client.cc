#include "harness/agent/dns_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "dataplane/base/join_each.h"
#include "dataplane/frame/dns.h"
#include "harness/agent/operations.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kMostMessage = 65535;

struct Answer {
    std::uint8_t rcode = 0;
    std::size_t addresses = 0;
};

// A query of a lookup, which has two.
struct Question {
    const char* type_name;
    frame::DnsQuery query;
    Bytes message;
    std::optional<Answer> answer;
};

struct Lookup {
    std::array<Question, 2> questions;
    std::uint64_t sent = 0;
    std::string trouble;     // what the kernel said: "connection refused (ICMP port unreachable)"
    bool truncated = false;  // an answer over UDP had TC set

    std::size_t answered() const {
        return static_cast<std::size_t>(questions[0].answer.has_value()) +
               questions[1].answer.has_value();
    }
    bool done() const { return answered() == questions.size(); }
};

enum class Pace {
    kBothAtOnce,
    kOneByOne,  // RES_SNGLKUP
};

Question make_question(const char* type_name, const frame::DnsName& name, std::uint16_t type,
                       std::uint16_t id) {
    Question question{type_name, {.id = id, .name = name, .type = type}, Bytes(512), std::nullopt};
    question.message.resize(frame::write_query(question.message, question.query));
    return question;
}

Lookup make_lookup(const frame::DnsName& name) {
    std::random_device random;
    const auto first = static_cast<std::uint16_t>(random());
    const auto second = static_cast<std::uint16_t>(first + 1 + random() % 65535);  // never equal
    return {.questions = {make_question("A", name, frame::kDnsTypeA, first),
                          make_question("AAAA", name, frame::kDnsTypeAaaa, second)},
            .sent = 0,
            .trouble = {},
            .truncated = false};
}

bool is_answer_to(const Question& question, const frame::DnsHeader& header,
                  const frame::DnsQuestion& asked) {
    return header.id == question.query.id && asked.type == question.query.type &&
           asked.query_class == frame::kDnsClassIn && asked.name == question.query.name;
}

enum class Carrier { kUdp, kTcp };

// Takes a message that answers one of the open questions; any other is ignored.
void take_answer(Lookup& lookup, std::span<const std::uint8_t> message, Carrier carrier) {
    frame::DnsReader reader(message);
    const frame::DnsHeader header = reader.header();
    const std::optional<frame::DnsQuestion> asked = reader.next_question();
    if (!header.response || !asked) {
        return;
    }
    for (Question& question : lookup.questions) {
        if (question.answer || !is_answer_to(question, header, *asked)) {
            continue;
        }
        if (carrier == Carrier::kUdp && header.truncated) {
            lookup.truncated = true;
            return;
        }
        Answer answer{.rcode = header.rcode, .addresses = 0};
        while (const std::optional<frame::DnsRecord> record = reader.next_record()) {
            answer.addresses += record->section == frame::DnsSection::kAnswer &&
                                record->type == question.query.type &&
                                record->address().has_value();
        }
        question.answer = answer;
        return;
    }
}

std::vector<Question*> open_questions(Lookup& lookup) {
    std::vector<Question*> open;
    for (Question& question : lookup.questions) {
        if (!question.answer) {
            open.push_back(&question);
        }
    }
    return open;
}

std::string refusal_text(int number) {
    if (number == ECONNREFUSED) {
        return "connection refused (ICMP port unreachable)";
    }
    return describe_errno(number);
}

// All of `questions` in one system call, as glibc's send_dg does it.
int send_together(int socket, const std::vector<Question*>& questions) {
    std::array<iovec, 2> pieces{};
    std::array<mmsghdr, 2> headers{};
    for (std::size_t i = 0; i < questions.size(); ++i) {
        pieces[i] = {.iov_base = questions[i]->message.data(),
                     .iov_len = questions[i]->message.size()};
        headers[i].msg_hdr.msg_iov = &pieces[i];
        headers[i].msg_hdr.msg_iovlen = 1;
    }
    return sendmmsg(socket, headers.data(), static_cast<unsigned>(questions.size()), MSG_NOSIGNAL);
}

// As glibc, sends what a first sendmmsg left over by itself: an ICMP refusal of the first query
// stops the call after one of the two, and is not reported (__sys_sendmmsg).
int send_all(int socket, std::vector<Question*> questions, Lookup& lookup) {
    while (!questions.empty()) {
        const int sent = send_together(socket, questions);
        if (sent < 0) {
            return errno;
        }
        lookup.sent += static_cast<std::uint64_t>(sent);
        questions.erase(questions.begin(), questions.begin() + sent);
    }
    return 0;
}

// Waits until `wanted` answers are there. Returns 0, ETIMEDOUT, or the errno that an ICMP message
// brought.
int await_datagrams(int socket, Lookup& lookup, std::size_t wanted, const Deadline& deadline) {
    Bytes buffer(kMostMessage);
    while (lookup.answered() < wanted && !lookup.truncated) {
        if (!wait_for(socket, POLLIN, deadline)) {
            return ETIMEDOUT;
        }
        const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
        if (got >= 0) {
            take_answer(lookup, {buffer.data(), static_cast<std::size_t>(got)}, Carrier::kUdp);
        } else if (errno != EAGAIN && errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

// One attempt over UDP; the value is as in await_datagrams.
int try_udp(int socket, Lookup& lookup, Pace pace, milliseconds timeout) {
    const Deadline deadline(timeout);
    std::vector<Question*> open = open_questions(lookup);
    if (pace == Pace::kBothAtOnce) {
        const std::size_t wanted = lookup.answered() + open.size();
        if (const int refused = send_all(socket, open, lookup)) {
            return refused;
        }
        return await_datagrams(socket, lookup, wanted, deadline);
    }
    for (Question* question : open) {
        if (send_together(socket, {question}) != 1) {
            return errno;
        }
        ++lookup.sent;
        const int outcome = await_datagrams(socket, lookup, lookup.answered() + 1, deadline);
        if (outcome != 0 || lookup.truncated) {
            return outcome;
        }
    }
    return 0;
}

Result<Fd> connected_udp(const frame::Endpoint& server, Lookup& lookup) {
    Result<Fd> socket = open_socket(socket_family(server.address), SOCK_DGRAM, 0);
    if (socket) {
        if (const int refused = connect_before(socket->get(), server, Deadline(milliseconds(0)))) {
            lookup.trouble = describe_errno(refused);  // for example no route to the server
            return Fd();
        }
    }
    return socket;
}

Status look_up_by_udp(const DnsLookupOptions& options, Lookup& lookup) {
    Pace pace = Pace::kBothAtOnce;
    for (unsigned attempt = 0; attempt < options.attempts && !lookup.done() && !lookup.truncated;
         ++attempt) {
        lookup.trouble.clear();
        // glibc opens a new socket when it tries again after a timeout (__res_iclose), so the port
        // changes.
        const Fd socket = TRY(connected_udp(options.server, lookup));
        if (!socket) {
            continue;
        }
        const int outcome = try_udp(socket.get(), lookup, pace, options.timeout);
        if (outcome != 0 && outcome != ETIMEDOUT) {
            lookup.trouble = refusal_text(outcome);
        }
        if (lookup.answered() == 1) {
            // glibc forgets the answer that came and asks for both again, one after the other.
            pace = Pace::kOneByOne;
            const bool last = attempt + 1 == options.attempts;
            for (Question& question : lookup.questions) {
                if (!last) {
                    question.answer.reset();
                }
            }
        }
    }
    return {};
}

// Reads answers until both are there; what went wrong otherwise, empty for a timeout.
std::string await_stream(int socket, Lookup& lookup, const Deadline& deadline) {
    Bytes stream;
    std::array<std::uint8_t, 16384> chunk{};
    while (!lookup.done()) {
        if (!wait_for(socket, POLLIN, deadline)) {
            return {};
        }
        const ssize_t got = recv(socket, chunk.data(), chunk.size(), 0);
        if (got == 0) {
            return "the server closed the connection";
        }
        if (got > 0) {
            stream.insert(stream.end(), chunk.begin(), chunk.begin() + got);
            while (const auto message = take_message(stream)) {
                take_answer(lookup, *message, Carrier::kTcp);
            }
        } else if (errno != EAGAIN && errno != EINTR) {
            return describe_errno(errno);
        }
    }
    return {};
}

Status look_up_by_tcp(const DnsLookupOptions& options, Lookup& lookup) {
    for (unsigned attempt = 0; attempt < options.attempts && !lookup.done(); ++attempt) {
        lookup.trouble.clear();
        const Fd socket = TRY(open_socket(socket_family(options.server.address), SOCK_STREAM, 0));
        const Deadline connected_by(options.timeout);
        const int refused = connect_before(socket.get(), options.server, connected_by);
        if (refused != 0) {
            lookup.trouble = refused == ETIMEDOUT ? fmt::format("connect timed out after {} ms",
                                                                options.timeout.count())
                                                  : "connect: " + describe_errno(refused);
            continue;
        }
        const std::vector<Question*> open = open_questions(lookup);
        Bytes stream;
        for (const Question* question : open) {
            put_message(stream, question->message);
        }
        // Two queries always fit the empty send buffer of a new connection.
        if (send(socket.get(), stream.data(), stream.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(stream.size())) {
            lookup.trouble = "send: " + describe_errno(errno);
            continue;
        }
        lookup.sent += open.size();
        lookup.trouble = await_stream(socket.get(), lookup, Deadline(options.timeout));
    }
    return {};
}

std::string rcode_text(std::uint8_t rcode) {
    switch (static_cast<frame::Rcode>(rcode)) {
        case frame::Rcode::kNoError: return "NOERROR";
        case frame::Rcode::kFormErr: return "FORMERR";
        case frame::Rcode::kServFail: return "SERVFAIL";
        case frame::Rcode::kNxDomain: return "NXDOMAIN";
        case frame::Rcode::kNotImp: return "NOTIMP";
        case frame::Rcode::kRefused: return "REFUSED";
    }
    return fmt::format("RCODE{}", rcode);
}

std::string answer_text(const Answer& answer) {
    if (answer.rcode != 0) {
        return rcode_text(answer.rcode);
    }
    return answer.addresses == 0 ? "no address" : "an address";
}

// "A: NXDOMAIN, AAAA: no address" for answers that do not help; empty when at least one does.
std::string useless_answers(const Lookup& lookup) {
    bool any_address = false;
    bool any_error = false;
    const std::string text = join_each(lookup.questions, [&](const Question& question) {
        const Answer& answer = *question.answer;
        any_address |= answer.addresses > 0;
        any_error |= answer.rcode != 0;
        return fmt::format("{}: {}", question.type_name, answer_text(answer));
    });
    return any_address && !any_error ? std::string() : text;
}

std::string missing_answers(Lookup& lookup, const DnsLookupOptions& options) {
    const std::string missing = join_each(open_questions(lookup), &Question::type_name, " and ");
    const std::string attempts =
        options.attempts > 1 ? fmt::format(" in each of {} attempts", options.attempts) : "";
    const std::string text =
        fmt::format("no answer for {} within {} ms{}", missing, options.timeout.count(), attempts);
    return lookup.trouble.empty() ? text
                                  : fmt::format("no answer for {}: {}", missing, lookup.trouble);
}

}  // namespace

Result<ProbeResult> dns_lookup(const DnsLookupOptions& options) {
    const frame::DnsName name =
        TRY(doing(frame::DnsName::from_text(options.name), "look up '{}'", options.name));
    Lookup lookup = make_lookup(name);
    const auto begin = Deadline::Clock::now();
    Status looked = options.tcp ? look_up_by_tcp(options, lookup) : look_up_by_udp(options, lookup);
    const bool went_to_tcp = looked && lookup.truncated;
    if (went_to_tcp) {
        looked = look_up_by_tcp(options, lookup);
    }
    TRY(doing(std::move(looked), "look up '{}'", options.name));
    ProbeResult result;
    result.milliseconds = milliseconds_since(begin);
    result.sent = lookup.sent;
    result.received = lookup.answered();
    if (!lookup.done()) {
        result.outcome = missing_answers(lookup, options);
        return result;
    }
    const std::string useless = useless_answers(lookup);
    result.ok = useless.empty();
    result.outcome =
        fmt::format("2 answers in {:.1f} ms{}{}{}", result.milliseconds,
                    went_to_tcp ? ", over TCP as the answer over UDP was truncated" : "",
                    useless.empty() ? "" : "; ", useless);
    return result;
}

Result<ProbeResult> Client::dns_lookup(const DnsLookupOptions& options) {
    // An attempt over TCP waits for the connection and then for the answers; a truncated answer
    // goes there too.
    const milliseconds longest = options.timeout * options.attempts * 3;
    return impl_->ask_for<ProbeResult>(longest + kAnswerTime, "dns_lookup", options);
}

void add_dns_lookup(Operations& operations) {
    operations.add("dns_lookup", agent::dns_lookup);
}

}  // namespace pathproof::agent
