#include "harness/lab/privilege.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace pathproof::lab {
namespace {

bool may(const std::array<__user_cap_data_struct, 2>& held, unsigned capability) {
    return (held[capability / 32].effective >> (capability % 32) & 1U) != 0;
}

constexpr const char* kWorksWithout =
    "without root these work: 'profile', 'offload show', 'offload check --software-nic', "
    "'generate', 'respond' and 'wire' on net_null and net_ring, 'lab list', 'lab check'";

}  // namespace

Status needs_root(const std::string& what) {
    if (geteuid() != 0) {
        return fail(ErrorCode::kNotPermitted,
                    "{} needs root (it makes network namespaces and devices): run it with sudo; {}",
                    what, kWorksWithout);
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> held{};
    if (syscall(SYS_capget, &header, held.data()) != 0) {
        return {};  // root on a kernel that does not say: let the first change tell
    }
    if (!may(held, CAP_SYS_ADMIN) || !may(held, CAP_NET_ADMIN)) {
        return fail(ErrorCode::kNotPermitted,
                    "{} needs CAP_SYS_ADMIN and CAP_NET_ADMIN, which this root does not have (a "
                    "container?): run it on the host or in a privileged container; {}",
                    what, kWorksWithout);
    }
    return {};
}

}  // namespace pathproof::lab
