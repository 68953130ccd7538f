// A device of the kernel with an agent beside it, and the tester's port at the other end of its
// cable. The device sends through packet sockets with exact offload metadata (virtio_net_hdr), and
// what it receives comes with what the kernel says of it (PACKET_AUXDATA).
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "harness/agent/client.h"
#include "harness/tester/client.h"
#include "harness/truth/exchange.h"

namespace pathproof::truth {

// The driver in the PortInfo of a device that the kernel receives with.
inline constexpr const char* kKernelDriver = "kernel";

class KernelExchange final : public Exchange {
  public:
    // `patience`: how long frames that have not come yet are waited for.
    KernelExchange(tester::Client& tester, agent::Client& dut, std::string device,
                   std::chrono::milliseconds patience)
        : tester_(tester), dut_(dut), device_(std::move(device)), patience_(patience) {}

    // Sends the probes. Of a received frame TP_STATUS_CSUM_VALID claims that the first transport
    // checksum is good, TP_STATUS_CSUMNOTREADY that it is unfinished and the data good (packet(7)).
    // The kernel says nothing of IP headers, and calls nothing bad.
    Result<Exchanged> send(Way way, std::span<const matrix::Probe> probes) override;
    // Records at the tester's port while `send` sends, until as many frames came as it says are on
    // their way, or none comes any more.
    Result<traffic::Recording> record(const std::function<Result<std::uint64_t>()>& send);
    Path path();

  private:
    Result<Exchanged> from_device(std::span<const matrix::Probe> probes);
    Result<Exchanged> to_device(std::span<const matrix::Probe> probes);

    tester::Client& tester_;
    agent::Client& dut_;
    std::string device_;
    std::chrono::milliseconds patience_;
};

}  // namespace pathproof::truth
