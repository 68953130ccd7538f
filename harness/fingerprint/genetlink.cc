#include "harness/fingerprint/genetlink.h"

#include <linux/genetlink.h>

#include <cerrno>
#include <cstring>

namespace pathproof::fingerprint {
namespace {

int note_attribute(const nlattr* attribute, void* data) {
    static_cast<Attributes*>(data)->insert({mnl_attr_get_type(attribute), attribute});
    return MNL_CB_OK;
}

int list_attribute(const nlattr* attribute, void* data) {
    static_cast<std::vector<const nlattr*>*>(data)->push_back(attribute);
    return MNL_CB_OK;
}

}  // namespace

const nlattr* attribute_of(const Attributes& from, std::uint16_t type) {
    const auto found = from.find(type);
    return found == from.end() ? nullptr : found->second;
}

Attributes nested(const nlattr* attribute) {
    Attributes all;
    if (attribute != nullptr) {
        mnl_attr_parse_nested(attribute, note_attribute, &all);
    }
    return all;
}

std::vector<const nlattr*> listed(const nlattr* attribute, std::uint16_t type) {
    std::vector<const nlattr*> all;
    if (attribute != nullptr) {
        mnl_attr_parse_nested(attribute, list_attribute, &all);
    }
    std::erase_if(all, [&](const nlattr* each) { return mnl_attr_get_type(each) != type; });
    return all;
}

std::vector<const nlattr*> listed(const nlmsghdr& message, std::uint16_t type) {
    std::vector<const nlattr*> all;
    mnl_attr_parse(&message, sizeof(genlmsghdr), list_attribute, &all);
    std::erase_if(all, [&](const nlattr* each) { return mnl_attr_get_type(each) != type; });
    return all;
}

std::optional<std::uint64_t> number(const Attributes& from, std::uint16_t type) {
    const nlattr* found = attribute_of(from, type);
    switch (found == nullptr ? 0 : mnl_attr_get_payload_len(found)) {
        case sizeof(std::uint8_t): return mnl_attr_get_u8(found);
        case sizeof(std::uint16_t): return mnl_attr_get_u16(found);
        case sizeof(std::uint32_t): return mnl_attr_get_u32(found);
        case sizeof(std::uint64_t): return mnl_attr_get_u64(found);
        default: return std::nullopt;
    }
}

std::string words(const nlattr* attribute) {
    if (attribute == nullptr) {
        return "";
    }
    const auto* text = static_cast<const char*>(mnl_attr_get_payload(attribute));
    return std::string(text, strnlen(text, mnl_attr_get_payload_len(attribute)));
}

GenericFamily::GenericFamily(const char* name, std::uint8_t version)
    : socket_(process::NetlinkSocket::open(NETLINK_GENERIC)), version_(version) {
    if (!socket_) {
        error_ = EMFILE;  // what else keeps one from a socket
        return;
    }
    nlmsghdr* request = begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
    mnl_attr_put_strz(request, CTRL_ATTR_FAMILY_NAME, name);
    error_ = exchange(request, [&](const Attributes& from, const nlmsghdr&) {
        family_ = static_cast<std::uint16_t>(number(from, CTRL_ATTR_FAMILY_ID).value_or(0));
    });
}

int GenericFamily::ask(std::uint8_t command, const std::function<void(nlmsghdr*)>& put,
                       const Take& take) {
    if (family_ == 0) {
        return error_ != 0 && error_ != ENOENT ? error_ : EOPNOTSUPP;
    }
    nlmsghdr* request = begin(family_, command, version_);
    put(request);
    return exchange(request, take);
}

nlmsghdr* GenericFamily::begin(std::uint16_t family, std::uint8_t command, std::uint8_t version) {
    nlmsghdr* request = mnl_nlmsg_put_header(room_.data());
    request->nlmsg_type = family;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    auto* head = static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(request, sizeof(genlmsghdr)));
    head->cmd = command;
    head->version = version;
    return request;
}

int GenericFamily::exchange(nlmsghdr* request, const Take& take) {
    return socket_->exchange(*request, [&](const nlmsghdr& message) {
        Attributes from;
        mnl_attr_parse(&message, sizeof(genlmsghdr), note_attribute, &from);
        take(from, message);
    });
}

}  // namespace pathproof::fingerprint
