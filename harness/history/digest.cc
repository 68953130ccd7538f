#include "harness/history/digest.h"

#include "harness/process/sha256.h"

namespace pathproof::history {

std::string uuid_of(std::string_view text) {
    std::string hex = process::sha256_of(text).substr(0, 32);
    hex[12] = '8';
    hex[16] = "89ab"[static_cast<unsigned>(hex[16]) % 4];
    for (const std::size_t at : {20u, 16u, 12u, 8u}) {
        hex.insert(at, 1, '-');
    }
    return hex;
}

}  // namespace pathproof::history
