#include "harness/fingerprint/devlink.h"

#include <linux/devlink.h>

#include <algorithm>

#include "harness/fingerprint/genetlink.h"

namespace pathproof::fingerprint {
namespace {

using verdict::FirmwareComponent;

// The versions of one kind; each is a nest of a name and a value.
std::vector<std::pair<std::string, std::string>> versions(const nlmsghdr& message,
                                                          std::uint16_t kind) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const nlattr* each : listed(message, kind)) {
        const Attributes of = nested(each);
        const nlattr* name = attribute_of(of, DEVLINK_ATTR_INFO_VERSION_NAME);
        const nlattr* value = attribute_of(of, DEVLINK_ATTR_INFO_VERSION_VALUE);
        if (name != nullptr && value != nullptr) {
            all.emplace_back(words(name), words(value));
        }
    }
    return all;
}

FirmwareComponent& component(std::vector<FirmwareComponent>& all, const std::string& name) {
    const auto found = std::ranges::find(all, name, &FirmwareComponent::name);
    return found != all.end() ? *found : all.emplace_back(FirmwareComponent{name, "", ""});
}

}  // namespace

DevlinkInfo read_devlink(const std::string& bus, const std::string& device) {
    DevlinkInfo info;
    GenericFamily devlink(DEVLINK_GENL_NAME, DEVLINK_GENL_VERSION);
    info.error = devlink.ask(
        DEVLINK_CMD_INFO_GET,
        [&](nlmsghdr* request) {
            mnl_attr_put_strz(request, DEVLINK_ATTR_BUS_NAME, bus.c_str());
            mnl_attr_put_strz(request, DEVLINK_ATTR_DEV_NAME, device.c_str());
        },
        [&](const Attributes& from, const nlmsghdr& message) {
            info.serial_number = words(attribute_of(from, DEVLINK_ATTR_INFO_SERIAL_NUMBER));
            info.fixed = versions(message, DEVLINK_ATTR_INFO_VERSION_FIXED);
            for (const auto& [name, value] : versions(message, DEVLINK_ATTR_INFO_VERSION_RUNNING)) {
                component(info.firmware, name).running = value;
            }
            for (const auto& [name, value] : versions(message, DEVLINK_ATTR_INFO_VERSION_STORED)) {
                component(info.firmware, name).stored = value;
            }
        });
    return info;
}

}  // namespace pathproof::fingerprint
