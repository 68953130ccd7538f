// Any bytes as a lab file: either it is refused with a place in the file, or what it says hangs
// together.
#include <algorithm>
#include <string_view>

#include "harness/lab/lab_file.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::lab;
namespace fuzz = pathproof::fuzz;

namespace {

void check(const LabFile& lab) {
    fuzz::require(!lab.name.empty() && !lab.ports.empty() && !lab.dut.devices.empty(),
                  "a lab without its parts");
    fuzz::require(!lab.dut.where.empty() && lab.dut.where[0] != '-', "a DUT that is an option");
    for (const DutDevice& device : lab.dut.devices) {
        fuzz::require(std::any_of(lab.ports.begin(), lab.ports.end(),
                                  [&](const TesterPort& port) { return port.name == device.port; }),
                      "a device on a port that is not there");
        for (const Prefix& prefix : device.addresses) {
            const auto again = parse_prefix(to_string(prefix));
            fuzz::require(again && *again == prefix, "an address does not survive its text");
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto lab = parse_lab_file({reinterpret_cast<const char*>(data), size}, "lab.toml");
    if (lab) {
        check(*lab);
    } else {
        fuzz::require(lab.error().message.starts_with("lab.toml:"), "an error without its place");
    }
    return 0;
}
