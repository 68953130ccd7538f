// Generic netlink as ethtool's and devlink's families are asked: attributes of an answer by their
// type, and one request after another (Documentation/userspace-api/netlink/intro.rst of the kernel).
#pragma once

#include <libmnl/libmnl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/process/netlink.h"

namespace pathproof::fingerprint {

using Attributes = std::map<std::uint16_t, const nlattr*>;

// Null: it is not there.
const nlattr* attribute_of(const Attributes& from, std::uint16_t type);
// Attributes inside this one; none if it is not there.
Attributes nested(const nlattr* attribute);
// Attributes of one type, which may be there more than once; none of a type that is not there.
std::vector<const nlattr*> listed(const nlattr* attribute, std::uint16_t type);
// Attributes of one type at the top of a message; none of a type that is not there.
std::vector<const nlattr*> listed(const nlmsghdr& message, std::uint16_t type);
// An unsigned number of any width; nothing: it is not there, or is none.
std::optional<std::uint64_t> number(const Attributes& from, std::uint16_t type);
// A string that the kernel ends with 0; null gives an empty one.
std::string words(const nlattr* attribute);

// A family of generic netlink, in the network namespace of the thread that makes it.
class GenericFamily {
  public:
    GenericFamily(const char* name, std::uint8_t version);

    // 0, and `take` was given the answer, the top attributes of which it may list again; else an
    // errno: EOPNOTSUPP where the kernel has no such family.
    using Take = std::function<void(const Attributes& from, const nlmsghdr& message)>;
    int ask(std::uint8_t command, const std::function<void(nlmsghdr*)>& put, const Take& take);

  private:
    nlmsghdr* begin(std::uint16_t family, std::uint8_t command, std::uint8_t version);
    int exchange(nlmsghdr* request, const Take& take);

    Result<process::NetlinkSocket> socket_;
    std::array<char, 1024> room_{};  // of a request
    std::uint8_t version_;
    std::uint16_t family_ = 0;
    int error_ = 0;
};

}  // namespace pathproof::fingerprint
