// The kernel that a guest boots, and its modules.
#pragma once

#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::guest {

struct Kernel {
    std::string image;    // bzImage
    std::string modules;  // the folder that has modules.dep
    std::string release;  // "6.1.0-56-amd64", as its image says
    std::string origin;   // "this host's", "Debian's linux-image-6.1.0-56-amd64", "as given"
};

// The release that a bzImage says of itself (Documentation/arch/x86/boot.rst, kernel_version).
// kBadInput: it is none.
Result<std::string> release_of_image(std::string_view image, const std::string& path);

// `image` and `modules` (its folder, or one that has lib/modules/RELEASE) are given together, or `image`
// names a package of Debian's, which is had as the default one is. Neither:
// this host's own where image and modules can be read, else Debian's package linux-image-amd64, which
// is downloaded by apt-get into a cache and unpacked there, never installed. kNotFound: there is no
// kernel to be had, and what to do.
Result<Kernel> find_kernel(const std::string& image, const std::string& modules);

// One field of what `apt-cache show` prints, of its first package; empty: there is none.
std::string control_field(std::string_view text, std::string_view name);
// "linux-image-6.1.0-56-amd64", the first kernel of "linux-image-6.1.0-56-amd64 (= 6.1.192-2), ...".
std::string kernel_package_of(std::string_view depends);

}  // namespace pathproof::guest
