#include "harness/guest/nics.h"

#include <algorithm>
#include <sstream>

#include "dataplane/base/join_each.h"

namespace pathproof::guest {

const std::vector<Nic>& all_nics() {
    static const std::vector<Nic> kNics = {
        {"e1000", "e1000", "e1000"},
        {"e1000e", "e1000e", "e1000e"},
        {"vmxnet3", "vmxnet3", "vmxnet3"},
        {"rtl8139", "rtl8139", "8139cp"},
        {"virtio-net", "virtio-net-pci", "virtio_net"},
        {"virtio-net-vnet", "virtio-net-pci", "virtio_net", true},
    };
    return kNics;
}

Result<std::vector<Nic>> parse_nics(const std::string& list) {
    if (list == "all") {
        return all_nics();
    }
    std::vector<Nic> chosen;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
        const auto found = std::ranges::find(all_nics(), word, &Nic::name);
        if (found == all_nics().end()) {
            return fail(ErrorCode::kBadInput, "unknown --nic '{}'; there are: all, {}", word,
                        join_each(all_nics(), &Nic::name));
        }
        chosen.push_back(*found);
    }
    return chosen.empty() ? Result<std::vector<Nic>>(fail(ErrorCode::kBadInput, "--nic is empty"))
                          : chosen;
}

}  // namespace pathproof::guest
