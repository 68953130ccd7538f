// Any bytes as a PCI device's vital product data and configuration space: what is read is text.
#include <algorithm>

#include "harness/fingerprint/serials.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz = pathproof::fuzz;
using namespace pathproof::fingerprint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const std::string& text : {vpd_serial({data, size}), device_serial_number({data, size})}) {
        fuzz::require(std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; }),
                      "a serial number that cannot be printed");
    }
    return 0;
}
