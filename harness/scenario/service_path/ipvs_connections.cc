#include "harness/scenario/service_path/ipvs_connections.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "harness/process/foreign.h"

namespace pathproof::scenario {

Result<std::vector<std::string>> ipvs_connections(agent::Client& dut) {
    const auto text = TRY(dut.output_of({"ipvsadm", "-L", "-c", "-n"}));
    std::vector<std::string> connections;
    for (const std::string& line : process::lines_of(text)) {
        std::istringstream words(line);
        const std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
        if (all.size() == 6) {
            connections.push_back(fmt::format("{}", fmt::join(all, " ")));
        }
    }
    return connections;
}

Result<std::string> ipvs_connection(agent::Client& dut, const lab::NatPathNames& names,
                                    std::uint16_t source_port) {
    const std::string ends =
        fmt::format(" {} {} ", to_string(frame::Endpoint{names.client_address, source_port}),
                    to_string(names.service));
    const auto connections = TRY(ipvs_connections(dut));
    const auto found = std::ranges::find_if(connections, [&](const std::string& line) {
        return line.starts_with("UDP ") && line.find(ends) != std::string::npos;
    });
    return found == connections.end() ? std::string() : *found;
}

}  // namespace pathproof::scenario
