// Any bytes as a net.config: either they are refused with a place, or what they say hangs together.
#include <string_view>

#include "harness/lab/lab_file.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::lab;
namespace fuzz = pathproof::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto config =
        parse_net_config({reinterpret_cast<const char*>(data), size}, "net.config", {});
    if (config) {
        fuzz::require(!config->device.empty() && !config->local.empty() && !config->remote.empty(),
                      "a lab without its parts");
    } else {
        fuzz::require(config.error().message.starts_with("net.config:"),
                      "an error without its place");
    }
    return 0;
}
