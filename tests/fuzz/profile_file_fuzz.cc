// Any bytes as a NIC profile: either it is refused with a place in the file, or every claim in it
// has a source that is written down.
#include <set>
#include <string>

#include "harness/profile/profile.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::profile;
namespace fuzz = pathproof::fuzz;

namespace {

template <typename Claims>
void check_sources(const Profile& profile, const Claims& claims) {
    for (const auto& claim : claims) {
        fuzz::require(profile.sources.contains(claim.source), "a claim without its source");
    }
}

void check_offloads(const Profile& profile, const std::vector<OffloadExpectation>& offloads) {
    check_sources(profile, offloads);
    std::set<std::string> names;
    for (const OffloadExpectation& offload : offloads) {
        fuzz::require(names.insert(offload.name).second, "an offload that stands twice");
        fuzz::require(name(offload.expect) != nullptr, "an expectation without a word");
    }
}

void check(const Profile& profile) {
    const Match& match = profile.match;
    fuzz::require(!profile.id.empty() && profile.file == "profile.toml",
                  "a profile without a name");
    fuzz::require(!match.kernel_driver.empty() || !match.pmd.empty() || !match.pci.empty(),
                  "a profile of no device");
    fuzz::require(match.pci.empty() || profile.sources.contains(match.source),
                  "PCI ids without their source");
    check_offloads(profile, profile.offloads);
    check_offloads(profile, profile.dpdk_tx);
    check_offloads(profile, profile.dpdk_rx);
    check_sources(profile, profile.limits);
    check_sources(profile, profile.dpdk_limits);
    check_sources(profile, profile.tunnels);
    check_sources(profile, profile.quirks);
    const auto found = matching_profile({profile}, {.kernel_driver = "veth", .pci = "8086:1592"});
    fuzz::require(!found || found->id == profile.id, "a match that is another profile");
    lint({profile});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto profile = parse_profile(text, "profile.toml");
    if (profile) {
        check(*profile);
    } else {
        fuzz::require(profile.error().message.starts_with("profile.toml:"),
                      "an error without its place");
    }
    return 0;
}
