// Any bytes as a kernel image, depmod's lists, a package's description and a line of QEMU's.
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/guest/kernel.h"
#include "harness/guest/modules.h"
#include "harness/guest/qmp.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::guest;
namespace fuzz = pathproof::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto release = release_of_image(text, "image");
    fuzz::require(!release || (!release->empty() && release->find(' ') == release->npos),
                  "a kernel without a release");
    const ModuleIndex index = ModuleIndex::parse(text, text);
    const auto files = index.files_of("e1000e");
    fuzz::require(!files || files->empty() || module_name(files->back()) == "e1000e",
                  "another module than was asked for");
    static_cast<void>(kernel_package_of(control_field(text, "Depends")));
    static_cast<void>(qmp_answer(std::string(text)));
    return 0;
}
