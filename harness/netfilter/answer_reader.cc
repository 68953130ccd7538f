#include "harness/netfilter/answer_reader.h"

#include <linux/netlink.h>

#include "harness/netfilter/netlink.h"

namespace pathproof::netfilter {
namespace {

bool ends(std::span<const std::byte> datagram, std::uint32_t sequence) {
    MessageReader messages(datagram);
    while (const nlmsghdr* message = messages.next()) {
        if (message->nlmsg_seq == sequence &&
            (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)) {
            return true;
        }
    }
    return false;
}

}  // namespace

AnswerReader::~AnswerReader() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

Result<std::span<const std::byte>> AnswerReader::next() {
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

void AnswerReader::receive_all() {
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

bool AnswerReader::wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || filled_ - freed_ < kBuffers; });
    return !stopping_;
}

}  // namespace pathproof::netfilter
