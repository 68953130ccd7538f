#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <vector>

#include "harness/agent/digest.h"
#include "harness/agent/operations.h"
#include "harness/agent/socket.h"
#include "harness/agent/transfer.h"
#include "harness/agent/transfer_wire.h"

namespace pathproof::agent {
namespace {

using Clock = Deadline::Clock;

constexpr std::size_t kWriteBytes = 64 * 1024;
constexpr int kTimeoutsForAll = 10;
// Acknowledgements wake nobody once all is in the send buffer: look at them this often.
constexpr milliseconds kLook{20};

// All zeros where the kernel does not tell.
tcp_info info_of(int socket) {
    tcp_info info{};
    socklen_t length = sizeof info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info : tcp_info{};
}

// Bytes that the other side's kernel acknowledged (the SYN may be one of them).
std::uint64_t bytes_acknowledged(int socket) {
    return info_of(socket).tcpi_bytes_acked;
}

Status set_pace(int socket, std::uint64_t bytes_per_second) {
    if (bytes_per_second == 0) {
        return {};
    }
    return setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_second,
                      sizeof bytes_per_second) == 0
               ? Status()
               : Status(system_failure("limit a transfer's rate", errno));
}

class Transfer {
  public:
    Transfer(int socket, const TransferOptions& options, std::uint64_t seed)
        : socket_(socket),
          options_(options),
          stream_(seed),
          chunk_(kWriteBytes),
          acknowledged_at_start_(bytes_acknowledged(socket)),
          all_by_(options.timeout * kTimeoutsForAll),
          stalled_by_(options.timeout) {
        if (options.answered) {
            const auto head = write_transfer_head(options.bytes);
            std::copy(head.begin(), head.end(), chunk_.begin());
            filled_ = head.size();
        }
    }

    // Sends, and waits for the verdict or the last acknowledgement; what went wrong, or an empty text.
    std::string run() {
        while (!done()) {
            note_progress();
            if (stalled_by_.passed()) {
                return fmt::format("no progress for {} ms", options_.timeout.count());
            }
            if (all_by_.passed()) {
                return fmt::format("not done after {} ms",
                                   options_.timeout.count() * kTimeoutsForAll);
            }
            const short events = static_cast<short>(POLLIN | (all_written() ? 0 : POLLOUT));
            if (!wait_for(socket_, events, Deadline(std::min(kLook, options_.timeout)))) {
                continue;
            }
            if (const int problem = step()) {
                return problem == kClosed ? "the server closed the connection"
                                          : describe_errno(problem);
            }
        }
        return {};
    }

    std::uint64_t acknowledged() const {
        const std::uint64_t now = bytes_acknowledged(socket_);
        const std::uint64_t overhead = acknowledged_at_start_ + head_bytes();
        return now > overhead ? std::min(now - overhead, options_.bytes) : 0;
    }
    TransferVerdict verdict() const { return read_transfer_verdict(verdict_); }
    std::uint64_t digest() const { return digest_.value(); }
    std::uint64_t written() const { return written_ > head_bytes() ? written_ - head_bytes() : 0; }

  private:
    static constexpr int kClosed = -1;

    bool done() const {
        return options_.answered ? verdict_bytes_ == verdict_.size()
                                 : all_written() && acknowledged() == options_.bytes;
    }
    std::size_t head_bytes() const { return options_.answered ? kTransferHeadBytes : 0; }
    bool all_written() const { return made_ == options_.bytes && written_of_chunk_ == filled_; }

    void note_progress() {
        const std::uint64_t now = bytes_acknowledged(socket_);
        if (now != last_acknowledged_) {
            last_acknowledged_ = now;
            stalled_by_ = Deadline(options_.timeout);
        }
    }

    int step() {
        const ssize_t got =
            recv(socket_, verdict_.data() + verdict_bytes_, verdict_.size() - verdict_bytes_, 0);
        if (got == 0) {
            return kClosed;
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            return errno;
        }
        // Words of somebody's server are read and mean nothing.
        verdict_bytes_ +=
            options_.answered ? static_cast<std::size_t>(std::max<ssize_t>(got, 0)) : 0;
        return all_written() ? 0 : write_some();
    }

    int write_some() {
        if (written_of_chunk_ == filled_) {
            next_chunk();
        }
        const ssize_t sent = send(socket_, chunk_.data() + written_of_chunk_,
                                  filled_ - written_of_chunk_, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR ? 0 : errno;
        }
        written_of_chunk_ += static_cast<std::size_t>(sent);
        written_ += static_cast<std::uint64_t>(sent);
        return 0;
    }

    void next_chunk() {
        filled_ = static_cast<std::size_t>(
            std::min<std::uint64_t>(chunk_.size(), options_.bytes - made_));
        written_of_chunk_ = 0;
        const std::span<std::uint8_t> piece(chunk_.data(), filled_);
        stream_.fill(piece);
        digest_.add(piece);
        made_ += filled_;
    }

    int socket_;
    TransferOptions options_;
    ByteStream stream_;
    Digest digest_;
    std::vector<std::uint8_t> chunk_;
    std::size_t filled_ = 0;
    std::size_t written_of_chunk_ = 0;
    std::uint64_t made_ = 0;     // bytes of data put into chunks so far
    std::uint64_t written_ = 0;  // given to the kernel, the head included
    std::array<std::uint8_t, kTransferVerdictBytes> verdict_{};
    std::size_t verdict_bytes_ = 0;
    std::uint64_t acknowledged_at_start_;
    std::uint64_t last_acknowledged_ = 0;
    Deadline all_by_;
    Deadline stalled_by_;
};

ProbeResult judge(int socket, const Transfer& transfer, const TransferOptions& options,
                  const std::string& trouble, double milliseconds) {
    ProbeResult result;
    result.milliseconds = milliseconds;
    const tcp_info info = info_of(socket);
    result.retransmitted = info.tcpi_total_retrans;
    result.segment_bytes = info.tcpi_snd_mss;
    if (!trouble.empty()) {
        result.sent = transfer.written();
        result.received = transfer.acknowledged();
        result.outcome = fmt::format("transfer failed: {}, {} of {} bytes acknowledged", trouble,
                                     result.received, options.bytes);
        return result;
    }
    result.sent = options.bytes;
    if (!options.answered) {
        result.ok = true;
        result.received = options.bytes;
        result.outcome =
            fmt::format("{} bytes acknowledged in {:.1f} ms", options.bytes, milliseconds);
        return result;
    }
    const TransferVerdict verdict = transfer.verdict();
    if (verdict != TransferVerdict{options.bytes, transfer.digest()}) {
        result.outcome = fmt::format(
            "{} bytes arrived in {:.1f} ms but their digest is wrong: data was "
            "corrupted on the way and no checksum caught it",
            verdict.bytes, milliseconds);
        return result;
    }
    result.ok = true;
    result.received = verdict.bytes;
    result.outcome = fmt::format("{} bytes in {:.1f} ms", verdict.bytes, milliseconds);
    return result;
}

}  // namespace

Result<ProbeResult> tcp_transfer(const TransferOptions& options) {
    const Fd socket = TRY(open_socket(socket_family(options.server.address), SOCK_STREAM, 0));
    TRY(set_pace(socket.get(), options.most_per_second));
    const auto begin = Clock::now();
    if (const int refused =
            connect_before(socket.get(), options.server, Deadline(options.timeout))) {
        ProbeResult result;
        result.milliseconds = milliseconds_since(begin);
        result.outcome = refused == ETIMEDOUT
                             ? fmt::format("connect timed out after {} ms", options.timeout.count())
                             : fmt::format("connect failed: {}", describe_errno(refused));
        return result;
    }
    std::random_device random;
    Transfer transfer(socket.get(), options, std::uint64_t{random()} << 32 | random());
    const std::string trouble = transfer.run();
    return judge(socket.get(), transfer, options, trouble, milliseconds_since(begin));
}

Result<ProbeResult> Client::tcp_transfer(const TransferOptions& options) {
    const milliseconds longest = options.timeout * 11;  // see TransferOptions::timeout
    return impl_->ask_for<ProbeResult>(longest + kAnswerTime, "tcp_transfer", options);
}

void add_transfer(Operations& operations) {
    operations.add("tcp_transfer", agent::tcp_transfer);
}

}  // namespace pathproof::agent
