#include "harness/cni/answer.h"

#include <nlohmann/json.hpp>

#include "dataplane/base/number.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::cni {
namespace {

using nlohmann::json;

Result<PodAddress> read_address(const json& ip) {
    if (!ip.is_object()) {
        return fail(ErrorCode::kBadInput, "an entry of 'ips' is no object");
    }
    PodAddress address = TRY(parse_pod_address(process::text_in(ip, "address")));
    if (const std::string gateway = process::text_in(ip, "gateway"); !gateway.empty()) {
        address.gateway = TRY(frame::parse_ip(gateway));
    }
    return address;
}

}  // namespace

std::string to_string(const ErrorObject& error) {
    return fmt::format("code {}, \"{}\"{}", error.code, error.message,
                       error.details.empty() ? "" : " (" + error.details + ")");
}

Result<PodAddress> parse_pod_address(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto address = TRY(frame::parse_ip(text.substr(0, slash)));
    const auto length =
        slash == text.npos ? std::nullopt : whole_number<unsigned>(text.substr(slash + 1));
    if (!length || *length > address.size() * 8) {
        return fail(ErrorCode::kBadInput, "'{}' is no address with the length of its network",
                    text);
    }
    return PodAddress{.address = address, .prefix = *length, .gateway = {}};
}

Result<Added> parse_added(std::string_view text) {
    const json result = process::parse_foreign(text);
    if (!result.is_object()) {
        return fail(ErrorCode::kBadInput, "what it printed is no JSON object: {}",
                    process::last_words(text));
    }
    Added added{.version = process::text_in(result, "cniVersion"),
                .json = process::to_text(result)};
    if (added.version.empty()) {
        return fail(ErrorCode::kBadInput, "its result has no cniVersion: {}",
                    process::last_words(text));
    }
    for (const auto& [key, list] : result.items()) {
        if ((key == "ips" || key == "interfaces") && !list.is_array() && !list.is_null()) {
            return fail(ErrorCode::kBadInput, "'{}' of its result is no list", key);
        }
    }
    for (const json& ip : result.value("ips", json::array())) {
        added.addresses.push_back(TRY(read_address(ip)));
    }
    for (const json& one : result.value("interfaces", json::array())) {
        if (!one.is_object()) {
            return fail(ErrorCode::kBadInput, "an entry of 'interfaces' is no object");
        }
        added.interfaces.push_back({process::text_in(one, "name"), process::text_in(one, "mac"),
                                    process::text_in(one, "sandbox")});
    }
    return added;
}

std::optional<ErrorObject> parse_error(std::string_view text) {
    const json object = process::parse_foreign(text);
    if (!object.is_object() || !object.contains("code") || !object["code"].is_number_integer()) {
        return std::nullopt;
    }
    return ErrorObject{object["code"].get<int>(), process::text_in(object, "msg"),
                       process::text_in(object, "details")};
}

Result<std::vector<std::string>> parse_versions(std::string_view text) {
    const json object = process::parse_foreign(text);
    if (!object.is_object() || !object.contains("supportedVersions") ||
        !object["supportedVersions"].is_array()) {
        return fail(ErrorCode::kBadInput, "it names no supportedVersions: {}",
                    process::last_words(text));
    }
    std::vector<std::string> versions;
    for (const json& version : object["supportedVersions"]) {
        if (version.is_string()) {
            versions.push_back(version.get<std::string>());
        }
    }
    return versions;
}

}  // namespace pathproof::cni
