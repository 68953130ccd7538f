// Datagrams that are sent back as they came: of chosen sizes, with DF or in fragments, with a UDP checksum
// or without one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::kubernetes {

struct EchoForm {
    std::uint32_t bytes = 100;  // of the datagram's data, at least kLeastEcho
    bool df = false;            // set, there and back; else it may travel in fragments
    // Without a checksum of its own nothing is left to a device to finish (SO_NO_CHECK; IPv4 alone).
    bool no_checksum = false;
};
inline constexpr std::uint32_t kLeastEcho = 16;
inline constexpr std::uint32_t kMostEcho = 60'000;

struct EchoFigures {
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;  // byte for byte
    std::uint64_t wrong = 0;     // answered with other bytes
    std::string trouble;         // of the last one that failed: "no answer within 300 ms"
    bool all() const { return sent != 0 && answered == sent; }
    bool none() const { return answered == 0; }
};

class EchoServer {
  public:
    // Serves on a thread of its own until destruction.
    static Result<std::unique_ptr<EchoServer>> start(const frame::Endpoint& listen);
    virtual ~EchoServer() = default;
    virtual const frame::Endpoint& endpoint() const = 0;
};

// Sends `count` of that form, one after the other, each with `timeout` for its answer. An error means that
// no socket could be had; a datagram that the own kernel refuses (larger than the path's MTU, with DF) is
// one without an answer.
Result<EchoFigures> echo(const frame::Endpoint& server, const EchoForm& form, unsigned count,
                         std::chrono::milliseconds timeout);
// The MTU of the way to the server, as the own kernel knows it (IP_MTU).
Result<std::uint32_t> mtu_towards(const frame::Endpoint& server);

}  // namespace pathproof::kubernetes
