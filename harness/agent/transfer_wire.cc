#include "harness/agent/transfer_wire.h"

#include <algorithm>
#include <string_view>

namespace pathproof::agent {
namespace {

constexpr std::string_view kMagic = "ppxfer1\n";

void put_u64(std::uint8_t* out, std::uint64_t value) {
    for (int i = 0; i < 8; ++i) {
        out[i] = static_cast<std::uint8_t>(value >> (56 - 8 * i));
    }
}

std::uint64_t get_u64(const std::uint8_t* in) {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
        value = value << 8 | in[i];
    }
    return value;
}

}  // namespace

std::array<std::uint8_t, kTransferHeadBytes> write_transfer_head(std::uint64_t bytes) {
    std::array<std::uint8_t, kTransferHeadBytes> head{};
    std::copy(kMagic.begin(), kMagic.end(), head.begin());
    put_u64(head.data() + kMagic.size(), bytes);
    return head;
}

std::optional<std::uint64_t> read_transfer_head(
    std::span<const std::uint8_t, kTransferHeadBytes> head) {
    if (!std::equal(kMagic.begin(), kMagic.end(), head.begin())) {
        return std::nullopt;
    }
    return get_u64(head.data() + kMagic.size());
}

std::array<std::uint8_t, kTransferVerdictBytes> write_transfer_verdict(
    const TransferVerdict& verdict) {
    std::array<std::uint8_t, kTransferVerdictBytes> bytes{};
    put_u64(bytes.data(), verdict.bytes);
    put_u64(bytes.data() + 8, verdict.digest);
    return bytes;
}

TransferVerdict read_transfer_verdict(std::span<const std::uint8_t, kTransferVerdictBytes> bytes) {
    return {.bytes = get_u64(bytes.data()), .digest = get_u64(bytes.data() + 8)};
}

}  // namespace pathproof::agent
