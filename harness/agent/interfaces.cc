#include "harness/agent/interfaces.h"

#include <net/if.h>

#include <nlohmann/json.hpp>

#include "dataplane/base/owned.h"
#include "dataplane/base/suggestion.h"
#include "harness/agent/operations.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::agent {
namespace {

std::vector<std::string> interface_names() {
    std::vector<std::string> names;
    const Owned<struct if_nameindex, if_freenameindex> list(if_nameindex());
    for (const auto* entry = list.get(); entry != nullptr && entry->if_index != 0; ++entry) {
        names.emplace_back(entry->if_name);
    }
    return names;
}

}  // namespace

Status require_interface(const std::string& name) {
    if (name.size() < IFNAMSIZ && if_nametoindex(name.c_str()) != 0) {
        return {};
    }
    return fail(ErrorCode::kNotFound,
                "network device '{}' does not exist here; 'ip link' lists the devices{}", name,
                did_you_mean(name, interface_names()));
}

Result<std::string> read_xdp_program(const std::string& name) {
    const std::string text =
        TRY(process::run_checked({"ip", "-details", "-json", "link", "show", "dev", name}));
    using nlohmann::json;
    const json links = process::parse_foreign(text);
    const json xdp = links.is_array() && !links.empty() ? links[0].value("xdp", json()) : json();
    const json prog = xdp.is_object() ? xdp.value("prog", json()) : json();
    return prog.is_object() ? fmt::format("prog {} ({})", prog.value("id", 0),
                                          prog.value("name", "without a name"))
                            : "";
}

Result<std::string> Client::xdp_program(const std::string& device) {
    return impl_->ask<std::string>("xdp_program", device);
}

void add_xdp_program(Operations& operations) {
    operations.add("xdp_program", read_xdp_program);
}

}  // namespace pathproof::agent
