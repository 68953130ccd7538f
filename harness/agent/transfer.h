// N bytes over TCP, with a digest: does bulk data come through, whole and in time?
//
// The client sends "ppxfer1\n", the number of bytes (64 bits, network order) and the bytes; the
// server answers with the number it got and the digest of what it got, and closes.
#pragma once

#include <memory>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/probes.h"

namespace pathproof::agent {

class TransferServer {
  public:
    // Serves any number of clients on a thread of its own until destruction. Port 0 takes a free
    // one.
    static Result<std::unique_ptr<TransferServer>> start(const frame::Endpoint& listen);
    virtual ~TransferServer() = default;

    virtual const frame::Endpoint& endpoint() const = 0;
};

// An error means that no socket could be had, or that a pace was asked for and refused; a transfer that failed is a value that says whether
// the connection or the transfer failed, and after how many bytes.
Result<ProbeResult> tcp_transfer(const TransferOptions& options);

}  // namespace pathproof::agent
