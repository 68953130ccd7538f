// Checks that the way between two nodes carries checksums, packets of its MTU and pairs of DNS queries
// right: in half a minute, from values to one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/agent/probes.h"
#include "harness/kubernetes/echo.h"
#include "harness/kubernetes/pairs.h"

namespace pathproof::kubernetes {

// Ports beside that of the DNS server.
inline constexpr std::uint16_t kEchoPort = 1, kTransferPort = 2;

struct PreflightOptions {
    frame::Endpoint server;  // of DNS; the others are the next two ports
    std::uint32_t pairs = 300;
    double pairs_per_second = 100;
    std::chrono::milliseconds wait{20'000};  // for the first answer of any kind
};

struct PreflightFigures {
    EchoFigures with_checksum, without_checksum;  // small ones
    std::optional<agent::ProbeResult> transfer;   // over TCP
    std::uint32_t mtu = 0;                        // of the way, as the own kernel knows it
    EchoFigures whole;                            // packets of exactly that MTU, with DF
    std::uint32_t largest = 0;  // the largest packet that came back, where those of the MTU did not
    EchoFigures fragments;      // datagrams of several packets
    PairFigures pairs;
    std::uint64_t wrong_checksums =
        0;  // InCsumErrors of the own namespace: what came and was thrown away
};

struct PreflightVerdict {
    enum class Kind : std::uint8_t { kRight, kWrong, kNothingCame } kind = Kind::kNothingCame;
    std::vector<std::string> wrong;  // "checksums", "mtu", "fragments", "dns-pairs", "loss"
    std::string line;                // without its end
    int exit_code() const;           // 0, 1, 3
};

// The conclusion from the figures, in one line.
PreflightVerdict judge(const PreflightFigures& figures);

// Takes the figures against a server of `pathproof k8s server --preflight`. An error means that no socket
// could be had; a server that never answers is a value.
Result<PreflightFigures> fly(const PreflightOptions& options);

}  // namespace pathproof::kubernetes
