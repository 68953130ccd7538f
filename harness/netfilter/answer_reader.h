// The datagrams of a dump, one after the other. For .cc files of this room.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "dataplane/base/result.h"
#include "harness/netfilter/socket.h"

namespace pathproof::netfilter {

class AnswerReader {
  public:
    virtual ~AnswerReader() = default;
    // The next datagram of the answer to the request of number `sequence`. It and the one before it
    // stay as they are until the call after the next.
    virtual Result<std::span<const std::byte>> next() = 0;
};

// Receives when it is asked for the next.
std::unique_ptr<AnswerReader> read_in_turn(Socket& socket);

// Receives on a thread of its own, up to half a mebibyte ahead and up to the kernel's end of the
// answer: the kernel walks the table while the caller works. Ends the thread at its destruction;
// the socket is then fit for closing only.
std::unique_ptr<AnswerReader> read_ahead(Socket& socket, std::uint32_t sequence);

}  // namespace pathproof::netfilter
