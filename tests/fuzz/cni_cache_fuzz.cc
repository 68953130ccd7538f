// Any bytes as a file of libcni's cache: what is taken for a pod's has names that Kubernetes could have
// given, and few addresses.
#include "harness/metrics/cni_cache.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz = pathproof::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto cached =
        pathproof::metrics::parse_cni_cache({reinterpret_cast<const char*>(data), size});
    if (!cached) {
        fuzz::require(!cached.error().message.empty(), "an error without a sentence");
        return 0;
    }
    fuzz::require(cached->addresses.size() <= 16, "more addresses than a pod may have");
    fuzz::require(cached->addresses.empty() || !cached->pod.name.empty(),
                  "addresses without a pod");
    fuzz::require(cached->pod.name.size() <= 253 && cached->pod.pod_namespace.size() <= 63,
                  "a name longer than Kubernetes' are");
    for (const char letter : cached->pod.name + cached->pod.pod_namespace) {
        fuzz::require(letter > ' ' && letter < '{', "a letter that no name has");
    }
    return 0;
}
