// Any bytes as what a CNI plug-in prints, and as a conflist: read into values that hang together, or
// refused.
#include <string_view>

#include "harness/cni/conflist.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::cni;
namespace fuzz = pathproof::fuzz;

namespace {

void check(const Added& added) {
    fuzz::require(!added.version.empty(), "a result without its version");
    for (const PodAddress& ip : added.addresses) {
        const unsigned most = ip.address.family == pathproof::frame::Family::kIpv4 ? 32 : 128;
        fuzz::require(ip.prefix <= most, "a network longer than its address");
        const auto again = parse_pod_address(
            fmt::format("{}/{}", pathproof::frame::to_string(ip.address), ip.prefix));
        fuzz::require(again && again->address == ip.address,
                      "an address does not survive its text");
    }
    // The next plug-in is given it.
    fuzz::require(parse_added(added.json).has_value(), "a result does not survive its text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    if (const auto added = parse_added(text); added) {
        check(*added);
    }
    static_cast<void>(parse_error(text));
    static_cast<void>(parse_versions(text));
    const auto conflist = parse_conflist(text, "a.conflist", 1, "/data");
    if (conflist) {
        fuzz::require(!conflist->plugins.empty() && !conflist->name.empty(),
                      "a list without its plug-ins");
        for (const Plugin& plugin : conflist->plugins) {
            fuzz::require(plugin.type.find('/') == std::string::npos, "a plug-in elsewhere");
        }
    } else {
        fuzz::require(conflist.error().message.starts_with("a.conflist: "),
                      "an error without its file");
    }
    return 0;
}
