// The NICs that a guest can have as its device under test.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::guest {

struct Nic {
    std::string name;    // "virtio-net-vnet": of --nic
    std::string device;  // of QEMU: "virtio-net-pci"
    std::string module;  // its driver in the guest
    // The host's tap takes what the NIC left undone, with a header (virtio_net_hdr) that says what:
    // the path has a part of the host in it.
    bool vnet_header = false;
};

const std::vector<Nic>& all_nics();
// "all", or names separated by commas. kBadInput names those there are.
Result<std::vector<Nic>> parse_nics(const std::string& list);

}  // namespace pathproof::guest
