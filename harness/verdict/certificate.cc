#include "harness/verdict/certificate.h"

#include <algorithm>
#include <string_view>

namespace pathproof::verdict {

void end_readings(std::vector<Reading>& begin, const std::vector<Reading>& now) {
    for (Reading& reading : begin) {
        const auto same = std::ranges::find(now, reading.name, &Reading::name);
        reading.end = same == now.end() ? std::nullopt : same->begin;
    }
}

const char* name(KernelMessage::Kind kind) {
    switch (kind) {
        case KernelMessage::Kind::kWarning: return "warning";
        case KernelMessage::Kind::kOops: return "oops";
        case KernelMessage::Kind::kLockup: return "lockup";
        case KernelMessage::Kind::kTxTimeout: return "tx-timeout";
        case KernelMessage::Kind::kLinkDown: return "link-down";
        case KernelMessage::Kind::kLinkUp: return "link-up";
        case KernelMessage::Kind::kPcieError: return "pcie-error";
        case KernelMessage::Kind::kMemory: return "memory";
    }
    return "warning";
}

std::string taint_letters(std::uint64_t taint) {
    // taint_flags[] of kernel/panic.c. Bit 0 unset is 'G', which says nothing.
    constexpr std::string_view kLetters = "PFSRMBUDAWCIOELKXTNJ";
    std::string letters;
    for (std::size_t bit = 0; bit < kLetters.size(); ++bit) {
        if ((taint >> bit & 1) != 0) {
            letters += kLetters[bit];
        }
    }
    return letters;
}

}  // namespace pathproof::verdict
