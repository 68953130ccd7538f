// The manifests of deploy/kubernetes, for given nodes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::kubernetes {

struct ManifestOptions {
    // Values by the options that set them: {"--image", "registry/pathproof:1"}. An option that is not
    // given leaves what the file has.
    std::vector<std::pair<std::string, std::string>> values;
    bool allow_drops = false;
};

// A file of deploy/kubernetes, as it was when this was built.
struct ManifestFile {
    const char* name;  // without ".yaml"
    const char* text;
    bool only_by_name = false;  // not among those that are printed together
};
const std::vector<ManifestFile>& manifest_files();

// A line that ends in "# --image" has what stands there between its first two quotation marks
// replaced by the value of --image. With allow_drops a comment that ends in "# --allow drops" becomes
// a line, and a line that ends in "# without --allow drops" is left out.
std::string fill_in(const std::string& text, const ManifestOptions& options);

// kBadInput: a value that Kubernetes takes for no name of a node or a namespace (RFC 1123), or for no
// image. They say the option.
Status check(const ManifestOptions& options);

}  // namespace pathproof::kubernetes
