#include "harness/agent/operations.h"
#include "harness/fingerprint/host.h"
#include "harness/fingerprint/item.h"
#include "harness/fingerprint/kernel_log.h"
#include "harness/fingerprint/nic.h"
#include "harness/verdict/result.h"

namespace pathproof::verdict {

// Not beside the types: a report has other fields of theirs.
ENUM_VALUES(Fact::Status, 3)
FIELDS(Fact, name, value, status, source)
FIELDS(FactGroup, title, facts)
FIELDS(Reading, name, unit, begin, end, source)
FIELDS(FirmwareComponent, name, running, stored)
FIELDS(Item, device, title, identity, firmware, driver, module, readings)
ENUM_VALUES(KernelMessage::Kind, 8)
FIELDS(KernelMessage, seconds, kind, text, trace, subject, against)
FIELDS(HostWatch, host, log, lines, lost, messages, taint_before, taint_after, temperatures)

}  // namespace pathproof::verdict

namespace pathproof::agent {

Result<std::vector<verdict::Fact>> Client::nic_facts(const std::string& device) {
    return impl_->ask<std::vector<verdict::Fact>>("nic_facts", device);
}

Result<std::vector<verdict::FactGroup>> Client::host_facts() {
    return impl_->ask<std::vector<verdict::FactGroup>>("host_facts");
}

Result<std::vector<verdict::Fact>> Client::serials(const std::vector<std::string>& devices) {
    return impl_->ask<std::vector<verdict::Fact>>("serials", devices);
}

Result<verdict::Item> Client::item(const std::string& device, fingerprint::Serials serials) {
    return impl_->ask<verdict::Item>("item", device, serials);
}

Result<std::vector<verdict::Reading>> Client::item_readings(const std::string& device) {
    return impl_->ask<std::vector<verdict::Reading>>("item_readings", device);
}

Result<fingerprint::HostMoment> Client::moment() {
    return impl_->ask<fingerprint::HostMoment>("moment");
}

Result<verdict::HostWatch> Client::watch_since(const fingerprint::HostMoment& moment) {
    return impl_->ask_for<verdict::HostWatch>(kBulkTime, "watch_since", moment);
}

void add_facts(Operations& operations) {
    operations.add("nic_facts",
                   [](const std::string& device) { return fingerprint::read_nic(device); });
    operations.add("item", [](const std::string& device, fingerprint::Serials serials) {
        return fingerprint::read_item(device, serials);
    });
    operations.add("item_readings", [](const std::string& device) {
        return fingerprint::read_item_readings(device);
    });
    operations.add("moment", [] { return fingerprint::read_moment(); });
    operations.add("watch_since", [](const fingerprint::HostMoment& moment) {
        return fingerprint::watch_since(moment);
    });
    operations.add("host_facts", [] { return fingerprint::read_host(); });
    operations.add("serials", [](const std::vector<std::string>& devices) {
        return fingerprint::read_serials(devices);
    });
}

}  // namespace pathproof::agent
