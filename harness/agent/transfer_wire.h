// The bytes that the two ends of a transfer exchange besides the data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace pathproof::agent {

inline constexpr std::size_t kTransferHeadBytes = 16;
inline constexpr std::size_t kTransferVerdictBytes = 16;

struct TransferVerdict {
    std::uint64_t bytes = 0;
    std::uint64_t digest = 0;
    bool operator==(const TransferVerdict&) const = default;
};

std::array<std::uint8_t, kTransferHeadBytes> write_transfer_head(std::uint64_t bytes);
// The announced number of bytes, or nothing when this is no head of ours.
std::optional<std::uint64_t> read_transfer_head(
    std::span<const std::uint8_t, kTransferHeadBytes> head);
std::array<std::uint8_t, kTransferVerdictBytes> write_transfer_verdict(
    const TransferVerdict& verdict);
TransferVerdict read_transfer_verdict(std::span<const std::uint8_t, kTransferVerdictBytes> bytes);

}  // namespace pathproof::agent
