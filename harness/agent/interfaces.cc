#include "harness/agent/interfaces.h"

#include <net/if.h>

#include "harness/agent/feature_names.h"

namespace pathproof::agent {

std::vector<std::string> interface_names() {
    std::vector<std::string> names;
    struct if_nameindex* list = if_nameindex();
    for (const struct if_nameindex* entry = list; entry != nullptr && entry->if_index != 0;
         ++entry) {
        names.emplace_back(entry->if_name);
    }
    if (list != nullptr) {
        if_freenameindex(list);
    }
    return names;
}

Status require_interface(const std::string& name) {
    if (name.size() < IFNAMSIZ && if_nametoindex(name.c_str()) != 0) {
        return {};
    }
    return fail(ErrorCode::kNotFound,
                "network device '{}' does not exist here; 'ip link' lists the devices{}", name,
                did_you_mean(name, interface_names()));
}

}  // namespace pathproof::agent
