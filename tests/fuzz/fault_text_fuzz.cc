// Any text as a fault: it is read or refused with a sentence, and what was read is printed as a
// text that is read as the same fault.
#include <string_view>

#include "dataplane/softnic/faults.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto fault = softnic::parse_fault(text);
    if (!fault) {
        fuzz::require(!fault.error().message.empty(), "a fault refused without a sentence");
        return 0;
    }
    const std::string printed = softnic::to_string(*fault);
    const auto again = softnic::parse_fault(printed);
    fuzz::require(again.has_value(), "a printed fault that is not read");
    fuzz::require(*again == *fault, "a printed fault that is another");
    return 0;
}
