// Helpers that fuzz targets share. A target defines LLVMFuzzerTestOneInput and is linked either
// with libFuzzer or with replay.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace pathproof::fuzz {

// Ends the process as libFuzzer expects of a finding.
inline void require(bool holds, const char* otherwise) {
    if (!holds) {
        std::fprintf(stderr, "fuzz target: %s\n", otherwise);
        std::abort();
    }
}

}  // namespace pathproof::fuzz
