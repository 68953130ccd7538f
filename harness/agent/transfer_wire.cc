#include "harness/agent/transfer_wire.h"

#include <algorithm>
#include <boost/endian/conversion.hpp>
#include <string_view>

namespace pathproof::agent {
namespace {

using boost::endian::load_big_u64;
using boost::endian::store_big_u64;

constexpr std::string_view kMagic = "ppxfer1\n";

}  // namespace

std::array<std::uint8_t, kTransferHeadBytes> write_transfer_head(std::uint64_t bytes) {
    std::array<std::uint8_t, kTransferHeadBytes> head{};
    std::copy(kMagic.begin(), kMagic.end(), head.begin());
    store_big_u64(head.data() + kMagic.size(), bytes);
    return head;
}

std::optional<std::uint64_t> read_transfer_head(
    std::span<const std::uint8_t, kTransferHeadBytes> head) {
    if (!std::equal(kMagic.begin(), kMagic.end(), head.begin())) {
        return std::nullopt;
    }
    return load_big_u64(head.data() + kMagic.size());
}

std::array<std::uint8_t, kTransferVerdictBytes> write_transfer_verdict(
    const TransferVerdict& verdict) {
    std::array<std::uint8_t, kTransferVerdictBytes> bytes{};
    store_big_u64(bytes.data(), verdict.bytes);
    store_big_u64(bytes.data() + 8, verdict.digest);
    return bytes;
}

TransferVerdict read_transfer_verdict(std::span<const std::uint8_t, kTransferVerdictBytes> bytes) {
    return {.bytes = load_big_u64(bytes.data()), .digest = load_big_u64(bytes.data() + 8)};
}

}  // namespace pathproof::agent
