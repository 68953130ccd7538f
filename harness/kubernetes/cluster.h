// The preflight of two nodes of a cluster, by kubectl: Jobs are laid, waited for, read and taken away.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/kubernetes/manifest.h"

namespace pathproof::kubernetes {

struct ClusterOptions {
    std::string client_node, server_node;
    std::string image,
        name_space = "pathproof";  // an image that is not given: as the manifest has it
    std::vector<std::string> kubectl{
        "kubectl"};                 // with its own options: {"kubectl", "--context", "x"}
    std::chrono::seconds wait{90};  // for images, pods and Jobs
    bool keep = false;              // leave the objects there
};

// The result that one client Job printed.
struct FromOneSide {
    std::string from;  // "pod", "node"
    int exit_code = 3;
    std::string line;
};

struct ClusterResult {
    std::vector<FromOneSide> sides;
    // 1 where any is, else 3 where any is, else 0.
    int exit_code() const;
    // "node-a > node-b: from a pod right: ...; from the node WRONG: ..."
    std::string line;
};

// Errors: kubectl is not there or refuses, with what it said. The Jobs are taken away in any case, but with
// `keep`.
Result<ClusterResult> preflight(const ClusterOptions& options);

}  // namespace pathproof::kubernetes
