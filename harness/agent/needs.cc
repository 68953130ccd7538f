#include "harness/agent/needs.h"

#include "harness/agent/operations.h"
#include "harness/process/program.h"

namespace pathproof::agent {

std::string lacks(const Needs& needs) {
    constexpr int kNoSuchProgram = 127;
    if (needs.probe.empty()) {
        return "";
    }
    const auto ran = process::run_program(needs.probe);
    if (!ran || ran->exit_status == kNoSuchProgram) {
        return fmt::format("{} is missing: install the package {}", needs.probe.front(),
                           needs.package);
    }
    return ran->exit_status == 0 ? "" : "this kernel has no " + needs.kernel;
}

Result<std::string> Client::lacks(const Needs& needs) {
    return impl_->ask<std::string>("lacks", needs);
}

void add_needs(Operations& operations) {
    operations.add("lacks", agent::lacks);
}

}  // namespace pathproof::agent
