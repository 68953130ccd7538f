#include "harness/scenario/service_path/delete_entries.h"

#include <algorithm>

#include "harness/agent/ran_program.h"

namespace pathproof::scenario {

std::vector<std::string> delete_command(const frame::Endpoint& service) {
    return {"conntrack",
            "-D",
            "-p",
            "udp",
            "--orig-dst",
            to_string(service.address),
            "--orig-port-dst",
            std::to_string(service.port)};
}

Result<std::uint64_t> delete_entries(agent::Client& host, const std::vector<std::string>& command) {
    const auto ran = host.run_program(command);
    if (!ran) {
        return fail(ErrorCode::kNotSupported, "{}; it is in the package conntrack",
                    ran.error().message);
    }
    // An entry a line; its exit status is 1 where there was none.
    return static_cast<std::uint64_t>(std::ranges::count(ran->out, '\n'));
}

}  // namespace pathproof::scenario
