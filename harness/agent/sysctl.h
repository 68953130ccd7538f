// Network sysctls and receive packet steering of the calling thread's namespace.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::agent {

// `name` is the path below /proc/sys with dots, and begins with "net.". Device names may hold dots
// themselves
// ("net.ipv4.conf.vxlan.calico.rp_filter"): the name is matched against what exists.
Result<std::string> read_sysctl(const std::string& name);

// Sets rps_cpus of the device's first receive queue and gives what stood there; `cpu_mask` is
// hexadecimal, "0" for off.
// `class_net` is the sysfs folder of this namespace's devices.
Result<std::string> set_rps(const std::string& device, const std::string& cpu_mask,
                            const std::string& class_net = "/sys/class/net");
Result<std::string> read_rps(const std::string& device,
                             const std::string& class_net = "/sys/class/net");

}  // namespace pathproof::agent
