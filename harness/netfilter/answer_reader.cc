#include "harness/netfilter/answer_reader.h"

#include <linux/netlink.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "harness/netfilter/netlink.h"

namespace pathproof::netfilter {
namespace {

using Datagram = std::span<const std::byte>;

class InTurn final : public AnswerReader {
  public:
    explicit InTurn(Socket& socket) : socket_(socket) {}

    Result<Datagram> next() override {
        turn_ = 1 - turn_;
        return socket_.receive(buffers_[turn_]);
    }

  private:
    Socket& socket_;
    std::array<std::vector<std::byte>, 2> buffers_{std::vector<std::byte>(kAnswerBytes),
                                                   std::vector<std::byte>(kAnswerBytes)};
    std::size_t turn_ = 0;
};

bool ends(Datagram datagram, std::uint32_t sequence) {
    MessageReader messages(datagram);
    while (const nlmsghdr* message = messages.next()) {
        if (message->nlmsg_seq == sequence &&
            (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)) {
            return true;
        }
    }
    return false;
}

class Ahead final : public AnswerReader {
  public:
    Ahead(Socket& socket, std::uint32_t sequence)
        : socket_(socket), sequence_(sequence), thread_([this] { receive_all(); }) {}

    ~Ahead() override {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    Result<Datagram> next() override {
        std::unique_lock lock(mutex_);
        // Two buffers stay with the caller.
        if (taken_ - freed_ == 2) {
            ++freed_;
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return taken_ < filled_ || failure_ || ended_; });
        if (taken_ < filled_) {
            return datagrams_[taken_++ % kBuffers];
        }
        if (failure_) {
            return pass_on(*failure_);
        }
        return fail(ErrorCode::kFailed, "ctnetlink's answer ended before its end was read");
    }

  private:
    static constexpr std::size_t kBuffers = 16;

    void receive_all() {
        while (wait_for_room()) {
            std::vector<std::byte>& buffer = buffers_[filled_ % kBuffers];
            buffer.resize(kAnswerBytes);
            const auto datagram = socket_.receive(buffer);
            const bool last = !datagram || ends(*datagram, sequence_);
            const std::scoped_lock lock(mutex_);
            if (datagram) {
                datagrams_[filled_++ % kBuffers] = *datagram;
            } else {
                failure_ = datagram.error();
            }
            ended_ = last;
            changed_.notify_all();
            if (last) {
                return;
            }
        }
    }

    bool wait_for_room() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || filled_ - freed_ < kBuffers; });
        return !stopping_;
    }

    Socket& socket_;
    const std::uint32_t sequence_;
    std::array<std::vector<std::byte>, kBuffers> buffers_;
    std::array<Datagram, kBuffers> datagrams_;

    std::mutex mutex_;  // guards what follows; filled_ is changed by the thread only
    std::condition_variable changed_;
    std::size_t filled_ = 0;
    std::size_t taken_ = 0;
    std::size_t freed_ = 0;
    bool stopping_ = false;
    bool ended_ = false;
    std::optional<Error> failure_;

    std::thread thread_;
};

}  // namespace

std::unique_ptr<AnswerReader> read_in_turn(Socket& socket) {
    return std::make_unique<InTurn>(socket);
}

std::unique_ptr<AnswerReader> read_ahead(Socket& socket, std::uint32_t sequence) {
    return std::make_unique<Ahead>(socket, sequence);
}

}  // namespace pathproof::netfilter
