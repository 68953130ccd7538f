// net.config, as tools/testing/selftests/drivers/net/README.rst of the kernel describes it.

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/lab/lab_file.h"
#include "harness/lab/undo.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using nlohmann::json;
using Variables = std::map<std::string, std::string>;

constexpr std::array kVariables{"NETIF",     "LOCAL_V4",    "LOCAL_V6",   "REMOTE_V4",
                                "REMOTE_V6", "REMOTE_TYPE", "REMOTE_ARGS"};

std::string without_blanks(const std::string& text) {
    return boost::trim_copy_if(text, boost::is_any_of(" \t\r"));
}

Status read_line(std::string line, const std::string& place, Variables& variables) {
    line = without_blanks(line.substr(0, line.find('#')));
    if (line.empty()) {
        return {};
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0) {
        return fail(ErrorCode::kBadInput, "{}: '{}' is no NAME=VALUE", place, line);
    }
    std::string value = without_blanks(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
    }
    variables[without_blanks(line.substr(0, equals))] = value;
    return {};
}

Variables variables_of_environment() {
    Variables variables;
    for (const char* name : kVariables) {
        if (const char* value = std::getenv(name); value != nullptr) {
            variables[name] = value;
        }
    }
    return variables;
}

Result<std::vector<Prefix>> addresses_of(const Variables& variables, const std::string& file,
                                         std::initializer_list<const char*> names) {
    std::vector<Prefix> found;
    for (const char* name : names) {
        const auto value = variables.find(name);
        if (value == variables.end() || value->second.empty()) {
            continue;
        }
        const auto address = frame::parse_ip(value->second);
        if (!address) {
            return fail(ErrorCode::kBadInput, "{}: {}: '{}' is no IP address", file, name,
                        value->second);
        }
        found.push_back({*address, static_cast<unsigned>(address->size() * 8)});
    }
    if (found.empty()) {
        return fail(ErrorCode::kBadInput, "{}: {} must be given, or {}", file, *names.begin(),
                    *(names.begin() + 1));
    }
    return found;
}

// The device that has one of the addresses.
Result<std::string> device_with(const std::vector<Prefix>& addresses, const std::string& netns) {
    for (const Prefix& prefix : addresses) {
        const auto text = TRY(process::run_checked(
            {"ip", "-json", "address", "show", "to", to_string(prefix.address)}, {.netns = netns}));
        const json devices = process::parse_foreign(text);
        for (const json& device : devices.is_array() ? devices : json::array()) {
            if (const std::string name = device.value("ifname", ""); !name.empty()) {
                return name;
            }
        }
    }
    return fail(ErrorCode::kNotFound, "no device in network namespace {} has {}", netns,
                to_string(addresses.front().address));
}

}  // namespace

Result<NetConfig> parse_net_config(std::string_view text, const std::string& file,
                                   Variables environment) {
    Variables variables = std::move(environment);
    std::size_t number = 0;
    for (const std::string& line : process::lines_of(text)) {
        TRY(read_line(line, fmt::format("{}:{}", file, ++number), variables));
    }
    NetConfig config{.device = variables["NETIF"], .remote_netns = variables["REMOTE_ARGS"]};
    const std::string type = variables["REMOTE_TYPE"];
    if (config.device.empty()) {
        return fail(ErrorCode::kBadInput,
                    "{}: NETIF must name the device under test; without one, --lab veth tests the "
                    "kernel's own",
                    file);
    }
    if (type == "ssh") {
        return fail(
            ErrorCode::kNotSupported,
            "{}: REMOTE_TYPE=ssh: the tester's ports are on this machine (REMOTE_TYPE=netns)",
            file);
    }
    if (type != "netns") {
        return fail(ErrorCode::kBadInput, "{}: REMOTE_TYPE is '{}', and must be netns", file, type);
    }
    auto local = addresses_of(variables, file, {"LOCAL_V4", "LOCAL_V6"});
    auto remote = TRY(local ? addresses_of(variables, file, {"REMOTE_V4", "REMOTE_V6"}) : local);
    config.local = std::move(*local);
    config.remote = std::move(remote);
    return config;
}

Result<LabFile> load_net_config(const std::string& path) {
    Variables environment = variables_of_environment();
    const auto text = read_file(path);
    if (!text && text.error().code != ErrorCode::kNotFound) {
        return fail(ErrorCode::kBadInput, "{}", text.error().message);
    }
    if (!text && environment["NETIF"].empty()) {
        return fail(ErrorCode::kNotFound,
                    "{}: there is no such file, and no NETIF in the environment", path);
    }
    auto config = TRY(parse_net_config(text.value_or(""), path, std::move(environment)));
    if (!process::netns_exists(config.remote_netns)) {
        return fail(ErrorCode::kNotFound,
                    "{}: REMOTE_ARGS: network namespace '{}' does not exist; 'ip netns' lists them",
                    path, config.remote_netns);
    }
    auto port = TRY(
        doing(device_with(config.remote, config.remote_netns), "{}: REMOTE_V4, REMOTE_V6", path));
    LabFile lab{.name = "net.config", .tester_netns = config.remote_netns};
    lab.ports.push_back({.name = "remote",
                         .kind = TesterPort::Kind::kKernel,
                         .device = std::move(port),
                         .addresses = std::move(config.remote)});
    lab.dut = {.kind = Dut::Kind::kNetns, .where = "", .in_place = true};
    lab.dut.devices.push_back(
        {.name = std::move(config.device), .port = "remote", .addresses = std::move(config.local)});
    return lab;
}

}  // namespace pathproof::lab
