#include "harness/guest/relay.h"

namespace pathproof::guest {
namespace {

constexpr std::size_t kHeaderBytes = 5;
constexpr std::uint32_t kLongestPart = 1 << 20;

}  // namespace

std::string relay_frame(Relayed kind, std::string_view bytes) {
    std::string frame(1, static_cast<char>(kind));
    for (unsigned shift = 0; shift < 32; shift += 8) {
        frame += static_cast<char>(bytes.size() >> shift & 0xff);
    }
    return frame.append(bytes);
}

Status RelayReader::feed(std::string_view bytes, const Take& take) {
    waiting_.append(bytes);
    std::size_t at = 0;
    while (waiting_.size() - at >= kHeaderBytes) {
        const char kind = waiting_[at];
        std::uint32_t length = 0;
        for (unsigned n = 0; n < 4; ++n) {
            length |= std::uint32_t{static_cast<unsigned char>(waiting_[at + 1 + n])} << (8 * n);
        }
        if ((kind != 'o' && kind != 'e' && kind != 'x') || length > kLongestPart) {
            return fail(ErrorCode::kFailed, "the guest said what is no frame");
        }
        if (waiting_.size() - at - kHeaderBytes < length) {
            break;
        }
        take(static_cast<Relayed>(kind),
             std::string_view(waiting_).substr(at + kHeaderBytes, length));
        at += kHeaderBytes + length;
    }
    waiting_.erase(0, at);
    return {};
}

}  // namespace pathproof::guest
