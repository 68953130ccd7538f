// The datagrams of a dump, one after the other. For .cc files of this room.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/netfilter/socket.h"

namespace pathproof::netfilter {

// Receives the answer to the request of number `sequence` on a thread of its own, up to half a
// mebibyte ahead and up to the kernel's end of it: the kernel walks the table while the caller
// works. Ends the thread at its destruction; the socket is then fit for closing only.
class AnswerReader {
  public:
    AnswerReader(Socket& socket, std::uint32_t sequence)
        : socket_(socket), sequence_(sequence), thread_([this] { receive_all(); }) {}
    ~AnswerReader();

    // The next datagram. It and the one before it stay as they are until the call after the next.
    Result<std::span<const std::byte>> next();

  private:
    static constexpr std::size_t kBuffers = 16;

    void receive_all();
    bool wait_for_room();

    Socket& socket_;
    const std::uint32_t sequence_;
    std::array<std::vector<std::byte>, kBuffers> buffers_;
    std::array<std::span<const std::byte>, kBuffers> datagrams_;

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

}  // namespace pathproof::netfilter
