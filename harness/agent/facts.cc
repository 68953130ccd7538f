#include "harness/agent/operations.h"
#include "harness/fingerprint/host.h"
#include "harness/fingerprint/nic.h"
#include "harness/verdict/result.h"

namespace pathproof::verdict {

// Not beside the types: a report has other fields of theirs.
ENUM_VALUES(Fact::Status, 3)
FIELDS(Fact, name, value, status, source)
FIELDS(FactGroup, title, facts)

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

void add_facts(Operations& operations) {
    operations.add("nic_facts",
                   [](const std::string& device) { return fingerprint::read_nic(device); });
    operations.add("host_facts", [] { return fingerprint::read_host(); });
    operations.add("serials", [](const std::vector<std::string>& devices) {
        return fingerprint::read_serials(devices);
    });
}

}  // namespace pathproof::agent
