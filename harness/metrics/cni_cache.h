// Maps addresses to pods, from the cache of CNI results that libcni keeps on a node.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/monitor/pods.h"

namespace pathproof::metrics {

struct CachedPod {
    monitor::Pod pod;  // without a name: it is no pod of Kubernetes
    std::vector<frame::IpAddress> addresses;
    std::string container = "", netns = "";  // its id, and the path of its network namespace
};

// Parses one file: an object of libcni's kind cniCacheV1, whose "cniArgs" hold K8S_POD_NAMESPACE
// and K8S_POD_NAME, and whose "result" is that of a plug-in of any version (up to 0.2.0: "ip4",
// "ip6"; since then: "ips"). Errors, each with the key: it is no such object.
Result<CachedPod> parse_cni_cache(std::string_view text);

struct CniCache {
    monitor::PodAddresses addresses;  // of two files for one address the newer one counts
    std::size_t unreadable = 0;       // files, and those beyond the bound on their number
    std::string trouble;              // with the last one of them
    std::vector<CachedPod> cached;    // of each file that could be read, the oldest first
};
// All files of a folder such as /var/lib/cni/results, but for folders and host-local's files in it.
// kNotFound and kNotPermitted name the folder, kBadInput one that has these and no result: it is another
// one, or the one above.
Result<CniCache> read_cni_cache(const std::string& folder);

}  // namespace pathproof::metrics
